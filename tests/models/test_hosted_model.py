"""The child process protocol, with an engine that crashes and hangs on request: no weights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from localmem.models.child import Child
from localmem.models.errors import (
    BadInput,
    ModelCrashed,
    ModelFileBad,
    ModelOutOfMemory,
    ModelStalled,
    ModelTimeout,
    PromptTooLong,
)
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason, TextDelta, ThoughtDelta

LINUX = sys.platform == "linux"
HOST = (sys.executable, "-P", str(Path(__file__).with_name("scripted_host.py")))


def prompt(text: str) -> list[ChatMessage]:
    return [ChatMessage("user", text)]


def hosted(file: str = "model.gguf", **options: Any) -> HostedModel:
    return HostedModel(Path(file), name="small", sha256="00", context=1000, command=HOST, **options)


@pytest.fixture
def model() -> Iterator[HostedModel]:
    model = hosted()
    yield model
    model.close()


@contextmanager
def impatient(file: str = "model.gguf", **options: Any) -> Iterator[HostedModel]:
    """A model that finds a fifth of a second of silence too long."""
    model = hosted(file, **{"stall": 0.2} | options)
    try:
        yield model
    finally:
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


def test_what_a_model_thinks_comes_apart_from_what_it_says(model: HostedModel) -> None:
    *pieces, _ = model.stream(prompt("think"), max_tokens=4, think=2)
    assert pieces == [ThoughtDelta("word ")] * 2 + [TextDelta("word ")] * 2


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


@pytest.mark.parametrize(("order", "name"), [("die 1", "SIGKILL"), ("segfault 1", "SIGSEGV")])
def test_a_signal_that_ends_the_child_is_named(model: HostedModel, order: str, name: str) -> None:
    with pytest.raises(ModelCrashed, match=rf"small was killed by {name}") as caught:
        generate(model, order)
    assert type(caught.value) is ModelCrashed
    assert ("not enough memory" in str(caught.value)) == (name == "SIGKILL")
    assert generate(model, "say")[0] == "word word word "


@pytest.mark.parametrize("order", ["hang", "loop", "stop"])
def test_a_child_that_does_nothing_any_more_is_killed_without_any_deadline(order: str) -> None:
    with impatient() as model:
        generate(model, "say")
        pid = model.pid
        assert pid is not None
        with pytest.raises(
            ModelStalled, match=r"small did nothing for 0\.2 seconds.*The next call starts it"
        ):
            generate(model, order)
        assert not alive(pid)
        assert generate(model, "say")[0] == "word word word "


def test_work_that_gets_on_is_no_stall_however_long_it_takes() -> None:
    with impatient(stall=1.5) as model:  # a sign of life comes once a second
        assert generate(model, "work 2.5", tokens=1)[0] == "2.5"


def test_a_consumer_that_takes_its_time_is_no_stall() -> None:
    with impatient() as model:
        stream = model.stream(prompt("say"), max_tokens=900)
        next(stream)
        threading.Event().wait(0.4)
        assert sum(isinstance(event, TextDelta) for event in stream) == 899


def test_a_count_does_not_wait_for_ever_for_a_stopped_child() -> None:
    with impatient() as model:
        assert model.count(prompt("one two")) == 2
        assert model.pid is not None
        os.kill(model.pid, signal.SIGSTOP)
        with pytest.raises(ModelStalled):
            model.count(prompt("one two"))
        assert model.count(prompt("one two")) == 2


@pytest.mark.parametrize("limits", [{}, {"deadline": 0.1}])
def test_a_prompt_that_a_stopped_child_does_not_take_holds_nobody_up(limits: dict[str, float]) -> None:
    with impatient() as model:
        generate(model, "say")
        assert model.pid is not None
        os.kill(model.pid, signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(ModelTimeout if limits else ModelStalled):  # a pipe takes 64 kB
            generate(model, "say " + "word " * 200_000, **limits)
        assert time.monotonic() - started < 5
        assert generate(model, "say")[0] == "word word word "


def test_two_stalls_in_a_row_end_the_restarts() -> None:
    with impatient() as model:
        for advice in ("The next call starts it again", "localmem doctor"):
            with pytest.raises(ModelStalled, match=advice):
                generate(model, "hang")
        with pytest.raises(ModelCrashed, match="crashed and crashed again"):
            generate(model, "say")


def test_loading_that_does_not_get_on_is_a_stall() -> None:
    with impatient("slow.gguf", load_stall=0.2) as model, pytest.raises(ModelStalled):
        generate(model, "say")


def test_loading_that_gets_on_may_take_longer() -> None:
    with impatient("large.gguf", load_stall=1.5) as model:
        assert generate(model, "say")[0] == "word word word "


def test_a_deadline_shorter_than_loading_is_kept_at_a_later_call() -> None:
    with impatient("large.gguf") as model:
        with pytest.raises(ModelTimeout):
            generate(model, "say", deadline=0.1)
        pid = model.pid
        assert generate(model, "say")[0] == "word word word "
        assert model.pid == pid


NEED = "small needs about 500 MB. Close other programs.*localmem models list --advise"


@pytest.mark.parametrize(
    "order",
    [
        "abort terminate called after throwing an instance of 'std::bad_alloc'",
        "abort ggml_aligned_malloc: insufficient memory (attempted to allocate 180.00 MB)",
        "abort ggml_gallocr_reserve_n_impl: failed to allocate CPU buffer of size 103024640",
        "abort llama_model_load: error loading model: mmap failed: Cannot allocate memory",
        "abort OpenBLAS error: Memory allocation still failed after 10 retries, giving up.",
        "starve",
    ],
)
def test_a_child_that_gets_no_memory_says_how_much_it_needs_and_what_to_do(order: str) -> None:
    with impatient(ram=500_000_000) as model:
        with pytest.raises(ModelOutOfMemory, match=NEED):
            generate(model, order)
        assert generate(model, "say")[0] == "word word word "


def test_a_child_that_aborts_for_another_reason_is_not_said_to_lack_memory(model: HostedModel) -> None:
    with pytest.raises(ModelCrashed, match="SIGABRT") as caught:
        generate(model, "abort GGML_ASSERT(ne00 == ne10) failed")
    assert type(caught.value) is ModelCrashed
    assert "GGML_ASSERT" in str(caught.value)


def test_a_model_too_big_for_the_memory_can_be_tried_again_and_again() -> None:
    with impatient("big.gguf", ram=500_000_000) as model:
        for _ in range(3):  # the person may have closed a program meanwhile
            with pytest.raises(ModelOutOfMemory, match=f"not enough free memory.* {NEED}"):
                generate(model, "say")


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


def test_callers_are_served_in_the_order_in_which_they_came(model: HostedModel) -> None:
    served: list[int] = []

    def work(number: int) -> None:
        for _ in model.stream(prompt("say"), max_tokens=2):
            if number not in served:
                served.append(number)

    first = model.stream(prompt("say"), max_tokens=900)
    next(first)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for waiting, thread in enumerate(threads, start=2):
        thread.start()
        assert until(lambda waiting=waiting: len(model._turns._tickets) == waiting)
    first.close()
    for thread in threads:
        thread.join(30)
    assert served == list(range(12))


def test_who_calls_again_and_again_lets_others_in_between(model: HostedModel) -> None:
    served: list[str] = []
    enough = threading.Event()

    def work(name: str) -> None:
        while not enough.is_set():
            generate(model, "say", tokens=1)
            served.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    assert until(lambda: "a" in served and "b" in served)
    start = len(served)
    assert until(lambda: len(served) > start + 20)
    enough.set()
    for thread in threads:
        thread.join(30)
    assert all({*pair} == {"a", "b"} for pair in zip(served[start:], served[start + 1 :], strict=False))


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


def test_who_gives_up_waiting_leaves_the_queue(model: HostedModel) -> None:
    first = model.stream(prompt("say"), max_tokens=900)
    next(first)
    failures: list[BaseException] = []

    def give_up() -> None:
        try:
            generate(model, "say", deadline=0.1)
        except ModelTimeout as error:
            failures.append(error)

    impatient_one = threading.Thread(target=give_up)
    impatient_one.start()
    impatient_one.join(10)
    assert len(failures) == 1
    texts: list[str] = []
    patient_one = threading.Thread(target=lambda: texts.append(generate(model, "say")[0]))
    patient_one.start()
    first.close()
    patient_one.join(10)
    assert texts == ["word word word "]


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


def test_no_thread_is_left_after_close() -> None:
    before = set(threading.enumerate())
    model = hosted()
    for _ in range(3):
        generate(model, "say")
        model.count(prompt("say"))
    stream = model.stream(prompt("say"), max_tokens=900)
    next(stream)
    model.close()
    stream.close()
    assert set(threading.enumerate()) == before


def test_a_child_that_nobody_uses_is_closed_and_started_again() -> None:
    with impatient(idle=0.2) as model:
        for _ in range(4):  # more often than a crash may happen
            assert generate(model, "say")[0] == "word word word "
            pid = model.pid
            assert pid is not None
            assert until(lambda: model.pid is None)
            assert until(lambda pid=pid: not alive(pid))


def test_a_child_in_use_is_not_idle() -> None:
    with impatient(idle=0.1, stall=5) as model:
        generate(model, "say")
        pid = model.pid
        stream = model.stream(prompt("say"), max_tokens=900)
        next(stream)
        model.count(prompt("say"))
        threading.Event().wait(0.3)
        assert model.pid == pid
        stream.close()
        assert until(lambda: model.pid is None)


def test_background_work_runs_at_its_niceness(model: HostedModel) -> None:
    with impatient(nice=15) as background:
        generate(background, "say")
        generate(model, "say")
        assert background.pid is not None
        assert model.pid is not None
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for pid, expected in [(background.pid, max(own, 15)), (model.pid, own)]:
            # On Linux each thread has a niceness; the one that generates counts.
            threads = [int(task) for task in os.listdir(f"/proc/{pid}/task")] if LINUX else [pid]
            assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {expected}


def test_an_interrupt_at_the_terminal_is_the_parents_to_decide(model: HostedModel) -> None:
    stream = model.stream(prompt("say"), max_tokens=900)  # Ctrl-C reaches every process of the terminal
    next(stream)
    pid = model.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert sum(isinstance(event, TextDelta) for event in stream) == 899
    assert model.pid == pid


def test_an_interrupt_does_not_reach_a_child_that_has_only_just_started() -> None:
    child = Child([*HOST, "model.gguf", "1000", ""])
    os.kill(child.pid, signal.SIGINT)  # long before it could ignore it
    try:
        assert until(lambda: child.ready(0.1))
    finally:
        child.close()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_what_a_caller_wants_kept_and_its_grammar_reach_the_engine(tmp_path: Path) -> None:
    for states, named in [(None, ""), (tmp_path, str(tmp_path))]:
        with impatient(states=states) as model:
            told, _ = model.stream(prompt("tell"), max_tokens=1, fixed=2, grammar='root ::= "a"')
            assert told == TextDelta(f'fixed=2 grammar=root ::= "a" sampling=None think=0 states={named}')


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
