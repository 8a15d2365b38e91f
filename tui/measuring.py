"""How quick the chat is: starting, opening a long session, turning its pages, typing in it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from textual.events import Key

from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.tui.app import ChatApp
from localmem.tui.composer import Composer

COLUMNS, ROWS = 100, 40
PAGES = 300
"""Pages that are turned; a session may have fewer."""
KEYS = 100
PATIENCE_S = 120.0
_FRAME = b"New chat"
_COUNTED = b"in memory"


def measure(database: Path, session_id: int) -> dict[str, Any]:
    """Figures of the chat over the memory file ``database``, embedded by hash: a real file, a scripted model.

    ``start_s`` is from opening the file to the first frame, ``process`` the same in a terminal and from no
    process at all, ``open_session_s`` until the end of session ``session_id`` is on the screen, ``page_ms``
    from Page Up until the page and what comes above it is drawn, ``key_ms`` from a letter until it is.
    """
    in_terminal = _start_process(database)
    return {**asyncio.run(_measure(database, session_id)), "process": in_terminal}


async def _measure(database: Path, session_id: int) -> dict[str, Any]:
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
            pages = await _turn_pages(app)
    return {
        "start_s": start,
        "open_session_s": opened,
        "key_ms": _spread(keys),
        "page_ms": _spread(pages),
        "pages": len(pages),
    }


async def _type(app: ChatApp, composer: Composer) -> float:
    before = len(composer.text)
    started = time.perf_counter()
    app.post_message(Key("a", "a"))
    await _until(lambda: len(composer.text) > before)
    await _drawn(app)
    return time.perf_counter() - started


async def _turn_pages(app: ChatApp) -> list[float]:
    """Seconds of each page, from the end of the session upwards."""
    transcript = app.chat.talk.transcript
    seconds: list[float] = []
    while len(seconds) < PAGES and (transcript.first > 0 or transcript.scroll_y > 0):
        place = (transcript.first, transcript.scroll_y)
        started = time.perf_counter()
        app.post_message(Key("pageup", None))
        await _until(lambda place=place: (transcript.first, transcript.scroll_y) != place)  # type: ignore[misc]
        await _until(lambda: not transcript.waiting)
        await _drawn(app)
        seconds.append(time.perf_counter() - started)
    return seconds


async def _drawn(app: ChatApp) -> None:
    """Wait until what has changed is on the screen."""
    done = asyncio.Event()
    app.chat.call_after_refresh(done.set)
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
