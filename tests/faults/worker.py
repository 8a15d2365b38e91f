"""Works on a memory until it is killed: ``worker.py KIND FILE KEY NUMBER``.

It writes a line of JSON for each thing that the program has acknowledged, straight into the pipe: what is in
there was said, whatever happens next. NUMBER makes its texts its own: each has a word that no other text has.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import random
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from localmem.answering.dialogue import With
from localmem.entries import Layer
from localmem.events import Replied, Stored
from localmem.importers.run import import_files
from localmem.index import reduction, segments
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.privacy.rewrite import change_key
from localmem.types import NewMessage, NewSession, Role

DIMENSION = 128
HERE = Path(__file__).parent
SCHEMAS = HERE.parent / "store" / "schemas"
IN_A_SESSION = 5
PLACES = "attic cellar garden harbour kitchen library market orchard station theatre".split()
THINGS = "anchor basket clock drum easel flute globe hammer kettle lantern".split()

# Small, so that a few hundred messages meet everything that grows.
segments.SEGMENT, segments.FANOUT = 8, 2
reduction.THRESHOLD, reduction.BLOCK = 128, 16


def tell(**fact: object) -> None:
    os.write(1, json.dumps(fact).encode() + b"\n")


class Words:
    """Texts that can be told apart by their last word."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._count = count()
        self._names = count()
        self.chance = random.Random(number)

    def name(self) -> str:
        return f"session {self._number}.{next(self._names)}"

    def text(self) -> str:
        mark = f"mark{self._number:04}x{next(self._count):04}"
        return f"I left the {self.chance.choice(THINGS)} in the {self.chance.choice(PLACES)}, see {mark}."


def session(words: Words) -> NewSession:
    texts = [words.text() for _ in range(IN_A_SESSION)]
    messages = [NewMessage(tuple(Role)[n % 2], text, external_id=str(n)) for n, text in enumerate(texts)]
    return NewSession("faults", words.name(), tuple(messages))


def importing(memory: Memory, words: Words) -> None:
    """Files of forty sessions, one after the other; a session that ``add`` took in is acknowledged."""

    def store(new: NewSession) -> list[int]:
        ids = memory.add(new)
        tell(stored=[message.text for message in new.messages])
        return ids

    file = Path(sys.argv[2]).with_suffix(".jsonl")
    while True:
        with file.open("w", encoding="utf-8") as lines:
            for new in (session(words) for _ in range(40)):
                for message in new.messages:
                    line = {"session": new.external_id, "role": message.role, "text": message.text}
                    lines.write(json.dumps(line) + "\n")
        tell(importing=str(file))
        report = import_files([file], "auto", store)
        assert not report.failures, report.failures


def chatting(memory: Memory, words: Words) -> None:
    """Chats of a few exchanges, some of them said anew; what an event calls stored is acknowledged."""
    by = With(ScriptedModel(lambda prompt: f"All right. {words.text()}"))
    while True:
        dialogue = memory.dialogue()
        said: list[int] = []
        for _ in range(words.chance.randint(1, 5)):
            replaces = words.chance.choice(said) if said and words.chance.random() < 0.3 else None
            for event in dialogue.say(words.text(), by, replaces=replaces):
                if isinstance(event, Stored):
                    said.append(event.message.id)
                    tell(stored=[event.message.text])
                if isinstance(event, Replied) and event.message is not None:
                    tell(stored=[event.message.text])


def building(memory: Memory, words: Words) -> None:
    """Sessions, and their layers by a model or by rule; a layer that was built is acknowledged."""
    spec = importlib.util.spec_from_file_location("summarising", HERE.parent / "layers" / "summarising.py")
    assert spec is not None
    assert spec.loader is not None
    summarising = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(summarising)
    while True:
        new = session(words)
        ids = memory.add(new)
        tell(stored=[message.text for message in new.messages])
        session_id = memory.messages_by_id(ids)[ids[0]].session_id
        for layer in Layer:
            model = summarising.summariser() if words.chance.random() < 0.7 else None
            for _ in memory.builder(model).build(layer, session_id):
                pass
            tell(built=[layer, session_id])


def forgetting(memory: Memory, words: Words) -> None:
    """Messages, sessions and texts are forgotten; what a receipt was given for is acknowledged."""
    while True:
        if memory.counts()[1] < 30:
            new = session(words)
            memory.add(new)
            tell(stored=[message.text for message in new.messages])
            continue
        message = words.chance.choice(memory.messages(words.chance.choice(memory.sessions()).id))
        way = words.chance.random()
        if way < 0.2:
            selection = memory.select(session_id=message.session_id)
        elif way < 0.5:
            selection = memory.select(message_id=message.id)
        else:
            selection = memory.select(matching=message.text.rsplit(" ", 1)[1].rstrip("."))
        texts = [one.text for one in selection.every]
        tell(forgetting=texts)
        receipt = memory.forget(selection, prove=words.chance.random() < 0.2)
        tell(forgotten=texts, clean=receipt.clean)


def migrating(words: Words) -> None:
    """Files that older releases wrote are opened; whatever is in them counts as acknowledged."""
    for number in count():
        old = words.chance.choice(sorted(SCHEMAS.glob("*.db.gz")))
        path = Path(sys.argv[2]).with_name(f"old{number}.db")
        path.write_bytes(gzip.decompress(old.read_bytes()))
        tell(opening=str(path))
        with Memory(path, HashEmbedder(DIMENSION)) as memory:
            memory.wait_embedded()
        tell(opened=str(path))


def rekeying(path: Path, key: str | None, words: Words) -> None:
    """The file is encrypted, decrypted, and given other keys."""
    while True:
        new = words.chance.choice([one for one in (None, "one", "two") if one != key])
        tell(rekeying=new)
        change_key(path, key, new)
        key = new
        tell(key=key)


ON_A_MEMORY: dict[str, Callable[[Memory, Words], None]] = {
    "import": importing,
    "chat": chatting,
    "build": building,
    "forget": forgetting,
}


def main() -> None:
    kind, path, key = sys.argv[1], Path(sys.argv[2]), sys.argv[3] or None
    words = Words(int(sys.argv[4]))
    if kind == "migration":
        tell(ready=True)
        migrating(words)
    elif kind == "key":
        tell(ready=True)
        rekeying(path, key, words)
    else:
        with Memory(path, HashEmbedder(DIMENSION), key=key) as memory:
            tell(ready=True)
            ON_A_MEMORY[kind](memory, words)


if __name__ == "__main__":
    main()
