"""Comparisons as lines for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from localmem.evals.comparing.pairs import SIGNIFICANT, Comparison, Difference
from localmem.evals.comparing.repeats import MultiRun

NONE = "-"
FEW = 20
"""Conversations below which an interval over them says less than it seems to (Cameron and Miller 2015)."""

Row = tuple[str, ...]


def to_json(found: Comparison | MultiRun) -> dict[str, Any]:
    """All numbers of a comparison or of repeated runs, with which differences are significant."""
    told = asdict(found)
    if isinstance(found, Comparison):
        for part in ("overall", "by_category"):
            for line, one in zip(told[part], getattr(found, part), strict=True):
                line |= {"p": one.p, "significant": one.significant}
    else:
        for line, test in zip(told["tests"], found.tests, strict=True):
            line["significant"] = _stands(test.holm_p)
    return told


def comparison_lines(found: Comparison) -> Iterator[str]:
    """What a comparison found, in plain text: its table, which differences stand, and what they rest on."""
    yield f"{found.first} (first) against {found.second} (second)"
    left_out = found.only_first + found.only_second
    yield (
        f"{_count(found.common, 'question')} of {_count(found.conversations, 'conversation')} in both runs; "
        f"{left_out} left out ({found.only_first} only in the first, {found.only_second} only in the second)"
    )
    if found.differ:
        yield f"The runs differ in: {', '.join(found.differ)}"
    yield ""
    head = (
        "score",
        "n",
        "unscored",
        "win",
        "tie",
        "loss",
        "first",
        "second",
        "difference",
        "95 %",
        "p",
        "p Holm",
    )
    rows = []
    for one in (one for one in found.overall if one.n):
        rows.append(_row(one.score, one))
        rows += [_row(f"  {kind.category}", kind) for kind in found.by_category if kind.score == one.score]
    yield from _table(head, rows)
    yield ""
    if empty := [one.score for one in found.overall if not one.n]:
        yield f"Not scored in both runs: {', '.join(empty)}."
    yield from _verdict("overall", found.overall)
    yield from _verdict("by type", found.by_category)
    yield "win: the first is better. p: exact McNemar where a score is 0 or 1, else paired bootstrap."
    yield f"* significant: p <= {SIGNIFICANT} after Holm, and a bootstrap interval (95 %) without 0."
    sizes = [one.difference for one in found.overall if one.difference is not None]
    if any(mean.method == "clustered" for mean in sizes):
        yield (
            "Intervals resample whole conversations. McNemar takes questions as independent, "
            "which those of one conversation are not."
        )
        if found.conversations < FEW:
            yield f"With {found.conversations} conversations they are rough, though widened for it."


def multi_run_lines(found: MultiRun) -> Iterator[str]:
    """Repeated runs in plain text: mean and deviation of each group, then the tests."""
    for group in found.groups:
        yield (
            f"{group.name}: {group.runs} runs of {_count(group.questions, 'question')} "
            f"at temperature {group.temperature:g}"
        )
        spreads = [
            (one.score, f"{_number(one.mean)} ± {_number(one.deviation)}", str(one.unscored))
            for one in group.spreads
        ]
        yield from _table(("score", "mean ± deviation", "unscored"), spreads)
        yield ""
    if not found.tests:
        return
    rows: list[Row] = []
    for test in found.tests:
        pair = f"{test.first} - {test.second}"
        if test.welch is None:
            rows.append((test.score, pair, *[NONE] * 6))
            continue
        welch = test.welch
        rows.append(
            (
                test.score,
                pair,
                _signed(welch.difference),
                _interval(welch.low, welch.high),
                NONE if test.bca is None else _interval(*test.bca),
                f"{welch.t:.2f} ({welch.df:.1f})",
                _p(welch.p),
                _p(test.holm_p) + (" *" if _stands(test.holm_p) else ""),
            )
        )
    yield from _table(
        ("score", "groups", "difference", "95 % Welch", "95 % BCa", "t (df)", "p", "p Holm"), rows
    )
    yield f"Welch's t test of the runs' means; * stands at {SIGNIFICANT} after Holm."


def _row(name: str, one: Difference) -> Row:
    mean = one.difference
    return (
        name,
        str(one.n),
        str(one.unscored),
        str(one.win),
        str(one.tie),
        str(one.loss),
        _number(one.first),
        _number(one.second),
        NONE if mean is None else _signed(mean.value),
        NONE if mean is None or mean.low is None or mean.high is None else _interval(mean.low, mean.high),
        _p(one.p),
        _p(one.holm_p) + (" *" if one.significant else ""),
    )


def _verdict(where: str, differences: Sequence[Difference]) -> Iterator[str]:
    if all(one.holm_p is None for one in differences):
        return
    stand: dict[str, list[str]] = {}
    for one in differences:
        if one.significant:
            stand.setdefault(one.score, []).extend([one.category] if one.category else [])
    told = [f"{score} ({', '.join(kinds)})" if kinds else score for score, kinds in stand.items()]
    yield f"Significant {where}: {', '.join(told) or 'none'}."


def _table(head: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Columns as wide as they must be; words to the left, numbers to the right."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    for row in (head, *rows):
        cells = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3f}"


def _interval(low: float, high: float) -> str:
    return f"[{_signed(low)}, {_signed(high)}]"


def _signed(value: float) -> str:
    return f"{value:+.0f}" if abs(value) >= 100 else f"{value:+.3f}"


def _p(value: float | None) -> str:
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _stands(p: float | None) -> bool:
    return p is not None and p <= SIGNIFICANT


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
