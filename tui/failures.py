"""What a person is told of a failure, in the chat and when it ended the chat."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from localmem import __version__
from localmem.errors import LocalmemError
from localmem.text import printable

TRACE = "crash.txt"
"""In the home folder: where in the program the last chat failed."""


class ChatFailed(LocalmemError):
    """The chat ended over a failure that nobody foresaw."""


def failure_text(error: BaseException | None) -> str:
    """A failure in words; errors made on purpose already are."""
    if isinstance(error, LocalmemError):
        return printable(str(error))
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return printable(f"{place}{error.strerror}.")
    return printable(
        f"This should not have happened: {type(error).__name__}: {error}. What was said is stored. "
        "localmem check tells whether the memory file is whole."
    )


def chat_failed(error: BaseException, home: Path | None) -> ChatFailed:
    """A failure that ended the chat, in words. Where it happened is written into the home."""
    kept = ""
    if home is not None:
        with suppress(OSError):  # a full disk may be the very reason
            (home / TRACE).write_text("\n".join(_trace(error)) + "\n", encoding="utf-8")
            kept = f" Where in the program is in {home / TRACE}; it has no word of yours."
    return ChatFailed(
        f"The chat failed ({type(error).__name__}); this should not have happened. What was acknowledged is "
        f"stored: localmem chat --last goes on.{kept}"
    )


def _trace(error: BaseException) -> Iterator[str]:
    """Types and places. Messages and variables are left out: they may hold what a person said."""
    yield f"localmem {__version__}, Python {platform.python_version()}, {datetime.now():%Y-%m-%d %H:%M}"
    cause: BaseException | None = error
    while cause is not None:
        yield f"{type(cause).__module__}.{type(cause).__qualname__}"
        for frame in traceback.extract_tb(cause.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} {frame.name}"
        cause = cause.__cause__ or cause.__context__
