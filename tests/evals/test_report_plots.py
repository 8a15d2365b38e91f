from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from localmem.evals.report.bars import Limit, Stack, bars, stacks
from localmem.evals.report.labels import Box, placed
from localmem.evals.report.plots import Estimate, Point, Series, intervals, plane
from localmem.evals.report.svg import COLOURS, SHAPES, Scale, fitted, marker, tag, tick_text


class Elements(HTMLParser):
    """Every element of a drawing with its attributes, and its texts."""

    def __init__(self, drawing: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(drawing)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of(self, kind: str) -> list[dict[str, str | None]]:
        return [given for _, given in self.found if kind in (given.get("class") or "").split()]


def numbers(drawing: Markup, kind: str, name: str) -> list[float]:
    return [float(given[name] or 0) for given in Elements(drawing).of(kind) if name in given]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_ascending_and_on_the_scale(low: float, span: float) -> None:
    scale = Scale(low, low + span, 0, 100)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 8
    assert all(first < second for first, second in pairwise(ticks))
    assert all(-0.01 <= scale(tick) <= 100.01 for tick in ticks)


@pytest.mark.parametrize(("low", "high"), [(1.0, 40.0), (90.0, 3000.0), (2.0, 900_000.0)])
def test_a_wide_range_of_costs_is_drawn_on_a_logarithmic_scale(low: float, high: float) -> None:
    scale = fitted([low, high], 0, 100)
    assert scale.logarithmic
    assert len(scale.ticks()) >= 2
    middle = (low * high) ** 0.5
    assert scale(middle) == pytest.approx(50)


def test_a_scale_that_starts_at_nothing_is_not_logarithmic() -> None:
    scale = fitted([0.0, 5.0, 1000.0], 0, 100)
    assert not scale.logarithmic
    assert scale.low == 0
    assert [tick_text(tick) for tick in scale.ticks()] == ["0", "250", "500", "750", "1k"]


def test_a_single_value_gets_a_scale_too() -> None:
    for value in (0.0, 3.0, -2.0):
        assert 0 < fitted([value], 0, 100)(value) <= 100 or value == 0


@given(st.lists(st.tuples(st.floats(60, 400), st.floats(40, 260)), min_size=1, max_size=8))
def test_every_point_gets_its_name_once(places: list[tuple[float, float]]) -> None:
    points = [(f"run-{number}", x, y) for number, (x, y) in enumerate(places)]
    assert [text for text, *_ in placed(points, Box(0, 0, 440, 300))] == [text for text, *_ in points]


def test_names_of_near_points_do_not_cover_each_other() -> None:
    points = [("first", 200.0, 100.0), ("second", 206.0, 100.0), ("third", 200.0, 108.0)]
    found = list(placed(points, Box(0, 0, 440, 300)))
    assert len({(x, y) for _, x, y, _ in found}) == 3
    assert found[0][3] != found[1][3]  # one to the left, one to the right


def test_a_name_at_the_edge_is_written_inwards() -> None:
    ((_, x, _, anchor),) = placed([("at the right edge", 435.0, 100.0)], Box(0, 0, 440, 300))
    assert (anchor, x) == ("end", 426.0)


def test_the_first_thirty_series_look_different_without_their_colours_alone() -> None:
    drawn = [marker(0, 0, number, "") for number in range(SHAPES * COLOURS)]
    assert len(set(drawn)) == len(drawn)
    assert len({re.sub(r"mark s\d", "", one) for one in drawn}) == SHAPES


def test_parts_of_a_bar_have_the_width_of_their_shares() -> None:
    drawn = stacks("s", "t", ("a", "b", "c"), [Stack("one", (0.5, 0.25, 0.25))], "share, %")
    first, *rest = [numbers(drawn, f"d{place}", "width")[-1] for place in range(3)]
    assert rest == [pytest.approx(first / 2, abs=0.2)] * 2
    assert "50" in Elements(drawn).texts


def test_bars_stand_beside_the_limit_they_are_held_against() -> None:
    drawn = bars("b", "t", [("judge", 0.4)], "share, %", Limit(0.85, "at least 85 %"))
    (bar,) = numbers(drawn, "part", "width")
    (start,), (limit,) = numbers(drawn, "part", "x"), numbers(drawn, "front", "x1")
    assert bar / (limit - start) == pytest.approx(0.4 / 0.85, abs=0.01)
    assert "at least 85 %" in Elements(drawn).texts


def test_a_higher_score_is_drawn_higher_and_a_higher_cost_further_right() -> None:
    series = [Series("cheap", (Point("", 10, 0.2),)), Series("dear", (Point("", 20, 0.6),))]
    found = [
        given
        for name, given in Elements(plane("p", "t", series, "x", "y")).found
        if name in ("circle", "polygon")
    ]
    x, y = float(found[0]["cx"] or 0), float(found[0]["cy"] or 0)
    left, top = (float(part) for part in (found[1]["points"] or "").split()[1].split(","))
    assert left > x
    assert top < y


def test_equal_points_do_not_break_a_plot() -> None:
    points = tuple(Point(f"C{number}", 0, 0.0, best=True) for number in range(2))
    drawn = plane("p", "t", [Series("arm", points)], "calls", "score, %")
    assert "nan" not in drawn
    assert len(Elements(drawn).of("mark")) == 3  # two points and the legend


def test_a_plot_tells_its_numbers_to_those_who_do_not_see_it() -> None:
    drawn = intervals("i", "Accuracy", [Estimate("fixed", 0.5, (0.25, 0.75))], "accuracy, %")
    elements = Elements(drawn)
    (_, given), *_ = elements.found
    assert given["role"] == "img"
    assert given["aria-labelledby"] == "i-title i-desc"
    assert elements.texts[:2] == ["Accuracy", "accuracy, %. fixed: 50.0 (25.0 to 75.0)."]


def test_a_name_with_markup_is_drawn_as_text() -> None:
    drawn = intervals("i", "t", [Estimate('<b a="1">&\x1b[31m\ud800', 0.5, None)], "x")
    elements = Elements(drawn)
    assert "b" not in {name for name, _ in elements.found}
    assert '<b a="1">&?' in elements.texts
    assert tag("g", "<", id='"') == '<g id="&#34;">&lt;</g>'
