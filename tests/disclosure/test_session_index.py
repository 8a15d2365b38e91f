from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localmem.bench.corpus import Corpus
from localmem.disclosure import session_index
from localmem.disclosure.session_index import SHOWN, SessionSearch
from localmem.disclosure.session_search import BOOST, MOST_MATCHES, RRF_K
from localmem.entries import Entry, Layer, Maker, Scope, Summary
from localmem.index import reduction, summaries, units
from localmem.index.embedding import EmbeddingQueue, reembed
from localmem.index.lexical import K1, B
from localmem.index.pieces import pieces_of, weight_of
from localmem.index.summaries import index_summaries
from localmem.index.tokens import STOP_WORDS, query_terms, terms
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Vectors
from localmem.retrieval.search import HybridSearch
from localmem.store import Database, SessionStore
from localmem.store.layers import LayerStore
from localmem.types import NewMessage, NewSession, Role
from localmem.writing import Writer

MAKER = Maker("sha256:model", "sha256:prompt")


class Axes(HashEmbedder):
    """Vectors of four halves, so that cosines are exact and equal ones equal."""

    fingerprint = "sha256:axes"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
            for place, byte in enumerate(digest[:4]):
                row[4 * (byte % 2) + place] = 0.5 if byte & 2 else -0.5
        return vectors

    def embed_query(self, text: str) -> Vectors:
        return self.embed_documents([text])[0]


class Store:
    """One program that has the file open."""

    def __init__(self, path: Path, embedder: HashEmbedder | None = None) -> None:
        self.database = Database(path)
        self.sessions = SessionStore(self.database)
        self.writer = Writer(self.database, self.sessions)
        self.layers = LayerStore(self.database)
        self.embedder = embedder or Axes(8)
        self.queue = EmbeddingQueue(self.database, self.embedder)
        self.search = SessionSearch(self.database, self.queue, HybridSearch(self.database, self.queue))

    def add(self, session: str, *texts: str, at: datetime | None = None) -> None:
        roles = (Role.USER, Role.ASSISTANT)
        said = tuple(NewMessage(roles[i % 2], text, sent_at=at) for i, text in enumerate(texts))
        self.writer.add(NewSession("s", session, said))

    def embed(self) -> None:
        while self.queue.embed_next():
            pass

    def write(self, entry: Entry, text: str) -> None:
        """A model writes a summary in place of one."""
        assert isinstance(entry.content, Summary)
        with self.database.atomic():
            read = list(self.sessions.messages_by_id(entry.messages).values())
            content = Summary(text, entry.content.keywords, entry.content.tags)
            assert self.layers.replace(entry.scope, content, read, MAKER) is not None
            index_summaries(self.database)

    def delete(self, table: str, identity: int) -> None:
        with self.database.atomic() as connection:
            connection.execute(f"DELETE FROM {table} WHERE id = ?", (identity,))

    def entries(self) -> list[Entry]:
        """All summaries that say something, by session and turn."""
        found = [
            entry
            for session in sorted(self.sessions.sessions(), key=lambda session: session.id)
            for entry in self.layers.entries(Layer.SUMMARY, session.id)
        ]
        return [entry for entry in found if entry.content != Summary("")]

    def scores(self, *queries: str) -> dict[int, float]:
        return {hit.session_id: hit.score for hit in self.search.search(queries, 1000)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "memory.db")
    yield store
    store.database.close()


def oracle(store: Store, queries: Sequence[str]) -> dict[int, float]:
    """Appendix G written out plainly over the entries."""
    entries = store.entries()
    final: dict[int, float] = {}
    for query in queries if entries else ():
        lexical = [
            sum(pair) for pair in zip(*(plain_bm25(field, query) for field in fields(entries)), strict=True)
        ]
        dense = [cosine(store, entry, query) for entry in entries]
        fused = [0.0] * len(entries)
        for scores in (lexical, dense):
            order = sorted(
                (i for i, s in enumerate(scores) if round(s, 6) > 0), key=lambda i: -round(scores[i], 6)
            )
            for rank, i in enumerate(order, 1):
                fused[i] += 0.5 / (RRF_K + rank)
        best: dict[int, float] = {}
        keywords: dict[int, set[str]] = {}
        for entry, score in zip(entries, fused, strict=True):
            session = entry.scope.session_id
            best[session] = max(best.get(session, 0.0), score)
            keywords.setdefault(session, set()).update(summary(entry).keywords)
        for session, score in best.items():
            matched = min(matches(query, keywords[session]), MOST_MATCHES)
            score += BOOST * max(best.values()) * matched
            final[session] = max(final.get(session, 0.0), score)
    return {session: score for session, score in final.items() if score > 0}


def summary(entry: Entry) -> Summary:
    assert isinstance(entry.content, Summary)
    return entry.content


def fields(entries: Sequence[Entry]) -> tuple[list[str], list[str]]:
    found = [summary(entry) for entry in entries]
    return [one.text for one in found], [" ".join(one.keywords) for one in found]


def plain_bm25(field: Sequence[str], query: str) -> list[float]:
    counted = [Counter(terms(text)) for text in field]
    average = sum(counts.total() for counts in counted) / len(counted) or 1.0
    scores = [0.0] * len(counted)
    for term in query_terms(query):
        df = sum(term in counts for counts in counted)
        idf = math.log(1 + (len(counted) - df + 0.5) / (df + 0.5))
        for i, counts in enumerate(counted):
            tf = counts[term]
            scores[i] += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * counts.total() / average))
    return scores


def cosine(store: Store, entry: Entry, query: str) -> float:
    waits = store.database.connection().execute("SELECT entry_id FROM pending_summary_vector").fetchall()
    if (entry.id,) in waits:
        return 0.0
    texts = [summary(entry).text]
    if entry.maker is None:
        read = store.sessions.messages_by_id(entry.messages)
        texts = [piece for message in read.values() for piece in pieces_of(message)]
    vectors = store.embedder.embed_documents(texts).astype(float)
    mean = np.array([1 if entry.maker else weight_of(text) for text in texts]) @ vectors
    norm = float(np.linalg.norm(mean))
    return float(mean @ store.embedder.embed_query(query)) / norm if norm else 0.0


def matches(query: str, keywords: set[str]) -> int:
    asked = f" {' '.join(re.findall(r'[a-z0-9]+', query.lower()))} "
    folded = {" ".join(re.findall(r"[a-z0-9]+", keyword.lower())) for keyword in keywords}
    return sum(f" {keyword} " in asked for keyword in folded if keyword and keyword not in STOP_WORDS)


def test_a_small_case_worked_by_hand(tmp_path: Path) -> None:
    class ByHand(Axes):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            tea = np.array([["tea" in text.lower(), 1, 0, 0] for text in texts], np.float32)
            return np.asarray(tea / np.linalg.norm(tea, axis=1, keepdims=True), np.float32)

    with Memory(tmp_path / "memory.db", ByHand(4)) as memory:
        for number, text in enumerate(("I drink green tea.", "I bought a car.", "My tea is in Lisbon.")):
            memory.add(NewSession("s", str(number), (NewMessage(Role.USER, text),)))
        memory.wait_embedded()
        assert [memory.layer(n, Layer.SUMMARY)[0].content.keywords for n in (1, 2, 3)] == [  # type: ignore[union-attr]
            ("drink green tea",),
            ("bought", "car"),
            ("Lisbon", "tea"),
        ]
        hits = memory.search_sessions(["tea"])
        # Meaning: sessions 1 and 3 have cosine 1 and take ranks 1 and 2 by id, session 2 has 1/sqrt(2).
        # Words: "tea" is in the summaries of 1 and 3, of 3 and 2 stems beside the speaker's, and in their
        # keywords, of 3 and 2 stems: the shorter ranks first.
        s1, s2, s3 = 0.5 / 62 + 0.5 / 61, 0.5 / 63, 0.5 / 61 + 0.5 / 62
        # Of whole keywords only "tea" of session 3 stands in the query: a tenth of the top score more.
        assert [(hit.session_id, hit.score) for hit in hits] == [
            (3, pytest.approx(s3 * 1.1)),
            (1, pytest.approx(s1)),
            (2, pytest.approx(s2)),
        ]
        assert hits[0].turns == (0,)
        assert [entry.messages for entry in hits[0].summaries] == [(3,)]
        # Each session takes its best query: "car" ranks session 2 first twice, and is its keyword.
        best = {hit.session_id: hit.score for hit in memory.search_sessions(["tea", "car"])}
        assert best == pytest.approx({1: s1, 2: (0.5 / 61 + 0.5 / 61) * 1.1, 3: s3 * 1.1})


WORDS = ["tea", "coffee", "Lisbon", "cat", "vet", "bread", "oven", "run", "race", "2023", "42"]
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(
    lambda words: f"I like {' '.join(words)}."
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(data=st.data())
def test_scores_equal_the_oracles_whatever_two_programs_do_to_the_file(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr(units, "PART", 3)
    monkeypatch.setattr(summaries, "BATCH", 2)
    path = tmp_path_factory.mktemp("sessions") / "memory.db"
    ours, theirs = Store(path), Store(path)
    for _ in range(data.draw(st.integers(1, 12), label="steps")):
        store = data.draw(st.sampled_from([ours, theirs]), label="who")
        ids = [
            message.id
            for session in store.sessions.sessions()
            for message in store.sessions.messages(session.id)
        ]
        action = data.draw(st.sampled_from(["add", "add", "delete", "forget", "write"]))
        if action == "add":
            store.add(data.draw(st.sampled_from("abcde")), *data.draw(st.lists(TEXT, min_size=1, max_size=5)))
        elif action == "delete" and ids:
            store.delete("message", data.draw(st.sampled_from(ids)))
        elif action == "forget" and ids:
            store.delete("session", data.draw(st.sampled_from([s.id for s in store.sessions.sessions()])))
        elif action == "write" and (entries := store.entries()):
            store.write(data.draw(st.sampled_from(entries)), data.draw(TEXT))
        if data.draw(st.booleans(), label="embed"):
            store.embed()
        queries = data.draw(st.lists(TEXT, min_size=1, max_size=3), label="queries")
        assert ours.scores(*queries) == pytest.approx(oracle(theirs, queries))
    for store in (ours, theirs):
        store.embed()
        assert store.queue.pending() == 0
        queries = [" ".join(WORDS[:3]), "run a race"]
        assert store.scores(*queries) == pytest.approx(oracle(store, queries))
        hits = store.search.search(queries)
        assert all((-a.score, a.session_id) <= (-b.score, b.session_id) for a, b in pairwise(hits))
        store.database.close()


def test_a_models_summary_takes_the_place_of_the_one_before_in_the_index(store: Store) -> None:
    store.add("a", "I bought a red bicycle.")
    store.add("b", "It rained.")
    store.embed()
    (entry, _) = store.entries()
    rows = (
        "SELECT count(*) FROM summary_terms t JOIN summary_vector USING (entry_id) WHERE (norm IS NULL) = ?"
    )
    assert store.database.connection().execute(rows, (0,)).get == 2
    store.write(entry, "A two-wheeler was purchased.")
    assert store.queue.pending() == 1
    (hit,) = [hit for hit in store.search.search(["purchased"]) if hit.session_id == entry.scope.session_id]
    assert summary(hit.summaries[0]).text == "A two-wheeler was purchased."
    store.embed()
    assert store.database.connection().execute(rows, (0,)).get == 1
    assert store.database.connection().execute(rows, (1,)).get == 1
    assert store.scores("purchased") == pytest.approx(oracle(store, ["purchased"]))


def test_what_is_gone_leaves_no_vector_behind_in_a_search_that_goes_on(store: Store) -> None:
    for name, text in zip(
        "abcd", ("I bought a bicycle.", "It rained.", "I like tea.", "Cats sleep."), strict=True
    ):
        store.add(name, text)
    for entry in store.entries()[:3]:
        store.write(entry, f"{summary(entry).text} Really.")
    store.embed()
    store.add("e", "I painted the fence.")
    store.embed()
    queries = ["tea and rain", "I painted the fence."]
    for session in (3, 1, 2):  # what the next entry in the file is, differs
        assert store.scores(*queries) == pytest.approx(oracle(store, queries))
        store.delete("session", session)
    assert store.scores(*queries) == pytest.approx(oracle(store, queries))


def test_a_summary_is_found_by_its_words_until_it_has_its_vector(store: Store) -> None:
    store.add("a", "I bought a red bicycle.")
    assert store.scores("bicycle") == pytest.approx({1: 0.5 / 61})
    assert store.scores("something else") == {}


def test_bounds_of_time_leave_out_turns_and_their_keywords(store: Store) -> None:
    day = datetime(2023, 5, 8, tzinfo=UTC)
    store.add("old", "My cat is in Lisbon.", "Nice.", at=day)
    store.add("new", "My cat is in Porto.", at=day + timedelta(days=9))
    store.add("undated", "My cat is in Rome.")
    store.embed()

    def found(**bounds: datetime) -> set[int]:
        return {hit.session_id for hit in store.search.search(["cat in Lisbon"], **bounds)}

    assert found() == {1, 2, 3}
    assert found(after=day + timedelta(days=1)) == {2}
    assert found(before=day + timedelta(days=1)) == {1}
    assert found(after=day, before=day) == set()
    store.add("old", "My cat was happy.", at=day + timedelta(days=9))
    (hit,) = store.search.search(["Lisbon happy"], 1, after=day + timedelta(days=1))
    before, (entry,) = (store.layers.entries(Layer.SUMMARY, 1, turn) for turn in (0, 1))
    assert matches("Lisbon happy", set(summary(before[0]).keywords)) == 1
    matched = matches("Lisbon happy", set(summary(entry).keywords))
    assert (hit.session_id, hit.turns) == (1, (1,))
    assert hit.score == pytest.approx(0.5 / 61 * (1 + BOOST * matched))  # it waits for its vector


def test_equal_sessions_are_in_order_of_id_whatever_was_made_first(store: Store) -> None:
    for name in "abc":
        store.add(name, "I like tea.")
    store.embed()
    (first, _, _) = store.entries()
    with store.database.atomic():  # made anew: its entry is now the youngest
        read = store.sessions.messages(first.scope.session_id)
        store.layers.put(first.scope, first.content, read)
        index_summaries(store.database)
    store.embed()
    assert [hit.session_id for hit in store.search.search(["tea"])] == [1, 2, 3]


def test_a_session_shows_its_best_turns(store: Store) -> None:
    store.add("a", *(text for n in range(5) for text in (f"I saw bird number {n}.", "")))
    (hit,) = store.search.search(["bird number 3", "bird number 4"])
    assert set(hit.turns[:2]) == {3, 4}
    assert len(hit.turns) == SHOWN
    assert [entry.scope for entry in hit.summaries] == [Scope(Layer.SUMMARY, 1, turn) for turn in hit.turns]


def test_no_query_and_no_memory_find_nothing(store: Store) -> None:
    assert store.search.search(["tea"]) == []
    store.add("a", "")
    store.embed()
    assert store.search.search(["tea"]) == []
    store.add("b", "I like tea.")
    assert [store.search.search(queries) for queries in ([], [""], [" ", "\n"])] == [[], [], []]


@pytest.mark.parametrize("query", ["\ud800", "\0", "!?", "茶" * 3000, "tea " * 3000])
def test_strange_queries_are_only_queries(store: Store, query: str) -> None:
    store.add("a", "I like tea. 我喜欢喝茶。\ud800\0")
    store.embed()
    assert isinstance(store.search.search([query]), list)


def test_past_the_threshold_what_is_compared_in_the_file_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_index, "COMPARED", 1000)
    found = []
    for threshold in (1_000, 100):
        monkeypatch.setattr(reduction, "THRESHOLD", threshold)
        store = Store(tmp_path / f"{threshold}.db", HashEmbedder())
        for session in Corpus(1).sessions(400):
            store.writer.add(session)
        store.embed()
        for number, entry in enumerate(store.entries()[::3]):  # a third is a model's
            store.write(entry, f"{summary(entry).text} {number}")
        store.embed()
        assert (store.queue.mirror.view().pieces.basis is None) == (threshold == 1_000)
        found.append([store.scores(question) for question in Corpus(2).questions(20)])
        store.database.close()
    assert found[0] == found[1]


def test_another_embedding_model_serves_when_all_have_its_vectors(store: Store, tmp_path: Path) -> None:
    store.add("a", "I bought a red bicycle.")
    store.add("b", "It rained.")
    store.embed()
    store.write(store.entries()[1], "Rain fell.")
    store.embed()
    store.database.close()
    database = Database(tmp_path / "memory.db")
    other = HashEmbedder(16)
    reembed(database, other, lambda done, total: None)
    counted = "SELECT count(*), count(DISTINCT model_id), sum(length(embedding)) FROM summary_vector"
    assert database.connection().execute(counted).get == (2, 1, 16 * 4)
    queue = EmbeddingQueue(database, other)
    assert queue.pending() == 0
    search = SessionSearch(database, queue, HybridSearch(database, queue))
    assert next(hit.session_id for hit in search.search(["bicycle"])) == 1
    database.close()
