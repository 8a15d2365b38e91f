"""A few questions of each run as they were answered, right and wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence

from localmem.evals.log import Line, Log
from localmem.evals.report.parts import NOT_SCORED, Example, Examples, Section
from localmem.evals.scores import SCORES

SHOWN = {"wrong": 3, "right": 2, "unscored": 1}
"""Questions of a run by verdict: a report is read for its errors."""
LONGEST = 600
"""Characters of a text that are shown."""


def examples(logs: Sequence[Log]) -> Section:
    """Drawn with a fixed seed, the same questions for all runs where verdicts allow."""
    told = "Drawn at random with a fixed seed, wrong ones first; not chosen by hand."
    shown = [one for log in logs if (one := Examples(log.label, _drawn(log))).shown]
    if not shown:
        told = "No answers were worded, so there are none to show."
    return Section("examples", "Examples", (told, *shown))


def _drawn(log: Log) -> tuple[Example, ...]:
    answered = [line for line in log.lines.values() if line["answer"] is not None]
    answered.sort(key=lambda line: random.Random(str(line["id"])).random())
    if any(_verdict(line) in ("right", "wrong") for line in answered):
        chosen = [
            line
            for verdict, n in SHOWN.items()
            for line in [a for a in answered if _verdict(a) == verdict][:n]
        ]
    else:
        chosen = answered[: sum(SHOWN.values())]
    return tuple(_example(line) for line in chosen)


def _verdict(line: Line) -> str:
    if line["verdict"] is None:
        return NOT_SCORED
    accuracy = SCORES["accuracy"](line)
    return "unscored" if accuracy is None else "right" if accuracy else "wrong"


def _example(line: Line) -> Example:
    answer, verdict = line["answer"], line["verdict"]
    reference = str(line["reference"])
    if line["abstain"]:
        reference = f"memory does not say ({reference})" if reference else "memory does not say"
    by = f"by {verdict['by']}: " if verdict and verdict["by"] else ""
    return Example(
        _verdict(line),
        line["category"],
        _short(line["question"]),
        _short(reference),
        "no answer: the model failed" if answer["text"] is None else _short(answer["text"]) or "(empty)",
        by + _short(verdict["reason"]) if verdict else "",
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …"
