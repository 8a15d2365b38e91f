"""``com-flat``: Chain-of-Memory (Xu et al., ACL 2026) over the flat store.

Adapted (BFR, Appendix E: "MiniLM candidates with anchor, chain, and blocking"): dense candidates, chains
that grow from the best ones by relevance to the question and consistency with what they hold, and a candidate
that says the same as one taken is blocked. Left out: the answer written along the chain, truncation by the
model, and any organised pool in place of turns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localmem.reconstruction.records import Records

CANDIDATES = 50
"""Dense candidates; as many as the pool of FCA-MS, and more where more records are asked for."""
ANCHORS = 3
"""Chains."""
CONSISTENCY = 0.3
"""Weight of the similarity with a chain's last record, against relevance."""
BLOCKED = 0.9
"""Cosine with a record taken from which on a candidate is blocked."""


def chains(question: str, records: Records, kept: int) -> list[int]:
    """Rows, chain after chain interleaved: each chain's first, each one's second, and so on."""
    relevance = records.meaning(question)
    candidates = records.ordered(relevance)[: max(CANDIDATES, 2 * kept)]
    vectors = records.vectors(candidates)
    alike = vectors @ vectors.T
    scores = relevance[candidates]
    open_places = np.ones(len(candidates), np.bool_)
    lasts: list[int] = []
    taken: list[int] = []
    while len(taken) < kept and open_places.any():
        turn = len(taken) % ANCHORS
        value = scores + CONSISTENCY * alike[lasts[turn]] if turn < len(lasts) else scores
        place = int(np.argmax(np.where(open_places, value, -np.inf)))
        lasts[turn : turn + 1] = [place]
        taken.append(place)
        open_places &= ~_blocked(alike[place])
        open_places[place] = False
    return candidates[taken].tolist() if taken else []


def _blocked(alike: NDArray[np.float32]) -> NDArray[np.bool_]:
    return alike >= BLOCKED
