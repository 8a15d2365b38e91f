"""The chat with a model that writes until it is stopped, for tests in a terminal. Argument: the file."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import Finished, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.tui.app import ChatApp

FINISHED = Finished(StopReason.CANCELLED, 1, 0, 1, 0.0, 0.0)


class Writer(ScriptedModel):
    """Writes a word every hundredth of a second."""

    def stream(self, *_: Any, cancel: threading.Event | None = None, **__: Any) -> Iterator[Any]:
        assert cancel is not None
        for number in itertools.count():
            yield TextDelta(f"word{number} ")
            time.sleep(0.01)
            if cancel.is_set():
                yield FINISHED
                return


with Memory(Path(sys.argv[1]), HashEmbedder()) as memory:
    app = ChatApp(memory, Writer, None)
    app.run()
    if app.failure is not None:
        raise app.failure
