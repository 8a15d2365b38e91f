"""Run an arm over a benchmark: each conversation gets a store of its own, each question a line of the log."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import localmem
from localmem import __version__
from localmem.errors import BadInput
from localmem.evals.answerer import EXTRACT, PROMPT_TOKENS
from localmem.evals.arms import ARMS
from localmem.evals.asking import Plan, Resources, ask_case
from localmem.evals.datasets import Case, Question, read_cases
from localmem.evals.judging import Judge, calibrate
from localmem.evals.limits import Limits, at_point
from localmem.evals.log import Line, Log, RunLog, file_hash, read_log
from localmem.evals.peers import PEERS, available
from localmem.evals.sampling import choose
from localmem.models.catalog import ModelRole
from localmem.models.protocols import Sampling
from localmem.reconstruction.completion import Budget
from localmem.steps import TOOL_NAMES

WITHOUT = (*(name for name in TOOL_NAMES.values() if name != "search"), "notes", "draft")
"""What an ablation can take away: a tool of the controller, the organised notes, the draft."""

ARM_NAMES = (*ARMS, *PEERS)
"""What ``--arm`` takes: our arms and other people's systems."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is run."""

    benchmark: str
    arm: str
    data: Path
    k: tuple[int, ...] = (10, 34)
    """Numbers of records at which the metrics are taken, ascending."""
    limit: int | None = None
    """So many questions, drawn at random; None: all."""
    stratify: bool = False
    """Whether they are drawn from each category in proportion."""
    seed: int = 0
    """Of that draw, and of what an arm draws."""
    shard: tuple[int, int] | None = None
    """(I, N): the I-th of N parts of the questions."""
    point: str | None = None
    """Operating point of the paper's budget sweep (:mod:`localmem.evals.limits`)."""
    steps: int | None = None
    """Rounds of completion; this and the next three None: the arm's own."""
    calls: int | None = None
    """Retrieval calls of completion."""
    records: int | None = None
    """New records of completion."""
    keep: int | None = None
    """Records kept a round."""
    without: tuple[str, ...] = ()
    """Of :data:`WITHOUT`."""
    warm: bool = False
    """Whether all layers are made before the first question."""
    answers: bool = False
    """Whether answers are worded and marked."""
    protocol: str = "generous"
    """The judge's."""
    prompt_tokens: int = PROMPT_TOKENS
    """Longest prompt of the answerer."""
    retrieval_from: Path | None = None
    """Log whose evidence is used in place of the arm's own search."""
    number: int = 1
    """Of several runs of the same, each with a seed of its own."""
    temperature: float = 0.0
    """At which the answerer's words are drawn; 0: the likeliest are taken, and every run is the same."""
    skip_bad: bool = False
    """Whether records that cannot be read are left out."""
    conversation: str | None = None
    """Only the questions of this one."""

    def limits(self) -> Limits:
        """What the arm may spend. Raises :class:`BadInput` for a point with limits beside it."""
        given = (self.steps, self.calls, self.records)
        budget = None
        if self.point is not None:
            if any(number is not None for number in given):
                raise BadInput("An operating point sets rounds, calls and records: give one or the others.")
            budget = at_point(self.point)
        elif any(number is not None for number in given):
            main = Budget()
            budget = Budget(
                *(own if one is None else one for one, own in zip(given, astuple(main), strict=True))
            )
        return Limits(max(self.k), budget, self.keep, self.seed)

    @property
    def arm_label(self) -> str:
        """What tables call it: the arm and what is unusual about it."""
        parts = [self.arm, self.point]
        named = ("steps", "calls", "records", "keep")
        parts += [f"{name}{value}" for name in named if (value := getattr(self, name)) is not None]
        parts += [f"without-{name}" for name in sorted(self.without)]
        parts += ["warm" if self.warm else None, f"run{self.number}" if self.temperature else None]
        return "-".join(part for part in parts if part)

    @property
    def label(self) -> str:
        """The same with the shard: the name of its log."""
        return self.arm_label + (f"-shard{self.shard[0]}of{self.shard[1]}" if self.shard else "")


class Work(Protocol):
    """Where questions are asked: here, or on a cluster."""

    def __call__(self, plan: Plan, work: Iterator[tuple[Case, list[Question]]]) -> Iterator[Line]:
        """The lines of :func:`ask_case` for each conversation, in any order."""
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """Questions are asked in this process, one after the other."""

    resources: Resources

    def __call__(self, plan: Plan, work: Iterator[tuple[Case, list[Question]]]) -> Iterator[Line]:
        """See :class:`Work`."""
        for case, questions in work:
            yield from ask_case(plan, case, questions, self.resources)


def evaluate(
    run: Run,
    resources: Resources,
    out: Path | None,
    progress: Callable[[int, int], None],
    *,
    work: Work | None = None,
    skipped: Callable[[str], None] = lambda told: None,
) -> Log:
    """Ask the questions that the log in ``out`` does not have yet; return it whole.

    ``progress`` gets (questions done, questions in all), ``skipped`` what was left out of the data. ``work``
    None: here. Raises :class:`BadInput` for an unknown arm, benchmark or ablation, or a log of another run;
    :class:`ImportFailed` for a file that cannot be read.
    """
    plan = _plan(run)
    chosen = _chosen(run, skipped)
    log = RunLog(out, described(run, resources))
    progress(len(log.lines), len(chosen))

    def left() -> Iterator[tuple[Case, list[Question]]]:
        for case in read_cases(run.benchmark, run.data, skip_bad=run.skip_bad):
            questions = [q for q in case.questions if q.id in chosen and q.id not in log.lines]
            if questions:
                yield case, questions

    new = False
    for line in (work or Here(resources))(plan, left()):
        if "store" in line:
            log.add_store(line["store"])
        else:
            new = True
            log.add(line)
            progress(len(log.lines), len(chosen))
    if run.answers and (new or log.calibration is None):
        judge = Judge(run.protocol, resources.crew.model(ModelRole.JUDGE))
        log.add_calibration(calibrate(judge, list(log.lines.values()), run.seed).to_json())
    return log.finished()


def described(run: Run, resources: Resources) -> Line:
    """The first line of a log: all that the results depend on."""
    replay = None if run.retrieval_from is None else file_hash(run.retrieval_from)
    return {
        "label": run.label,
        "arm_label": run.arm_label,
        "benchmark": run.benchmark,
        "arm": run.arm,
        "data": file_hash(run.data),
        "embedder": resources.embedder.fingerprint,
        "version": __version__,
        "code": code_hash(),
        "prompts": _prompts(run, resources) if run.answers else {},
        "models": resources.crew.to_json() if run.answers or run.arm == "agent" else None,
        "protocol": run.protocol if run.answers else None,
        "prompt_tokens": run.prompt_tokens if run.answers else None,
        "k": list(run.k),
        "limit": run.limit,
        "stratify": run.stratify,
        "conversation": run.conversation,
        "seed": run.seed,
        "shard": list(run.shard) if run.shard else None,
        "point": run.point,
        "steps": run.steps,
        "calls": run.calls,
        "records": run.records,
        "keep": run.keep,
        "layers": "warm" if run.warm else "cold",
        "without": sorted(run.without),
        "retrieval_from": replay,
        "temperature": run.temperature or None,
        "run_number": run.number,
    }


def _prompts(run: Run, resources: Resources) -> dict[str, str]:
    judges = Judge(run.protocol, None).prompts()
    panel = {} if resources.panel is None else resources.panel.prompts()
    return {EXTRACT.name: EXTRACT.version, **judges, **panel}


@cache
def code_hash() -> str:
    """``sha256:...`` of the package's modules and prompts."""
    digest = hashlib.sha256()
    for root in (Path(localmem.__file__).parent, Path(localmem.models.__file__).parent):
        for path in sorted(root.rglob("*")):
            if path.suffix in {".py", ".md", ".json", ".toml"} and path.is_file():
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return f"sha256:{digest.hexdigest()}"


def _plan(run: Run) -> Plan:
    if run.arm not in ARM_NAMES:
        raise BadInput(f"There is no arm {run.arm!r}. Arms: {', '.join(ARM_NAMES)}.")
    if run.arm in PEERS and (reason := available(run.arm)) is not None:
        raise BadInput(reason)
    if unknown := sorted(set(run.without) - set(WITHOUT)):
        raise BadInput(f"There is no {unknown[0]!r} to leave out. There are: {', '.join(WITHOUT)}.")
    return Plan(
        run.arm,
        run.limits(),
        frozenset(run.without),
        run.warm,
        run.answers,
        run.protocol,
        run.prompt_tokens,
        Sampling(run.temperature, run.seed + run.number) if run.temperature else None,
        None if run.retrieval_from is None else _evidence(read_log(run.retrieval_from)),
    )


def _evidence(log: Log) -> Mapping[str, list[str]]:
    return {identity: line["kept"] for identity, line in log.lines.items()}


def _chosen(run: Run, skipped: Callable[[str], None]) -> frozenset[str]:
    """Ids of the questions to ask; those that memory cannot answer only where answers are marked."""
    left_out: list[str] = []
    notes: Counter[str] = Counter()
    cases = read_cases(run.benchmark, run.data, skip_bad=run.skip_bad, skipped=left_out, notes=notes)
    asked = [q for case in cases for q in case.questions if run.answers or not q.abstain]
    for told in left_out:
        skipped(f"left out: {told}")
    for what, count in sorted(notes.items()):
        skipped(f"noted: {count} x {what}")
    if run.conversation is not None:
        asked = [question for question in asked if question.source == run.conversation]
    return frozenset(choose(asked, run.limit, stratify=run.stratify, seed=run.seed, shard=run.shard))
