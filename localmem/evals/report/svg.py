"""Elements, scales and axes of a plot, as SVG that takes its colours from the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from localmem.evals.report.parts import clean

WIDTH, HEIGHT = 440, 310
"""Of a plot, in its own units: about pixels on a wide screen."""
CHARACTER = 6.6
"""Width of a character of the labels' size, about."""
ROW = 26
"""Height of a bar with its air."""
LONGEST = 26
"""Characters of a name beside a bar."""


def tag(name: str, *inside: str, **attributes: object) -> Markup:
    """An element. Text and attributes are escaped; ``class_`` is ``class``, ``stroke_width`` has a hyphen."""
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _short(value))
        for key, value in attributes.items()
    )
    content = Markup("").join(part if isinstance(part, Markup) else clean(part) for part in inside)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), given, content)


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else clean(str(value))


def words(text: str, x: float, y: float, anchor: str = "middle", **attributes: object) -> Markup:
    """Text at a place; ``anchor`` is ``start``, ``middle`` or ``end``."""
    return tag("text", text, x=x, y=y, text_anchor=anchor, **attributes)


def drawing(name: str, title: str, description: str, *inside: str, height: float = HEIGHT) -> Markup:
    """A whole plot. ``name`` is unique in the page; title and description are read aloud."""
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", description, id=f"{name}-desc"),
        *inside,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from ``low`` to ``high`` on a line from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where ``value`` is drawn."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values, about five."""
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1,) if len(powers) > 4 else (1, 3) if len(powers) > 2 else (1, 2, 5)
            ticks = [step * 10.0**power for power in powers for step in steps]
        else:
            step = _round_step((self.high - self.low) / 5)
            first = math.ceil(self.low / step - 1e-9)
            ticks = [step * (first + place) for place in range(12)]
        slack = 1e-9 * (self.high - self.low)
        return [tick for tick in ticks if self.low - slack <= tick <= self.high + slack]


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9))


def fitted(values: Sequence[float], start: float, end: float, wide: float = 30) -> Scale:
    """A scale that holds all values with some air; logarithmic when they span more than ``wide`` times."""
    low, high = min(values), max(values)
    if low > 0 and high / low > wide:
        return Scale(low / 1.3, high * 1.3, start, end, logarithmic=True)
    air = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return Scale(max(0.0, low - air) if low >= 0 else low - air, high + air, start, end)


def tick_text(value: float) -> str:
    """``12k`` for 12,000."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def percent_tick(share: float) -> str:
    """``40`` for 0.4."""
    return f"{100 * share:.3g}"


def cut(name: str) -> str:
    """A name that fits beside a bar."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def name_margin(names: Sequence[str]) -> float:
    """Room for names at the left."""
    return 16 + CHARACTER * max(len(cut(name)) for name in names)


def across(scale: Scale, top: float, bottom: float, label: str, text: Callable[[float], str]) -> Markup:
    """An axis from left to right under the plot, with grid lines up to ``top``."""
    parts = [tag("line", x1=scale.start, x2=scale.end, y1=bottom, y2=bottom, class_="axis")]
    for tick in scale.ticks():
        x = scale(tick)
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(words(text(tick), x, bottom + 16, class_="tick"))
    parts.append(words(label, (scale.start + scale.end) / 2, bottom + 36, class_="label"))
    return Markup("").join(parts)


def upward(scale: Scale, left: float, right: float, label: str, text: Callable[[float], str]) -> Markup:
    """An axis from bottom to top, its grid lines from ``left`` to ``right``, its label above it."""
    parts = [tag("line", x1=left, x2=left, y1=scale.start, y2=scale.end, class_="axis")]
    for tick in scale.ticks():
        y = scale(tick)
        parts.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(words(text(tick), left - 6, y + 4, "end", class_="tick"))
    parts.append(words(label, 4, scale.end - 12, "start", class_="label"))
    return Markup("").join(parts)


SHAPES, COLOURS = 5, 6
"""They go round at different pace, so that the first thirty series differ."""


def marker(x: float, y: float, number: int, told: str, size: float = 5) -> Markup:
    """A point of series ``number``, told apart by shape too, not by colour alone; ``told`` is its tip."""
    outlines = (
        [(-1, 0), (0, -1), (1, 0), (0, 1)],
        [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        [(0, -1.1), (1, 0.8), (-1, 0.8)],
        [(-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
         (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35)],
    )  # fmt: skip
    kind, colour = number % SHAPES, f"mark s{number % COLOURS}"
    if kind == 0:
        return tag("circle", tag("title", told), cx=x, cy=y, r=size, class_=colour)
    points = " ".join(f"{x + 1.2 * size * dx:.1f},{y + 1.2 * size * dy:.1f}" for dx, dy in outlines[kind - 1])
    return tag("polygon", tag("title", told), points=points, class_=colour)
