"""A score of many questions with its interval, and which logs can be set side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localmem.errors import BadInput
from localmem.evals.log import Line, Log
from localmem.evals.scores import Score
from localmem.evals.statistics import Mean, mean_interval


@dataclass(frozen=True, slots=True)
class Scored:
    """The scored ones of some questions, by id."""

    ids: tuple[str, ...]
    values: tuple[float, ...]
    sources: tuple[str, ...]
    """Conversation of each."""
    unscored: int
    """Questions without a score. They are no zeros."""

    def mean(self, seed: int = 0) -> Mean | None:
        """With its interval, clustered by conversation; None when nothing is scored."""
        return mean_interval(self.values, self.sources, seed)


def scored(lines: Iterable[Line], score: Score) -> Scored:
    """The score of each line that has one, in order of id."""
    ordered = sorted(lines, key=lambda line: str(line["id"]))
    found = [(line, value) for line in ordered if (value := score(line)) is not None]
    return Scored(
        tuple(str(line["id"]) for line, _ in found),
        tuple(float(value) for _, value in found),
        tuple(str(line["source"]) for line, _ in found),
        len(ordered) - len(found),
    )


def same_data(logs: Sequence[Log]) -> None:
    """Raise :class:`BadInput` unless all logs are of runs over the same file."""
    for log in logs[1:]:
        if log.run["data"] != logs[0].run["data"]:
            raise BadInput(
                f"{logs[0].path} and {log.path} are runs over different data (their hashes differ). "
                "Only runs over the same file can be compared."
            )


def common_ids(logs: Sequence[Log]) -> tuple[str, ...]:
    """Ids of the questions that all logs have, in order. Raises :class:`BadInput` when there is none."""
    common = set(logs[0].lines).intersection(*(log.lines for log in logs[1:]))
    if not common:
        named = " and ".join(str(log.path) for log in logs)
        raise BadInput(
            f"{named} have no question in common. Run them with the same --limit, --seed and --shard."
        )
    return tuple(sorted(common))


def names(logs: Sequence[Log]) -> tuple[str, ...]:
    """What to call each log: its label, with its place where several have the same."""
    labels = [log.label for log in logs]
    return tuple(f"{log.label} ({log.path})" if labels.count(log.label) > 1 else log.label for log in logs)
