"""Who judged, how much is left unscored, and how far the judge can be relied on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from localmem.evals.judging.calibration import AGREES, FOOLED, UNUSABLE
from localmem.evals.labelling import Labels, agreements, judged_answers
from localmem.evals.log import Line, Log
from localmem.evals.report.bars import Limit, bars
from localmem.evals.report.parts import NONE, Block, Cell, Column, Figure, Section, Table, percent


def verdicts(logs: Sequence[Log]) -> Section:
    """Verdicts by what gave them, and the judge's calibration."""
    judged = [log for log in logs if any(line["verdict"] is not None for line in log.lines.values())]
    if not judged:
        return Section("judge", "The judge", ("No answer was judged.",))
    blocks: list[Block] = [_counts(judged), *_people(judged)]
    known = {log.label: log.calibration for log in judged if log.calibration is not None}
    if not known:
        told = "The logs hold no calibration: it is not known how far the judge's verdicts can be relied on."
        return Section("judge", "The judge", (told, *blocks))
    return Section("judge", "The judge", (*conclusions(known), *_figures(known), _table(known), *blocks))


def conclusions(known: Mapping[str, Line]) -> Iterator[str]:
    """What calibration comes to, each conclusion once, with the runs that it is of."""
    labels: dict[str, list[str]] = {}
    for label, calibration in known.items():
        labels.setdefault(calibration["conclusion"], []).append(label)
    for conclusion, named in labels.items():
        yield conclusion if len(labels) == 1 else f"{', '.join(named)}: {conclusion}"


def _figures(known: Mapping[str, Line]) -> Iterator[Figure]:
    for name, title, label, limit in _MEASURES:
        rows = [(run, one[name]) for run, one in known.items() if one[name] is not None]
        if rows:
            yield Figure(title, bars(f"judge-{name}".replace("_", "-"), title, rows, label, limit))


_MEASURES = (
    (
        "agreement",
        "The judge's model and the rule",
        "answers decided by a rule that the model judges alike, %",
        Limit(AGREES, f"at least {100 * AGREES:.0f} %"),
    ),
    (
        "swap_acceptance",
        "Answers to other questions accepted",
        "answers to other questions that the model accepts, %",
        Limit(FOOLED, f"at most {100 * FOOLED:.0f} %"),
    ),
    (
        "unparsable_share",
        "Replies without a verdict",
        "of the model's replies, %",
        Limit(UNUSABLE, f"at most {100 * UNUSABLE:.0f} %"),
    ),
)
"""Of a calibration: its key, a plot's title and axis, and what it is held against."""


def _table(known: Mapping[str, Line]) -> Table:
    return Table(
        "Calibration of the judge",
        (
            Column("run", text=True),
            Column("model", text=True),
            Column("decided by a rule, %"),
            Column("%", "model agrees with the rule"),
            Column("kappa", "model agrees with the rule"),
            Column("right refused", "model agrees with the rule"),
            Column("wrong accepted", "model agrees with the rule"),
            Column("answers to other questions accepted, %"),
            Column("replies without a verdict, %"),
        ),
        tuple((Cell(label), *_calibrated(one)) for label, one in known.items()),
        "Known without a person: what a rule is sure of, and that an answer to another question is wrong. "
        "The model was asked about both.",
    )


def _calibrated(one: Line) -> tuple[Cell, ...]:
    return (
        Cell(one["model"] or "none"),
        Cell(percent(one["by_rule"]), f"{one['ruled']} of {one['answers']}"),
        Cell(percent(one["agreement"]), f"{one['agreed']} of {one['compared']}"),
        Cell(NONE if one["kappa"] is None else f"{one['kappa']:.2f}"),
        Cell(str(one["right_missed"])),
        Cell(str(one["wrong_accepted"])),
        Cell(percent(one["swap_acceptance"]), f"{one['swapped_accepted']} of {one['swapped']}"),
        Cell(percent(one["unparsable_share"]), f"{one['unparsable']} of {one['asked']}"),
    )


def _counts(logs: Sequence[Log]) -> Table:
    rows = []
    for log in logs:
        given = [line["verdict"] for line in log.lines.values() if line["verdict"] is not None]
        by = Counter((verdict["verdict"], verdict["by"]) for verdict in given)
        unscored = sum(count for (verdict, _), count in by.items() if verdict is None)
        counts = [by[verdict, who] for who in ("rule", "model") for verdict in ("CORRECT", "WRONG")]
        rows.append(
            (
                Cell(log.label),
                *(Cell(str(count)) for count in (len(given), *counts)),
                Cell(str(unscored), f"{percent(unscored / len(given))} %"),
            )
        )
    return Table(
        "Verdicts",
        (
            Column("run", text=True),
            Column("answers"),
            *(Column(told, "by a rule") for told in ("right", "wrong")),
            *(Column(told, "by the model") for told in ("right", "wrong")),
            Column("unscored"),
        ),
        tuple(rows),
    )


def _people(logs: Sequence[Log]) -> Iterator[Table]:
    """How far people agree, where they labelled answers of these runs (``localmem eval label``)."""
    labels = Labels(logs[0].path.parent)
    if not labels.given:
        return
    rows = (
        (
            Cell(one.name),
            Cell(str(one.n)),
            Cell(percent(one.agreement)),
            Cell(NONE if one.kappa is None else f"{one.kappa:.2f}"),
            Cell(str(one.unscored)),
            Cell(str(one.unscored_right)),
        )
        for one in agreements(judged_answers(logs), labels)
    )
    yield Table(
        "The judge and people",
        (
            Column("type", text=True),
            Column("answers that both decided"),
            Column("agreement, %"),
            Column("kappa"),
            Column("decided by people alone"),
            Column("of them right"),
        ),
        tuple(rows),
        "Of a blind sample that over-draws what was judged wrong or not at all: not the agreement of a run.",
    )
