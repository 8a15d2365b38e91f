"""Human checks of a judge: a blind sample, labels in an append-only file, agreement (APDMem, Appendix F).

Who labels sees question, reference and answer, never the verdict nor the arm. Verdicts of WRONG and answers
without a verdict are drawn more often than they come: disagreement is likelier there. The agreement printed
is that of the sample, not of a run.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from localmem.errors import BadInput
from localmem.evals.log import LABELS, Log
from localmem.evals.scores import by_category
from localmem.evals.statistics.agreement import agreement, kappa

Human = Literal["CORRECT", "WRONG", "SKIPPED"]
DOUBTFUL = 0.5
"""Share of a type's sample, at least, that is drawn from verdicts of WRONG and from what is unscored."""


@dataclass(frozen=True, slots=True)
class Item:
    """An answer to label."""

    key: str
    """``sha256:...`` of question id and answer: the same answer of two arms is labelled once."""
    category: str
    question: str
    reference: str
    abstain: bool
    answer: str
    verdict: str | None
    """The judge's; None: unscored."""


def judged_answers(logs: Iterable[Log]) -> list[Item]:
    """The distinct answers of some runs that a judge was shown, by key."""
    found = {}
    for log in logs:
        for line in log.lines.values():
            answer, verdict = line["answer"], line["verdict"]
            if verdict is None or answer is None or not (answer["text"] or "").strip():
                continue  # an empty answer is wrong for anybody
            canonical = json.dumps([line["id"], answer["text"]], separators=(",", ":"))
            key = f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
            found[key] = Item(
                key,
                line["category"],
                line["question"],
                str(line["reference"]),
                line["abstain"],
                answer["text"],
                verdict["verdict"],
            )
    return [found[key] for key in sorted(found)]


def sample(items: Sequence[Item], per_type: int, seed: int) -> list[Item]:
    """Up to ``per_type`` answers of each category in an order of chance; the same for the same seed."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.category].append(item)
    drawn = []
    for category, group in sorted(groups.items()):
        draw = random.Random(f"{seed} {category}")
        doubtful = [item for item in group if item.verdict != "CORRECT"]
        right = [item for item in group if item.verdict == "CORRECT"]
        share = max(DOUBTFUL, len(doubtful) / len(group))
        count = min(per_type, len(group))
        some = min(max(round(share * count), count - len(right)), len(doubtful))
        drawn += draw.sample(doubtful, some) + draw.sample(right, count - some)
    random.Random(seed).shuffle(drawn)
    return drawn


class Labels:
    """Labels by key in ``labels.jsonl`` of a folder; every change is a line more, the last one holds.

    Raises :class:`BadInput` for a file that was not written here. A last line that a crash cut short is
    dropped.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LABELS
        self.given: dict[str, Human] = {}
        if not self._path.exists():
            return
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if len(whole) < len(text):
            self._path.write_text(whole, encoding="utf-8")
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                self._hold(entry["key"], entry["human"])
            except (ValueError, KeyError, TypeError) as error:
                raise BadInput(f"{self._path}, line {number} is no label. Mend it or take it out.") from error

    def give(self, item: Item, human: Human) -> None:
        """Keep a label."""
        self._append(item, human)

    def take_back(self, item: Item) -> None:
        """An item is without a label again."""
        self._append(item, None)

    def _append(self, item: Item, human: Human | None) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": item.key, "category": item.category, "human": human}) + "\n")
        self._hold(item.key, human)

    def _hold(self, key: str, human: Human | None) -> None:
        if human not in ("CORRECT", "WRONG", "SKIPPED", None):
            raise ValueError(human)
        if human is None:
            self.given.pop(key, None)
        else:
            self.given[key] = human


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge against a person."""

    name: str
    """Category, or ``all``."""
    n: int
    """Answers that both decided."""
    agreement: float | None
    """Share of them with the same label."""
    kappa: float | None
    """Cohen's; None where it is undefined: both gave one label only, or n is 0."""
    unscored: int
    """Answers that a person decided and the judge did not."""
    unscored_right: int
    """Those of them that are right."""

    def to_json(self) -> dict[str, Any]:
        """By field, without the name."""
        return {
            "n": self.n,
            "agreement": self.agreement,
            "kappa": self.kappa,
            "unscored": self.unscored,
            "unscored_right": self.unscored_right,
        }


def agreements(items: Sequence[Item], labels: Labels) -> list[Agreement]:
    """All labelled answers together, then by category."""
    labelled = [item for item in items if labels.given.get(item.key, "SKIPPED") != "SKIPPED"]
    categories = by_category({"category": item.category, "item": item} for item in labelled)
    groups = [(group.lines[0]["category"], [line["item"] for line in group.lines]) for group in categories]
    return [_agreement(name, group, labels) for name, group in [("all", labelled), *groups]]


def _agreement(name: str, items: Sequence[Item], labels: Labels) -> Agreement:
    people = {item.key: labels.given[item.key] for item in items}
    both = [item for item in items if item.verdict is not None]
    judge, human = [item.verdict for item in both], [people[item.key] for item in both]
    alone = [people[item.key] for item in items if item.verdict is None]
    return Agreement(
        name,
        len(both),
        agreement(judge, human),
        kappa(judge, human),
        len(alone),
        sum(label == "CORRECT" for label in alone),
    )
