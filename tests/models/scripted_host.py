"""A host process with an engine that does what the prompt says. Run as a script by the tests."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from localmem.models.errors import ModelFileBad, ModelOutOfMemory, PromptTooLong
from localmem.models.host import serve
from localmem.models.protocols import (
    ChatMessage,
    Finished,
    Generated,
    Sampling,
    StopReason,
    TextDelta,
    ThoughtDelta,
)

PIECE = "word "


class ScriptedEngine:
    def __init__(self, path: Path, context: int, beat: Callable[[], None]) -> None:
        match path.name:
            case "bad.gguf":
                raise ModelFileBad("no model in it")
            case "big.gguf":
                raise ModelOutOfMemory("There is not enough free memory for the model.")
            case "crash.gguf":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "slow.gguf":
                time.sleep(600)
            case "large.gguf":  # takes its time, and says so
                for _ in range(200):
                    beat()
                    time.sleep(0.01)
        self.context = context
        self.stopping = False
        self.beat = beat

    def count(self, messages: list[ChatMessage]) -> int:
        return sum(len(message.text.split()) for message in messages)

    def rest(self) -> None:
        pass

    def stop(self) -> None:
        self.stopping = True

    def generate(
        self,
        messages: list[ChatMessage],
        max_tokens: int,
        fixed: int,
        grammar: str | None,
        sampling: Sampling | None,
        think: int,
        stopped: Callable[[], bool],
    ) -> Iterator[Generated]:
        order, _, argument = messages[-1].text.partition(" ")
        read = self.count(messages)
        if read + max_tokens > self.context:
            raise PromptTooLong(f"{read} and {max_tokens} do not fit")
        self.stopping = False
        written = 0
        reason = StopReason.LENGTH
        while written < max_tokens:
            self.obey(order, argument, written)
            if order == "tell":
                argument = (
                    f"fixed={fixed} grammar={grammar} sampling={sampling} think={think} states={sys.argv[3]}"
                )
            if stopped():
                reason = StopReason.CANCELLED
                break
            written += 1
            yield ThoughtDelta(PIECE) if order == "think" and written < 3 else TextDelta(argument or PIECE)
        yield Finished(reason, read, 0, written, 0.0, 0.0)

    def obey(self, order: str, argument: str, written: int) -> None:
        """What happens before a token is written."""
        match order:
            case "noise":
                os.write(1, b"native noise\n")
                print("python noise", flush=True)  # noqa: T201
            case "die" if written == int(argument):
                os.kill(os.getpid(), signal.SIGKILL)
            case "segfault" if written == int(argument):
                os.kill(os.getpid(), signal.SIGSEGV)
            case "abort":  # as C++ does when it gets no memory, or for any other reason
                os.write(2, argument.encode() + b"\n")
                os.abort()
            case "fail":
                raise RuntimeError("a bug in the engine")
            case "starve":
                raise MemoryError
            case "hang":
                time.sleep(600)
            case "loop":  # native code that keeps the interpreter's lock: nothing else in the process runs
                ctypes.PyDLL(None).sleep(600)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
                time.sleep(60)  # another thread may take the signal: this one must not run on until then
            case "work" if written == 0:  # long, and says that it gets on
                end = time.monotonic() + float(argument)
                while time.monotonic() < end:
                    self.beat()
                    time.sleep(0.01)
            case "wait":  # as native code does: only stop() ends it
                while not self.stopping:
                    time.sleep(0.005)


if __name__ == "__main__":
    serve(lambda beat: ScriptedEngine(Path(sys.argv[1]), int(sys.argv[2]), beat))
