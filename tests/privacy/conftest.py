"""A made-up history with everything built on it, and what every test of forgetting asks of the bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.entries import Layer
from localmem.events import answered
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.types import NewMessage, NewSession, Role

SECRET = "Quillfeather"
TOLD = (
    ("Ada", f"My new neighbour is called {SECRET}, and he keeps seventeen parrots on the balcony."),
    ("Ben", f"Seventeen parrots! Does {SECRET.upper()} sleep at all? I adopted one dog in March."),
    ("Ada", "Barely. I bought a blue tandem bicycle yesterday, by the way."),
    ("Ben", "A tandem? Then we can ride to the lighthouse together on Sunday."),
)
HARMLESS = (
    ("Ada", "The lighthouse trip was lovely, we rode twenty kilometres."),
    ("Ben", "It was. I baked rye bread afterwards and slept for ten hours."),
)
AT = datetime(2026, 3, 5, 18, tzinfo=UTC)


def session(name: str, told: tuple[tuple[str, str], ...], title: str = "") -> NewSession:
    messages = tuple(
        NewMessage(Role.USER, text, speaker, AT, external_id=f"{name}:{place}")
        for place, (speaker, text) in enumerate(told)
    )
    return NewSession("tales", name, messages, title or name)


def holds(folder: Path, text: str) -> list[str]:
    """Files below a folder that have ``text`` in their bytes, whatever its case, in UTF-8 or UTF-16."""
    forms = [text.lower().encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    return [
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(form in path.read_bytes().lower() for form in forms)
    ]


@pytest.fixture(name="holds")
def holds_fixture() -> Callable[[Path, str], list[str]]:
    return holds


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Path]:
    """Makes a memory file with all layers, vectors and a trace; encrypted if it is given a key."""

    def build_one(key: str | None = None) -> Path:
        path = tmp_path / "store" / "memory.db"
        with Memory(path, HashEmbedder(), key=key) as memory:
            memory.add(session("parrots", TOLD, f"A neighbour called {SECRET}"))
            memory.add(session("lighthouse", HARMLESS))
            memory.wait_embedded()
            for layer in (Layer.FACTS, Layer.NOTES):
                for _ in memory.builder(None).build(layer):
                    pass
            answered(memory.answer(f"Who is {SECRET}?", model=None))
            answered(memory.answer("Where did we ride the bicycle?", model=None))
        return path

    return build_one


@pytest.fixture
def store(build: Callable[..., Path]) -> Path:
    return build()
