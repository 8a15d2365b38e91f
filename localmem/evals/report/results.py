"""The main table: evidence and answers by arm, in all and by type."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.evals.arms import UNRANKED
from localmem.evals.log import Line, Log
from localmem.evals.report.gain import gain
from localmem.evals.report.measuring import (
    HEADLINES,
    among_first,
    has,
    headline,
    mean_cell,
    share_cell,
    titled,
)
from localmem.evals.report.parts import NONE, NOT_SCORED, Block, Cell, Column, Figure, Section, Table
from localmem.evals.report.plots import Estimate, intervals
from localmem.evals.scored import scored
from localmem.evals.scores import SCORES, by_category

EVIDENCE = {
    "gold_hit": "gold hit",
    "evidence_recall": "recall",
    "complete_evidence_recall": "complete",
}
"""Scores of evidence and their names in a column."""


def results(logs: Sequence[Log], main: Sequence[Log]) -> Section:
    """Evidence and answers of each run, and how sure they are.

    ``main``: the same without questions that are in no mean but their own.
    """
    blocks: list[Block] = []
    name = headline(main)
    rows = []
    for log in main:
        found = scored(log.lines.values(), SCORES[name]).mean()
        if found is not None:
            ends = None if found.low is None or found.high is None else (found.low, found.high)
            rows.append(Estimate(log.label, found.value, ends))
    if rows:
        label = f"{HEADLINES[name]}, %"
        title = f"{titled(name)} with 95 % intervals"
        blocks.append(Figure(title, intervals("intervals", title, rows, label)))
    if (against := gain([log for log in main if log.run["point"] is None], name)) is not None:
        blocks.append(against)
    blocks += [_evidence(main), _answers(logs, main)]
    return Section("results", "Results by arm", tuple(blocks))


def _evidence(logs: Sequence[Log]) -> Table:
    ks = sorted({k for log in logs for k in log.run["k"]})
    columns = [Column("run", text=True), Column("questions with evidence")]
    columns += [Column(told, f"first {k} records") for k in ks for told in EVIDENCE.values()]
    columns += [Column(told, "all records kept") for told in ("records", *EVIDENCE.values())]
    columns += [Column("hit, all questions", "all records kept")]
    sufficiency = has(logs, "suff_at_set")
    columns += [Column("sufficient", "all records kept")] if sufficiency else []
    return Table(
        "Evidence found, %",
        tuple(columns),
        tuple(_evidence_row(log, ks, sufficiency) for log in logs),
        "Gold hit: any annotated message was kept; recall: what share of them; complete: all of them. "
        "Hit, all questions: those without annotation are misses. "
        + (
            "Sufficient: two judges or an adjudicator find the whole answer in the set. "
            if sufficiency
            else ""
        )
        + "Below each mean its 95 % interval, conversations resampled.",
    )


def _evidence_row(log: Log, ks: Sequence[int], sufficiency: bool) -> tuple[Cell, ...]:
    lines = list(log.lines.values())
    cells = [Cell(log.label), Cell(str(len(scored(lines, SCORES["gold_hit"]).values)))]
    ranked = log.run["arm"] not in UNRANKED
    for k in ks:
        counted = ranked and k in log.run["k"]
        cells += [
            share_cell(lines, among_first(name, k), NONE) if counted else Cell(NONE) for name in EVIDENCE
        ]
    cells.append(mean_cell(lines, SCORES["records"]))
    cells += [share_cell(lines, SCORES[name], NONE) for name in (*EVIDENCE, "turn_hit")]
    cells += [share_cell(lines, SCORES["suff_at_set"])] if sufficiency else []
    return tuple(cells)


def _answers(logs: Sequence[Log], main: Sequence[Log]) -> Table:
    return Table(
        "Answers, %",
        (
            Column("run", text=True),
            Column("answers"),
            Column("stem F1"),
            Column("judged accuracy"),
            Column("unscored"),
            Column("right refusals"),
            Column("false refusals"),
        ),
        tuple(_answer_row(*pair) for pair in zip(logs, main, strict=True)),
        "Unscored: answers without a usable verdict. They are left out of the accuracy, not counted as "
        "wrong. Right refusals: of questions that memory does not answer, false ones: of those that it does.",
    )


def _answer_row(whole: Log, log: Log) -> tuple[Cell, ...]:
    lines = list(log.lines.values())
    answered = [line for line in lines if line["answer"] is not None]
    if not answered:
        return (Cell(log.label), Cell("0"), *(Cell(NOT_SCORED) for _ in range(5)))
    judged = [line for line in answered if SCORES["accuracy"](line) is not None]
    unscored = Cell(NOT_SCORED)
    if judged:
        left = len(answered) - len(judged)
        unscored = Cell(f"{100 * left / len(answered):.1f}", f"{left} of {len(answered)}")
    return (
        Cell(log.label),
        Cell(str(len(answered))),
        share_cell(lines, SCORES["stem_f1"]),
        share_cell(lines, SCORES["accuracy"]),
        unscored,
        share_cell(whole.lines.values(), SCORES["right_refusal"], NONE),
        share_cell(lines, SCORES["false_refusal"], NONE),
    )


def by_type(logs: Sequence[Log]) -> Section:
    """The headlines by type of question."""
    counts = _types(logs)
    tables = [_type_table(logs, counts, name) for name in HEADLINES if has(logs, name)]
    return Section("types", "By type of question", tuple(tables))


def _types(logs: Sequence[Log]) -> dict[str, int]:
    """Number of questions by type, in the benchmark's order."""
    lines: dict[str, Line] = {identity: line for log in logs for identity, line in log.lines.items()}
    return {group.lines[0]["category"]: len(group.lines) for group in by_category(lines.values())}


def _type_table(logs: Sequence[Log], counts: dict[str, int], name: str) -> Table:
    return Table(
        f"{titled(name)}, %",
        (Column("run", text=True), *(Column(f"{kind} (n = {count})") for kind, count in counts.items())),
        tuple(
            (
                Cell(log.label),
                *(share_cell(_of(log, kind), SCORES[name], NONE, of=count) for kind, count in counts.items()),
            )
            for log in logs
        ),
        "Where n stands below a mean, only so many of the type's questions have this score.",
    )


def _of(log: Log, kind: str) -> list[Line]:
    return [line for line in log.lines.values() if line["category"] == kind]
