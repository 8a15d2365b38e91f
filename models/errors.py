"""Every error that localmem raises on purpose.

The tree lives in the lowest layer so that all layers share one root::

    LocalmemError                  exit 1
    ├── BadInput                   exit 2   the caller gave something that cannot be used
    │   └── ImportFailed           exit 1   a file could not be read as a conversation history
    ├── ModelError                 exit 1
    │   ├── ModelMissing           exit 3   not on this machine; names the command that gets it
    │   ├── ModelFileBad           exit 1   wrong hash, truncated, or not a model
    │   ├── DownloadFailed         exit 1
    │   ├── ModelCrashed           exit 1   the host process died
    │   ├── ModelTimeout           exit 1   the deadline of a call passed
    │   └── PromptTooLong          exit 1   more tokens than the model's window
    ├── EmbeddingMismatch          exit 1   the store was embedded by another model
    └── StoreError                 exit 4
        ├── StoreDamaged           exit 4   not a database, or a broken one
        ├── StoreLocked            exit 4   another program holds it
        ├── StoreEncrypted         exit 4   no key or a wrong one
        └── StoreTooNew            exit 4   written by a newer localmem

A message says what happened and what to do about it, in words for the person at the terminal.
"""

from __future__ import annotations

from typing import ClassVar


class LocalmemError(Exception):
    """Root of the tree. ``exit_code`` is what the command line returns for it."""

    exit_code: ClassVar[int] = 1


class BadInput(LocalmemError):
    """The caller gave something that cannot be used; nothing was changed."""

    exit_code = 2


class ImportFailed(BadInput):
    """A file could not be read as a conversation history; nothing of it was taken in."""

    exit_code = 1


class ModelError(LocalmemError):
    """A model could not do what was asked of it."""


class ModelMissing(ModelError):
    """A model is not installed. The message names the command that gets it."""

    exit_code = 3


class ModelFileBad(ModelError):
    """A model file has a wrong hash, is cut short, or is no model."""


class DownloadFailed(ModelError):
    """A model could not be fetched."""


class ModelCrashed(ModelError):
    """The process that hosts the model died while it was needed."""


class ModelTimeout(ModelError):
    """A call did not finish before its deadline."""


class PromptTooLong(ModelError):
    """A prompt has more tokens than the model's window leaves room for."""


class EmbeddingMismatch(LocalmemError):
    """The store's vectors were made by another embedding model."""


class StoreError(LocalmemError):
    """The memory file cannot be used."""

    exit_code = 4


class StoreDamaged(StoreError):
    """The file is not a database, or is a broken one."""


class StoreLocked(StoreError):
    """Another program holds the file."""


class StoreEncrypted(StoreError):
    """The file is encrypted and the key is missing or wrong."""


class StoreTooNew(StoreError):
    """The file was written by a newer localmem."""
