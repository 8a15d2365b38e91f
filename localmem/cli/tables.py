"""Tables of an evaluation on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import click

from localmem.cli.context import print_json
from localmem.evals.log import Log
from localmem.evals.published import Row, Table, published
from localmem.evals.summing import summary
from localmem.text import printable

NOT_SCORED = "not scored"


def print_run(result: dict[str, Any]) -> None:
    """One run: evidence by category, answers, and what it cost."""
    columns = [("at_k", k, name) for k, values in result["at_k"].items() for name in values]
    heads = ["", "n", *(f"{name.replace('_', ' ')} @{k}" for _, k, name in columns)]
    parts = [("all", result), *result["by_type"].items()]
    rows = [
        [name, str(part["n"]), *(_percent(part["at_k"][k][metric]) for _, k, metric in columns)]
        for name, part in parts
    ]
    _print_table([heads, *rows])
    metrics, ledger = result["metrics"], result["ledger"]
    click.echo(
        f"all records kept: gold hit {_percent(metrics['gold_hit'])}, evidence recall "
        f"{_percent(metrics['evidence_recall'])}, complete evidence recall "
        f"{_percent(metrics['complete_evidence_recall'])}"
    )
    click.echo(
        f"{ledger['records']:.2f} records (at most {ledger['records_max']}) "
        f"of {ledger['messages']:.0f} messages, "
        f"{ledger['completion_calls']:.2f} completion calls (at most {ledger['completion_calls_max']})"
    )
    if paper := ledger["paper"]:
        click.echo(
            f"the paper: {paper['records']:.2f} records, {paper['completion_calls']:.2f} completion calls"
        )
    if metrics["stem_f1"] is None:
        click.echo(f"answers: {NOT_SCORED}")
        return
    rows = [[name, str(part["metrics"]["questions"]), *_answers(part["metrics"])] for name, part in parts]
    _print_table([["", "questions", *ANSWER_HEADS], *rows])


ANSWER_HEADS = ("stem F1", "accuracy", "unscored", "right refusals", "false refusals")


def print_suite(suite: str, logs: Sequence[Log], skipped: dict[str, str], as_json: bool) -> None:
    """All runs of a suite beside the published figures, which are marked as such."""
    results = [summary(log) for log in logs]
    tables = published(suite)
    if as_json:
        print_json(
            {
                "suite": suite,
                "runs": {log.label: result for log, result in zip(logs, results, strict=True)},
                "skipped": skipped,
                "published": [asdict(table) for table in tables],
            }
        )
        return
    ks = [str(k) for k in logs[0].run["k"]]
    heads = ["measured here", "n", "records", *(f"{name} @{k}" for k in ks for name in ("GH", "CER"))]
    heads += ["GH all", "CER all", *ANSWER_HEADS[:3]]
    rows = []
    for log, result in zip(logs, results, strict=True):
        at_k = [result["at_k"].get(k, {}) for k in ks]
        metrics = result["metrics"]
        answers = _answers(metrics)[:3] if metrics["stem_f1"] is not None else [NOT_SCORED, "", ""]
        rows.append(
            [
                log.label,
                str(result["n"]),
                f"{result['ledger']['records']:.1f}",
                *(
                    _percent(part.get(name))
                    for part in at_k
                    for name in ("gold_hit", "complete_evidence_recall")
                ),
                _percent(metrics["gold_hit"]),
                _percent(metrics["complete_evidence_recall"]),
                *answers,
            ]
        )
    _print_table([heads, *rows])
    click.echo("GH: gold hit, CER: complete evidence recall, both in %, over questions with evidence.")
    for peer, reason in skipped.items():
        click.echo(printable(f"{peer}: skipped, {reason}"))
    for table in tables:
        if table.main:
            _print_published(table)


def _print_published(table: Table) -> None:
    click.echo()
    click.echo(f"published, not measured here: {table.source}: {table.title}")
    columns = list(dict.fromkeys(name for row in table.rows for name in row.overall))
    rows = [
        [_system(row), *(f"{row.overall[n]:g}" if n in row.overall else "" for n in columns)]
        for row in table.rows
    ]
    _print_table([["", *columns], *rows])


def _system(row: Row) -> str:
    told = [row.system, row.point, row.model, *(f"without {name}" for name in row.without)]
    return ", ".join(part for part in told if part)


def _answers(metrics: dict[str, Any]) -> list[str]:
    names = ("stem_f1", "accuracy", "unscored", "right_refusal", "false_refusal")
    return [_percent(metrics[name]) for name in names]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """Rows of text in columns: the first to the left, numbers to the right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(_aligned(row, widths)).rstrip())


def _aligned(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if place else cell.ljust(width)
