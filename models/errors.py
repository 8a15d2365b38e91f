"""Every error that localmem raises on purpose.

The tree lives in the lowest layer so that all layers share one root::

    LocalmemError                  exit 1
    ├── BadInput                   exit 2   the caller gave something that cannot be used
    │   ├── SecretRefused          exit 2   a key, a card number or a password, where none is to be stored
    │   └── ImportFailed           exit 1   a file could not be read as a conversation history
    ├── ModelError                 exit 1
    │   ├── ModelMissing           exit 3   not on this machine; names the command that gets it
    │   ├── ModelFileBad           exit 1   wrong hash, truncated, or not a model
    │   ├── DownloadFailed         exit 1
    │   ├── ModelCrashed           exit 1   the host process died
    │   │   ├── ModelStalled       exit 1   it stopped working without dying, and was killed
    │   │   └── ModelOutOfMemory   exit 1   it got no memory
    │   ├── ModelTimeout           exit 1   the deadline of a call passed
    │   │   └── ModelUnaffordable  exit 1   it would have, or cost more tokens than are left: not started
    │   ├── ReplyUnusable          exit 1   no valid value, not even after one repair turn
    │   └── PromptTooLong          exit 1   more tokens than the model's window
    ├── Cancelled                  exit 1   the caller stopped it; no value is wanted any more
    ├── EmbeddingMismatch          exit 1   the store was embedded by another model
    ├── NetworkRefused             exit 1   something tried to use the network; nothing was sent
    └── StoreError                 exit 4
        ├── StoreDamaged           exit 4   not a database, or a broken one
        ├── StoreLocked            exit 4   another program holds it
        ├── StoreEncrypted         exit 4   no key or a wrong one
        └── StoreTooNew            exit 4   written by a newer localmem

A message says what happened and what to do about it, in words for the person at the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from localmem.models.protocols import Finished

Fault = Literal["empty", "no JSON", "cut off", "broken JSON", "wrong value"]
"""What was wrong with a reply that should have been JSON."""


class LocalmemError(Exception):
    """Root of the tree. ``exit_code`` is what the command line returns for it."""

    exit_code: ClassVar[int] = 1


class BadInput(LocalmemError):
    """The caller gave something that cannot be used; nothing was changed."""

    exit_code = 2


class SecretRefused(BadInput):
    """A message holds a secret and the settings refuse such; nothing was stored."""

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__(
            f"This holds a secret ({', '.join(kinds)}), which your settings refuse to keep. Take it out, or "
            "have it masked: --secrets mask"
        )
        self.kinds = tuple(kinds)


class ImportFailed(BadInput):
    """A file or a record of it could not be read as a conversation; nothing of that record was taken in."""

    exit_code = 1


class ModelError(LocalmemError):
    """A model could not do what was asked of it."""

    cost: tuple[Finished, ...] = ()
    """Of a structured call: the model calls that it had made, as far as they were finished."""


class ModelMissing(ModelError):
    """A model is not installed. The message names the command that gets it."""

    exit_code = 3


class ModelFileBad(ModelError):
    """A model file has a wrong hash, is cut short, or is no model."""


class DownloadFailed(ModelError):
    """A model could not be fetched."""


class ModelCrashed(ModelError):
    """The process that hosts the model died while it was needed."""


class ModelStalled(ModelCrashed):
    """The process that hosts the model made no progress any more and was killed."""


class ModelOutOfMemory(ModelCrashed):
    """The process that hosts the model was refused memory."""


class ReplyUnusable(ModelError):
    """A structured call gave no valid value, not even after its repair turn."""

    def __init__(self, message: str, fault: Fault) -> None:
        super().__init__(message)
        self.fault = fault


class ModelTimeout(ModelError):
    """A call did not finish before its deadline."""


class ModelUnaffordable(ModelTimeout):
    """A call was not started: it would cost more time or more tokens than a budget has left."""


class PromptTooLong(ModelError):
    """A prompt has more tokens than the model's window leaves room for."""


class Cancelled(LocalmemError):
    """The caller stopped a call that would have given a value. No model failed: nothing stands in for it."""

    cost: tuple[Finished, ...] = ()
    """The model calls that it had made, as far as they were finished."""


class EmbeddingMismatch(LocalmemError):
    """The store's vectors were made by another embedding model."""


class NetworkRefused(LocalmemError):
    """Something tried to use the network outside of what the user asked for. Nothing was sent."""


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
