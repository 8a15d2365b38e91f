"""Structured calls with the answerer's model: how many give a value, and why the others do not.

``python -m localmem.bench.structured [--calls 100] [--json]``
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from localmem.errors import LocalmemError, ModelCrashed, ModelTimeout, ReplyUnusable
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.models.protocols import ChatModel, Finished
from localmem.paths import default_home
from localmem.roles import controller, judge, summariser
from localmem.roles.task import Task, call

TOKENS = 120
"""Longest reply; a task may ask for less."""
DEADLINE = 30.0
"""Seconds for a call with its repair turn."""
CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Case:
    """A question to a model, with the type of its answer."""

    task: Task
    schema: type[BaseModel]
    material: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended."""

    task: str
    kind: str
    """``valid``, ``repaired``, the fault of a :class:`ReplyUnusable`, ``timeout`` or ``crash``."""
    seconds: float
    cost: tuple[Finished, ...]


def cases(calls: int) -> list[Case]:
    """So many different questions about the sample history, all tasks alike, each task's in one run.

    In one run because a change of task makes a model read another prefix, which is not what is measured.
    """
    kinds = (_summarise, _facts, _decompose, _choose, _select, _reflect, _judge)
    history = _History()
    share = [calls // len(kinds) + (place < calls % len(kinds)) for place in range(len(kinds))]
    return [kind(history, n) for kind, count in zip(kinds, share, strict=True) for n in range(count)]


def run(case: Case, model: ChatModel, *, max_tokens: int = TOKENS, deadline: float = DEADLINE) -> Outcome:
    """Make one call. What a rule would stand in for is an outcome; any other error is raised."""
    started = time.monotonic()
    cost: tuple[Finished, ...]
    try:
        task = replace(case.task, max_tokens=min(max_tokens, case.task.max_tokens))
        reply = call(task, model, case.schema, deadline=deadline, **case.material)
        kind, cost = "repaired" if reply.repaired else "valid", reply.cost
    except ReplyUnusable as error:
        kind, cost = error.fault, error.cost
    except ModelTimeout as error:
        kind, cost = "timeout", error.cost
    except ModelCrashed as error:
        kind, cost = "crash", error.cost
    return Outcome(case.task.name, kind, time.monotonic() - started, cost)


def bench_structured(model: ChatModel, calls: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """One row for each task, and one for all."""
    outcomes: list[Outcome] = []
    for case in cases(calls):
        outcomes.append(run(case, model))
        progress(f"{len(outcomes)}/{calls} {case.task.name}: {outcomes[-1].kind}")
    tasks = dict.fromkeys(outcome.task for outcome in outcomes)
    rows = [_row(task, [outcome for outcome in outcomes if outcome.task == task]) for task in tasks]
    rows.append(_row("all", outcomes))
    return {"model": model.name, "max_tokens": TOKENS, "deadline_s": DEADLINE, "rows": rows}


def _row(name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    kinds = Counter(outcome.kind for outcome in outcomes)
    spent = [finished for outcome in outcomes for finished in outcome.cost]
    seconds = [outcome.seconds for outcome in outcomes]
    return {
        "task": name,
        "calls": len(outcomes),
        "valid": kinds.pop("valid", 0),
        "repaired": kinds.pop("repaired", 0),
        "unusable": dict(sorted(kinds.items())),
        "median_s": statistics.median(seconds),
        "beyond_deadline_s": max(max(seconds) - DEADLINE, 0.0),
        "tokens_read": sum(finished.tokens_read for finished in spent),
        "tokens_reused": sum(finished.tokens_reused for finished in spent),
        "tokens_written": sum(finished.tokens_written for finished in spent),
    }


class _History:
    """Messages of the sample history, in the form that tasks get them, from any place on."""

    def __init__(self) -> None:
        data = resources.files("localmem.demo")
        lines = (data / "history.jsonl").read_text(encoding="utf-8").splitlines()
        self._messages = [json.loads(line) for line in lines]
        self._asked = [
            message["text"]
            for message in self._messages
            if message["role"] == "user" and "?" in message["text"]
        ]
        questions = json.loads((data / "questions.json").read_text(encoding="utf-8"))
        self._known = [(question["question"], question["expected"] or "not known") for question in questions]

    def said(self, place: int, count: int) -> list[str]:
        """``count`` messages, each with day and speaker; another ``place``, other messages."""
        first = place * 7
        chosen = [self._messages[(first + n) % len(self._messages)] for n in range(count)]
        return [
            f"[{datetime.fromisoformat(message['at']):%d %B %Y}] "
            f"{message.get('speaker') or 'Assistant'}: {message['text']}"
            for message in chosen
        ]

    def asked(self, place: int) -> str:
        """A question that the user asked in the history."""
        text: str = self._asked[place % len(self._asked)]
        return text

    def known(self, place: int) -> tuple[str, str]:
        """A question and its answer."""
        return self._known[place % len(self._known)]


def _summarise(history: _History, n: int) -> Case:
    said = history.said(n, 4)
    turns = ["\n".join(said[:2]), "\n".join(said[2:])]
    return Case(summariser.SUMMARISE, summariser.summaries(2), {"turns": summariser.numbered(turns)})


def _facts(history: _History, n: int) -> Case:
    messages = summariser.numbered(history.said(n, 3))
    return Case(summariser.FACTS, summariser.facts(3), {"messages": messages})


def _decompose(history: _History, n: int) -> Case:
    return Case(controller.DECOMPOSE, controller.Decomposition, {"question": history.asked(n)})


def _choose(history: _History, n: int) -> Case:
    state = "\n".join(f"- read_facts: {text}" for text in history.said(n, n % 3)) or "- nothing yet"
    return Case(controller.CHOOSE, controller.ToolChoice, {"question": history.asked(n), "state": state})


def _select(history: _History, n: int) -> Case:
    candidates = summariser.numbered(history.said(n, CANDIDATES))
    material = {"question": history.asked(n), "candidates": candidates}
    return Case(controller.SELECT, controller.selection(CANDIDATES), material)


def _reflect(history: _History, n: int) -> Case:
    question = history.asked(n)
    facts = "\n".join(f"- {text}" for text in history.said(n, 3))
    material = {"question": question, "tried": question, "facts": facts}
    return Case(controller.REFLECT, controller.Reflection, material)


def _judge(history: _History, n: int) -> Case:
    question, reference = history.known(n)
    _, answer = history.known(n + n % 2)  # every second one is right
    return Case(judge.JUDGE, judge.Verdict, judge.judged(question, reference, answer))


def _table(result: dict[str, Any]) -> str:
    form = "{:<12}{:>6}{:>7}{:>10}{:>10}{:>9}{:>11}  {}"
    lines = [
        form.format(
            "task", "calls", "valid", "repaired", "unusable", "median s", "over by s", "unusable because"
        )
    ]
    for row in result["rows"]:
        unusable = row["unusable"]
        lines.append(
            form.format(
                row["task"],
                row["calls"],
                row["valid"],
                row["repaired"],
                sum(unusable.values()),
                f"{row['median_s']:.2f}",
                f"{row['beyond_deadline_s']:.2f}",
                ", ".join(f"{kind} {count}" for kind, count in unusable.items()) or "-",
            )
        )
    return "\n".join(lines)


@click.command()
@click.option("--calls", type=click.IntRange(min=1), default=100, show_default=True, help="How many.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="LOCALMEM_HOME",
    help="Folder of the models.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def main(calls: int, home: Path | None, as_json: bool) -> None:
    """Make structured calls with the answerer's model and count how they end."""
    library = Library(home or default_home())
    try:
        model = library.chat_model(ModelRole.ANSWERER)
        result = bench_structured(model, calls, lambda text: click.echo(text, err=True))
    except LocalmemError as error:
        click.echo(str(error), err=True)
        raise SystemExit(error.exit_code) from error
    finally:
        library.close()
    click.echo(json.dumps(result, indent=2) if as_json else _table(result))


if __name__ == "__main__":
    main()
