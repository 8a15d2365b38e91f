"""Where the key of an encrypted memory comes from, beside a prompt: a file, or the system's keyring.

There is no environment variable for it: every child process inherits those, and they end up in crash reports
and in ``/proc``. The variable ``LOCALMEM_KEY_FILE`` names a file.
"""

from __future__ import annotations

import importlib.util
import unicodedata
from pathlib import Path
from types import ModuleType

from localmem.errors import BadInput, StoreError

_SERVICE = "localmem"
_LARGEST = 1 << 16  # bytes; a key is no film


def passphrase(typed: str) -> str:
    """A passphrase as it counts: the same however a keyboard composes its letters."""
    return unicodedata.normalize("NFC", typed)


def key_from_file(path: Path) -> str:
    """The key in a file: its text without the last line's end; of bytes that are no text, their hexadecimal.

    Raises :class:`BadInput` when it cannot be read, is empty or far too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise BadInput(f"The key file {path} cannot be read: {error.strerror}.") from error
    if len(content) > _LARGEST:
        raise BadInput(f"{path} has more than {_LARGEST} bytes: that is no key file.")
    try:
        key = passphrase(content.decode("utf-8").removesuffix("\n").removesuffix("\r"))
    except UnicodeDecodeError:
        key = content.hex()
    if not key:
        raise BadInput(f"The key file {path} is empty.")
    return key


def key_from_keyring(path: Path) -> str | None:
    """The key that the system keeps for a memory file; None where it keeps none, or there is no keyring."""
    keyring = _keyring()
    if keyring is None:
        return None
    try:
        key: str | None = keyring.get_password(_SERVICE, str(path.resolve()))
    except keyring.errors.KeyringError:
        return None  # locked, or a system without one: the person is asked instead
    return key


def keep_in_keyring(path: Path, key: str) -> None:
    """Have the system keep the key of a memory file. Raises :class:`BadInput` without the library."""
    keyring = _keyring()
    if keyring is None:
        raise BadInput("The system's keyring needs a library: pip install 'localmem-assistant[keyring]'")
    try:
        keyring.set_password(_SERVICE, str(path.resolve()), key)
    except keyring.errors.KeyringError as error:
        raise StoreError(f"The system's keyring did not take the key: {error}") from error


def drop_from_keyring(path: Path) -> None:
    """Have the system forget the key of a memory file, if it keeps one."""
    keyring = _keyring()
    if keyring is None or key_from_keyring(path) is None:
        return
    keyring.delete_password(_SERVICE, str(path.resolve()))


def _keyring() -> ModuleType | None:
    """The optional library; it is loaded only for an encrypted file."""
    if importlib.util.find_spec("keyring") is None:
        return None
    import keyring
    import keyring.errors

    return keyring
