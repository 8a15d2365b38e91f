"""Pulling from a hub: a mirror on loopback answers as the hub does, or misbehaves."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from localmem.cli import main
from localmem.models import catalog as catalogue
from localmem.models import hub
from localmem.models.catalog import CatalogEntry
from localmem.models.errors import DownloadFailed, ModelFileBad, ModelMissing
from localmem.models.fetch import fetch
from localmem.models.library import Library

COMMIT = "c" * 40
WEIGHTS = b"GGUF" + np.random.default_rng(3).bytes(600_000)
SMALL = b'{"model_max_length": 512, "pad_token": "[PAD]"}'


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Mirror(ThreadingHTTPServer):
    """A hub: large files lie on another host, which answers no HEAD; small ones here."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {"big/weights.gguf": WEIGHTS, "tokenizer_config.json": SMALL}
        self.requests: list[tuple[str, str | None]] = []
        """Method and range of each request for bytes or for their description."""
        self.status: int | None = None
        self.etag: str | None = None
        """What it says of large files instead of their hash."""
        self.cuts: list[int] = []
        """Bytes after which the next answers end."""
        self.stalls = False
        self.ignores_range = False
        self.released = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what is tested."""


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""

    @property
    def mirror(self) -> Mirror:
        return cast(Mirror, self.server)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        mirror = self.mirror
        where, _, name = self.path.partition("/resolve/")
        if self.path.startswith("/cdn/"):
            if not body:
                self.send_error(403)  # a signed address is for one method
                return
            self.send_bytes(mirror.files[self.path.removeprefix("/cdn/")])
            return
        mirror.requests.append((self.command, self.headers.get("Range")))
        if mirror.status is not None:
            self.send_error(mirror.status)
            return
        revision, _, name = name.partition("/")
        if name not in mirror.files or where != "/maker/model" or revision not in (COMMIT, "main"):
            self.send_error(404)
            return
        data = mirror.files[name]
        if name.startswith("big/"):
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{mirror.server_port}/cdn/{name}")
            self.send_header("X-Linked-Etag", f'"{mirror.etag or sha256(data)}"')
            self.send_header("X-Linked-Size", str(len(data)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            self.send_bytes(data if body else b"", etag=git, length=len(data))

    def send_bytes(self, data: bytes, *, etag: str = "elsewhere", length: int | None = None) -> None:
        mirror = self.mirror
        asked = self.headers.get("Range")
        start = 0
        if asked is not None and not mirror.ignores_range:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("ETag", f'"{etag}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(length or len(data) - start))
        self.end_headers()
        cut = mirror.cuts.pop(0) if mirror.cuts and len(data) > len(SMALL) else None
        self.wfile.write(data[start:] if cut is None else data[start : start + cut])
        self.wfile.flush()
        if cut is not None and mirror.stalls:
            mirror.released.wait(20)
        self.close_connection = True


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    server = Mirror()
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.setattr(hub, "_PAUSE", 0.0)
    monkeypatch.setattr(hub, "_READ", 0.3)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def entry(**changes: Any) -> CatalogEntry:
    """A model of two files, of the second of which the catalogue knows nothing."""
    weights = {
        "name": "weights.gguf",
        "path": "big/weights.gguf",
        "sha256": sha256(WEIGHTS),
        "size": len(WEIGHTS),
    }
    value: dict[str, Any] = {
        "name": "tiny",
        "kind": "chat",
        "roles": ["answerer"],
        "licence": "MIT",
        "context": 100,
        "parameters": 1,
        "buffers": 1,
        "hub": {"repo": "maker/model", "revision": COMMIT},
        "file": [weights, {"name": "tokenizer_config.json", "path": "tokenizer_config.json"}],
    }
    return CatalogEntry.model_validate(value | changes)


def unknown() -> CatalogEntry:
    """The same model, of whose weights only the size is known."""
    return entry(file=[{"name": "weights.gguf", "path": "big/weights.gguf", "size": len(WEIGHTS)}])


def partials(folder: Path) -> list[Path]:
    return list(folder.glob(".*.partial"))


def test_a_pull_puts_the_files_in_place_and_says_how_far_it_is(mirror: Mirror, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert fetch(entry(), tmp_path / "tiny", lambda done, total: seen.append((done, total)))
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS
    assert (tmp_path / "tiny" / "tokenizer_config.json").read_bytes() == SMALL
    assert partials(tmp_path / "tiny") == []
    total = len(WEIGHTS) + len(SMALL)
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


def test_what_is_there_and_intact_makes_no_request(mirror: Mirror, tmp_path: Path) -> None:
    fetch(entry(), tmp_path / "tiny")
    mirror.requests.clear()
    (tmp_path / ".tiny.lock").unlink()
    assert not fetch(entry(), tmp_path / "tiny")
    assert mirror.requests == []
    assert not (tmp_path / ".tiny.lock").exists(), "and nothing is written"


def test_only_the_damaged_file_is_fetched_again(mirror: Mirror, tmp_path: Path) -> None:
    fetch(entry(), tmp_path / "tiny")
    (tmp_path / "tiny" / "tokenizer_config.json").write_bytes(b"x" * len(SMALL))
    mirror.requests.clear()
    assert fetch(entry(), tmp_path / "tiny")
    assert (tmp_path / "tiny" / "tokenizer_config.json").read_bytes() == SMALL
    assert mirror.requests == [("HEAD", None), ("GET", None)]


def test_a_connection_that_breaks_is_taken_up_where_it_was(mirror: Mirror, tmp_path: Path) -> None:
    mirror.cuts = [100_000, 200_000]
    fetch(entry(), tmp_path / "tiny")
    ranges = [asked for method, asked in mirror.requests if method == "GET"]
    assert ranges[:3] == [None, "bytes=100000-", "bytes=300000-"]
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_a_hub_that_falls_silent_is_asked_again(mirror: Mirror, tmp_path: Path) -> None:
    mirror.cuts, mirror.stalls = [100_000], True
    fetch(entry(), tmp_path / "tiny")
    assert ("GET", "bytes=100000-") in mirror.requests
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_a_hub_that_brings_nothing_any_more_is_given_up_and_the_part_is_kept(
    mirror: Mirror, tmp_path: Path
) -> None:
    mirror.cuts = [100_000, 0, 0, 0]
    with pytest.raises(DownloadFailed, match="pull again to go on"):
        fetch(entry(), tmp_path / "tiny")
    assert [path.stat().st_size for path in partials(tmp_path / "tiny")] == [100_000]
    assert not (tmp_path / "tiny" / "weights.gguf").exists()
    mirror.requests.clear()
    fetch(entry(), tmp_path / "tiny")
    assert ("GET", "bytes=100000-") in mirror.requests
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_a_hub_without_ranges_sends_all_of_it_again(mirror: Mirror, tmp_path: Path) -> None:
    mirror.cuts, mirror.ignores_range = [100_000], True
    fetch(entry(), tmp_path / "tiny")
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_a_hub_without_ranges_that_always_breaks_is_given_up(mirror: Mirror, tmp_path: Path) -> None:
    mirror.cuts, mirror.ignores_range = [100_000] * 9, True
    with pytest.raises(DownloadFailed, match="pull again"):
        fetch(entry(), tmp_path / "tiny")


def test_an_interrupt_keeps_the_part(mirror: Mirror, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(entry(), tmp_path / "tiny", interrupt)
    [part] = partials(tmp_path / "tiny")
    kept = part.stat().st_size
    assert kept > 100_000
    assert part.read_bytes() == WEIGHTS[:kept]
    fetch(entry(), tmp_path / "tiny")
    assert ("GET", f"bytes={kept}-") in mirror.requests
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_a_killed_pull_goes_on_where_it_was(mirror: Mirror, tmp_path: Path) -> None:
    mirror.cuts, mirror.stalls = [200_000], True
    folder = tmp_path / "tiny"
    code = (
        "import sys\nfrom pathlib import Path\nfrom localmem.models import hub\n"
        "from localmem.models.catalog import CatalogEntry\nfrom localmem.models.fetch import fetch\n"
        "fetch(CatalogEntry.model_validate_json(sys.argv[1]), Path(sys.argv[2]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, entry().model_dump_json(), str(folder)])
    try:
        ends = time.monotonic() + 20
        while sum(part.stat().st_size for part in partials(folder)) < 190_000:
            assert time.monotonic() < ends, "nothing arrived"
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = partials(folder)[0].stat().st_size
    fetch(entry(), folder)
    assert ("GET", f"bytes={kept}-") in mirror.requests
    assert (folder / "weights.gguf").read_bytes() == WEIGHTS


def test_bytes_that_do_not_have_the_hash_are_thrown_away(mirror: Mirror, tmp_path: Path) -> None:
    mirror.etag = sha256(WEIGHTS)
    mirror.files["big/weights.gguf"] = WEIGHTS[:-1] + b"!"
    with pytest.raises(ModelFileBad, match="thrown away"):
        fetch(entry(), tmp_path / "tiny")
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_part_with_wrong_bytes_is_found_at_the_end(mirror: Mirror, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    part = folder / f".weights.gguf.{sha256(WEIGHTS)[:16]}.partial"
    part.write_bytes(b"\0" * 1000)
    with pytest.raises(ModelFileBad, match="thrown away"):
        fetch(entry(), folder)
    assert list(folder.iterdir()) == []


def test_another_file_on_the_hub_is_refused_before_it_is_fetched(mirror: Mirror, tmp_path: Path) -> None:
    mirror.etag = "d" * 64
    with pytest.raises(ModelFileBad, match="Nothing was fetched"):
        fetch(entry(), tmp_path / "tiny")
    assert [method for method, _ in mirror.requests] == ["HEAD"]


def test_a_part_of_a_file_that_the_hub_has_replaced_is_dropped(mirror: Mirror, tmp_path: Path) -> None:
    mirror.cuts = [100_000, 0, 0, 0]
    with pytest.raises(DownloadFailed):
        fetch(unknown(), tmp_path / "tiny")
    mirror.files["big/weights.gguf"] = newer = WEIGHTS[::-1]
    fetch(unknown(), tmp_path / "tiny")
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == newer
    assert partials(tmp_path / "tiny") == []


def test_a_hash_that_the_catalogue_does_not_know_is_the_hubs_and_is_recorded(
    mirror: Mirror, tmp_path: Path
) -> None:
    fetch(unknown(), tmp_path / "tiny")
    record = json.loads((tmp_path / "tiny" / "pulled.json").read_text())
    assert record == {
        "commit": COMMIT,
        "files": {"weights.gguf": {"sha256": sha256(WEIGHTS), "size": len(WEIGHTS)}},
    }
    (tmp_path / "tiny" / "weights.gguf").write_bytes(b"X" + WEIGHTS[1:])
    assert fetch(unknown(), tmp_path / "tiny"), "the record finds the damage"


@pytest.mark.parametrize("name", ["big/weights.gguf", "tokenizer_config.json"])
def test_a_hub_that_lies_about_an_unknown_file_is_found_out(
    mirror: Mirror, tmp_path: Path, name: str
) -> None:
    file = entry().file[name == "tokenizer_config.json"].model_copy(update={"sha256": None, "size": None})
    data = mirror.files[name]
    with hub.connect() as client:
        source = entry().hub
        assert source is not None
        remote = hub.describe(client, source, file)
        mirror.files[name] = data[:-1] + b"!"
        with pytest.raises(ModelFileBad, match="thrown away"):
            hub.download(client, remote, tmp_path / file.name, lambda done: None)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_any_hash_is_not_fetched(mirror: Mirror, tmp_path: Path) -> None:
    mirror.etag = "no-hash"
    with pytest.raises(DownloadFailed, match="hash"):
        fetch(unknown(), tmp_path / "tiny")


def test_more_bytes_than_were_announced_are_thrown_away(mirror: Mirror, tmp_path: Path) -> None:
    with hub.connect() as client:
        source = entry().hub
        assert source is not None
        remote = hub.describe(client, source, entry().file[0])
        mirror.files["big/weights.gguf"] = WEIGHTS + b"more"
        with pytest.raises(ModelFileBad, match="More than"):
            hub.download(client, remote, tmp_path / "weights.gguf", lambda done: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "with a browser"),
        (403, "with a browser"),
        (404, "choose another model"),
        (429, "Try again later"),
        (503, "Try again later"),
    ],
)
def test_a_refusal_says_what_to_do(mirror: Mirror, tmp_path: Path, status: int, says: str) -> None:
    mirror.status = status
    with pytest.raises(DownloadFailed, match=f"{status}.*{says}|{says}.*{status}"):
        fetch(entry(), tmp_path / "tiny")
    assert list((tmp_path / "tiny").iterdir()) == []


def test_no_network_says_what_to_do(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DownloadFailed, match=r"connection to 127\.0\.0\.1 failed.*HTTPS_PROXY"):
        fetch(entry(), tmp_path / "tiny")


def test_an_endpoint_that_is_no_address_is_refused(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "hub.example")
    with pytest.raises(DownloadFailed, match=r"HF_ENDPOINT is 'hub\.example'"):
        fetch(entry(), tmp_path / "tiny")


def test_a_disk_that_is_too_small_is_found_before_the_first_byte(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(DownloadFailed, match="10 MB are free"):
        fetch(entry(), tmp_path / "tiny")
    assert {method for method, _ in mirror.requests} == {"HEAD"}


def test_a_disk_that_fills_up_on_the_way_keeps_the_part(mirror: Mirror, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        with pytest.raises(DownloadFailed, match=r"cannot be written.*pull again"):
            fetch(entry(), tmp_path / "tiny")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    [part] = partials(tmp_path / "tiny")
    assert 0 < part.stat().st_size <= 150_000
    fetch(entry(), tmp_path / "tiny")
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_two_pulls_of_one_model_do_not_meet(mirror: Mirror, tmp_path: Path) -> None:
    tried = 0

    def again(done: int, total: int) -> None:
        nonlocal tried
        if done < len(WEIGHTS):  # later there is nothing left to fetch
            tried += 1
            with pytest.raises(DownloadFailed, match="Another localmem"):
                fetch(entry(), tmp_path / "tiny")

    fetch(entry(), tmp_path / "tiny", again)
    assert tried
    assert (tmp_path / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


@pytest.fixture
def shelf(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> dict[str, CatalogEntry]:
    """A catalogue of one model that is there and one that is not."""
    gone = entry(name="gone", hub={"repo": "maker/gone", "revision": "main"})
    entries = {"tiny": entry(), "gone": gone, **catalogue.catalog()}
    monkeypatch.setattr(catalogue, "catalog", lambda: entries)
    return entries


def test_pull_goes_on_after_a_model_that_fails_and_exits_1(
    shelf: dict[str, CatalogEntry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--home", str(tmp_path), "models", "pull", "gone", "tiny"])
    said = capsys.readouterr().err
    assert code == 1
    assert "gone: " in said
    assert "404" in said
    assert "tiny: installed" in said
    assert "1 of 2 models could not be fetched" in said
    assert (tmp_path / "models" / "tiny" / "weights.gguf").read_bytes() == WEIGHTS


def test_pull_says_size_source_and_licence_first(
    shelf: dict[str, CatalogEntry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", str(tmp_path), "models", "pull", "tiny"]) == 0
    first, last = capsys.readouterr().err.splitlines()
    assert first == "tiny: 1 MB from maker/model, licence: MIT"
    assert last == "tiny: installed."


def test_a_wrong_name_ends_a_pull_before_the_first_request(
    shelf: dict[str, CatalogEntry], mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", str(tmp_path), "models", "pull", "tiny", "tinny"]) == 2
    assert "'tinny'" in capsys.readouterr().err
    assert mirror.requests == []


def test_a_stopped_pull_says_that_it_can_go_on(
    shelf: dict[str, CatalogEntry],
    mirror: Mirror,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mirror.cuts = [100_000]

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hub.time, "sleep", interrupt)
    assert main(["--home", str(tmp_path), "models", "pull", "tiny"]) == 130
    assert "Go on: localmem models pull tiny" in capsys.readouterr().err
    assert [part.stat().st_size for part in partials(tmp_path / "models" / "tiny")] == [100_000]


def token_vectors(vocabulary: int) -> bytes:
    """An ONNX graph with a vector of its own for each token, as an encoder's last layer has them."""
    table = np.random.default_rng(5).standard_normal((vocabulary, 8)).astype(np.float32)
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", 8])
    node = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([node], "tiny", ids, [out], [numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return cast(bytes, onnx.ModelProto.SerializeToString(model))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_an_embedding_model_from_the_hub_is_pulled_verified_and_embeds(
    mirror: Mirror, tmp_path: Path, random_minilm: Path, monkeypatch: pytest.MonkeyPatch, pooling: str
) -> None:
    tokenizer = Tokenizer.from_file(str(random_minilm / "tokenizer.json"))
    graph = token_vectors(tokenizer.get_vocab_size())
    mirror.files |= {"big/m.onnx": graph, "tokenizer.json": (random_minilm / "tokenizer.json").read_bytes()}
    model = entry(
        name=f"tiny-{pooling}",
        kind="embedding",
        roles=["embedder"],
        context=20,
        parameters=None,
        dimension=8,
        pooling=pooling,
        query_prefix="ask: ",
        document_prefix="text: ",
        file=[
            {"name": "model.onnx", "path": "big/m.onnx", "size": len(graph)},
            {"name": "tokenizer.json", "path": "tokenizer.json"},
            {"name": "tokenizer_config.json", "path": "tokenizer_config.json"},
        ],
    )
    monkeypatch.setattr(catalogue, "catalog", lambda: {model.name: model})
    library = Library(tmp_path)
    with pytest.raises(ModelMissing, match=f"models pull {model.name}"):
        library.use("embedder", model.name)
    assert library.pull(model.name)
    library.verify(model.name)
    library.use("embedder", model.name)
    mirror.requests.clear()
    embedder = library.embedder()

    table = numpy_helper.to_array(onnx.load_model_from_string(graph).graph.initializer[0])
    ids = tokenizer.encode("text: abc").ids
    expected = table[ids[0]] if pooling == "cls" else table[ids].mean(axis=0)
    [vector] = embedder.embed_documents(["abc"])
    assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)
    assert (pooling == "cls") == np.allclose(vector, embedder.embed_query("abc"), atol=1e-5)
    long = "abcdefghij" * 5
    parts = embedder.split(long)
    assert "".join(parts) == long
    assert all(len(tokenizer.encode(f"text: {part}").ids) <= 20 for part in parts)
    assert mirror.requests == []
    library.close()
