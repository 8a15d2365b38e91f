"""Does a result hang on a few conversations, or on what was drawn in one run?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from localmem.errors import BadInput
from localmem.evals.comparing.repeats import MultiRun, multi_run
from localmem.evals.folds import Folds, grouped_folds, leave_one_out
from localmem.evals.log import Log
from localmem.evals.report.measuring import HEADLINES, has, headline, mean_of, titled
from localmem.evals.report.parts import NONE, Block, Cell, Column, Section, Table, p_value, percent
from localmem.evals.scores import SCORES

SHOWN = 12
"""Conversations that get a column of their own; more are dealt into five folds (BFR, Appendix J)."""
FOLDS = 5


def stability(logs: Sequence[Log]) -> Section:
    """Means by conversation or by fold, and over repeated runs where there are any."""
    name = headline(logs)
    sources = sorted({line["source"] for log in logs for line in log.lines.values()})
    blocks: list[Block] = []
    if len(sources) < 2:
        blocks.append("All questions are of one conversation: there are no folds.")
    elif len(sources) <= SHOWN:
        blocks.append(_by_conversation(logs, name, sources))
    else:
        blocks.append(_by_fold(logs, name))
    repeated = _repeated(logs)
    if repeated:
        try:
            blocks += _runs(multi_run(repeated, {key: SCORES[key] for key in HEADLINES if has(logs, key)}))
        except BadInput as error:  # runs that cannot be put together: told in place of the table
            blocks.append(f"Means over runs are left out. {error}")
    return Section("stability", "Conversations and repeated runs", tuple(blocks))


def _by_conversation(logs: Sequence[Log], name: str, sources: Sequence[str]) -> Table:
    rows = []
    for log in logs:
        lines = list(log.lines.values())
        means = [
            mean_of([line for line in lines if line["source"] == source], SCORES[name]) for source in sources
        ]
        cells = [Cell(percent(mean)) for mean in means]
        rows.append((Cell(log.label), *cells, *_without_one(log, name)))
    return Table(
        f"{titled(name)} by conversation, %",
        (
            Column("run", text=True),
            *(Column(source, "conversation") for source in sources),
            *(Column(told, "without any one of them") for told in ("lowest", "highest")),
        ),
        tuple(rows),
    )


def _without_one(log: Log, name: str) -> tuple[Cell, Cell]:
    try:
        folds = leave_one_out(log, SCORES[name])
    except BadInput:  # fewer than two conversations have the score: the cells say that there is none
        return Cell(NONE), Cell(NONE)
    return Cell(percent(folds.low)), Cell(percent(folds.high))


def _by_fold(logs: Sequence[Log], name: str) -> Table:
    return Table(
        f"{titled(name)} in {FOLDS} folds of conversations, %",
        (
            Column("run", text=True),
            *(Column(str(place + 1), "fold") for place in range(FOLDS)),
            Column("mean of folds"),
            Column("deviation"),
        ),
        tuple((Cell(log.label), *_fold_cells(log, name)) for log in logs),
        "Conversations are dealt at random into folds; nothing is trained on any.",
    )


def _fold_cells(log: Log, name: str) -> tuple[Cell, ...]:
    try:
        folds: Folds = grouped_folds(log, SCORES[name], FOLDS)
    except BadInput:  # too few conversations have the score: the cells say that there is none
        return tuple(Cell(NONE) for _ in range(FOLDS + 2))
    means = (Cell(percent(fold.mean), f"n = {fold.n}") for fold in folds.folds)
    return (*means, Cell(percent(folds.average)), Cell(percent(folds.deviation)))


def _repeated(logs: Sequence[Log]) -> list[Log]:
    """Runs at a temperature of which there is more than one."""
    drawn = [log for log in logs if log.run["temperature"]]
    kinds = Counter(_kind(log) for log in drawn)
    return [log for log in drawn if kinds[_kind(log)] > 1]


def _kind(log: Log) -> str:
    return log.label.removesuffix(f"-run{log.run['run_number']}")


def _runs(found: MultiRun) -> list[Block]:
    scores = list(dict.fromkeys(spread.score for group in found.groups for spread in group.spreads))
    rows = []
    for group in found.groups:
        spreads = {spread.score: spread for spread in group.spreads}
        told = [
            Cell(percent(spreads[score].mean), f"± {percent(spreads[score].deviation, 2)}")
            if score in spreads
            else Cell(NONE)
            for score in scores
        ]
        rows.append((Cell(group.name), Cell(str(group.runs)), Cell(f"{group.temperature:g}"), *told))
    blocks: list[Block] = [
        Table(
            "Means over repeated runs, %",
            (
                Column("arm", text=True),
                Column("runs"),
                Column("temperature"),
                *(Column(HEADLINES[score]) for score in scores),
            ),
            tuple(rows),
            "Below a mean the standard deviation of the runs' means.",
        )
    ]
    if found.tests:
        blocks.append(_welch(found))
    return blocks


def _welch(found: MultiRun) -> Table:
    rows = []
    for test in found.tests:
        welch, bca = test.welch, test.bca
        cells = [Cell(NONE)] * 4
        if welch is not None:
            cells = [
                Cell(f"{100 * welch.difference:+.1f}", f"{100 * welch.low:+.1f} to {100 * welch.high:+.1f}"),
                Cell(NONE if bca is None else f"{100 * bca[0]:+.1f} to {100 * bca[1]:+.1f}"),
                Cell(p_value(welch.p)),
                Cell(NONE if test.holm_p is None else p_value(test.holm_p)),
            ]
        rows.append((Cell(f"{test.first} less {test.second}"), Cell(HEADLINES[test.score]), *cells))
    return Table(
        "Repeated runs compared (Welch's t test)",
        (
            Column("arms", text=True),
            Column("score", text=True),
            Column("difference, points"),
            Column("BCa interval"),
            Column("p"),
            Column("after Holm"),
        ),
        tuple(rows),
    )
