"""The models of one machine: what is installed, and which model serves which role.

``home/models/NAME/`` holds a model's files, ``home/settings.json`` the roles.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from localmem.models.catalog import CatalogEntry, ModelRole, catalog, find
from localmem.models.checksum import file_sha256, is_intact
from localmem.models.embedding import GRAPH, FastEmbedder
from localmem.models.errors import BadInput, ModelFileBad, ModelMissing
from localmem.models.fetch import Progress, fetch, no_progress
from localmem.models.hashing import HashEmbedder
from localmem.models.jsonfile import read_json, write_json
from localmem.models.llama import HostedModel
from localmem.models.local import check_chat_file, inspect, ram
from localmem.models.protocols import ChatModel, Embedder
from localmem.models.record import pinned

DEFAULT_CHAT = "smollm2-135m"
DEFAULT_EMBEDDER = "all-minilm-l6-v2"
LOCAL_CONTEXT = 8192
"""Window of a ``.gguf`` that is not in the catalogue, in tokens, or its own if that is smaller."""
_RECORD = "graph.json"
_NICE = 15  # of background work: a thirtieth of a processor that something else wants


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
    """SPDX name or the model's own licence; empty for a local file."""
    note: str
    ram: int
    """Bytes of memory while it is in use with its whole window; 0 for a local file that is damaged."""


class Library:
    """Models under ``home``. Models are loaded at the first use, and once for all their roles."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._chat: dict[tuple[str, bool], HostedModel] = {}  # by name and whether it is for the background
        self._embedders: dict[str, Embedder] = {}

    def pull(self, name: str, progress: Progress = no_progress) -> bool:
        """Install a model; return False when it was there and intact.

        An interrupted download from the hub goes on at the next call from where it was.
        Raises :class:`BadInput` (unknown name), :class:`DownloadFailed`, :class:`ModelFileBad`.
        """
        entry = find(name)
        folder = self._folder(entry)
        fetched = fetch(entry, folder, progress)
        return self._derive(entry, folder) or fetched

    def verify(self, name: str) -> None:
        """Check the hash of every file; raises :class:`ModelMissing` or :class:`ModelFileBad`."""
        if _is_path(name):
            inspect(Path(name))
            return
        self._require(find(name))
        folder = self._folder(find(name))
        entry = pinned(find(name), folder)
        bad = [file.name for file in entry.file if not is_intact(file, folder)]
        if entry.graph is not None and not _graph_intact(folder):
            bad.append(GRAPH)
        if bad:
            raise ModelFileBad(
                f"{name} is damaged ({', '.join(bad)}). Get it again: localmem models pull {name}"
            )

    def use(self, role: str, name: str, *, forced: bool = False) -> None:
        """Let model ``name`` (a catalogue name or the path of a ``.gguf``) serve ``role``.

        ``forced`` is kept beside it: it serves even if it is not trusted with the role.
        """
        wanted = _role(role)
        name = self.suited(role, name)
        settings = self._settings()
        settings.setdefault("roles", {})[wanted.value] = name
        kept = set(settings.pop("forced", [])) - {wanted.value}
        if forced or kept:
            settings["forced"] = sorted(kept | {wanted.value} if forced else kept)
        self._save(settings)

    def suited(self, role: str, name: str) -> str:
        """``name`` as it is kept, if that model is of the kind for ``role`` and can be loaded.

        Raises :class:`BadInput`, :class:`ModelMissing` or :class:`ModelFileBad` that says why not.
        """
        kind = "embedding" if _role(role) is ModelRole.EMBEDDER else "chat"
        if _is_path(name):
            path = Path(name).expanduser().resolve()
            if kind != "chat":
                raise BadInput("A .gguf file cannot be the embedder; localmem embeds with ONNX models.")
            check_chat_file(path)
            return str(path)
        entry = find(name)
        if entry.kind != kind:
            raise BadInput(f"{name} is for {entry.kind}; the role {role} needs a model for {kind}.")
        self._require(entry)
        return name

    def role(self, role: str) -> str:
        """Name of the model that serves ``role``."""
        wanted = _role(role)
        default = DEFAULT_EMBEDDER if wanted is ModelRole.EMBEDDER else DEFAULT_CHAT
        name: str = self._settings().get("roles", {}).get(wanted.value, default)
        return name

    def forced(self, role: str) -> bool:
        """Whether the model that serves ``role`` was forced on it."""
        return _role(role).value in self._settings().get("forced", [])

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
                entry.ram(entry.context),
            )
            for entry in catalog().values()
        ]
        return [*lines, *(_local_status(Path(name), tuple(roles)) for name, roles in serving.items())]

    def installed(self, name: str) -> bool:
        """Whether the files of a catalogue's model are here with the right sizes."""
        return self._installed(find(name))

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

    def chat_model(self, role: str, *, background: bool = False) -> ChatModel:
        """The model that serves ``role``; raises :class:`ModelMissing`.

        ``background``: a process of its own that gives way to all other work. Both map the same file, so
        the weights take memory once, but for those that llama.cpp repacks (Q4_0, Q4_K, Q8_0).
        """
        return self.open_chat(self.role(role), background=background)

    def open_chat(self, name: str, *, background: bool = False) -> ChatModel:
        """A chat model by name, the path of a ``.gguf`` too; see :meth:`chat_model`."""
        path = self.path(name)
        with self._lock:
            if (name, background) not in self._chat:
                self._chat[name, background] = self._open_chat(name, path, nice=_NICE if background else 0)
            return self._chat[name, background]

    def loaded(self, name: str) -> bool:
        """Whether a chat model, opened for the foreground, is in memory now."""
        with self._lock:
            model = self._chat.get((name, False))
        return model is not None and model.pid is not None

    def unload(self, name: str) -> None:
        """Free the memory of a chat model in the foreground; its next use loads it again.

        One for the background may be at work, and frees its own after a while.
        """
        with self._lock:
            model = self._chat.get((name, False))
        if model is not None:
            model.close()

    def _open_chat(self, name: str, path: Path, nice: int) -> HostedModel:
        if _is_path(name):
            shown, context = path.stem, LOCAL_CONTEXT
            sha256, needs = self._local_sha256(path), ram(inspect(path), context)
        else:
            entry = find(name)
            shown, context = name, entry.context
            sha256, needs = self._sha256(entry), entry.ram(context)
        states = self._home / "cache" / "prefixes" / sha256[:16]
        return HostedModel(
            path, name=shown, sha256=sha256, context=context, states=states, ram=needs, nice=nice
        )

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
        if not entry.file:
            return HashEmbedder(entry.dimension)
        return FastEmbedder(
            self._folder(entry),
            name=entry.name,
            weights_sha256=self._sha256(entry),
            variant=entry.graph or "downloaded",
            dimension=entry.dimension,
            window=entry.context,
            pooling=entry.pooling,
            query_prefix=entry.query_prefix,
            document_prefix=entry.document_prefix,
        )

    def _folder(self, entry: CatalogEntry) -> Path:
        return self._home / "models" / entry.name

    def _sha256(self, entry: CatalogEntry) -> str:
        """Hash of the weights of an installed model."""
        sha256 = pinned(entry, self._folder(entry)).weights.sha256
        assert sha256 is not None
        return sha256

    def _require(self, entry: CatalogEntry) -> None:
        if not self._installed(entry):
            raise ModelMissing(
                f"The model {entry.name} is not on this machine. Get it: localmem models pull {entry.name}"
            )

    def _installed(self, entry: CatalogEntry) -> bool:
        folder = self._folder(entry)
        for file in pinned(entry, folder).file:
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
        write_json(folder / _RECORD, record)
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
        return read_json(self._home / "settings.json")

    def _save(self, settings: dict[str, Any]) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        write_json(self._home / "settings.json", settings)


def _role(role: str) -> ModelRole:
    try:
        return ModelRole(role)
    except ValueError:
        raise BadInput(f"{role!r} is not a role. Roles: {', '.join(ModelRole)}.") from None


def _is_path(name: str) -> bool:
    return name.lower().endswith(".gguf")


def _local_status(path: Path, roles: tuple[ModelRole, ...]) -> ModelStatus:
    there = path.is_file()
    size = path.stat().st_size if there else 0
    note, memory = "local file", 0
    if there:
        try:
            memory = ram(inspect(path), LOCAL_CONTEXT)
        except (ModelFileBad, BadInput) as error:
            note = str(error)
    return ModelStatus(str(path), "chat", there, size, roles, "", note, memory)


def _graph_variant(folder: Path) -> str | None:
    """Variant of the graph in ``folder``; None when there is no graph."""
    if not (folder / GRAPH).is_file():
        return None
    variant: str | None = read_json(folder / _RECORD).get("variant")
    return variant


def _graph_intact(folder: Path) -> bool:
    return read_json(folder / _RECORD).get("sha256") == file_sha256(folder / GRAPH)
