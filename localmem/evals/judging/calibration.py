"""How far a judge can be relied on, measured on the answers that it judges.

Two things are known without a person: what a rule is sure of, and that an answer to another question is
wrong. The model judges both, and every one of its unusable replies counts.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from localmem.evals.judging.judge import Judge
from localmem.evals.judging.refusal import refuses
from localmem.evals.log import Line
from localmem.evals.normal import normalised
from localmem.evals.statistics.agreement import kappa

MOST = 40
"""Answers that each of the two parts asks a model about: enough to see 10 % within about 10 points."""
FEW = 10
"""Verdicts below which a share says nothing."""
AGREES = 0.85
"""Least agreement with the rule of a judge to be trusted; what the rule decides is the easy part."""
FOOLED = 0.1
"""Largest share of another question's answers that it may accept."""
UNUSABLE = 0.1
"""Largest share of replies without a verdict."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Counts; the shares are properties, None where there is nothing to divide by."""

    protocol: str
    model: str | None
    """None: none judged."""
    answers: int
    """Answers given, empty ones too."""
    ruled: int
    """Of those, decided by rule."""
    compared: int
    """Answers that a rule decided and the model gave a verdict on."""
    agreed: int
    right_missed: int
    """Right by rule, wrong by the model."""
    wrong_accepted: int
    """Wrong by rule, right by the model."""
    kappa: float | None
    """Cohen's, of rule and model; None where either gave one verdict only."""
    swapped: int
    """Answers to another question that the model gave a verdict on."""
    swapped_accepted: int
    asked: int
    """Calls of the model in all."""
    unparsable: int
    """Calls without a usable verdict: failed ones too."""

    @property
    def by_rule(self) -> float | None:
        """Share of the answers that a rule decided."""
        return _share(self.ruled, self.answers)

    @property
    def agreement(self) -> float | None:
        """Share of the compared answers on which model and rule agree."""
        return _share(self.agreed, self.compared)

    @property
    def swap_acceptance(self) -> float | None:
        """Share of another question's answers that the model accepted."""
        return _share(self.swapped_accepted, self.swapped)

    @property
    def unparsable_share(self) -> float | None:
        """Share of the model's calls without a verdict."""
        return _share(self.unparsable, self.asked)

    @property
    def faults(self) -> list[str]:
        """Why the model's verdicts cannot be trusted, in words; empty: nothing speaks against them."""
        found = []
        if self.swapped >= FEW and self.swapped_accepted / self.swapped > FOOLED:
            found.append(f"it accepts {_percent(self.swap_acceptance)} of the answers to other questions")
        if self.compared >= FEW and self.agreed / self.compared < AGREES:
            found.append(f"it agrees with the rule in {_percent(self.agreement)} only")
        if self.asked >= FEW and self.unparsable / self.asked > UNUSABLE:
            found.append(f"{_percent(self.unparsable_share)} of its replies have no verdict")
        return found

    def to_json(self) -> dict[str, Any]:
        """Counts, shares and the conclusion."""
        return {
            **asdict(self),
            "by_rule": self.by_rule,
            "agreement": self.agreement,
            "swap_acceptance": self.swap_acceptance,
            "unparsable_share": self.unparsable_share,
            "conclusion": self.conclusion,
        }

    @property
    def conclusion(self) -> str:
        """What it all means, in a sentence."""
        if self.model is None:
            return "No model judged: what no rule decides is unscored."
        if self.faults:
            return f"This judge cannot be trusted: {'; '.join(self.faults)}."
        if self.compared < FEW or self.swapped < FEW:
            return "Too few answers to tell how far this judge can be trusted."
        return "Nothing here speaks against this judge."

    def lines(self) -> list[str]:
        """For people to read."""
        told = [
            f"Judge: protocol {self.protocol}, {self.model or 'rules only'}",
            f"decided by rule: {self.ruled} of {self.answers} answers ({_percent(self.by_rule)})",
        ]
        if self.model is not None:
            beyond = "undefined" if self.kappa is None else f"{self.kappa:.2f}"
            told += [
                f"model agrees with rule: {self.agreed} of {self.compared} ({_percent(self.agreement)}), "
                f"kappa {beyond}; {self.wrong_accepted} wrong accepted, {self.right_missed} right refused",
                f"answers to other questions accepted: {self.swapped_accepted} of {self.swapped} "
                f"({_percent(self.swap_acceptance)})",
                f"replies without a verdict: {self.unparsable} of {self.asked} "
                f"({_percent(self.unparsable_share)})",
            ]
        return [*told, self.conclusion]


def combined(parts: Sequence[Mapping[str, Any]]) -> Calibration:
    """That of a run from those of its shards, as logs have them: counts add up, kappa is lost."""
    names = {field.name for field in fields(Calibration)}
    first = {name: value for name, value in parts[0].items() if name in names}
    counts = {name for name, value in first.items() if isinstance(value, int)}
    return Calibration(
        **{name: sum(part[name] for part in parts) if name in counts else first[name] for name in names}
        | {"kappa": None}
    )


def calibrate(judge: Judge, lines: Sequence[Line], seed: int, most: int = MOST) -> Calibration:
    """Measure ``judge`` on the answers of a log; the model is asked about at most ``most`` of each part.

    Empty answers count as ruled, but no model is asked about them, nor about a refusal that was swapped: it
    would see through both at once.
    """
    answered = sorted((line for line in lines if _text(line) is not None), key=lambda line: line["id"])
    rulings = [(line, judge.rule(*_posed(line), _text(line) or "")) for line in answered]
    known = [(line, ruling[0]) for line, ruling in rulings if ruling is not None and _says_something(line)]
    draw = random.Random(seed)
    pairs = list(_asked_about_known(judge, _drawn(draw, known, most)))
    swaps = list(_asked_about_swaps(judge, _drawn(draw, list(_swapped(draw, judge, answered)), most)))
    compared = [(rule, model) for rule, model in pairs if model is not None]
    swapped = [verdict for verdict in swaps if verdict is not None]
    return Calibration(
        protocol=judge.protocol,
        model=None if judge.model is None else judge.model.name,
        answers=len(answered),
        ruled=sum(ruling is not None for _, ruling in rulings),
        compared=len(compared),
        agreed=sum(rule == model for rule, model in compared),
        right_missed=sum(rule and not model for rule, model in compared),
        wrong_accepted=sum(model and not rule for rule, model in compared),
        kappa=kappa([rule for rule, _ in compared], [model for _, model in compared]),
        swapped=len(swapped),
        swapped_accepted=sum(swapped),
        asked=len(pairs) + len(swaps),
        unparsable=len(pairs) + len(swaps) - len(compared) - len(swapped),
    )


def _asked_about_known(
    judge: Judge, known: Sequence[tuple[Line, bool]]
) -> Iterator[tuple[bool, bool | None]]:
    """What the rule and the model say of answers."""
    for line, right in known if judge.model is not None else ():
        yield right, _accepts(judge, line, _text(line) or "")


def _asked_about_swaps(judge: Judge, swaps: Sequence[tuple[Line, str]]) -> Iterator[bool | None]:
    for line, answer in swaps if judge.model is not None else ():
        yield _accepts(judge, line, answer)


def _swapped(draw: random.Random, judge: Judge, answered: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Questions with an answer that another question of their category was given, and that is wrong here.

    Left out are those that a rule calls right all the same, and pairs with the same reference or answer.
    """
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in answered:
        if not line["abstain"] and _says_something(line) and not refuses(_text(line) or ""):
            groups[line["category"]].append(line)
    for _, group in sorted(groups.items()):
        draw.shuffle(group)
        for line, other in zip(group, [*group[1:], *group[:1]], strict=True):
            answer = _text(other) or ""
            same = normalised(str(line["reference"])) == normalised(str(other["reference"]))
            if line is other or same or normalised(answer) == normalised(_text(line) or ""):
                continue
            ruling = judge.rule(*_posed(line), answer)
            if ruling is None or not ruling[0]:
                yield line, answer


def _accepts(judge: Judge, line: Line, answer: str) -> bool | None:
    verdict = judge.by_model(*_posed(line), answer).verdict
    return None if verdict is None else verdict == "CORRECT"


def _posed(line: Line) -> tuple[str, str, str, bool]:
    return line["question"], line["category"], str(line["reference"]), line["abstain"]


def _text(line: Line) -> str | None:
    answer = line.get("answer")
    return None if answer is None else answer["text"]


def _says_something(line: Line) -> bool:
    return bool((_text(line) or "").strip())


def _drawn(draw: random.Random, found: list[Any], most: int) -> list[Any]:
    return found if len(found) <= most else draw.sample(found, most)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "no share" if share is None else f"{100 * share:.0f} %"
