"""A host process with an engine that does what the prompt says. Run as a script by the tests."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from localmem.models.errors import ModelFileBad, PromptTooLong
from localmem.models.host import serve
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta

PIECE = "word "


class ScriptedEngine:
    def __init__(self, path: Path, context: int) -> None:
        if path.name == "bad.gguf":
            raise ModelFileBad("no model in it")
        if path.name == "crash.gguf":
            os.kill(os.getpid(), signal.SIGSEGV)
        if path.name == "slow.gguf":
            time.sleep(600)
        self.context = context
        self.stopping = False

    def count(self, messages: list[ChatMessage]) -> int:
        return sum(len(message.text.split()) for message in messages)

    def stop(self) -> None:
        self.stopping = True

    def generate(
        self, messages: list[ChatMessage], max_tokens: int, stopped: Callable[[], bool]
    ) -> Iterator[TextDelta | Finished]:
        order, _, argument = messages[-1].text.partition(" ")
        read = self.count(messages)
        if read + max_tokens > self.context:
            raise PromptTooLong(f"{read} and {max_tokens} do not fit")
        self.stopping = False
        if order == "noise":
            os.write(1, b"native noise\n")
            print("python noise", flush=True)  # noqa: T201
        written = 0
        reason = StopReason.LENGTH
        while written < max_tokens:
            if order == "die" and written == int(argument):
                os.kill(os.getpid(), signal.SIGKILL)
            if order == "fail":
                raise RuntimeError("a bug in the engine")
            if order == "hang":
                time.sleep(600)
            if order == "wait":  # as native code does: only stop() ends it
                while not self.stopping:
                    time.sleep(0.005)
            if stopped():
                reason = StopReason.CANCELLED
                break
            written += 1
            yield TextDelta(argument or PIECE)
        yield Finished(reason, read, 0, written, 0.0, 0.0)


if __name__ == "__main__":
    serve(lambda: ScriptedEngine(Path(sys.argv[1]), int(sys.argv[2])))
