"""Plots of shares as bars, one for each run: pure functions from values to SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from localmem.evals.report.svg import (
    CHARACTER,
    ROW,
    WIDTH,
    Scale,
    across,
    cut,
    drawing,
    name_margin,
    percent_tick,
    tag,
    words,
)

THICK = ROW - 8
LEGIBLE = 30
"""Width from which on a part of a bar has room for its number."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A share that others are held against."""

    share: float
    told: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A run's shares, which add up to 1."""

    name: str
    shares: tuple[float, ...]


def bars(name: str, title: str, rows: Sequence[tuple[str, float]], label: str, limit: Limit) -> Markup:
    """A bar for each share, and a line at the limit that it is held against."""
    left = name_margin([row for row, _ in rows])
    top, bottom = 26.0, 26.0 + ROW * len(rows)
    scale = Scale(0, 1, left, WIDTH - 46)
    parts = [across(scale, top, bottom, label, percent_tick)]
    for place, (row, share) in enumerate(rows):
        y = top + ROW * place + 4
        parts += [
            words(cut(row), left - 8, y + 13, "end", class_="name"),
            tag(
                "rect",
                tag("title", row),
                x=left,
                y=y,
                width=scale(share) - left,
                height=THICK,
                class_="part s0",
            ),
            words(f"{100 * share:.1f}", WIDTH - 4, y + 13, "end", class_="value"),
        ]
    x = scale(limit.share)
    parts.append(tag("line", x1=x, x2=x, y1=top - 4, y2=bottom, class_="front"))
    parts.append(words(limit.told, x, top - 10, "end" if limit.share > 0.5 else "start", class_="tick"))
    told = "; ".join(f"{row} {100 * share:.1f}" for row, share in rows)
    return drawing(name, title, f"{label}; {limit.told}. {told}.", *parts, height=bottom + 44)


def stacks(name: str, title: str, layers: Sequence[str], rows: Sequence[Stack], label: str) -> Markup:
    """For each run a bar cut into the shares of the ``layers``."""
    left = name_margin([row.name for row in rows])
    top, bottom = 34.0, 34.0 + ROW * len(rows)
    scale = Scale(0, 1, left, WIDTH - 14)
    parts = [across(scale, top, bottom, label, percent_tick), *_legend(layers)]
    for place, row in enumerate(rows):
        y = top + ROW * place + 4
        parts.append(words(cut(row.name), left - 8, y + 13, "end", class_="name"))
        parts += _stack(row, layers, scale, y)
    told = "; ".join(
        f"{row.name}: "
        + ", ".join(f"{layer} {100 * share:.1f}" for layer, share in zip(layers, row.shares, strict=True))
        for row in rows
    )
    return drawing(name, title, f"{label}. {told}.", *parts, height=bottom + 44)


def _stack(row: Stack, layers: Sequence[str], scale: Scale, y: float) -> Iterator[Markup]:
    start = 0.0
    for place, (layer, share) in enumerate(zip(layers, row.shares, strict=True)):
        x, wide = scale(start), scale(start + share) - scale(start)
        tip = tag("title", f"{row.name}, {layer}: {100 * share:.1f} %")
        yield tag("rect", tip, x=x, y=y, width=wide, height=THICK, class_=f"part d{place}")
        if wide > LEGIBLE:
            yield words(f"{100 * share:.0f}", x + wide / 2, y + 13, class_=f"inside d{place}")
        start += share


def _legend(layers: Sequence[str]) -> Iterator[Markup]:
    """Names in the order of the parts, to the right end."""
    x = WIDTH - 14 - sum(35 + CHARACTER * len(layer) for layer in layers)
    for place, layer in enumerate(layers):
        yield tag("rect", x=x + 18, y=6, width=12, height=12, class_=f"part d{place}")
        yield words(layer, x + 35, 16, "start")
        x += 35 + CHARACTER * len(layer)
