"""Where a command gets the key of an encrypted memory: a file, the system's keyring, or the person."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

from localmem.errors import BadInput, StoreEncrypted
from localmem.privacy import keys


def present_key(path: Path, key_file: Path | None, *, piped: bool = False) -> str:
    """The key of an encrypted memory. Raises :class:`StoreEncrypted` when nobody can be asked for it.

    ``piped``: the command reads nothing else from stdin, so that a passphrase may come from there too.
    """
    if key_file is not None:
        return keys.key_from_file(key_file)
    kept = keys.key_from_keyring(path)
    if kept is not None:
        return kept
    if not (piped or sys.stdin.isatty()):
        raise StoreEncrypted(
            f"{path} is encrypted, or no localmem file. Give its key: --key-file FILE before the command, "
            "or LOCALMEM_KEY_FILE. (A pipe will do: --key-file /dev/stdin)"
        )
    return _typed(f"Passphrase for {path.name}: ")


def new_key(key_file: Path | None, keyring: bool, path: Path) -> str:
    """A key to encrypt with; a passphrase is asked for twice. ``keyring``: the system keeps it."""
    key = keys.key_from_file(key_file) if key_file is not None else _typed("New passphrase: ")
    if key_file is None and _typed("Once more: ") != key:
        raise BadInput("The two passphrases differ. Nothing was changed.")
    if keyring:
        keys.keep_in_keyring(path, key)
    return key


def _typed(prompt: str) -> str:
    """A passphrase from the terminal, unseen; else a line of stdin."""
    typed = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not typed:
        raise BadInput("No passphrase was given. Nothing was changed.")
    return keys.passphrase(typed)
