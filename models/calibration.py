"""What a call of a model costs on this machine, in seconds: measured once, then followed call by call.

A :class:`~localmem.models.costlaw.Law` gives the shape. A pace, one for each kind of work, follows what
the machine does at the moment (a busy one, another power mode). The law comes from
:meth:`Calibrations.measure`; until then a general one stands in and the first calls set its paces, so
that no answer has to wait for a measurement.
"""

from __future__ import annotations

import math
import platform
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from localmem.models.costlaw import GENERAL, Law, Timed, reading_of, writing_of
from localmem.models.cpus import usable_cpus
from localmem.models.jsonfile import write_json
from localmem.models.measuring import measure_law
from localmem.models.protocols import ChatModel, Finished

Work = Literal["read", "write", "grammar"]
"""Reading a prompt, writing freely, writing under a grammar."""

GRAMMAR_COST = 1.7
"""Writing under a grammar beside writing freely, until a call of the model says it."""
_WHOLE: dict[Work, int] = {"read": 64, "write": 16, "grammar": 16}
"""Tokens from which on a call counts in full; in a smaller one noise and constant costs prevail."""
_MEMORY = 7 / 3  # calls that a pace remembers: a full call moves it by 1 / (1 + 7/3) = 0.3 of the way
_LARGEST_STEP = math.log(4)  # a laptop that slept in a call must not look a thousand times slower
_BOUND = math.log(100)
_DRIFT = math.log(1.5)  # a pace further off than this ...
_LASTING = 8  # ... for so many calls makes a measurement stale
_NOISE = 0.05  # mean error of one prediction on a quiet machine, at the least
_SPREAD = 2.0  # nine errors in ten are below twice the mean error, for normal ones

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pace(_Stored):
    """How one kind of work goes beside its law: the seconds of a call are the law's times e ** factor."""

    factor: Finite
    """Logarithm."""
    seen: Annotated[float, Field(ge=0, le=_MEMORY)]
    """Calls that it rests on, the older ones forgotten."""
    error: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Smoothed size of the errors of predictions, as a logarithm."""
    drifted: Annotated[int, Field(ge=0)] = 0
    """Calls in a row after which it was far from its law."""

    def after(self, ratio: float, weight: float) -> Pace:
        """The pace after a call that took ``ratio`` times its prediction; ``weight`` is 0 to 1."""
        gain = weight / (self.seen + weight)
        surprise = math.log(ratio)
        if not self.seen:  # a guess so far: taken as it is, and one call says little of its error
            step, error = surprise, math.log(1.5) / _SPREAD
        else:
            step = gain * max(-_LARGEST_STEP, min(surprise, _LARGEST_STEP))
            error = max(self.error + gain * (abs(surprise) - self.error), _NOISE)
        factor = max(-_BOUND, min(self.factor + step, _BOUND))
        drifted = self.drifted + 1 if abs(factor) > _DRIFT else 0
        return Pace(factor=factor, seen=min(self.seen + weight, _MEMORY), error=error, drifted=drifted)


_UNKNOWN = Pace(factor=0.0, seen=0.0, error=math.log(10) / _SPREAD)


class Record(_Stored):
    """What is kept of one model on one machine."""

    measured: bool
    """Whether its law was measured; else it is the general one."""
    law: Law = GENERAL
    read: Pace = _UNKNOWN
    write: Pace = _UNKNOWN
    grammar: Pace = _UNKNOWN


class _Cache(_Stored):
    """The file: records by fingerprint and machine."""

    records: dict[str, Record] = Field(default_factory=dict)


class Calibration:
    """Predicts the seconds of a model's calls, and learns from them. Any thread may use it."""

    def __init__(self, record: Record, changed: Callable[[Record], None]) -> None:
        self._record = record
        self._changed = changed
        self._lock = threading.Lock()

    @property
    def measured(self) -> bool:
        """Whether this model was measured on this machine; else only its calls say how fast it is."""
        return self._record.measured

    @property
    def stale(self) -> bool:
        """Whether a measurement is worth its time when nobody waits: none yet, or a lasting drift."""
        record = self._record
        return not record.measured or max(record.read.drifted, record.write.drifted) >= _LASTING

    @property
    def uncertainty(self) -> float:
        """Relative: nine calls in ten take at most ``1 + uncertainty`` times what is predicted.

        9 before anything is known, 0.5 after the first call, 0.1 on a quiet machine.
        """
        return _uncertainty(self._record, grammar=False)

    def predict(
        self, prompt_tokens: int, new_tokens: int, reused: int = 0, *, grammar: bool = False
    ) -> float:
        """Seconds to read a prompt, but for its first ``reused`` tokens, and to write ``new_tokens``.

        Loading the model and waiting for other callers are not in it. Raises ``ValueError`` for a
        negative number and for more tokens reused than the prompt has.
        """
        return _predicted(self._record, prompt_tokens, new_tokens, reused, grammar)

    def affords(
        self, seconds: float, prompt_tokens: int, new_tokens: int, reused: int = 0, *, grammar: bool = False
    ) -> bool:
        """Whether such a call ends within ``seconds``, nine times in ten."""
        record = self._record  # one state for both, whatever other threads observe
        expected = _predicted(record, prompt_tokens, new_tokens, reused, grammar)
        return expected * (1 + _uncertainty(record, grammar)) <= seconds

    def observe(self, finished: Finished, *, grammar: bool = False) -> None:
        """Learn from a call that ended; one that was cancelled while it read says nothing."""
        writing: Work = "grammar" if grammar else "write"
        with self._lock:
            before = record = self._record
            if read := reading_of(finished):
                record = _followed(record, "read", read, record.law.reading(read.start, read.count))
            if written := writing_of(finished):
                expected = record.law.writing(written.start, written.count)
                record = _followed(record, writing, written, expected)
            self._record = record
            if record != before:
                self._changed(record)

    def replace(self, record: Record) -> None:
        """Take a new measurement."""
        with self._lock:
            self._record = record
            self._changed(record)


def _predicted(record: Record, prompt: int, new: int, reused: int, grammar: bool) -> float:
    if min(prompt, new, reused) < 0 or reused > prompt:
        raise ValueError(f"no call has a prompt of {prompt} tokens, reuses {reused} and writes {new}")
    start = max(min(reused, prompt - 1), 0)  # the last token is always read
    read = record.law.reading(start, prompt - start)
    written = record.law.writing(prompt, new)
    return read * math.exp(record.read.factor) + written * math.exp(_writing(record, grammar).factor)


def _uncertainty(record: Record, grammar: bool) -> float:
    return math.exp(_SPREAD * max(record.read.error, _writing(record, grammar).error)) - 1


def _writing(record: Record, grammar: bool) -> Pace:
    if not grammar:
        return record.write
    if record.grammar.seen:
        return record.grammar
    return record.write.model_copy(update={"factor": record.write.factor + math.log(GRAMMAR_COST)})


def _followed(record: Record, work: Work, timed: Timed, expected: float) -> Record:
    pace: Pace = getattr(record, work)
    ratio = timed.seconds / (expected * math.exp(pace.factor))
    return record.model_copy(update={work: pace.after(ratio, min(timed.count / _WHOLE[work], 1.0))})


class Calibrations:
    """The calibrations of this machine, kept in ``home/cache/calibration.json``. Any thread may use it.

    The file is a cache: one that cannot be read or written costs accuracy, no call. ``problem`` says
    what was wrong with it.
    """

    def __init__(self, home: Path, machine: str | None = None) -> None:
        self._path = home / "cache" / "calibration.json"
        self._machine = machine or machine_name()
        self._open: dict[str, Calibration] = {}
        self._lock = threading.Lock()
        self._file = threading.Lock()
        self.problem = ""
        """What kept the file from being read or written; empty when all is well."""

    def of(self, model: ChatModel) -> Calibration:
        """The calibration of ``model``, the same object for the same weights."""
        key = f"{model.fingerprint} on {self._machine}"
        with self._lock:
            if key not in self._open:
                with self._file:
                    record = self._read().records.get(key, Record(measured=False))
                self._open[key] = Calibration(record, lambda changed: self._save(key, changed))
            return self._open[key]

    def measure(
        self,
        model: ChatModel,
        progress: Callable[[float], None] = lambda share: None,
        cancel: threading.Event | None = None,
    ) -> Calibration:
        """Time a few calls of ``model`` and keep the law that they follow; ``progress`` gets 0 to 1.

        Takes about half a minute at most. ``cancel`` ends it within a second, and what was known stays.
        Raises what the model raises, and :class:`ModelError` when it writes next to nothing.
        """
        calibration = self.of(model)
        measured = measure_law(model, progress, cancel or threading.Event())
        if measured is not None:
            pace = Pace(factor=0.0, seen=_MEMORY, error=max(measured.error, _NOISE))
            bound = pace.model_copy(update={"factor": math.log(measured.grammar_cost)})
            calibration.replace(Record(measured=True, law=measured.law, read=pace, write=pace, grammar=bound))
        return calibration

    def _save(self, key: str, record: Record) -> None:
        with self._file:
            records = self._read().records | {key: record}  # another process may have written since
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_json(self._path, _Cache(records=records).model_dump(mode="json"))
            except OSError as error:
                self.problem = f"The speed of models could not be kept in {self._path}: {error}."

    def _read(self) -> _Cache:
        try:
            return _Cache.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return _Cache()
        except (OSError, ValidationError) as error:
            self.problem = f"{self._path} could not be read and is made anew: {error}."
            return _Cache()


def machine_name() -> str:
    """What a speed depends on besides the model: processor, cores in use, llama.cpp's build."""
    return f"{_processor()}, {usable_cpus()} cores, llama-cpp-python {version('llama-cpp-python')}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
