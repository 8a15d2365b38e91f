"""The errors of localmem under one name; the tree is drawn in :mod:`localmem.models.errors`."""

from __future__ import annotations

from localmem.models.errors import (
    BadInput,
    Cancelled,
    DownloadFailed,
    EmbeddingMismatch,
    ImportFailed,
    LocalmemError,
    ModelCrashed,
    ModelError,
    ModelFileBad,
    ModelMissing,
    ModelOutOfMemory,
    ModelStalled,
    ModelTimeout,
    PromptTooLong,
    ReplyUnusable,
    StoreDamaged,
    StoreEncrypted,
    StoreError,
    StoreLocked,
    StoreTooNew,
)

__all__ = [
    "BadInput",
    "Cancelled",
    "DownloadFailed",
    "EmbeddingMismatch",
    "ImportFailed",
    "LocalmemError",
    "ModelCrashed",
    "ModelError",
    "ModelFileBad",
    "ModelMissing",
    "ModelOutOfMemory",
    "ModelStalled",
    "ModelTimeout",
    "PromptTooLong",
    "ReplyUnusable",
    "StoreDamaged",
    "StoreEncrypted",
    "StoreError",
    "StoreLocked",
    "StoreTooNew",
]
