"""Fixtures that many tests share: a store, a memory without weights, short ways to say messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import platformdirs
import pytest

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.library import DEFAULT_CHAT, DEFAULT_EMBEDDER, Library
from localmem.store import Database
from localmem.types import NewMessage, NewSession, Role


@pytest.fixture(scope="session")
def models_home() -> Path:
    """A home with both small models, kept between runs; pulls what is missing."""
    default = platformdirs.user_cache_dir("localmem-tests")
    home = Path(os.environ.get("LOCALMEM_TEST_HOME", default))
    library = Library(home)
    for name in (DEFAULT_CHAT, DEFAULT_EMBEDDER):
        library.pull(name)
    return home


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "memory.db")
    yield database
    database.close()


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[Callable[[], Memory]]:
    """Opens the test's memory file again and again; everything is closed at the end."""
    opened: list[Memory] = []

    def open_one() -> Memory:
        opened.append(Memory(tmp_path / "memory.db", HashEmbedder()))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[[], Memory]) -> Memory:
    return open_memory()


def said(*texts: str, source: str = "test", session: str = "s1", at: datetime | None = None) -> NewSession:
    """A session in which user and assistant take turns saying ``texts``."""
    roles = (Role.USER, Role.ASSISTANT)
    messages = tuple(
        NewMessage(roles[place % 2], text, external_id=str(place), sent_at=at)
        for place, text in enumerate(texts)
    )
    return NewSession(source, session, messages)


@pytest.fixture(name="said")
def said_fixture() -> Callable[..., NewSession]:
    return said
