"""The errors of localmem under one name; the tree is drawn in :mod:`localmem.models.errors`."""

from __future__ import annotations

from localmem.models.errors import (
    BadInput,
    DownloadFailed,
    EmbeddingMismatch,
    ImportFailed,
    LocalmemError,
    ModelCrashed,
    ModelError,
    ModelFileBad,
    ModelMissing,
    ModelTimeout,
    PromptTooLong,
    StoreDamaged,
    StoreEncrypted,
    StoreError,
    StoreLocked,
    StoreTooNew,
)

__all__ = [
    "BadInput",
    "DownloadFailed",
    "EmbeddingMismatch",
    "ImportFailed",
    "LocalmemError",
    "ModelCrashed",
    "ModelError",
    "ModelFileBad",
    "ModelMissing",
    "ModelTimeout",
    "PromptTooLong",
    "StoreDamaged",
    "StoreEncrypted",
    "StoreError",
    "StoreLocked",
    "StoreTooNew",
]
