"""A host process whose engine tries to use the network. Run as a script by the tests."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from localmem.models.errors import LocalmemError
from localmem.models.host import serve
from localmem.models.protocols import ChatMessage, Finished, Sampling, StopReason, TextDelta


class Engine:
    context = 1000

    def count(self, messages: list[ChatMessage]) -> int:
        return 1

    def rest(self) -> None: ...

    def stop(self) -> None: ...

    def generate(
        self,
        messages: list[ChatMessage],
        max_tokens: int,
        fixed: int,
        grammar: str | None,
        sampling: Sampling | None,
        think: int,
        stopped: Callable[[], bool],
    ) -> Iterator[TextDelta | Finished]:
        quietly = messages[-1].text == "quietly"
        with contextlib.suppress(LocalmemError) if quietly else contextlib.nullcontext():
            socket.getaddrinfo("model-hub.example", 443)
        yield TextDelta("done")
        yield Finished(StopReason.END, 1, 0, 1, 0.0, 0.0)


if __name__ == "__main__":
    serve(lambda beat: Engine())
    assert Path(sys.argv[1])
