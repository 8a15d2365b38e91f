"""What is being written, edited in the person's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from localmem.errors import BadInput
from localmem.tui.text import one_line

_USUAL = ("nano", "vi", "notepad")


def edited(text: str) -> str:
    """``text`` as the editor of ``VISUAL`` or ``EDITOR`` leaves it; the terminal must be free for that.

    It is in a file that only this user can read, and that is gone afterwards. Raises :class:`BadInput` when
    there is no editor, it fails, or what it leaves is no text.
    """
    command = _editor()
    with tempfile.TemporaryDirectory(prefix="localmem-") as folder:
        path = Path(folder) / "message.md"
        path.write_bytes(f"{text}\n".encode("utf-8", "replace"))
        try:
            done = subprocess.run([*command, str(path)], check=False)
            left = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise BadInput(f"The editor {one_line(command[0])} cannot be used: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise BadInput("What the editor left is no text in UTF-8, so nothing was changed.") from error
    if done.returncode:
        raise BadInput(f"The editor ended with error {done.returncode}, so nothing was changed.")
    return left.replace("\r\n", "\n").removesuffix("\n")


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        if given := os.environ.get(name, "").strip():
            try:
                return shlex.split(given, posix=os.name == "posix")
            except ValueError as error:
                raise BadInput(f"{name} is not a command: {one_line(given)}.") from error
    found = next(filter(None, map(shutil.which, _USUAL)), None)
    if found is None:
        raise BadInput("No editor was found. Name yours in EDITOR, as in: export EDITOR=nano")
    return [found]
