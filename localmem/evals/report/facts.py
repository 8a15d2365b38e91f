"""What was run: what all runs share, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from localmem.evals.crew import ROLES
from localmem.evals.log import Line, Log
from localmem.evals.report.parts import NONE, Cell, Column, Section, Table

PROTOCOLS = {
    "longmemeval": "LongMemEval's (also APDMem's)",
    "generous": "the generous CORRECT/WRONG one (BFR's)",
}


def facts(logs: Sequence[Log]) -> Section:
    """A table of what holds for all runs, and one of what each has for itself."""
    told = {log.label: dict(_facts(log)) for log in logs}
    shared = _shared(told)
    apart = list(dict.fromkeys(name for facts in told.values() for name in facts if name not in shared))
    blocks = [
        Table(
            "The same in all runs" if len(logs) > 1 else "The run",
            (Column("what", text=True), Column("value", text=True)),
            tuple((Cell(name), Cell(value)) for name, value in shared.items()),
        )
    ]
    if apart:
        blocks.append(
            Table(
                "Where runs differ",
                (Column("run", text=True), *(Column(name, text=True) for name in apart)),
                tuple(
                    (Cell(label), *(Cell(facts.get(name, NONE)) for name in apart))
                    for label, facts in told.items()
                ),
            )
        )
    return Section("run", "What was run", tuple(blocks))


def brief(logs: Sequence[Log]) -> str:
    """Data and models in a line, as far as all runs share them."""
    shared = _shared({log.label: dict(_facts(log)) for log in logs})
    told = (f"{name} {shared[name]}" for name in ("data", "embedder", "answerer", "judge") if name in shared)
    line = "; ".join(told)
    return f"{line[:1].upper()}{line[1:]}."


def _shared(told: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """What is the same for all runs."""
    first, *others = told.values()
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}


def _facts(log: Log) -> Iterator[tuple[str, str]]:
    run = log.run
    for key, name, told in _TOLD:
        if key in run:
            yield name, told(run[key])
    budget = [
        f"{run[key]} {key}" for key in ("steps", "calls", "records", "keep") if run.get(key) is not None
    ]
    yield "budget", ", ".join(budget) if budget else "the arm's own"
    models = run["models"] or {}
    for role in dict.fromkeys([*ROLES, *models]):
        yield str(role), _model(models.get(role))
    for name, digest in run["prompts"].items():
        yield f"prompt {name}", _short(digest)


def _model(model: Line | None) -> str:
    """A model as its role sees it; a role without one is done by a rule, or not at all."""
    if model is None:
        return "no model"
    if model["forced"]:
        trust = "forced, its probe does not trust it"
    else:
        trust = "trusted by its probe" if model["trusted"] else "not trusted by its probe"
    return f"{model['name']} ({trust}; {_short(model['fingerprint'])})"


def _short(digest: Any) -> str:
    """The first twelve digits of a hash tell runs apart."""
    name, colon, digits = str(digest).partition(":")
    return f"{name}{colon}{digits[:12]}" if digits else name[:40]


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "nothing"
    return NONE if value is None else str(value)


def _or(absent: str) -> Callable[[Any], str]:
    return lambda value: absent if value is None else str(value)


_TOLD: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("benchmark", "benchmark", _plain),
    ("data", "data", _short),
    ("arm", "arm", _plain),
    ("embedder", "embedder", _short),
    ("version", "version of localmem", _plain),
    ("code", "its code", _short),
    ("protocol", "judge's protocol", lambda value: PROTOCOLS.get(value, "no answer is judged")),
    ("prompt_tokens", "longest prompt of the answerer", _or("no answers")),
    ("k", "evidence counted at", _plain),
    ("conversation", "only of the conversation", _or("all")),
    ("limit", "questions drawn", _or("all")),
    ("stratify", "drawn evenly from the types", lambda value: "yes" if value else "no"),
    ("seed", "seed", _plain),
    ("shard", "shard", lambda value: "whole" if value is None else "{} of {}".format(*value)),
    ("point", "operating point", _plain),
    ("layers", "layers", _plain),
    ("without", "without", _plain),
    (
        "retrieval_from",
        "evidence replayed from",
        lambda value: "no other run" if value is None else _short(value),
    ),
    ("temperature", "temperature", lambda value: "0, deterministic" if value is None else str(value)),
    ("run_number", "run", _plain),
)
