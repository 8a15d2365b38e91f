"""Each run against a baseline, question by question, and which differences stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from localmem.errors import BadInput
from localmem.evals.comparing.pairs import SIGNIFICANT, Comparison, Difference, compare_with
from localmem.evals.log import Log
from localmem.evals.report.measuring import HEADLINES, headline, titled
from localmem.evals.report.parts import NONE, Cell, Column, Section, Table, p_value, percent
from localmem.evals.scores import SCORES

BASELINES = ("rag-raw", "bm25")
"""Arms that others are compared with where no baseline is named, the first that was run."""
EVIDENCE = "complete_evidence_recall"


def baseline(logs: Sequence[Log], label: str | None) -> Log:
    """The run that others are compared with. Raises :class:`BadInput` for a label that no run has."""
    by_label = {log.label: log for log in logs}
    if label is not None:
        if label not in by_label:
            raise BadInput(f"No run is called {label!r}. Runs: {', '.join(by_label)}.")
        return by_label[label]
    return next((by_label[name] for name in BASELINES if name in by_label), logs[0])


def paired(logs: Sequence[Log], base: Log) -> tuple[Section, list[str]]:
    """The tables, and in sentences which differences are significant."""
    title = f"Paired with {base.label}"
    rest = [log for log in logs if log is not base]
    others = [log for log in rest if log.lines.keys() & base.lines.keys()]
    apart = [log.label for log in rest if log not in others]
    told = [f"Without a question in common with {base.label}: {', '.join(apart)}."] if apart else []
    if not others:
        return Section("paired", title, (*told, "There is no run to compare it with.")), []
    scores = list(dict.fromkeys([headline(logs), EVIDENCE]))
    found = compare_with(base, others, {name: SCORES[name] for name in scores})
    tables = [_table(found, place) for place in range(len(scores))]
    said = [_said(found, place) for place in range(len(scores))]
    return Section("paired", title, (*told, *said, *tables)), said[:1]


def _said(found: Sequence[Comparison], place: int) -> str:
    """Which differences of a score are significant, plainly."""
    told = HEADLINES[found[0].overall[place].score]
    better = list(_named(found, place, 1))
    worse = list(_named(found, place, -1))
    base = found[0].second
    if not better and not worse:
        return f"In {told} no run differs significantly from {base}."
    parts = []
    if better:
        parts.append(f"better than {base}: {', '.join(better)}")
    if worse:
        parts.append(f"worse: {', '.join(worse)}")
    rest = len(found) - len(better) - len(worse)
    alike = f" {rest} of {len(found)} do not differ significantly." if rest else ""
    return f"In {told} significantly {'; significantly '.join(parts)}.{alike}"


def _named(found: Sequence[Comparison], place: int, sign: int) -> Iterator[str]:
    for one in found:
        difference = one.overall[place]
        mean = difference.difference
        if difference.significant and mean is not None and sign * mean.value > 0:
            yield f"{one.first} ({_points(mean.value)})"


def _table(found: Sequence[Comparison], place: int) -> Table:
    name = found[0].overall[place].score
    return Table(
        f"{titled(name)}: runs less {found[0].second}",
        (
            Column("run", text=True),
            Column("pairs"),
            Column("left out"),
            *(Column(name, "questions") for name in ("win", "tie", "loss")),
            Column("difference, points"),
            Column("McNemar", "p"),
            Column("bootstrap", "p"),
            Column("after Holm", "p"),
            Column("significant", text=True),
        ),
        tuple(_row(one, one.overall[place]) for one in found),
        "Over the questions that both runs have the score for; the rest are left out. Below the difference "
        "its 95 % interval, conversations resampled. McNemar is exact and needs scores of 0 or 1; where it "
        "has none Holm takes the bootstrap's p. Holm goes over all tests of this section; significant: at "
        f"most {SIGNIFICANT}.",
    )


def _row(one: Comparison, found: Difference) -> tuple[Cell, ...]:
    mean = found.difference
    difference = Cell(NONE)
    if mean is not None:
        note = "no interval"
        if mean.low is not None and mean.high is not None:
            note = f"{_points(mean.low)} to {_points(mean.high)}"
        difference = Cell(_points(mean.value), note)
    return (
        Cell(one.first),
        *(Cell(str(count)) for count in (found.n, found.unscored, found.win, found.tie, found.loss)),
        difference,
        *(
            Cell(NONE if p is None else p_value(p))
            for p in (found.mcnemar_p, found.bootstrap_p, found.holm_p)
        ),
        Cell("yes" if found.significant else "no"),
    )


def _points(share: float) -> str:
    """With its sign."""
    text = percent(abs(share))
    return text if float(text) == 0 else ("+" if share > 0 else "−") + text
