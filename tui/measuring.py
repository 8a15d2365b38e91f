"""How quick the chat is: starting, opening a long session, turning its pages, typing in it."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from textual.events import Key, MouseScrollUp

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.tui.app import ChatApp
from localmem.tui.composer import Composer

COLUMNS, ROWS = 100, 40
PAGES = 300
"""Pages that are turned up, and notches of the wheel; half as many pages are turned down again."""
KEYS = 100
TICK_S = 0.005
PATIENCE_S = 120.0
_FRAME = b"New chat"
_COUNTED = b"in memory"


def measure(database: Path, session_id: int) -> dict[str, Any]:
    """Figures of the chat over the memory file ``database``, embedded by hash: a real file, a scripted model.

    ``start_s`` is from opening the file to the first frame, ``process`` the same in a terminal and from no
    process at all, ``open_session_s`` until the end of session ``session_id`` is on the screen, ``key_ms``
    from a letter until it is drawn. ``page_ms`` is from Page Up until the page is drawn, one page turned at
    once after the other; ``down_ms`` the same of Page Down, ``wheel_ms`` of a notch of the wheel up.
    ``stall_ms`` is how late a key was taken meanwhile.
    """
    in_terminal = _start_process(database)
    return {**asyncio.run(_measure(database, session_id)), "process": in_terminal}


async def _measure(database: Path, session_id: int) -> dict[str, Any]:
    gc.collect()
    gc.freeze()  # as the chat does when it starts
    started = time.perf_counter()
    with Memory(database, HashEmbedder()) as memory:
        app = ChatApp(memory, ScriptedModel, None)
        app.animation_level = "none"
        async with app.run_test(size=(COLUMNS, ROWS)):
            await _drawn(app)
            start = time.perf_counter() - started
            talk, composer = app.chat.talk, app.chat.query_one(Composer)
            started = time.perf_counter()
            talk.open(session_id)
            await _until(lambda: bool(talk.transcript.views) and not talk.opening)
            await _drawn(app)
            opened = time.perf_counter() - started
            composer.focus()
            await _until(lambda: composer.has_focus)
            keys = [await _type(app, composer) for _ in range(KEYS)]
            async with _stalls() as stalls:
                pages = await _turn(app, "pageup", PAGES)
                downs = await _turn(app, "pagedown", PAGES // 2)
                wheel = await _turn(app, "wheel", PAGES)
    gc.unfreeze()
    return {
        "start_s": start,
        "open_session_s": opened,
        "key_ms": _spread(keys),
        "page_ms": _spread(pages),
        "pages": len(pages),
        "down_ms": _spread(downs),
        "wheel_ms": _spread(wheel),
        "stall_ms": _spread(stalls),
    }


@asynccontextmanager
async def _stalls() -> AsyncIterator[list[float]]:
    """Seconds by which something that is due every few milliseconds comes late, as a key would."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            due = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            late.append(time.perf_counter() - due)

    task = asyncio.create_task(tick())
    try:
        yield late
    finally:
        task.cancel()


async def _type(app: ChatApp, composer: Composer) -> float:
    before = len(composer.text)
    started = time.perf_counter()
    app.post_message(Key("a", "a"))
    await _until(lambda: len(composer.text) > before)
    await _drawn(app)
    return time.perf_counter() - started


async def _turn(app: ChatApp, by: str, times: int) -> list[float]:
    """Seconds of each scroll, one at once after the other; until there is no more, or so many ``times``."""
    up = by != "pagedown"
    transcript = app.chat.talk.transcript
    seconds: list[float] = []
    while len(seconds) < times and (transcript.reading > (0, 0) if up else transcript.end < transcript.total):
        started = time.perf_counter()
        await _until(lambda: transcript.scroll_y != (0 if up else transcript.max_scroll_y))
        place = transcript.reading
        if by == "wheel":
            transcript.post_message(MouseScrollUp(transcript, 1, 1, 0, 0, 0, False, False, False))
        else:
            app.post_message(Key(by, None))
        await _until(lambda place=place: transcript.reading != place)  # type: ignore[misc]
        await _drawn(app)
        seconds.append(time.perf_counter() - started)
    return seconds


async def _drawn(app: ChatApp) -> None:
    """Wait until what has changed is on the screen."""
    done = asyncio.Event()
    app.chat.talk.transcript.call_after_refresh(done.set)
    await done.wait()


async def _until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"The chat did not get on within {PATIENCE_S:.0f} s.")
        await asyncio.sleep(0)


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    if not seconds:
        return {}
    p50, p95 = np.percentile(seconds, [50, 95])
    return {"p50": 1e3 * float(p50), "p95": 1e3 * float(p95), "max": 1e3 * max(seconds)}


def _start_process(database: Path) -> dict[str, float]:
    """Seconds from starting a process until its first frame, and until it says how much is remembered."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    command = [sys.executable, "-P", "-m", "localmem.tui.measuring", str(database)]
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True
    )
    os.close(its)
    try:
        seen = b""
        found: dict[str, float] = {}
        while len(found) < 2:
            if not select.select([ours], [], [], PATIENCE_S)[0]:
                raise TimeoutError(f"The chat did not start within {PATIENCE_S:.0f} s.")
            seen += os.read(ours, 65536)
            for name, text in (("first_frame_s", _FRAME), ("memory_counted_s", _COUNTED)):
                if text in seen:
                    found.setdefault(name, time.perf_counter() - started)
        os.write(ours, b"\x11")  # Ctrl+Q
        with suppress(OSError):  # the terminal of a process that has ended cannot be read
            while select.select([ours], [], [], PATIENCE_S)[0] and os.read(ours, 65536):
                pass
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return found


def main() -> None:
    """Show the chat over a memory file that is embedded by hash: what is measured in a terminal."""
    with Memory(Path(sys.argv[1]), HashEmbedder()) as memory:
        ChatApp(memory, ScriptedModel, None).run()


if __name__ == "__main__":
    main()
