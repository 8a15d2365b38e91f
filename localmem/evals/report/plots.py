"""Plots of means and of trade-offs: pure functions from values to SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from localmem.evals.report.labels import Box, placed
from localmem.evals.report.svg import (
    COLOURS,
    HEIGHT,
    ROW,
    WIDTH,
    Scale,
    across,
    cut,
    drawing,
    fitted,
    marker,
    name_margin,
    percent_tick,
    tag,
    tick_text,
    upward,
    words,
)

ENTRY = 18
"""Height of a line of a legend."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval, shares from 0 to 1."""

    name: str
    mean: float
    ends: tuple[float, float] | None
    """None: it has no interval."""

    def __str__(self) -> str:
        told = (
            "no interval"
            if self.ends is None
            else "{:.1f} to {:.1f}".format(*(100 * end for end in self.ends))
        )
        return f"{self.name}: {100 * self.mean:.1f} ({told})"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a plane."""

    name: str
    x: float
    y: float
    """A share from 0 to 1."""
    best: bool = False
    """On the Pareto front."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, joined by a line where there are several."""

    name: str
    points: tuple[Point, ...]

    def told(self, point: Point) -> str:
        """One of its points in words."""
        return f"{self.name} {point.name}".strip() + f": {100 * point.y:.1f} at {point.x:,.1f}"


def intervals(name: str, title: str, rows: Sequence[Estimate], label: str) -> Markup:
    """A mean and its interval for each run, one under the other."""
    left = name_margin([row.name for row in rows])
    top, bottom = 8.0, 8.0 + ROW * len(rows)
    reached = [share for row in rows for share in (row.mean, *(row.ends or ()))]
    scale = _shares(reached, left, WIDTH - 46)
    parts = [across(scale, top, bottom, label, percent_tick)]
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        if row.ends is not None:
            low, high = map(scale, row.ends)
            parts.append(tag("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"))
        parts += [
            words(cut(row.name), left - 8, y + 4, "end", class_="name"),
            marker(scale(row.mean), y, 0, str(row)),
            words(f"{100 * row.mean:.1f}", WIDTH - 4, y + 4, "end", class_="value"),
        ]
    return drawing(name, title, f"{label}. {'; '.join(map(str, rows))}.", *parts, height=bottom + 44)


def plane(name: str, title: str, series: Sequence[Series], x_label: str, y_label: str) -> Markup:
    """Points by what they cost and what they gain; a dashed line joins those on the Pareto front.

    A series of one point is named beside it, the points of a longer one by their own names and the series
    in a legend.
    """
    points = [point for one in series for point in one.points]
    legend = ENTRY * sum(len(one.points) > 1 for one in series)
    top, height = 34.0 + legend, HEIGHT + legend
    left, right, bottom = 40.0, WIDTH - 14.0, height - 46.0
    xs = fitted([point.x for point in points], left, right)
    ys = _shares([point.y for point in points], bottom, top)
    front = sorted((point for point in points if point.best), key=lambda point: point.x)
    parts = [
        across(xs, top, bottom, x_label, tick_text),
        upward(ys, left, right, y_label, percent_tick),
        _path([(xs(point.x), ys(point.y)) for point in front], "front"),
    ]
    names: list[tuple[str, float, float]] = []
    for number, one in enumerate(series):
        at = [(xs(point.x), ys(point.y)) for point in one.points]
        parts.append(_path(at, f"line s{number % COLOURS}"))
        for point, (x, y) in zip(one.points, at, strict=True):
            parts.append(marker(x, y, number, one.told(point)))
            names.append((point.name or one.name, x, y))
    inside = Box(left, top - 8, right + 8, bottom)
    parts += [words(text, x, y, anchor, class_="name") for text, x, y, anchor in placed(names, inside)]
    told = "; ".join(one.told(point) for one in series for point in one.points)
    description = f"Across: {x_label}; upward: {y_label}. {told}."
    return drawing(name, title, description, *parts, *_legend(series, left), height=height)


def _legend(series: Sequence[Series], left: float) -> list[Markup]:
    """The names of series that have several points."""
    joined = [(number, one) for number, one in enumerate(series) if len(one.points) > 1]
    parts = []
    for place, (number, one) in enumerate(joined):
        y = 8.0 + ENTRY * place
        parts += [marker(left + 8, y, number, one.name), words(one.name, left + 20, y + 4, "start")]
    return parts


def _shares(shares: Sequence[float], start: float, end: float) -> Scale:
    """A scale over all shares with some air, inside 0 to 1."""
    low, high = min(shares), max(shares)
    air = max(0.08 * (high - low), 0.02)
    return Scale(max(0.0, low - air), min(1.0, high + air), start, end)


def _path(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    if len(points) < 2:
        return Markup("")
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)
