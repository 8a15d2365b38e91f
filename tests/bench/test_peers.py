from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localmem.bench.chart import lines, write_chart
from localmem.bench.peers import KnownVectors, add_peers, known_answers, peer_lines
from localmem.bench.stores import ONE_THREAD, Localmem
from localmem.cli import main
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Embedder, Vectors
from localmem.peers import INSTALL, Peer
from localmem.types import NewMessage, Role


class WordCount(Peer):
    """Finds the texts that share the most words with a question."""

    name = "word count"
    package = "numpy"
    module = "numpy"
    threads: str | None = None

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        self._texts: list[set[str]] = []
        WordCount.threads = os.environ.get("RAYON_NUM_THREADS")

    def add_texts(self, texts: Sequence[str]) -> None:
        self._texts += [set(text.lower().split()) for text in texts]

    def find(self, question: str, k: int) -> list[int]:
        self._embedder.embed_query(question)
        asked = set(question.lower().split())
        return sorted(range(len(self._texts)), key=lambda n: -len(asked & self._texts[n]))[:k]

    def clear(self) -> None:
        self._texts.clear()


class Blind(WordCount):
    """Finds nothing."""

    name = "blind"

    def find(self, question: str, k: int) -> list[int]:
        return []


class Absent(WordCount):
    name = "absent"
    module = "no_such_module_here"


REASON = f"numpy is not installed: {INSTALL}"


def message(identity: str, text: str) -> NewMessage:
    return NewMessage(Role.USER, text, external_id=identity)


class Counting(HashEmbedder):
    documents = 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.documents += len(texts)
        return super().embed_documents(texts)


def measured(kinds: Sequence[type[Peer]], *sizes: int) -> dict[str, Any]:
    result = {"rows": [{"messages": size, "query_ms": {"p50": 1.0, "p95": 2.0}} for size in sizes]}
    add_peers(result, HashEmbedder(), lambda text: None, kinds)
    return result


def test_localmem_finds_what_was_built_and_what_was_added_after_and_forgets(tmp_path: Path) -> None:
    store = Localmem(tmp_path, HashEmbedder())
    store.add([message("0", "the cat sleeps"), message("1", "tulips in the garden")])
    store.index()
    assert store.search("garden tulips", 1) == ["1"]
    store.add([message("2", "a purple zebra")])
    assert store.search("a purple zebra", 2)[0] == "2"
    store.reset()
    store.add([message("3", "a purple zebra")])
    assert store.search("a purple zebra", 2) == ["3"]
    store.close()


def test_each_peer_is_measured_and_its_answers_are_checked() -> None:
    (row,) = measured([Localmem, WordCount, Blind], 60)["rows"]
    ours, counted, blind = row["peers"]
    assert [peer["name"] for peer in row["peers"]] == ["localmem", "word count", "blind"]
    assert ours["hit_at_10"] > 0.9
    assert counted["hit_at_10"] == 1.0
    assert blind["hit_at_10"] == 0.0
    assert (counted["appended_found"], blind["appended_found"]) == (1.0, 0.0)
    for peer in (ours, counted):
        assert peer["build_s"] > 0
        assert 0 < peer["query_without_embedding_ms"]["p50"] < peer["query_ms"]["p50"]


def test_one_thread_is_asked_for_while_a_peer_runs_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "7")
    monkeypatch.delenv("LANCE_CPU_THREADS", raising=False)
    measured([WordCount], 30)
    assert WordCount.threads == ONE_THREAD["RAYON_NUM_THREADS"]
    assert os.environ["RAYON_NUM_THREADS"] == "7"
    assert "LANCE_CPU_THREADS" not in os.environ


def test_a_peer_that_is_not_installed_is_named_with_the_command_that_installs_it() -> None:
    (row,) = measured([Absent], 30)["rows"]
    assert row["peers"] == [{"name": "absent", "installed": False, "reason": REASON}]
    assert any("absent" in line and f"skipped: {REASON}" in line for line in peer_lines(row["peers"]))


def test_past_ten_thousand_messages_there_are_no_peers() -> None:
    (row,) = measured([WordCount], 10_001)["rows"]
    assert row["peers"] == []


def test_stored_texts_are_embedded_once_however_many_peers_ask() -> None:
    embedder = Counting()
    known = KnownVectors(embedder, ["a cat", "a dog"])
    made = embedder.documents
    assert (
        known.embed_documents(["a dog", "a cat"]) == HashEmbedder().embed_documents(["a dog", "a cat"])
    ).all()
    assert embedder.documents == made
    known.embed_documents(["a dog", "a bird"])
    assert embedder.documents == made + 1


def test_a_known_answer_question_has_rarer_words_of_its_message_that_others_share() -> None:
    rare = ["zinc", "yarn", "xylem", "wolf", "vale"]
    texts = [
        "the and of to in " + " ".join(rare),
        "the and of to in " + " ".join(reversed(rare)) + " unique",
        "the and of to in",
    ]
    asked = known_answers(texts, 10)
    assert asked == known_answers(texts, 10)
    assert {number for _, number in asked} == {0, 1}
    for question, _ in asked:
        assert set(question.split()) <= set(rare)


def test_the_command_prints_the_peers_as_json_and_as_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = ["--home", str(tmp_path / "home")]
    monkeypatch.setattr(add_peers, "__defaults__", ((WordCount, Absent),))
    assert main([*start, "models", "use", "embedder", "hash"]) == 0
    command = [*start, "--quiet", "bench", "retrieval", "--messages", "30", "--peers"]
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert [peer["installed"] for peer in row["peers"]] == [True, False]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "word count" in printed
    assert INSTALL in printed


@pytest.mark.parametrize(
    ("there", "name", "said"),
    [(False, "a.svg", INSTALL), (True, "a.png", ".svg"), (True, "none/a.svg", "no folder")],
)
def test_a_chart_that_cannot_be_written_is_refused_before_anything_is_measured(
    there: bool,
    name: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: there or None)
    chart = ["bench", "retrieval", "--chart", str(tmp_path / name)]
    assert main(["--home", str(tmp_path / "home"), *chart]) == 2
    assert said in capsys.readouterr().err


def test_a_chart_has_a_line_for_localmem_and_each_installed_peer(tmp_path: Path) -> None:
    result = measured([Localmem, WordCount, Absent], 30, 60)
    assert list(lines(result)) == ["localmem", "word count"]
    assert lines(result)["localmem"] == [(30, 1.0), (60, 1.0)]
    pytest.importorskip("matplotlib")
    write_chart(result, tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text().count('<g id="line2d') > 2
