from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"localmem": "localmem", "models": "localmem/models", "tui": "localmem/tui"}


def tree_files() -> set[str]:
    """What the wheel should hold, by its path in the wheel."""
    files = set()
    for folder, place in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                files.add(f"{place}/{path.relative_to(ROOT / folder).as_posix()}")
    return files


def test_every_package_is_listed() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        ".".join([*place.split("/"), *path.parent.relative_to(ROOT / folder).parts])
        for folder, place in FOLDERS.items()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert listed == found


def test_the_wheel_holds_exactly_the_tree(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    keep = [*FOLDERS, "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"]
    copy.mkdir()
    for name in keep:
        source = ROOT / name
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, copy / name, ignore=ignore) if source.is_dir() else shutil.copy(source, copy)
    script = "from setuptools.build_meta import build_wheel; build_wheel('.')"
    subprocess.run([sys.executable, "-c", script], cwd=copy, check=True, capture_output=True, timeout=120)
    (wheel,) = copy.glob("localmem_assistant-*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == tree_files()


@pytest.mark.parametrize("module", ["localmem", "localmem.memory", "localmem.cli", "localmem.models.library"])
def test_importing_loads_no_heavy_library(module: str) -> None:
    script = (
        f"import sys, {module}\n"
        "heavy = ('textual', 'llama_cpp', 'onnxruntime', 'onnx', 'fastembed')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_host_programs_own_models_and_tui_modules_do_no_harm(tmp_path: Path) -> None:
    for name in ("models", "tui"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n")
    script = (
        "import models, tui; from localmem import Memory; import localmem.models.library as library\n"
        "print(models.MINE, tui.MINE, Memory.__module__, library.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "True", "localmem.memory", "localmem.models.library"]
