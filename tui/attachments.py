"""Text that goes with a message: files that were attached, and long texts that were pasted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from localmem.errors import BadInput
from localmem.text import printable
from localmem.tui.text import one_line

LONGEST = 100_000
"""Characters of a message with all that is attached: more than a small model's window holds."""
LONG_PASTE = 2_000
"""Characters from which on a pasted text becomes an attachment."""
LONG_PASTE_LINES = 20


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text with a name."""

    name: str
    text: str

    def label(self) -> str:
        """Name and size, on one line."""
        lines = self.text.count("\n") + 1
        return f"{one_line(self.name, 40)} ({lines:,} {'line' if lines == 1 else 'lines'})"


def path_meant(text: str) -> Path:
    """A path as it was typed, or as a terminal writes a file that is dropped on it: quoted, or as a URL."""
    given = text.strip()
    if given.startswith("file://"):
        return Path(unquote(urlsplit(given).path))
    if not os.path.lexists(os.path.expanduser(given)):
        try:
            words = shlex.split(given)
        except ValueError:  # an apostrophe
            words = []
        if len(words) == 1:
            given = words[0]
    return Path(given).expanduser()


def completed(path: str) -> tuple[str, list[str]]:
    """A path that was begun, as far as it is clear how it goes on, and the names that it may go on to."""
    folder, slash, begun = path.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(folder + slash) or ".") as entries:
            names = sorted(
                entry.name + "/" * entry.is_dir()
                for entry in entries
                if entry.name.startswith(begun)
                and entry.name == printable(entry.name)  # others could not be typed
                and (begun or not entry.name.startswith("."))
            )
    except (OSError, ValueError):
        names = []
    common = os.path.commonprefix(names)  # noqa: RUF071  the letters that names have in common
    return f"{folder}{slash}{common}" if names else path, names


def read_attachment(path: str) -> Attachment:
    """A text file. Raises :class:`BadInput` for one that is missing, too large or no text."""
    given = path_meant(path)
    shown = one_line(str(given))
    try:
        if given.exists() and not given.is_file():  # to open a pipe would wait for who writes to it
            raise BadInput(f"{shown} is {'a folder' if given.is_dir() else 'no file'}. Give one text file.")
        with given.open("rb") as file:
            data = file.read(4 * LONGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{shown} cannot be read: {reason}.") from error
    if b"\0" in data[:8192]:
        raise BadInput(f"{shown} is no text file. Only text can be attached.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) <= 4 * LONGEST:
            raise BadInput(f"{shown} is no text in UTF-8. Only such text can be attached.") from error
        text = data.decode("utf-8", "replace")  # cut in the middle of a character; refused for its size
    if len(text) > LONGEST:
        raise BadInput(
            f"{shown} has more than {LONGEST:,} characters. `localmem import` takes long histories in; of "
            "other files attach the part that matters."
        )
    if not text.strip():
        raise BadInput(f"{shown} is empty.")
    return Attachment(given.name, text)


def pasted(text: str, number: int) -> Attachment | None:
    """A pasted text as an attachment, when it is long; None: it belongs in the message."""
    if len(text) < LONG_PASTE and text.count("\n") < LONG_PASTE_LINES:
        return None
    return Attachment(f"pasted text {number}", text)


def joined(attachments: Sequence[Attachment]) -> str:
    """The attachments as a message keeps them: each with its name above it."""
    return "\n\n".join(f"[{printable(item.name)}]\n{item.text}" for item in attachments)
