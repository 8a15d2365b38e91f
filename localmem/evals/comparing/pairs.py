"""Two runs, question by question: who is better where, by how much, and how sure is that?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from localmem.errors import BadInput
from localmem.evals.log import Log
from localmem.evals.scored import common_ids, names, same_data
from localmem.evals.scores import SCORES, Score, adversarial
from localmem.evals.statistics import Mean, holm, mcnemar, paired_bootstrap

SIGNIFICANT = 0.05
"""Largest p after Holm that counts as a difference."""

QUALITY: Mapping[str, Score] = {
    name: SCORES[name]
    for name in (
        "gold_hit",
        "evidence_recall",
        "complete_evidence_recall",
        "suff_at_set",
        "stem_f1",
        "accuracy",
    )
}
"""What is compared unless told otherwise: every further test makes Holm's correction harder on all."""
LESS_IS_BETTER = frozenset(
    {
        "false_refusal",
        "retrieval_error",
        "generation_error",
        "sessions_drilled",
        "depth",
        "steps",
        "records",
        "calls",
        "completion_calls",
        "model_calls",
        "tokens_read",
        "tokens_reused",
        "tokens_written",
        "seconds",
    }
)
"""Scores of which the smaller wins: errors and costs."""

_NAMING = frozenset({"label", "arm_label", "shard", "limit", "stratify", "conversation"})
"""Of a log's first line: what names a run or chooses its questions, and so does not change an answer."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A score in two runs, over the questions that both have and have it for."""

    score: str
    category: str | None
    """None: all questions."""
    n: int
    """Pairs."""
    unscored: int
    """Questions of both runs where at least one has no score: left out."""
    win: int
    """Pairs in which the first run is better."""
    tie: int
    loss: int
    first: float | None
    """Mean of the first run; None, like all that follows, when there is no pair."""
    second: float | None
    difference: Mean | None
    """First less second, with its interval: resampled conversations."""
    bootstrap_p: float | None
    """Paired bootstrap; None when every pair differs by the same."""
    mcnemar_p: float | None
    """Exact McNemar; None when the score is not 0 or 1 throughout."""
    holm_p: float | None = None
    """:attr:`p` after Holm over the family of tests."""

    @property
    def p(self) -> float | None:
        """The p that Holm adjusts: McNemar where the score is 0 or 1, else the bootstrap (BFR, Table 12)."""
        return self.bootstrap_p if self.mcnemar_p is None else self.mcnemar_p

    @property
    def significant(self) -> bool:
        """Whether the difference stands: by its p after Holm, and its interval, if any, leaves out 0.

        Both, because McNemar takes questions as independent and the interval does not.
        """
        if self.holm_p is None or self.holm_p > SIGNIFICANT:
            return False
        mean = self.difference
        return mean is None or mean.low is None or mean.high is None or not mean.low <= 0 <= mean.high


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same data."""

    first: str
    second: str
    common: int
    """Questions that both runs have."""
    conversations: int
    """Those they are asked of."""
    only_first: int
    """Questions that the other lacks: left out."""
    only_second: int
    differ: tuple[str, ...]
    """Settings in which the runs differ."""
    overall: tuple[Difference, ...]
    """A score each; with those of the other comparisons made at once, a family for Holm. LoCoMo's adversarial
    questions are in ``by_category`` alone, as in a run's summary."""
    by_category: tuple[Difference, ...]
    """By score and category: a family of their own."""


def compare(first: Log, second: Log, scores: Mapping[str, Score] = QUALITY, seed: int = 0) -> Comparison:
    """Compare two runs on ``scores``, paired by question id.

    Raises :class:`BadInput` for runs over different data or without a common question.
    """
    return compare_with(second, [first], scores, seed)[0]


def compare_with(
    baseline: Log, others: Sequence[Log], scores: Mapping[str, Score] = QUALITY, seed: int = 0
) -> tuple[Comparison, ...]:
    """Compare each of ``others`` with ``baseline`` as :func:`compare` does; Holm goes over all of it.

    A win is one over the baseline.
    """
    if not others:
        raise BadInput("A comparison needs a second run.")
    same_data([baseline, *others])
    base, *called = names([baseline, *others])
    found = [
        _compared(name, base, log, baseline, scores, seed) for name, log in zip(called, others, strict=True)
    ]
    overall = _adjusted([difference for one in found for difference in one.overall])
    by_category = _adjusted([difference for one in found for difference in one.by_category])
    return tuple(
        replace(
            one,
            overall=tuple(next(overall) for _ in one.overall),
            by_category=tuple(next(by_category) for _ in one.by_category),
        )
        for one in found
    )


def _compared(
    name: str, base: str, first: Log, second: Log, scores: Mapping[str, Score], seed: int
) -> Comparison:
    ids = common_ids([first, second])
    groups: dict[str, list[str]] = {}
    for i in ids:
        groups.setdefault(str(first.lines[i]["category"]), []).append(i)

    def differences(category: str | None, chosen: Sequence[str]) -> Iterator[Difference]:
        for score in scores.items():
            yield _difference(score, category, first, second, chosen, seed)

    return Comparison(
        name,
        base,
        len(ids),
        len({first.lines[i]["source"] for i in ids}),
        len(first.lines) - len(ids),
        len(second.lines) - len(ids),
        tuple(
            key
            for key in sorted({*first.run, *second.run} - _NAMING)
            if first.run.get(key) != second.run.get(key)
        ),
        tuple(differences(None, [i for i in ids if not adversarial(first.lines[i])])),
        tuple(one for category in sorted(groups) for one in differences(category, groups[category])),
    )


def _difference(
    named: tuple[str, Score],
    category: str | None,
    first: Log,
    second: Log,
    ids: Sequence[str],
    seed: int,
) -> Difference:
    name, score = named
    sign = -1 if name in LESS_IS_BETTER else 1
    pairs = [
        (i, a, b)
        for i in ids
        if (a := score(first.lines[i])) is not None and (b := score(second.lines[i])) is not None
    ]
    ones, others = [a for _, a, _ in pairs], [b for _, _, b in pairs]
    win = sum(sign * a > sign * b for _, a, b in pairs)
    loss = sum(sign * a < sign * b for _, a, b in pairs)
    sources = [str(first.lines[i]["source"]) for i, _, _ in pairs]
    mean, p = paired_bootstrap(ones, others, sources, seed)
    return Difference(
        name,
        category,
        len(pairs),
        len(ids) - len(pairs),
        win,
        len(pairs) - win - loss,
        loss,
        fmean(ones) if pairs else None,
        fmean(others) if pairs else None,
        mean,
        p,
        mcnemar(win, loss) if pairs and {*ones, *others} <= {0, 1} else None,
    )


def _adjusted(differences: Sequence[Difference]) -> Iterator[Difference]:
    tested = [one for one in differences if one.p is not None]
    adjusted = iter(holm([one.p for one in tested if one.p is not None]))
    for one in differences:
        yield one if one.p is None else replace(one, holm_p=next(adjusted))
