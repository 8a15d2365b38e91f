"""A report out of logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from localmem.evals.arms import UNRANKED
from localmem.evals.log import Log
from localmem.evals.report.costs import costs
from localmem.evals.report.examples import examples
from localmem.evals.report.facts import brief, facts
from localmem.evals.report.measuring import HEADLINES, has, headline, interval
from localmem.evals.report.paired import baseline, paired
from localmem.evals.report.parts import Report, percent
from localmem.evals.report.reading import reading
from localmem.evals.report.results import by_type, results
from localmem.evals.report.stability import stability
from localmem.evals.report.verdicts import conclusions, verdicts
from localmem.evals.scored import names, same_data, scored
from localmem.evals.scores import SCORES, adversarial


def build_report(logs: Sequence[Log], base: str | None = None) -> Report:
    """All sections, every run compared with the one labelled ``base``.

    None: with ``rag-raw``, else ``bm25``, else the first. LoCoMo's adversarial questions are a type of their
    own and in no other mean, as in both papers. Raises :class:`BadInput` for runs over different data or a
    label that no run has.
    """
    same_data(logs)
    logs = [replace(log, run={**log.run, "label": name}) for log, name in zip(logs, names(logs), strict=True)]
    main = [_answerable(log) for log in logs]
    against, said = paired(main, baseline(main, base))
    return Report(
        f"Evaluation on {logs[0].run['benchmark']}",
        (*_summary(logs, main), *said),
        (
            results(logs, main),
            by_type(logs),
            against,
            reading(main),
            costs(main),
            verdicts(logs),
            stability(main),
            examples(logs),
            facts(logs),
        ),
    )


def _answerable(log: Log) -> Log:
    return replace(log, lines={key: line for key, line in log.lines.items() if not adversarial(line)})


def _summary(logs: Sequence[Log], main: Sequence[Log]) -> Iterator[str]:
    """What was run and what came first, in sentences."""
    lines = {key: line for log in logs for key, line in log.lines.items()}
    conversations = {line["source"] for line in lines.values()}
    apart = sum(map(adversarial, lines.values()))
    yield (
        f"{_count(len(logs), 'run')} over {_count(len(lines), 'question')} "
        f"of {_count(len(conversations), 'conversation')}"
        + (f"; {apart} adversarial ones are in no mean but their own." if apart else ".")
    )
    if short := [log.label for log in logs if len(log.lines) < len(lines)]:
        yield f"Without some of the questions: {', '.join(short)}. Their means are over those they have."
    yield brief(logs)
    name, ranked = headline(main), main
    if name == "complete_evidence_recall":
        yield "Answers were not scored: runs are told apart by the evidence they found."
        ranked = [log for log in main if log.run["arm"] not in UNRANKED]  # all of it is no finding
    means = {log.label: found for log in ranked if (found := scored(log.lines.values(), SCORES[name]).mean())}
    if means:
        label, best = max(means.items(), key=lambda pair: pair[1].value)
        yield f"Highest {HEADLINES[name]}: {label}, {percent(best.value)} % (95 %: {interval(best)})."
    calibrations = {log.label: log.calibration for log in logs if log.calibration is not None}
    if has(main, "accuracy"):
        yield from conclusions(calibrations)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
