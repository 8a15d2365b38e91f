"""The models of one machine: what is installed, and which model serves which role.

``home/models/NAME/`` holds a model's files, ``home/settings.json`` the roles.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from localmem.models.catalog import CatalogEntry, ModelRole, catalog, find
from localmem.models.embedding import GRAPH, FastEmbedder
from localmem.models.errors import BadInput, ModelFileBad, ModelMissing
from localmem.models.fetch import Progress, fetch, file_sha256, is_intact, no_progress
from localmem.models.hashing import HashEmbedder
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatModel, Embedder

DEFAULT_CHAT = "smollm2-135m"
DEFAULT_EMBEDDER = "all-minilm-l6-v2"
LOCAL_CONTEXT = 8192
"""Window of a ``.gguf`` that is not in the catalogue, in tokens, or its own if that is smaller."""
_GGUF_MAGIC = b"GGUF"
_RECORD = "graph.json"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A line of ``localmem models list``."""

    name: str
    kind: Literal["chat", "embedding"]
    installed: bool
    """Its files are there with the right sizes; :meth:`Library.verify` checks their hashes."""
    size: int
    """Bytes on disk, or to be, of the model's files."""
    roles: tuple[ModelRole, ...]
    """The roles it serves now."""
    licence: str
    """SPDX name; empty for a local file."""
    note: str


class Library:
    """Models under ``home``. Models are loaded at the first use, and once for all their roles."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._chat: dict[str, HostedModel] = {}
        self._embedders: dict[str, Embedder] = {}

    def pull(self, name: str, progress: Progress = no_progress) -> bool:
        """Install a model; return False when it was there and intact.

        Raises :class:`BadInput` (unknown name), :class:`DownloadFailed`, :class:`ModelFileBad`.
        """
        entry = find(name)
        folder = self._folder(entry)
        fetched = fetch(entry, folder, progress)
        return self._derive(entry, folder) or fetched

    def verify(self, name: str) -> None:
        """Check the hash of every file; raises :class:`ModelMissing` or :class:`ModelFileBad`."""
        if _is_path(name):
            _check_gguf(Path(name))
            return
        entry = find(name)
        folder = self._folder(entry)
        self._require(entry)
        bad = [file.name for file in entry.file if not is_intact(file, folder)]
        if entry.graph is not None and not _graph_intact(folder):
            bad.append(GRAPH)
        if bad:
            raise ModelFileBad(
                f"{name} is damaged ({', '.join(bad)}). Get it again: localmem models pull {name}"
            )

    def use(self, role: str, name: str) -> None:
        """Let model ``name`` (a catalogue name or the path of a ``.gguf``) serve ``role``."""
        wanted = _role(role)
        kind = "embedding" if wanted is ModelRole.EMBEDDER else "chat"
        if _is_path(name):
            path = Path(name).expanduser().resolve()
            _check_gguf(path)
            if kind != "chat":
                raise BadInput("A .gguf file cannot be the embedder; localmem embeds with ONNX models.")
            name = str(path)
        else:
            entry = find(name)
            if entry.kind != kind:
                raise BadInput(f"{name} is for {entry.kind}; the role {role} needs a model for {kind}.")
            self._require(entry)
        settings = self._settings()
        settings.setdefault("roles", {})[wanted.value] = name
        self._save(settings)

    def role(self, role: str) -> str:
        """Name of the model that serves ``role``."""
        wanted = _role(role)
        default = DEFAULT_EMBEDDER if wanted is ModelRole.EMBEDDER else DEFAULT_CHAT
        name: str = self._settings().get("roles", {}).get(wanted.value, default)
        return name

    def status(self) -> list[ModelStatus]:
        """Every model of the catalogue, then local files in use."""
        serving: dict[str, list[ModelRole]] = {}
        for role in ModelRole:
            serving.setdefault(self.role(role), []).append(role)
        lines = [
            ModelStatus(
                entry.name,
                entry.kind,
                self._installed(entry),
                entry.size,
                tuple(serving.pop(entry.name, [])),
                entry.licence,
                entry.note,
            )
            for entry in catalog().values()
        ]
        for name, roles in serving.items():
            path = Path(name)
            there = path.is_file()
            size = path.stat().st_size if there else 0
            lines.append(ModelStatus(name, "chat", there, size, tuple(roles), "", "local file"))
        return lines

    def path(self, name: str) -> Path:
        """The weights of a chat model, the folder of an embedding model.

        Raises :class:`ModelMissing`, whose text names the command that gets it.
        """
        if _is_path(name):
            path = Path(name)
            if not path.is_file():
                raise ModelMissing(f"{name} is gone. Choose another model: localmem models use ROLE NAME")
            return path
        entry = find(name)
        self._require(entry)
        folder = self._folder(entry)
        return folder / entry.weights.name if entry.kind == "chat" else folder

    def chat_model(self, role: str) -> ChatModel:
        """The model that serves ``role``; raises :class:`ModelMissing`."""
        name = self.role(role)
        path = self.path(name)
        with self._lock:
            if name not in self._chat:
                if _is_path(name):
                    model = HostedModel(
                        path, name=path.stem, sha256=self._local_sha256(path), context=LOCAL_CONTEXT
                    )
                else:
                    entry = find(name)
                    model = HostedModel(path, name=name, sha256=entry.weights.sha256, context=entry.context)
                self._chat[name] = model
            return self._chat[name]

    def embedder(self) -> Embedder:
        """The embedding model; raises :class:`ModelMissing`."""
        name = self.role(ModelRole.EMBEDDER)
        entry = find(name)
        self._require(entry)
        with self._lock:
            if name not in self._embedders:
                self._embedders[name] = self._open_embedder(entry)
            return self._embedders[name]

    def close(self) -> None:
        """Free every model. Closing twice is allowed."""
        with self._lock:
            for model in self._chat.values():
                model.close()
            for embedder in self._embedders.values():
                embedder.close()
            self._chat.clear()
            self._embedders.clear()

    def _open_embedder(self, entry: CatalogEntry) -> Embedder:
        assert entry.dimension is not None
        if entry.graph is None:
            return HashEmbedder(entry.dimension)
        return FastEmbedder(
            self._folder(entry),
            name=entry.name,
            weights_sha256=entry.weights.sha256,
            variant=entry.graph,
            dimension=entry.dimension,
            window=entry.context,
        )

    def _folder(self, entry: CatalogEntry) -> Path:
        return self._home / "models" / entry.name

    def _require(self, entry: CatalogEntry) -> None:
        if not self._installed(entry):
            raise ModelMissing(
                f"The model {entry.name} is not on this machine. Get it: localmem models pull {entry.name}"
            )

    def _installed(self, entry: CatalogEntry) -> bool:
        folder = self._folder(entry)
        for file in entry.file:
            path = folder / file.name
            if not path.is_file() or path.stat().st_size != file.size:
                return False
        return entry.graph is None or _graph_variant(folder) == entry.graph

    def _derive(self, entry: CatalogEntry, folder: Path) -> bool:
        """Write an embedding model's graph unless it is there, intact and of today's variant."""
        if entry.graph is None or (_graph_variant(folder) == entry.graph and _graph_intact(folder)):
            return False
        from localmem.models.minilm import write_graph  # onnx takes a third of a second to import

        write_graph(folder / entry.weights.name, folder / GRAPH)
        record = {"variant": entry.graph, "sha256": file_sha256(folder / GRAPH)}
        _write_json(folder / _RECORD, record)
        return True

    def _local_sha256(self, path: Path) -> str:
        """Hash of a local file, remembered by size and time: 5 GB take ten seconds to read."""
        stat = path.stat()
        seen = [stat.st_size, stat.st_mtime_ns]
        settings = self._settings()
        known = settings.setdefault("local_files", {})
        if known.get(str(path), {}).get("seen") != seen:
            known[str(path)] = {"seen": seen, "sha256": file_sha256(path)}
            self._save(settings)
        sha256: str = known[str(path)]["sha256"]
        return sha256

    def _settings(self) -> dict[str, Any]:
        return _read_json(self._home / "settings.json")

    def _save(self, settings: dict[str, Any]) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        _write_json(self._home / "settings.json", settings)


def _role(role: str) -> ModelRole:
    try:
        return ModelRole(role)
    except ValueError:
        raise BadInput(f"{role!r} is not a role. Roles: {', '.join(ModelRole)}.") from None


def _is_path(name: str) -> bool:
    return name.lower().endswith(".gguf")


def _check_gguf(path: Path) -> None:
    if not path.is_file():
        raise BadInput(f"There is no file {path}.")
    with path.open("rb") as file:
        if file.read(len(_GGUF_MAGIC)) != _GGUF_MAGIC:
            raise ModelFileBad(f"{path} is not a GGUF model.")


def _graph_variant(folder: Path) -> str | None:
    """Variant of the graph in ``folder``; None when there is no graph."""
    if not (folder / GRAPH).is_file():
        return None
    variant: str | None = _read_json(folder / _RECORD).get("variant")
    return variant


def _graph_intact(folder: Path) -> bool:
    return _read_json(folder / _RECORD).get("sha256") == file_sha256(folder / GRAPH)


def _read_json(path: Path) -> dict[str, Any]:
    """The object in ``path``, empty when there is no file; raises :class:`BadInput`."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInput(f"{path} is not JSON ({error}). Correct it or remove it.") from error
    if not isinstance(value, dict):
        raise BadInput(f"{path} does not hold a JSON object. Correct it or remove it.")
    return value


def _write_json(path: Path, value: dict[str, Any]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)
