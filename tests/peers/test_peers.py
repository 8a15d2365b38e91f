from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from localmem.errors import BadInput
from localmem.evals.peers import filled
from localmem.models.hashing import HashEmbedder
from localmem.peers import INSTALL, PEERS, Peer, available, opened
from localmem.peers.base import text_of
from localmem.types import NewMessage, NewSession, Role


class WordCount(Peer):
    """Finds the texts that share the most words with a question."""

    name = "word count"
    package = "numpy"
    module = "numpy"
    texts: list[str]

    def add_texts(self, texts: Sequence[str]) -> None:
        self.texts = [*getattr(self, "texts", []), *texts]

    def find(self, question: str, k: int) -> list[int]:
        asked = set(question.split())
        order = sorted(range(len(self.texts)), key=lambda n: -len(asked & set(self.texts[n].split())))
        return order[:k]

    def clear(self) -> None:
        self.texts = []


class Absent(WordCount):
    package = module = "no_such_module_here"


def said(*texts: str, start: int = 0) -> list[NewMessage]:
    return [NewMessage(Role.USER, text, external_id=f"m{n}") for n, text in enumerate(texts, start)]


@contextmanager
def real(name: str) -> Iterator[Peer]:
    """The peer; the test is skipped with the reason where it is not available."""
    if reason := available(name):
        pytest.skip(reason)
    with opened(name, HashEmbedder()) as peer:
        yield peer


def test_messages_are_found_by_their_external_ids_and_forgotten_by_a_reset(tmp_path: Path) -> None:
    peer = WordCount(tmp_path, HashEmbedder())
    peer.add(said("a cat", "a train"))
    peer.add([])
    peer.add(said("a zebra", start=2))
    assert peer.search("zebra", 1) == ["m2"]
    assert len(peer.search("cat", 10)) == 3
    peer.reset()
    assert peer.search("zebra", 5) == []
    peer.add([NewMessage(Role.USER, "a zebra")])
    assert peer.search("zebra", 5) == ["#0"]


def test_a_peer_gets_speaker_text_and_captions_as_localmem_indexes_them() -> None:
    message = NewMessage(Role.USER, "Look!", speaker="Ana", attachments="a photo of a dog")
    assert text_of(message) == "Ana: Look! a photo of a dog"
    assert text_of(NewMessage(Role.USER, "half \ud83d")) == "half ?"


def test_a_peer_that_is_not_installed_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "peer-absent", Absent)
    reason = f"no_such_module_here is not installed: {INSTALL}"
    assert available("peer-absent") == reason
    with pytest.raises(BadInput, match="is not installed"), opened("peer-absent", HashEmbedder()):
        pass
    with pytest.raises(BadInput, match="There is no peer 'nobody'"):
        available("nobody")


def test_mem0_is_not_available_where_spacy_would_download_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"mem0": True, "spacy": True, "en_core_web_sm": False}
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: there[module] or None)
    assert available("peer-mem0") == (
        "mem0ai would download a model for spaCy: python -m spacy download en_core_web_sm"
    )
    there["spacy"] = False
    assert available("peer-mem0") is None


def test_a_peer_is_filled_with_every_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "peer-words", WordCount)
    sessions = [NewSession("s", str(n), tuple(said(text, start=n))) for n, text in enumerate(["a", "b"])]
    with filled("peer-words", sessions, HashEmbedder()) as peer:
        assert peer.search("b", 2) == ["m1", "m0"]


# What other people's packages warn of at import is not ours to mend.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(PEERS))
def test_a_real_peer_finds_what_was_added_before_and_after_its_index_and_forgets(name: str) -> None:
    with real(name) as peer:
        peer.add(said("the cat sleeps", "tulips in the garden", "a train to Oslo"))
        peer.index()
        assert peer.search("garden tulips", 1) == ["m1"]
        peer.add(said("a purple zebra", "half a \ud83d pair", "", start=3))
        assert peer.search("a purple zebra", 10)[0] == "m3"
        assert set(peer.search("train to Oslo", 10)) <= {f"m{n}" for n in range(6)}
        peer.reset()
        assert peer.search("garden tulips", 3) == []
        peer.add(said("tulips again", start=9))
        peer.index()
        assert peer.search("tulips", 3) == ["m9"]


@pytest.mark.filterwarnings("ignore")
def test_mem0_searches_words_too() -> None:
    class Blind(HashEmbedder):
        """All texts mean the same."""

        def embed_documents(self, texts):
            return super().embed_documents(["same"] * len(texts))

        def embed_query(self, text):
            return super().embed_query("same")

    if reason := available("peer-mem0"):
        pytest.skip(reason)
    with opened("peer-mem0", Blind()) as peer:
        peer.add(said(*(f"note number {n}" for n in range(30)), "the zebra escaped"))
        assert peer.search("Where is the zebra?", 1) == ["m30"]


@pytest.mark.filterwarnings("ignore")
def test_mem0_with_its_telemetry_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with real("peer-mem0"):
        monkeypatch.setattr("mem0.memory.telemetry.MEM0_TELEMETRY", True)
        with pytest.raises(BadInput, match="telemetry"), opened("peer-mem0", HashEmbedder()):
            pass


@pytest.mark.parametrize("name", list(PEERS))
def test_a_real_peer_connects_to_nothing_and_writes_nothing_into_the_home(name: str, tmp_path: Path) -> None:
    if reason := available(name):
        pytest.skip(reason)
    program = f"""
        import sys
        tried = []
        def watch(event, arguments):
            if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"):
                tried.append((event, arguments))
                raise OSError("no network here")
        sys.addaudithook(watch)
        from localmem.models.hashing import HashEmbedder
        from localmem.peers import opened
        from localmem.types import NewMessage, Role
        with opened({name!r}, HashEmbedder()) as peer:
            peer.add([NewMessage(Role.USER, "Ana went to Oslo yesterday", external_id="a")])
            peer.index()
            assert peer.search("Where was Ana last week?", 60) == ["a"]
            peer.reset()
        print(tried)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
    assert list(tmp_path.iterdir()) == []
