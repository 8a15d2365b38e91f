"""What runs gain by what they read."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.evals.log import Line, Log
from localmem.evals.pareto import Point as Place
from localmem.evals.pareto import pareto_front
from localmem.evals.report.measuring import HEADLINES, mean_of, titled
from localmem.evals.report.parts import Figure
from localmem.evals.report.plots import Point, Series, plane
from localmem.evals.scores import SCORES, Score


def gain(logs: Sequence[Log], name: str) -> Figure | None:
    """The headline against tokens read, or against records kept where no model reads; None for one run."""
    reads = any(_tokens_read(line) for log in logs for line in log.lines.values())
    cost: Score = _tokens_read if reads else SCORES["records"]
    label = "tokens read, a question" if reads else "records kept, a question"
    places = [
        Place(log.label, {label: spent}, gained)
        for log in logs
        if (spent := mean_of(log.lines.values(), cost)) is not None
        and (gained := mean_of(log.lines.values(), SCORES[name])) is not None
    ]
    if len(places) < 2:
        return None
    best = pareto_front(places)
    series = [
        Series(place.name, (Point("", place.costs[label], place.quality, place.name in best),))
        for place in places
    ]
    title = f"{titled(name)} against cost"
    drawn = plane("gain", title, series, label, f"{HEADLINES[name]}, %")
    return Figure(
        title, drawn, "Up and to the left is better; the dashed line joins what no other run beats."
    )


def _tokens_read(line: Line) -> float:
    """Tokens that models evaluated, on the way to the evidence and for the answer."""
    answer = line["answer"]
    return float(line["online"]["tokens_read"] + (answer["tokens_read"] if answer else 0))
