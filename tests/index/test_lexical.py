from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.index import segments
from localmem.index.lexical import K1, B, LexicalIndex
from localmem.index.tokens import query_terms, terms
from localmem.memory import Memory
from localmem.store import Database
from localmem.types import NewMessage, NewSession, Role
from localmem.writing import SessionStore, Writer

WORDS = ["tea", "coffee", "cat", "dog", "vet", "bread", "oven", "run", "race", "tap"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=40)


def fill(database: Database, texts: list[str], session: str = "s") -> tuple[LexicalIndex, list[int]]:
    lexical = LexicalIndex(database)
    writer = Writer(database, SessionStore(database), lexical)
    messages = tuple(NewMessage(Role.USER, text, external_id=f"{session}{i}") for i, text in enumerate(texts))
    return lexical, writer.add(NewSession("src", session, messages))


def oracle(documents: dict[int, str], query: str) -> dict[int, float]:
    """BM25 written out plainly over every document."""
    counted = {i: Counter(terms(text)) for i, text in documents.items()}
    average = sum(c.total() for c in counted.values()) / len(counted)
    scores: dict[int, float] = {}
    for term in query_terms(query):
        having = [i for i, counts in counted.items() if term in counts]
        idf = math.log(1 + (len(counted) - len(having) + 0.5) / (len(having) + 0.5))
        for i in having:
            frequency = counted[i][term]
            norm = K1 * (1 - B + B * counted[i].total() / average)
            scores[i] = scores.get(i, 0.0) + idf * frequency * (K1 + 1) / (frequency + norm)
    return scores


def found(lexical: LexicalIndex, query: str) -> dict[int, float]:
    ids, scores = lexical.scores(query)
    assert list(ids) == sorted(ids)
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(texts=TEXTS, query=st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), data=st.data())
def test_scores_equal_the_oracles_through_appends_merges_and_deletions(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, texts, query, data
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(segments, "SEGMENT", 4)
    monkeypatch.setattr(segments, "FANOUT", 2)
    database = Database(tmp_path_factory.mktemp("lexical") / "memory.db")
    documents: dict[int, str] = {}
    lexical = LexicalIndex(database)
    for batch, start in enumerate(range(0, len(texts), 5)):
        chunk = texts[start : start + 5]
        _, ids = fill(database, chunk, f"s{batch}")
        documents |= dict(zip(ids, chunk, strict=True))
        if data.draw(st.booleans(), label="merge"):
            lexical.merge()
        if documents and data.draw(st.booleans(), label="delete"):
            gone = data.draw(st.sampled_from(sorted(documents)), label="which")
            del documents[gone]
            with database.atomic() as connection:
                connection.execute("DELETE FROM message WHERE id = ?", (gone,))
        if documents:
            assert found(lexical, query) == pytest.approx(oracle(documents, query))
            assert found(LexicalIndex(database), query) == pytest.approx(oracle(documents, query))
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
    lexical, ids = fill(database, texts)
    peer = bm25s.BM25(method="lucene", k1=K1, b=B)
    peer.index([terms(text) for text in texts], show_progress=False)
    for query in ("tea bread", "vet cat", "run"):
        expected = np.asarray(peer.get_scores(list(query_terms(query)))) * (K1 + 1)
        scores = found(lexical, query)
        assert [scores.get(i, 0.0) for i in ids] == pytest.approx(expected.tolist(), rel=1e-5)


def test_segments_are_merged_into_few(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT", 4)
    monkeypatch.setattr(segments, "FANOUT", 2)
    for batch in range(16):
        lexical, _ = fill(database, ["tea"] * 4, f"s{batch}")
        lexical.merge()
    assert len(segments.spans(database.connection())) == 1
    assert len(found(lexical, "tea")) == 64


def test_a_restart_reads_segments_and_rebuilds_none(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SEGMENT", 4)
    lexical, _ = fill(database, ["tea", "cat", "vet", "tea"])
    lexical.merge()
    monkeypatch.setattr("localmem.index.lexical.terms", None)  # a rebuild would have to read the texts again
    assert len(found(LexicalIndex(database), "tea")) == 2


def test_an_uncommitted_message_is_not_found(database: Database) -> None:
    lexical, _ = fill(database, ["tea"])
    assert len(found(lexical, "tea")) == 1
    with pytest.raises(ZeroDivisionError), database.atomic():
        fill(database, ["tea tea"], "other")
        assert len(found(lexical, "tea")) == 1
        raise ZeroDivisionError
    assert len(found(lexical, "tea")) == 1
    fill(database, ["coffee"], "other")
    assert len(found(lexical, "tea")) == 1
    assert len(found(lexical, "coffee")) == 1


def test_a_message_stored_by_another_process_is_found(memory: Memory, tmp_path) -> None:  # type: ignore[no-untyped-def]
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
    assert hit.views == ("lexical", "dense")
