from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from localmem.models import cpus
from localmem.models.cpus import inference_threads, usable_cpus


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four cores of two threads each, numbered as Linux does: 0 and 4 are one core."""
    for cpu in range(8):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    monkeypatch.setattr(cpus, "_TOPOLOGY", tmp_path)
    monkeypatch.setattr(cpus, "_QUOTA", tmp_path / "cpu.max")
    return tmp_path


def use(monkeypatch: pytest.MonkeyPatch, *mask: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(mask), raising=False)


@pytest.mark.parametrize(
    ("mask", "cores"), [(range(8), 4), ((0, 1, 2, 3), 4), ((0, 4), 1), ((0, 4, 5), 2), ((7,), 1)]
)
def test_two_threads_of_a_core_count_once(
    machine: Path, monkeypatch: pytest.MonkeyPatch, mask: tuple[int, ...], cores: int
) -> None:
    use(monkeypatch, *mask)
    assert inference_threads() == cores
    assert usable_cpus() == len(mask)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 4),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("20000 100000", 1),
        ("900000 100000", 4),
    ],
)
def test_a_container_gets_no_more_threads_than_its_share(
    machine: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cores: int
) -> None:
    use(monkeypatch, *range(8))
    (machine / "cpu.max").write_text(quota + "\n")
    assert inference_threads() == cores


def test_without_topology_files_the_operating_system_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "_TOPOLOGY", tmp_path)
    monkeypatch.setattr(cpus, "_QUOTA", tmp_path / "cpu.max")
    use(monkeypatch, *range(8))
    for known, cores in [(4, 4), (16, 8), (None, 8)]:
        monkeypatch.setattr(psutil, "cpu_count", lambda logical, known=known: known)
        assert inference_threads() == cores


@pytest.mark.skipif(sys.platform != "linux", reason="no affinity masks elsewhere")
def test_this_machine_has_at_least_one_core() -> None:
    assert 1 <= inference_threads() <= usable_cpus()
