"""How memory was read: how many sessions, how deep, in how many steps, and where answers went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from localmem.evals.log import Line, Log
from localmem.evals.report.bars import Stack, stacks
from localmem.evals.report.measuring import has, mean_cell, mean_of, share_cell
from localmem.evals.report.parts import NONE, Block, Cell, Column, Figure, Section, Table, percent
from localmem.evals.scores import DEPTHS, SCORES, Iterations, iterations

OUTCOMES = ("right", "wrong: generation", "wrong: retrieval")


def reading(logs: Sequence[Log]) -> Section:
    """Selectivity, disclosure depth, iterations and kinds of errors."""
    blocks: list[Block] = []
    depths = [Stack(log.label, shares) for log in logs if (shares := _depth_shares(log)) and shares[-1] < 1]
    if depths:
        title = "Disclosure depth"
        drawn = stacks("depth", title, tuple(DEPTHS), depths, "sessions opened, by the finest layer read, %")
        blocks.append(Figure(title, drawn, "Runs that are not here read raw messages only."))
    outcomes = [Stack(log.label, shares) for log in logs if (shares := _outcomes(log))]
    if outcomes:
        title = "Errors of retrieval and of generation"
        drawn = stacks("errors", title, OUTCOMES, outcomes, "judged questions whose evidence is known, %")
        blocks.append(Figure(title, drawn))
    blocks.append(_selectivity(logs))
    stepped = [(log, steps) for log in logs if (steps := iterations(log.lines.values()))]
    if stepped:
        blocks.append(_iterations(stepped))
    if outcomes:
        blocks.append(_errors([log for log in logs if has([log], "retrieval_error")]))
    return Section("reading", "How memory was read", tuple(blocks))


def _depth(layer: str, line: Line) -> float:
    return float(line["depth"].get(layer, 0))


def _depth_shares(log: Log) -> tuple[float, ...]:
    """Shares of the opened sessions by layer; empty when none was opened."""
    sums = [sum(_depth(layer, line) for line in log.lines.values()) for layer in DEPTHS]
    return tuple(count / sum(sums) for count in sums) if sum(sums) else ()


def _selectivity(logs: Sequence[Log]) -> Table:
    columns = (
        Column("run", text=True),
        Column("share of sessions, %"),
        Column("sessions of"),
        Column("messages kept"),
        Column("messages of"),
        *(Column(layer, "sessions opened down to, a question") for layer in DEPTHS),
        Column("mean, L0 to L3", "sessions opened down to, a question"),
        Column("retrieval calls"),
        Column("of them completion"),
    )
    rows = []
    for log in logs:
        lines = list(log.lines.values())
        rows.append(
            (
                Cell(log.label),
                share_cell(lines, SCORES["sessions_drilled"], NONE),
                mean_cell(lines, lambda line: line["sessions"]),
                mean_cell(lines, SCORES["records"]),
                mean_cell(lines, lambda line: line["messages"]),
                *(mean_cell(lines, partial(_depth, layer), 2) for layer in DEPTHS),
                mean_cell(lines, SCORES["depth"], 2),
                mean_cell(lines, SCORES["calls"]),
                mean_cell(lines, SCORES["completion_calls"]),
            )
        )
    return Table(
        "Selectivity and depth, means of a question",
        columns,
        tuple(rows),
        "A session is opened when it was drilled or holds a record that was kept.",
    )


def _iterations(stepped: Sequence[tuple[Log, Iterations]]) -> Table:
    return Table(
        "Steps of the controller, a question",
        (
            Column("run", text=True),
            *map(Column, ("questions", "mean", "median", "p95", "p99", "max")),
            Column("why it stopped", text=True),
        ),
        tuple(
            (
                Cell(log.label),
                Cell(str(steps.n)),
                mean_cell(log.lines.values(), SCORES["steps"], 2),
                *(Cell(str(count)) for count in (steps.median, steps.p95, steps.p99, steps.max)),
                Cell(_reasons(log)),
            )
            for log, steps in stepped
        ),
    )


def _reasons(log: Log) -> str:
    reasons = Counter(str(line["stop_reason"]) for line in log.lines.values() if line["steps"] is not None)
    return ", ".join(f"{reason} {percent(n / reasons.total(), 0)} %" for reason, n in reasons.most_common())


def _outcomes(log: Log) -> tuple[float, ...]:
    """Shares of right answers and of both kinds of errors; empty when none was judged."""
    lines = log.lines.values()
    generation = mean_of(lines, SCORES["generation_error"])
    retrieval = mean_of(lines, SCORES["retrieval_error"])
    if generation is None or retrieval is None:
        return ()
    return (max(1 - generation - retrieval, 0.0), generation, retrieval)


def _errors(logs: Sequence[Log]) -> Table:
    rows = []
    for log in logs:
        lines = list(log.lines.values())
        counted = [line for line in lines if SCORES["retrieval_error"](line) is not None]
        rows.append(
            (
                Cell(log.label),
                Cell(str(len(counted))),
                *(
                    share_cell(counted, SCORES[name])
                    for name in ("accuracy", "generation_error", "retrieval_error")
                ),
            )
        )
    return Table(
        "Where answers went wrong, %",
        (Column("run", text=True), Column("judged questions"), *map(Column, OUTCOMES)),
        tuple(rows),
        "Of judged questions whose evidence is known. A wrong answer is an error of retrieval when no "
        "session with evidence was opened, else of generation.",
    )
