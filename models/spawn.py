"""Starting a host process: what it inherits, and how nicely it runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence


def start(command: Sequence[str], nice: int) -> subprocess.Popen[bytes]:
    """Start ``command`` with three pipes, at niceness ``nice`` or this process's own if that is higher.

    It never gets SIGINT, from its first instruction on: Ctrl-C reaches every process of a terminal,
    and it is the parent's to decide what it means.
    """
    # libgomp's threads spin while they wait: with the other processor busy that
    # costs a factor of forty. Must be in the environment before the library is loaded.
    # numpy is imported, its threads are not wanted: they take address space.
    environment = {"GOMP_SPINCOUNT": "1000", "OPENBLAS_NUM_THREADS": "1"} | os.environ
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows: keeps Ctrl-C away
    if nice:
        flags |= getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    with _interrupts_blocked():
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            creationflags=flags,
        )
    if nice and hasattr(os, "setpriority"):
        # At once, while the child has one thread: on Linux each has its own niceness. From here, for
        # Python code between fork and exec (preexec_fn) can deadlock in a program with threads.
        with contextlib.suppress(ProcessLookupError):  # already dead: who talks to it will notice
            os.setpriority(os.PRIO_PROCESS, process.pid, max(nice, os.getpriority(os.PRIO_PROCESS, 0)))
    return process


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT in this thread, and so, as the mask is inherited, in a child for its whole life."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
