"""What runs cost, before the first question and for each, and what they gain by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from localmem.errors import BadInput
from localmem.evals.log import Log
from localmem.evals.pareto import Sweep, sweep
from localmem.evals.report.measuring import HEADLINES, headline, interval, mean_cell
from localmem.evals.report.parts import NONE, Block, Cell, Column, Figure, Section, Table, number, percent
from localmem.evals.report.plots import Point, Series, plane
from localmem.evals.scores import SCORES, Score

_BUDGETS = {
    "calls": ("completion_calls",),
    "records": ("records",),
    "calls and records": ("completion_calls", "records"),
}
"""What a point of the sweep costs; both together as in BFR, Table 16."""


def costs(logs: Sequence[Log]) -> Section:
    """Tokens and seconds, and the budget sweep where there is one."""
    name = headline(logs)
    figures: list[Block] = []
    tables: list[Block] = []
    swept = [log for log in logs if log.run["point"] is not None]
    if len(swept) > 1:
        try:
            sweeps = {told: sweep(swept, name, SCORES[name], costs) for told, costs in _BUDGETS.items()}
        except BadInput as error:  # no question in common: told in place of the table
            tables.append(f"The budget sweep is left out. {error}")
        else:
            figures.append(_curve(swept, sweeps["calls"], "completion_calls", "completion calls"))
            figures.append(_curve(swept, sweeps["records"], "records", "records kept"))
            tables.append(_sweep_table(sweeps))
    return Section("costs", "What it costs", (*figures, _online(logs), _offline(logs), *tables))


def _curve(logs: Sequence[Log], swept: Sweep, cost: str, told: str) -> Figure:
    runs = {log.label: log.run for log in logs}
    series = []
    for arm in dict.fromkeys(run["arm"] for run in runs.values()):
        points = tuple(
            Point(runs[place.name]["point"], place.costs[cost], place.quality, place.name in swept.front)
            for place in swept.points
            if runs[place.name]["arm"] == arm
        )
        series.append(Series(arm, points))
    title = f"Budget curve: {told}"
    drawn = plane(
        f"budget-{cost}".replace("_", "-"),
        title,
        series,
        f"{told}, a question",
        f"{HEADLINES[swept.score]}, %",
    )
    return Figure(title, drawn, "The dashed line is the Pareto front: points that no other beats in both.")


def _sweep_table(sweeps: Mapping[str, Sweep]) -> Table:
    both = sweeps["calls and records"]
    rows = tuple(
        (
            Cell(place.name),
            Cell(number(place.costs["completion_calls"], 2)),
            Cell(number(place.costs["records"], 2)),
            Cell(percent(place.quality), interval(both.means[place.name])),
            *(Cell("yes" if place.name in swept.front else "no") for swept in sweeps.values()),
        )
        for place in both.points
    )
    return Table(
        "Budget sweep, means of a question",
        (
            Column("run", text=True),
            Column("completion calls"),
            Column("records kept"),
            Column(f"{HEADLINES[both.score]}, %"),
            *(Column(costs, "on the Pareto front of") for costs in sweeps),
        ),
        rows,
        f"Over the {both.n} questions that all these runs have a score for; {both.left_out} left out.",
    )


def _online(logs: Sequence[Log]) -> Table:
    return Table(
        "Online, means of a question",
        (
            Column("run", text=True),
            *(
                Column(name, "finding the evidence")
                for name in ("model calls", "tokens read", "reused", "written", "seconds")
            ),
            *(Column(name, "the answer") for name in ("tokens read", "reused", "written", "seconds")),
            Column("by a rule"),
        ),
        tuple(_online_row(log) for log in logs),
        "Read: tokens that a model evaluated; reused: those whose state was still there. "
        "By a rule: answers that a rule gave where the model could not.",
    )


def _online_row(log: Log) -> tuple[Cell, ...]:
    lines = list(log.lines.values())
    answers = [line for line in lines if line["answer"] is not None]
    names = ("tokens_read", "tokens_reused", "tokens_written", "seconds")
    fallbacks = sum(line["answer"]["fallback"] is not None for line in answers)
    return (
        Cell(log.label),
        *(mean_cell(lines, _part("online", name), _digits(name)) for name in ("calls", *names)),
        *(mean_cell(answers, _part("answer", name), _digits(name)) for name in names),
        Cell(str(fallbacks) if answers else NONE),
    )


def _part(of: str, name: str) -> Score:
    return lambda line: float(line[of][name])


def _digits(name: str) -> int:
    return 0 if name.startswith("tokens") else 2


def _offline(logs: Sequence[Log]) -> Table:
    return Table(
        "Offline, means of a conversation",
        (
            Column("run", text=True),
            Column("layers", text=True),
            *map(Column, ("conversations", "sessions", "messages", "seconds")),
            *(Column(name, "tokens") for name in ("read", "reused", "written")),
        ),
        tuple(_offline_row(log) for log in logs),
        "What making the store took before any question was asked.",
    )


def _offline_row(log: Log) -> tuple[Cell, ...]:
    stores = log.stores
    kinds = sorted({str(store["layers"]) for store in stores})
    return (
        Cell(log.label),
        Cell(", ".join(kinds) or NONE),
        Cell(str(len(stores))),
        *(_mean(store[name] for store in stores) for name in ("sessions", "messages", "seconds")),
        *(
            _mean((store["model_tokens"][name] for store in stores), 0)
            for name in ("read", "reused", "written")
        ),
    )


def _mean(values: Iterable[float], digits: int = 1) -> Cell:
    found = list(values)
    return Cell(number(fmean(found), digits) if found else NONE)
