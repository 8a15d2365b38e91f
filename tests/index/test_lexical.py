from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.index import segments
from localmem.index.columns import KERNEL
from localmem.index.lexical import K1, B, TermMatches, bm25, window_bm25
from localmem.index.mirror import Mirror
from localmem.index.terms import term_ids
from localmem.index.tokens import query_terms, terms
from localmem.memory import Memory
from localmem.store import Database, SessionStore
from localmem.types import NewMessage, NewSession, Role
from localmem.writing import Writer

WORDS = ["tea", "coffee", "cat", "dog", "vet", "bread", "oven", "run", "race", "tap"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=40)


def fill(database: Database, texts: list[str], session: str = "s") -> list[int]:
    messages = tuple(NewMessage(Role.USER, text) for text in texts)
    return Writer(database, SessionStore(database)).add(NewSession("src", session, messages))


def mirror(database: Database) -> Mirror:
    return Mirror(database, model_id=1, dimension=4)


def merge(database: Database) -> None:
    with database.atomic() as connection:
        segments.merge(connection)


def formula(
    counted: dict[int, Counter[str]], lengths: dict[int, float], idf: dict[str, float]
) -> dict[int, float]:
    """BM25 written out plainly."""
    average = sum(lengths.values()) / len(lengths)
    return {
        i: sum(
            weight * tf * (K1 + 1) / (tf + K1 * (1 - B + B * lengths[i] / average))
            for term, weight in idf.items()
            if (tf := counts[term])
        )
        for i, counts in counted.items()
    }


def oracle(sessions: dict[str, dict[int, str]], query: str) -> tuple[dict[int, float], dict[int, float]]:
    """(message scores, window scores) from the texts of each session in order."""
    counted = {i: Counter(terms(text)) for texts in sessions.values() for i, text in texts.items()}
    idf = {}
    for term in query_terms(query):
        df = sum(term in counts for counts in counted.values())
        idf[term] = math.log(1 + (len(counted) - df + 0.5) / (df + 0.5))
    windows: dict[int, Counter[str]] = {}
    lengths: dict[int, float] = {}
    for texts in sessions.values():
        ids = list(texts)
        for place, i in enumerate(ids):
            windows[i], lengths[i] = Counter(), 0.0
            for other, j in enumerate(ids):
                if abs(other - place) < len(KERNEL):
                    weight = KERNEL[abs(other - place)]
                    lengths[i] += weight * counted[j].total()
                    for term, count in counted[j].items():
                        windows[i][term] += weight * count  # type: ignore[assignment]
    own = {i: float(counts.total()) for i, counts in counted.items()}
    return formula(counted, own, idf), formula(windows, lengths, idf)


def found(mirror: Mirror, database: Database, query: str) -> tuple[dict[int, float], dict[int, float]]:
    view = mirror.view()
    words = query_terms(query)
    matches = TermMatches(view, words, term_ids(database.connection(), words))
    ids = view.columns.ids.tolist()
    assert ids == sorted(ids)
    single, window = bm25(view.columns, matches), window_bm25(view.columns, matches)
    return dict(zip(ids, single.tolist(), strict=True)), dict(zip(ids, window.tolist(), strict=True))


def matching(mirror: Mirror, database: Database, query: str) -> int:
    return sum(score > 0 for score in found(mirror, database, query)[0].values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(texts=TEXTS, query=st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), data=st.data())
def test_scores_equal_the_oracles_through_appends_merges_and_deletions(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    texts: list[str],
    query: str,
    data: st.DataObject,
) -> None:
    monkeypatch.setattr(segments, "SEGMENT", 4)
    monkeypatch.setattr(segments, "FANOUT", 2)
    database = Database(tmp_path_factory.mktemp("lexical") / "memory.db")
    sessions: dict[str, dict[int, str]] = {}
    following = mirror(database)
    for start in range(0, len(texts), 3):
        chunk = texts[start : start + 3]
        session = data.draw(st.sampled_from(["a", "b", "c"]), label="session")
        sessions.setdefault(session, {}).update(zip(fill(database, chunk, session), chunk, strict=True))
        if data.draw(st.booleans(), label="merge"):
            merge(database)
        present = sorted(i for texts_of in sessions.values() for i in texts_of)
        if present and data.draw(st.booleans(), label="delete"):
            gone = data.draw(st.sampled_from(present), label="which")
            for texts_of in sessions.values():
                texts_of.pop(gone, None)
            with database.atomic() as connection:
                connection.execute("DELETE FROM message WHERE id = ?", (gone,))
        if any(sessions.values()):
            expected = oracle(sessions, query)
            for seen in (found(following, database, query), found(mirror(database), database, query)):
                assert seen[0] == pytest.approx(expected[0], rel=1e-5)
                assert seen[1] == pytest.approx(expected[1], rel=1e-5)
    database.close()


def test_scores_equal_those_of_bm25s(database: Database) -> None:
    texts = [
        "tea and bread",
        "coffee",
        "cat cat vet",
        "the vet likes tea",
        "run race run run",
        "bread oven bread",
    ]
    ids = fill(database, texts)
    peer = bm25s.BM25(method="lucene", k1=K1, b=B)
    peer.index([terms(text) for text in texts], show_progress=False)
    for query in ("tea bread", "vet cat", "run"):
        expected = np.asarray(peer.get_scores(list(query_terms(query)))) * (K1 + 1)
        scores, _ = found(mirror(database), database, query)
        assert [scores[i] for i in ids] == pytest.approx(expected.tolist(), rel=1e-5)


def test_segments_are_merged_into_few(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT", 4)
    monkeypatch.setattr(segments, "FANOUT", 2)
    for batch in range(16):
        fill(database, ["tea"] * 4, f"s{batch}")
        merge(database)
    assert len(segments.spans(database.connection())) == 1
    assert matching(mirror(database), database, "tea") == 64


def test_a_restart_reads_segments_and_rebuilds_none(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SEGMENT", 4)
    fill(database, ["tea", "cat", "vet", "tea"])
    merge(database)
    # Neither a text nor a row of terms is read again.
    monkeypatch.setattr("localmem.index.terms.terms", None)
    with database.atomic() as connection:
        connection.execute("UPDATE message_terms SET terms = x'00'")
    assert matching(mirror(database), database, "tea") == 2


def test_an_uncommitted_message_is_not_found(database: Database) -> None:
    fill(database, ["tea"])
    following = mirror(database)
    assert matching(following, database, "tea") == 1
    with pytest.raises(ZeroDivisionError), database.atomic():
        fill(database, ["tea tea"], "other")
        assert matching(following, database, "tea") == 1
        raise ZeroDivisionError
    assert matching(following, database, "tea") == 1
    fill(database, ["coffee"], "other")
    assert matching(following, database, "tea") == 1
    assert matching(following, database, "coffee") == 1


def test_a_message_stored_by_another_process_is_found(memory: Memory, tmp_path: Path) -> None:
    assert memory.search("marmalade") == []
    script = (
        "import sys; from pathlib import Path\n"
        "from localmem.memory import Memory; from localmem.models.hashing import HashEmbedder\n"
        "from localmem.types import NewMessage, NewSession, Role\n"
        "with Memory(Path(sys.argv[1]), HashEmbedder()) as m:\n"
        "    m.add(NewSession('p', 's', (NewMessage(Role.USER, 'marmalade on toast'),)))\n"
        "    m.wait_embedded()\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script, str(tmp_path / "memory.db")], check=True, timeout=60)
    (hit,) = memory.search("marmalade")
    assert hit.message.text == "marmalade on toast"
    assert set(hit.views) >= {"lexical", "dense"}
