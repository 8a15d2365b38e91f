"""Questions with their gold messages, out of the benchmark's own files or out of one's own.

The histories come through the importers, so that an evaluation sees what a user's import would store. A
gold message is named by its external id inside the question's conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from localmem.errors import BadInput, ImportFailed
from localmem.evals.datasets.cases import Case, Conversation, Question
from localmem.evals.datasets.locomo import read_locomo
from localmem.evals.datasets.longmemeval import read_longmemeval
from localmem.evals.datasets.own import read_own
from localmem.importers.fields import Record, described, required_object
from localmem.importers.json_stream import elements, first_keys

__all__ = ["BENCHMARKS", "Case", "Question", "read_cases"]

Reader = Callable[[Record, str, Counter[str]], Conversation]
"""Reads one record: its place for error messages, and where to count what is odd about it."""
BENCHMARKS: dict[str, Reader] = {"locomo": read_locomo, "longmemeval": read_longmemeval, "json": read_own}
"""Readers by the name that ``--benchmark`` takes."""
_KEYS = {"locomo": "conversation", "longmemeval": "haystack_sessions", "json": "sessions"}
"""A field of each benchmark's records that the others' have not."""


def read_cases(
    benchmark: str,
    path: Path,
    *,
    skip_bad: bool = False,
    skipped: list[str] | None = None,
    notes: Counter[str] | None = None,
) -> Iterator[Case]:
    """The conversations of a benchmark file with their questions, one after the other.

    What cannot be read is an error that names file, record and field. With ``skip_bad`` it is left out and
    told in ``skipped``, a line each: a question alone when the fault is in it, a conversation with all its
    questions when it is in the history, and where the file breaks off, what would have followed. ``notes``
    counts by kind what is odd but known of the official files, such as evidence ids that do not exist.

    Raises :class:`BadInput` for an unknown benchmark; :class:`ImportFailed` for a record that cannot be read,
    and always for a file that is of another benchmark or in which no question can be read.
    """
    if benchmark not in BENCHMARKS:
        raise BadInput(f"There is no benchmark {benchmark!r}. Benchmarks: {', '.join(BENCHMARKS)}.")
    _check_file(benchmark, path)
    told = [] if skipped is None else skipped
    notes = Counter() if notes is None else notes
    seen: set[str] = set()
    asked: set[str] = set()
    for place, value in _elements(path, skip_bad, told):
        conversation = None
        with _left_out(skip_bad, told):
            read_record = BENCHMARKS[benchmark](required_object(value, place), place, notes)
            _check_new(read_record.sessions[0].source, seen, place)
            conversation = read_record
        if conversation is None:
            continue
        questions = []
        for read in conversation.questions:
            with _left_out(skip_bad, told):
                question = read()
                _check_new(question.id, asked, place)
                questions.append(question)
        yield Case(conversation.sessions, tuple(questions))
    if not asked:
        fault = f" All of it was left out; the first fault is: {told[0]}" if told else ""
        raise ImportFailed(f"{path}: there is no question in it that can be asked.{fault}")


def _check_file(benchmark: str, path: Path) -> None:
    if path.is_dir():
        raise ImportFailed(f"{path} is a folder: give the file with the questions.")
    keys = first_keys(path)
    others = [name for name, key in _KEYS.items() if key in keys]
    if others and benchmark not in others:
        raise ImportFailed(
            f"{path} is no file of benchmark {benchmark}; it looks like --benchmark {others[0]}."
        )


def _elements(path: Path, skip_bad: bool, told: list[str]) -> Iterator[tuple[str, object]]:
    """The file's records, as far as they go: a file that breaks off cannot be read on."""
    found = elements(path)
    whole = 0
    while True:
        try:
            element = next(found, None)
        except ImportFailed as error:
            if skip_bad and whole:
                told.append(f"{error} All from here on is left out.")
                return
            what = "run the records before it with --skip-bad" if whole else "give another one"
            raise ImportFailed(f"{error} Get the file again, or {what}.") from error
        if element is None:
            return
        whole += 1
        yield element


@contextmanager
def _left_out(skip_bad: bool, told: list[str]) -> Iterator[None]:
    """What cannot be read is told and left out, or else is an error that says what can be done."""
    try:
        yield
    except ImportFailed as error:
        if not skip_bad:
            raise ImportFailed(f"{error} Mend it; --skip-bad leaves it out.") from error
        told.append(str(error))


def _check_new(name: str, seen: set[str], place: str) -> None:
    """Ids name results in the log: none may come twice."""
    if name in seen:
        raise ImportFailed(f"{place}: the id {described(name)} was used before in this file.")
    seen.add(name)
