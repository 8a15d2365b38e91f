from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from localmem.models import selfcheck
from localmem.models.library import Library
from localmem.models.llama import HostedModel
from localmem.models.selfcheck import check_decode, check_llama_installed, run_checks

HOST = (sys.executable, "-P", str(Path(__file__).with_name("scripted_host.py")))


def library_with(model: HostedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Library:
    library = Library(tmp_path)
    monkeypatch.setattr(library, "chat_model", lambda role: model)
    return library


def test_a_build_that_dies_at_the_first_decode_is_found_with_the_command_that_repairs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HostedModel(Path("crash.gguf"), name="m", sha256="00", context=100, command=HOST)
    check = check_decode(library_with(model, monkeypatch, tmp_path))
    model.close()
    assert not check.ok
    assert "SIGSEGV" in check.detail
    assert 'CMAKE_ARGS="-DGGML_NATIVE=OFF ' in check.remedy
    assert "--no-cache-dir --force-reinstall" in check.remedy
    assert sys.executable in check.remedy


def test_a_model_that_writes_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HostedModel(Path("m.gguf"), name="m", sha256="00", context=100, command=HOST)
    check = check_decode(library_with(model, monkeypatch, tmp_path))
    model.close()
    assert (check.ok, check.remedy) == (True, "")
    assert "wrote 2" in check.detail


def test_missing_models_are_found_each_with_the_command_that_gets_it(tmp_path: Path) -> None:
    installed, files, decode, embedding = run_checks(Library(tmp_path))
    assert installed.ok
    assert not files.ok
    assert "localmem models pull smollm2-135m" in decode.detail
    assert "localmem models pull all-minilm-l6-v2" in embedding.detail


def test_a_machine_without_llama_cpp_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check = check_llama_installed()
    assert not check.ok
    assert check.remedy == selfcheck.reinstall_command()


@pytest.mark.real_model
def test_a_machine_with_everything_passes_every_check(models_home: Path) -> None:
    library = Library(models_home)
    checks = run_checks(library)
    library.close()
    assert [check for check in checks if not check.ok] == []
