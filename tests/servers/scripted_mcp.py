"""The MCP server as a process of its own, with a scripted model: ``python scripted_mcp.py FOLDER``.

Its model begins to write and waits to be cancelled; that it was is a file in the folder. It prints on
stdout where it must not, as native libraries do.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from localmem.home import Home
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import ChatMessage, ChatModel, Finished, Sampling, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.roles.trust import TRUSTED, Trust
from localmem.servers.stdio import guarded_stdout, run_stdio

FOLDER = Path(sys.argv[1])


class Waiting(ScriptedModel):
    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        sampling: Sampling | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[TextDelta | Finished]:
        print("a library that prints")  # noqa: T201
        ctypes.CDLL(None).puts(b"a native library that prints")
        assert cancel is not None
        yield TextDelta("Your cat")
        (FOLDER / "waiting").touch()
        if cancel.wait(30):
            (FOLDER / "cancelled").touch()
        yield Finished(StopReason.CANCELLED, 1, 0, 1, 0.0, 0.0)


class WaitingHome(Home):
    def answerer(self) -> tuple[ChatModel, Trust]:
        return Waiting(), TRUSTED


if __name__ == "__main__":
    with (
        guarded_stdout() as wire,
        Memory(FOLDER / "memory.db", HashEmbedder(), home=WaitingHome(FOLDER / "home")) as memory,
    ):
        print("printed before it serves")  # noqa: T201
        run_stdio(memory, wire)
    print("printed after it served")  # noqa: T201
