"""The child process protocol, with an engine that crashes and hangs on request: no weights."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localmem.models.errors import (
    BadInput,
    ModelCrashed,
    ModelFileBad,
    ModelTimeout,
    PromptTooLong,
)
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason, TextDelta

HOST = (sys.executable, "-P", str(Path(__file__).with_name("scripted_host.py")))


def prompt(text: str) -> list[ChatMessage]:
    return [ChatMessage("user", text)]


def hosted(file: str = "model.gguf") -> HostedModel:
    return HostedModel(Path(file), name="small", sha256="00", context=1000, command=HOST)


@pytest.fixture
def model() -> Iterator[HostedModel]:
    model = hosted()
    yield model
    model.close()


def generate(model: HostedModel, text: str, tokens: int = 3, **limits: float) -> tuple[str, Finished]:
    *pieces, last = model.stream(prompt(text), max_tokens=tokens, **limits)
    assert isinstance(last, Finished)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), last


def until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_text_comes_in_pieces_and_the_cost_comes_last(model: HostedModel) -> None:
    assert isinstance(model, ChatModel)
    text, last = generate(model, "say")
    assert text == "word word word "
    assert (last.reason, last.tokens_read, last.tokens_written) == (StopReason.LENGTH, 1, 3)


def test_any_text_passes_the_pipe_unchanged(model: HostedModel) -> None:
    odd = "a\0b\nc 👩‍👩‍👧 \ud800 \u2028 end"
    text, _ = generate(model, f"say {odd}", tokens=1)
    assert text == odd


def test_what_the_child_prints_does_not_reach_the_caller(
    model: HostedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    text, _ = generate(model, "noise")
    assert text == "word word word "
    assert capfd.readouterr().out == ""


def test_a_cancel_ends_the_generation_and_the_model_stays_usable(model: HostedModel) -> None:
    cancel = threading.Event()
    pid = None
    events = []
    for event in model.stream(prompt("say"), max_tokens=900, cancel=cancel):
        events.append(event)
        pid = model.pid
        cancel.set()
    assert isinstance(events[-1], Finished)
    assert events[-1].reason is StopReason.CANCELLED
    assert len(events) < 900
    assert generate(model, "say")[0] == "word word word "
    assert model.pid == pid


def test_a_cancel_reaches_an_engine_that_is_deep_in_native_code(model: HostedModel) -> None:
    generate(model, "say")
    pid = model.pid
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    started = time.monotonic()
    *_, last = model.stream(prompt("wait"), max_tokens=5, cancel=cancel)
    assert time.monotonic() - started < 1.1
    assert isinstance(last, Finished)
    assert last.reason is StopReason.CANCELLED
    assert model.pid == pid


def test_a_child_that_ignores_a_cancel_is_replaced_within_a_second(model: HostedModel) -> None:
    generate(model, "say")
    pid = model.pid
    assert pid is not None
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    started = time.monotonic()
    *_, last = model.stream(prompt("hang"), max_tokens=5, cancel=cancel)
    assert time.monotonic() - started < 1.1
    assert isinstance(last, Finished)
    assert last.reason is StopReason.CANCELLED
    assert not alive(pid)
    assert generate(model, "say")[0] == "word word word "


def test_a_cancel_while_the_model_loads_returns_at_once() -> None:
    model = hosted("slow.gguf")
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    started = time.monotonic()
    try:
        (last,) = model.stream(prompt("say"), max_tokens=5, cancel=cancel)
        assert isinstance(last, Finished)
        assert last.reason is StopReason.CANCELLED
        assert time.monotonic() - started < 1.1
    finally:
        model.close()


def test_a_passed_deadline_is_a_timeout_and_the_next_call_works(model: HostedModel) -> None:
    generate(model, "say")
    with pytest.raises(ModelTimeout, match=r"small did not finish within 0\.1 seconds"):
        generate(model, "wait", deadline=0.1)
    assert generate(model, "say")[0] == "word word word "


def test_a_stream_that_is_closed_early_stops_the_child(model: HostedModel) -> None:
    stream = model.stream(prompt("say"), max_tokens=900)
    assert next(stream) == TextDelta("word ")
    pid = model.pid
    stream.close()
    assert generate(model, "say")[0] == "word word word "
    assert model.pid == pid


def test_a_killed_child_is_a_typed_error_and_the_next_call_starts_a_new_one(model: HostedModel) -> None:
    stream = model.stream(prompt("die 2"), max_tokens=9)
    assert [next(stream), next(stream)] == [TextDelta("2"), TextDelta("2")]
    with pytest.raises(ModelCrashed, match=r"small was killed by SIGKILL.*The next call starts it again"):
        next(stream)
    assert generate(model, "say")[0] == "word word word "


def test_a_second_crash_in_a_row_names_the_doctor_and_ends_the_restarts(model: HostedModel) -> None:
    with pytest.raises(ModelCrashed):
        generate(model, "die 1")
    with pytest.raises(ModelCrashed, match="localmem doctor"):
        generate(model, "die 1")
    with pytest.raises(ModelCrashed, match="localmem doctor"):
        generate(model, "say")
    model.close()
    assert generate(model, "say")[0] == "word word word "


def test_a_finished_call_between_two_crashes_starts_the_count_again(model: HostedModel) -> None:
    for _ in range(3):
        with pytest.raises(ModelCrashed, match="The next call starts it again"):
            generate(model, "die 1")
        generate(model, "say")


def test_a_crash_while_loading_is_a_typed_error() -> None:
    model = hosted("crash.gguf")
    try:
        with pytest.raises(ModelCrashed, match="SIGSEGV"):
            generate(model, "say")
        with pytest.raises(ModelCrashed, match="localmem doctor"):
            model.count(prompt("say"))
    finally:
        model.close()


def test_a_bug_in_the_child_shows_its_last_words(model: HostedModel) -> None:
    with pytest.raises(ModelCrashed, match="exit code 1") as caught:
        generate(model, "fail")
    assert "a bug in the engine" in str(caught.value)


def test_a_file_that_is_no_model_is_said_to_be_bad() -> None:
    model = hosted("bad.gguf")
    try:
        for _ in range(3):  # it is the file, not a crash: no restart is counted
            with pytest.raises(ModelFileBad, match="no model in it"):
                generate(model, "say")
    finally:
        model.close()


def test_a_prompt_over_the_window_is_refused(model: HostedModel) -> None:
    with pytest.raises(PromptTooLong, match="999 and 3 do not fit"):
        generate(model, "word " * 999)
    assert generate(model, "say")[0] == "word word word "


def test_asking_for_no_tokens_is_refused(model: HostedModel) -> None:
    with pytest.raises(BadInput, match="at least 1"):
        generate(model, "say", tokens=0)


def test_calls_from_several_threads_take_turns(model: HostedModel) -> None:
    texts: list[str] = []

    def work(word: str) -> None:
        texts.append(generate(model, f"say {word}", tokens=50)[0])

    threads = [threading.Thread(target=work, args=(word,)) for word in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(texts) == [word * 50 for word in "abcd"]


def test_a_count_does_not_wait_for_a_generation(model: HostedModel) -> None:
    stream = model.stream(prompt("say"), max_tokens=900)
    next(stream)
    assert model.count(prompt("one two three")) == 3
    stream.close()


def test_a_second_stream_inside_the_first_is_refused_instead_of_waiting_for_ever(model: HostedModel) -> None:
    stream = model.stream(prompt("say"), max_tokens=900)
    next(stream)
    with pytest.raises(RuntimeError, match="finish or close"):
        next(model.stream(prompt("say"), max_tokens=1))
    stream.close()


def test_waiting_for_a_turn_can_be_cancelled(model: HostedModel) -> None:
    stream = model.stream(prompt("say"), max_tokens=900)
    next(stream)
    cancel = threading.Event()
    cancel.set()
    seen: list[object] = []
    thread = threading.Thread(
        target=lambda: seen.extend(model.stream(prompt("say"), max_tokens=1, cancel=cancel))
    )
    thread.start()
    thread.join(5)
    stream.close()
    (last,) = seen
    assert isinstance(last, Finished)
    assert last.reason is StopReason.CANCELLED


def test_no_process_is_left_after_close(model: HostedModel) -> None:
    generate(model, "say")
    pid = model.pid
    assert pid is not None
    model.close()
    model.close()
    assert not alive(pid)
    assert model.pid is None


def test_closing_during_a_generation_ends_it_with_a_typed_error(model: HostedModel) -> None:
    stream = model.stream(prompt("wait"), max_tokens=900)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            list(stream)
        except ModelCrashed as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert until(lambda: model.pid is not None)
    model.close()
    thread.join(10)
    assert len(failures) == 1
    assert "closed while it was in use" in str(failures[0])


def test_the_child_ends_when_its_parent_is_killed() -> None:
    program = f"""
import os
from pathlib import Path
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage
model = HostedModel(Path("m.gguf"), name="m", sha256="00", context=1000, command={HOST!r})
for event in model.stream([ChatMessage("user", "say")], max_tokens=900):
    print(model.pid, flush=True)
    os.kill(os.getpid(), 9)
"""
    run = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60)
    assert run.returncode == -9
    child = int(run.stdout)
    assert until(lambda: not alive(child))


def test_a_program_that_ends_without_closing_leaves_no_child() -> None:
    program = f"""
from pathlib import Path
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage
model = HostedModel(Path("m.gguf"), name="m", sha256="00", context=1000, command={HOST!r})
list(model.stream([ChatMessage("user", "say")], max_tokens=2))
print(model.pid)
"""
    run = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert not alive(int(run.stdout))
