"""What befalls a real llama.cpp process: each time a typed error, and the next call works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localmem.models.errors import ModelCrashed, ModelOutOfMemory, ModelStalled
from localmem.models.library import Library
from localmem.models.llama import HOST, HostedModel
from localmem.models.protocols import ChatMessage, Finished

pytestmark = pytest.mark.real_model

STORY = [ChatMessage("user", "Tell me a long story about a fox.")]
LONG = [ChatMessage("user", "Read this. " + "The river was long and the night was cold. " * 250)]
SMALL = """
import resource, runpy
resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
runpy.run_module("localmem.models.host", run_name="__main__", alter_sys=True)
"""


def hosted(home: Path, command: tuple[str, ...] = HOST) -> HostedModel:
    path = Library(home).path("smollm2-135m")
    return HostedModel(
        path, name="smollm2-135m", sha256="00", context=2048, ram=500_000_000, stall=3, command=command
    )


@pytest.fixture
def model(models_home: Path) -> Iterator[HostedModel]:
    model = hosted(models_home)
    yield model
    model.close()


def works(model: HostedModel) -> bool:
    *_, last = model.stream(STORY, max_tokens=2)
    return isinstance(last, Finished) and last.tokens_written == 2


@pytest.mark.parametrize(
    ("sent", "kind"),
    [(signal.SIGKILL, ModelCrashed), (signal.SIGSEGV, ModelCrashed), (signal.SIGSTOP, ModelStalled)],
)
def test_a_signal_in_an_answer_is_a_typed_error_and_the_next_call_works(
    model: HostedModel, sent: signal.Signals, kind: type[ModelCrashed]
) -> None:
    stream = model.stream(STORY, max_tokens=400)
    next(stream)
    pid = model.pid
    assert pid is not None
    os.kill(pid, sent)
    with pytest.raises(ModelCrashed) as caught:
        list(stream)
    assert type(caught.value) is kind
    assert sent is signal.SIGSTOP or sent.name in str(caught.value)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert works(model)


def test_reading_a_long_prompt_is_no_stall(models_home: Path) -> None:
    model = HostedModel(
        Library(models_home).path("smollm2-135m"), name="m", sha256="00", context=4096, stall=2.5
    )
    try:
        *_, last = model.stream(LONG, max_tokens=1)
        assert isinstance(last, Finished)
        assert last.tokens_read > 2500
    finally:
        model.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its address space")
@pytest.mark.parametrize("megabytes", [100, 300])
def test_a_memory_limit_is_a_typed_error_that_says_what_is_needed(models_home: Path, megabytes: int) -> None:
    limited = SMALL.format(bytes=megabytes * 1_000_000)
    model = hosted(models_home, (sys.executable, "-P", "-c", limited))
    try:
        with pytest.raises(ModelOutOfMemory, match=r"needs about 500 MB.*localmem models list --advise"):
            works(model)
    finally:
        model.close()


def test_the_child_ends_in_the_middle_of_a_prompt_when_its_parent_is_killed(models_home: Path) -> None:
    program = f"""
import os, threading
from pathlib import Path
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage
path = Path({str(Library(models_home).path("smollm2-135m"))!r})
model = HostedModel(path, name="m", sha256="00", context=8192)
model.count([ChatMessage("user", "loaded")])
print(model.pid, flush=True)
threading.Timer(0.3, os.kill, (os.getpid(), 9)).start()
list(model.stream([ChatMessage("user", "word " * 7000)], max_tokens=1))
"""
    run = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=120)
    assert run.returncode == -signal.SIGKILL
    end = time.monotonic() + 10
    while time.monotonic() < end and Path(f"/proc/{run.stdout.strip()}").exists():
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.stdout), 0)
