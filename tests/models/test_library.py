from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from localmem.models.catalog import ModelRole, catalog, find
from localmem.models.embedding import FastEmbedder
from localmem.models.errors import BadInput, ModelFileBad, ModelMissing
from localmem.models.hashing import HashEmbedder
from localmem.models.library import Library


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "home")


def pretend_installed(library: Library, home: Path, name: str) -> None:
    """Files of the right sizes, full of nothing."""
    folder = home / "models" / name
    folder.mkdir(parents=True)
    for file in find(name).file:
        assert file.size is not None
        (folder / file.name).touch()
        os.truncate(folder / file.name, file.size)


def gguf(path: Path, *, name: str = "m") -> Path:
    """A chat model of two layers that llama.cpp knows; the weights are nought."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def texts(*values: str) -> bytes:
        return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))

    def one(value: str) -> bytes:
        return struct.pack("<I", 8) + text(value)

    def numbers(*values: int) -> bytes:
        return struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)

    values = {
        "general.architecture": one("llama"),
        "general.name": one(name),
        "llama.context_length": struct.pack("<II", 4, 64),
        "llama.embedding_length": struct.pack("<II", 4, 32),
        "llama.block_count": struct.pack("<II", 4, 2),
        "llama.feed_forward_length": struct.pack("<II", 4, 32),
        "llama.attention.head_count": struct.pack("<II", 4, 4),
        "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", 6, 1e-5),
        "tokenizer.ggml.model": one("gpt2"),
        "tokenizer.ggml.tokens": texts("<s>", "</s>", "a", "b", "ab"),
        "tokenizer.ggml.token_type": numbers(3, 3, 1, 1, 1),
        "tokenizer.ggml.merges": texts("a b"),
        "tokenizer.chat_template": one("{{ messages }}"),
    }
    data = b"GGUF" + struct.pack("<IQQ", 3, 1, len(values))
    data += b"".join(text(key) + value for key, value in values.items())
    data += text("output_norm.weight") + struct.pack("<IQIQ", 1, 32, 0, 0)
    path.write_bytes(data + bytes(-len(data) % 32) + bytes(128))
    return path


def test_every_role_has_a_default(library: Library) -> None:
    roles = {role: library.role(role) for role in ModelRole}
    assert roles.pop(ModelRole.EMBEDDER) == "all-minilm-l6-v2"
    assert set(roles.values()) == {"smollm2-135m"}


def test_a_model_that_is_not_here_names_the_command_that_gets_it(library: Library) -> None:
    with pytest.raises(ModelMissing, match="localmem models pull smollm2-135m"):
        library.chat_model("answerer")
    with pytest.raises(ModelMissing, match="localmem models pull all-minilm-l6-v2"):
        library.embedder()
    with pytest.raises(ModelMissing, match="localmem models pull smollm2-135m"):
        library.path("smollm2-135m")
    with pytest.raises(ModelMissing):
        library.verify("smollm2-135m")


def test_the_choice_of_a_model_is_kept(library: Library, tmp_path: Path) -> None:
    library.use("embedder", "hash")
    again = Library(tmp_path / "home")
    assert again.role("embedder") == "hash"
    assert isinstance(again.embedder(), HashEmbedder)
    assert again.embedder() is again.embedder()


def test_choosing_keeps_what_else_the_settings_say(library: Library, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"theme": "dark", "roles": {"judge": "x"}}))
    library.use("embedder", "hash")
    settings = json.loads((home / "settings.json").read_text())
    assert settings == {"theme": "dark", "roles": {"judge": "x", "embedder": "hash"}}
    assert [path.name for path in home.iterdir()] == ["settings.json"]


def test_settings_that_are_no_json_are_reported_with_their_place(library: Library, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text("{")
    with pytest.raises(BadInput, match=r"settings\.json is not JSON"):
        library.role("answerer")


@pytest.mark.parametrize(
    ("role", "name", "says"),
    [
        ("singer", "hash", "Roles: summariser"),
        ("embedder", "gpt-9", "Known models: smollm2-135m"),
        ("answerer", "hash", "needs a model for chat"),
        ("embedder", "smollm2-135m", "needs a model for embedding"),
        ("answerer", "/nowhere/x.gguf", "There is no file"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(library: Library, role: str, name: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        library.use(role, name)


def test_a_model_must_be_installed_to_be_chosen(library: Library, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="models pull"):
        library.use("judge", "smollm2-135m")
    pretend_installed(library, tmp_path / "home", "smollm2-135m")
    library.use("judge", "smollm2-135m")


def test_a_local_gguf_can_serve_a_role(library: Library, tmp_path: Path) -> None:
    path = gguf(tmp_path / "my model.gguf")
    library.use("answerer", str(path))
    assert library.role("answerer") == str(path)
    model = library.chat_model("answerer")
    assert model.name == "my model"
    assert model.fingerprint.startswith("sha256:")
    line = library.status()[-1]
    assert (line.name, line.installed, line.roles) == (str(path), True, (ModelRole.ANSWERER,))
    assert line.size == path.stat().st_size
    assert line.ram > 100_000_000
    library.close()


def test_the_fingerprint_of_a_local_file_follows_its_content(library: Library, tmp_path: Path) -> None:
    path = gguf(tmp_path / "m.gguf")
    library.use("answerer", str(path))
    first = library.chat_model("answerer").fingerprint
    library.close()
    gguf(path, name="another")
    assert library.chat_model("answerer").fingerprint != first
    library.close()


def test_a_file_without_the_magic_is_no_model(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_text("<html>not found</html>")
    with pytest.raises(ModelFileBad, match="is not a GGUF model"):
        library.use("answerer", str(path))


def test_a_local_file_that_was_damaged_later_is_listed_with_the_reason(
    library: Library, tmp_path: Path
) -> None:
    path = gguf(tmp_path / "m.gguf")
    library.use("answerer", str(path))
    path.write_bytes(path.read_bytes()[:-1])
    line = library.status()[-1]
    assert line.ram == 0
    assert "cut short" in line.note
    with pytest.raises(ModelFileBad, match="cut short"):
        library.verify(str(path))


def test_a_local_file_that_is_gone_is_said_to_be(library: Library, tmp_path: Path) -> None:
    path = gguf(tmp_path / "m.gguf")
    library.use("answerer", str(path))
    path.unlink()
    with pytest.raises(ModelMissing, match="is gone"):
        library.chat_model("answerer")
    assert not library.status()[-1].installed


def test_one_model_for_several_roles_is_one_object(library: Library, tmp_path: Path) -> None:
    pretend_installed(library, tmp_path / "home", "smollm2-135m")
    assert library.chat_model("answerer") is library.chat_model("judge")
    library.close()
    library.close()


def test_a_file_of_the_right_size_and_wrong_content_fails_verification(
    library: Library, tmp_path: Path
) -> None:
    pretend_installed(library, tmp_path / "home", "smollm2-135m")
    with pytest.raises(ModelFileBad, match=r"smollm2-135m is damaged.*localmem models pull smollm2-135m"):
        library.verify("smollm2-135m")


def test_weights_without_their_graph_are_not_installed(library: Library, tmp_path: Path) -> None:
    pretend_installed(library, tmp_path / "home", "all-minilm-l6-v2")
    status = {line.name: line for line in library.status()}
    assert not status["all-minilm-l6-v2"].installed
    with pytest.raises(ModelMissing):
        library.embedder()


def test_the_status_lists_every_known_model(library: Library) -> None:
    lines = {line.name: line for line in library.status()}
    assert list(lines) == list(catalog())
    assert all(lines[name].ram == entry.ram(entry.context) for name, entry in catalog().items())
    assert not library.installed("qwen3-8b")
    assert library.installed("hash")
    assert lines["hash"].installed
    assert not lines["smollm2-135m"].installed
    assert lines["all-minilm-l6-v2"].roles == (ModelRole.EMBEDDER,)
    assert len(lines["smollm2-135m"].roles) == 5


@pytest.mark.real_model
def test_pulled_models_verify_and_open(models_home: Path) -> None:
    library = Library(models_home)
    assert library.pull("smollm2-135m") is False
    assert library.pull("all-minilm-l6-v2") is False
    library.verify("smollm2-135m")
    library.verify("all-minilm-l6-v2")
    assert isinstance(library.embedder(), FastEmbedder)
    library.close()


@pytest.mark.real_model
def test_a_lost_or_damaged_graph_is_written_again_without_a_download(
    models_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "home" / "models" / "all-minilm-l6-v2"
    folder.mkdir(parents=True)
    for file in find("all-minilm-l6-v2").file:
        (folder / file.name).symlink_to(models_home / "models" / "all-minilm-l6-v2" / file.name)
    library = Library(tmp_path / "home")
    assert library.pull("all-minilm-l6-v2") is True
    library.verify("all-minilm-l6-v2")
    (folder / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(ModelFileBad, match=r"model\.onnx"):
        library.verify("all-minilm-l6-v2")
    assert library.pull("all-minilm-l6-v2") is True
    library.verify("all-minilm-l6-v2")
