"""How fast a model reads and writes through the host, beside llama.cpp alone, in one run."""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from localmem.bench.conversation import RULES, sized_prompt, summary_prompt
from localmem.bench.pairing import NARROW, Ratio, ratio, rounds
from localmem.bench.raw_llama import RawLlama, Run
from localmem.bench.rereading import ten_turns
from localmem.errors import BadInput
from localmem.models.calibration import Calibrations, machine_name
from localmem.models.costlaw import writing_of
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage, ChatModel, Finished, TextDelta

PROMPTS = (128, 512, 2048)
WRITTEN = 128
SECONDS = 150.0
HIGH_ROUNDS = 1
"""Rounds in which llama-cpp-python's own interface is measured too: it is not what is compared."""
REPLY = 40
"""Tokens of an answer in the ten-turn chat."""
REPEATS = 3
SUMMARIES = 4
HELD_OUT = (200, 1000)
"""Prompt sizes that the calibration has not seen."""
GRAMMAR = r'root ::= "{\"summary\": \"" [^"\\\n]{200,600} "\"}"'

Progress = Callable[[str], None]


def bench_generation(
    model: ChatModel, path: Path, prompts: Sequence[int], written: int, seconds: float, progress: Progress
) -> dict[str, Any]:
    """Measure the model in the GGUF file ``path`` with prompts of these sizes; a few minutes.

    ``written`` bounds the tokens that a call writes, ``seconds`` the comparison with raw llama.cpp (three
    rounds are always run). ``model`` itself is closed: it is loaded anew, without what it has kept.
    Raises :class:`BadInput` when no prompt fits its window.
    """
    bench = _Bench(model, path, written, seconds, progress)
    model.close()
    return bench.run(prompts)


class _Bench:
    """One model in one run."""

    def __init__(self, model: ChatModel, path: Path, written: int, seconds: float, say: Progress) -> None:
        self._path = path
        self._name, self._fingerprint, self._context = model.name, model.fingerprint, model.context
        self._written = written
        self._seconds = seconds
        self._say = say

    def run(self, prompts: Sequence[int]) -> dict[str, Any]:
        """All of it."""
        sizes = [size for size in prompts if size + self._written <= self._context]
        if not sizes:
            raise BadInput(
                f"{self._name} has a window of {self._context} tokens: give prompts of at most "
                f"{self._context - self._written}."
            )
        result: dict[str, Any] = {"model": self._name, "machine": machine_name()}
        with (
            tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder,
            self._host(Path(folder)) as host,
            closing(RawLlama(self._path, self._context)) as raw,
        ):
            self._say("calibration")
            result["calibration"] = self._calibration(host, Path(folder))
            result |= self._compare(host, raw, sizes)
            self._say("ten-turn chat")
            reply = min(REPLY, self._written)
            result["chat"] = ten_turns(host, reply, summaries=False)
            result["chat_with_summaries"] = ten_turns(host, reply, summaries=True)
            result["reread_share"] = result["chat"]["reread_share"]
            self._say("speculation and grammar")
            result["speculation"] = self._speculation(raw)
            result["grammar"] = self._grammar(host)
            self._say("first token")
            loaded = [self._first_token(host, [_short(number)]) for number in range(2 * REPEATS)]
            result["first_token_s"] = statistics.median(loaded)
        result["first_token"] = {"loaded_s": result["first_token_s"], **self._cold_starts()}
        return result

    @contextmanager
    def _host(self, states: Path | None) -> Iterator[HostedModel]:
        sha256 = self._fingerprint.removeprefix("sha256:")
        with closing(
            HostedModel(self._path, name=self._name, sha256=sha256, context=self._context, states=states)
        ) as host:
            yield host

    def _calibration(self, host: ChatModel, home: Path) -> dict[str, Any]:
        """What measuring takes, and how far its predictions are off at sizes that it did not see."""
        started = time.perf_counter()
        calibration = Calibrations(home).measure(host)
        took = time.perf_counter() - started
        held_out = []
        for size in HELD_OUT:
            if size + self._written > self._context:
                continue
            *_, call = host.stream(sized_prompt(host, size, seed=size), max_tokens=self._written)
            assert isinstance(call, Finished)
            prompt = call.tokens_reused + call.tokens_read
            written = writing_of(call)
            expected = calibration.predict(prompt, written.count if written else 0, call.tokens_reused)
            actual = call.seconds_read + call.seconds_written
            held_out.append({"prompt_tokens": prompt, "predicted_s": expected, "actual_s": actual})
        errors = [abs(row["predicted_s"] / row["actual_s"] - 1) for row in held_out]
        return {"seconds": took, "held_out": held_out, "error": max(errors, default=None)}

    def _compare(self, host: ChatModel, raw: RawLlama, sizes: Sequence[int]) -> dict[str, Any]:
        """Rows by prompt size, and the ratio of host to raw over all of them."""
        warm = sized_prompt(host, sizes[0], seed=-1)
        hosted(host, warm, 2)
        raw.run("raw", warm, 2)
        runs: dict[int, dict[str, list[Run]]] = {n: {"host": [], "raw": [], "high": []} for n in sizes}

        def ratios() -> tuple[Ratio, Ratio]:
            pairs = [pair for size in sizes for pair in _pairs(runs[size]["host"], runs[size]["raw"])]
            return _ratios(pairs)

        for number in rounds(self._seconds, lambda: all(r.width < NARROW for r in ratios())):
            for size in sizes:
                self._say(f"round {number + 1}: {size} tokens")
                prompt = sized_prompt(host, size, seed=1000 * number + size)
                self._pair(host, raw, prompt, runs[size], host_first=number % 2 == 0)
                if number < HIGH_ROUNDS:
                    runs[size]["high"].append(raw.run("high", prompt, self._written))
        read, write = ratios()
        return {
            "read_ratio": read.value,
            "write_ratio": write.value,
            "read_ratio_interval": [read.low, read.high],
            "write_ratio_interval": [write.low, write.high],
            "rows": [_row(size, runs[size]) for size in sizes],
        }

    def _pair(
        self,
        host: ChatModel,
        raw: RawLlama,
        prompt: list[ChatMessage],
        runs: dict[str, list[Run]],
        host_first: bool,
    ) -> None:
        """The same prompt through both, the one next to the other, with as much known beforehand."""
        reused = min(call.reused for call in runs["host"]) if runs["host"] else 0
        if not host_first:
            runs["raw"].append(raw.run("raw", prompt, self._written, reused))
        runs["host"].append(hosted(host, prompt, self._written))
        if host_first:
            runs["raw"].append(raw.run("raw", prompt, self._written, runs["host"][-1].reused))

    def _speculation(self, raw: RawLlama) -> dict[str, Any]:
        """Prompt lookup beside plain writing, on summaries that quote much of their prompt."""
        pairs: list[tuple[Run, Run]] = []
        for number in range(SUMMARIES):
            prompt = summary_prompt(number)
            plain, lookup = (raw.run(way, prompt, self._written) for way in ("raw", "lookup"))
            pairs.append((lookup, plain))
        found = ratio([(one.write_per_s, other.write_per_s) for one, other in pairs])
        steps = sum(one.steps for one, _ in pairs)
        return {
            "ratio": found.value,
            "interval": [found.low, found.high],
            "plain_per_s": _median([other.write_per_s for _, other in pairs]),
            "lookup_per_s": _median([one.write_per_s for one, _ in pairs]),
            "tokens_per_evaluation": sum(one.evaluated for one, _ in pairs) / max(steps, 1),
            "same_text": sum(one.text == other.text for one, other in pairs) / len(pairs),
            "wins": found.low > 1,
        }

    def _grammar(self, host: ChatModel) -> dict[str, Any]:
        """Writing under a grammar beside writing freely."""
        pairs = []
        for number in range(REPEATS):
            prompt = summary_prompt(number)
            free = hosted(host, prompt, self._written)
            bound = hosted(host, prompt, self._written, GRAMMAR)
            pairs.append((free.write_per_s, bound.write_per_s))
        cost = ratio(pairs)
        return {
            "cost": cost.value,
            "interval": [cost.low, cost.high],
            "free_per_s": _median([free for free, _ in pairs]),
            "bound_per_s": _median([bound for _, bound in pairs]),
        }

    def _cold_starts(self) -> dict[str, float]:
        """Seconds from no process to the first token: a short prompt, and a role's long fixed prefix."""
        long = [ChatMessage("system", RULES.text * 6), _short(0)]
        short_s, read_s, kept_s = [], [], []
        with tempfile.TemporaryDirectory(prefix="localmem-bench-") as folder:
            states = Path(folder)
            with self._host(states) as host:
                self._first_token(host, long, fixed=1)  # leaves the prefix's state in the folder
            for _ in range(REPEATS):
                with self._host(None) as host:
                    short_s.append(self._first_token(host, [_short(0)]))
                with self._host(None) as host:
                    read_s.append(self._first_token(host, long, fixed=1))
                with self._host(states) as host:
                    kept_s.append(self._first_token(host, long, fixed=1))
        return {
            "cold_s": statistics.median(short_s),
            "cold_prefix_read_s": statistics.median(read_s),
            "cold_prefix_kept_s": statistics.median(kept_s),
        }

    def _first_token(self, host: ChatModel, prompt: list[ChatMessage], fixed: int = 0) -> float:
        return hosted(host, prompt, 1, fixed=fixed).seconds_read


def hosted(
    model: ChatModel, prompt: list[ChatMessage], written: int, grammar: str | None = None, fixed: int = 0
) -> Run:
    """A call as its caller sees it: the clock runs on this side of the pipe."""
    started = time.perf_counter()
    first = 0.0
    pieces: list[str] = []
    for event in model.stream(prompt, max_tokens=written, grammar=grammar, fixed=fixed):
        if isinstance(event, TextDelta):
            first = first or time.perf_counter()
            pieces.append(event.text)
        elif isinstance(event, Finished):
            call = event
    ended = time.perf_counter()
    first = first or ended
    timed = writing_of(call)
    evaluated = timed.count if timed else 0
    text = "".join(pieces)
    return Run(
        call.tokens_read, call.tokens_reused, evaluated, evaluated, first - started, ended - first, text
    )


def _short(number: int) -> ChatMessage:
    return ChatMessage("user", f"{number + 2} apples and {number + 5} apples: how many are there?")


def _pairs(one: Sequence[Run], other: Sequence[Run]) -> list[tuple[Run, Run]]:
    return list(zip(one, other, strict=True))


def _ratios(pairs: Sequence[tuple[Run, Run]]) -> tuple[Ratio, Ratio]:
    """Of reading and of writing."""
    return (
        ratio([(one.read_per_s, other.read_per_s) for one, other in pairs]),
        ratio([(one.write_per_s, other.write_per_s) for one, other in pairs]),
    )


def _row(size: int, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """Median, lowest and highest speeds for one prompt size."""
    row: dict[str, Any] = {"prompt_tokens": size, "rounds": len(runs["host"])}
    for way, found in runs.items():
        row[way] = {
            "read_per_s": _spread([run.read_per_s for run in found]),
            "write_per_s": _spread([run.write_per_s for run in found]),
        }
    pairs = _pairs(runs["host"], runs["raw"])
    read, write = _ratios(pairs)
    row["read_ratio"], row["write_ratio"] = asdict(read), asdict(write)
    row["same_text"] = sum(one.text == other.text for one, other in pairs) / len(pairs)
    return row


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    real = [value for value in values if math.isfinite(value)]
    return {"median": _median(real), "low": min(real, default=None), "high": max(real, default=None)}


def _median(values: Sequence[float]) -> float | None:
    real = [value for value in values if math.isfinite(value)]
    return statistics.median(real) if real else None
