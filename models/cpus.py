"""How many processors this process may use."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

_TOPOLOGY = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cpus() -> int:
    """Processors in this process's affinity mask; containers and taskset narrow it."""
    return len(_mask()) or os.cpu_count() or 1


def inference_threads() -> int:
    """Threads for llama.cpp: one for each physical core that this process may use.

    Two threads on one core share its vector units and only wait for each other. The affinity mask and a
    container's processor quota narrow it.

    It does not follow the load of the machine. Flash attention sums a long context in as many parts
    as there are threads, so their number shows in the text: with one thread instead of two, 8 of 12
    prompts of 640 tokens were answered in other words, at temperature 0. One busy core of two costs
    two thirds of the speed and not all of it, as waiting threads hardly spin
    (:mod:`localmem.models.spawn`).
    """
    mask = _mask()
    siblings = {_siblings(cpu) for cpu in mask}
    if siblings and None not in siblings:
        cores = len(siblings)
    else:  # no such files: not Linux, or a container that hides them
        cores = min(psutil.cpu_count(logical=False) or usable_cpus(), usable_cpus())
    quota = _quota()
    return cores if quota is None else max(1, min(cores, round(quota)))


def _mask() -> set[int]:
    """Numbers of the processors in the affinity mask; empty where there is no such thing."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _siblings(cpu: int) -> str | None:
    """The processors of the core that ``cpu`` belongs to, as Linux writes them."""
    try:
        return (_TOPOLOGY / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
    except OSError:
        return None


def _quota() -> float | None:
    """Processors' worth of time that the container may use; None: no limit is known."""
    try:
        limit, period = _QUOTA.read_text().split()
    except OSError:  # no control groups, or the first version of them
        return None
    return None if limit == "max" else int(limit) / int(period)
