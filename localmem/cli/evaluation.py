"""``localmem eval``: measure arms on a benchmark's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from localmem.cli.context import Context, pass_context, print_json
from localmem.cli.numbers import NUMBERS
from localmem.evals.arms import ARMS
from localmem.evals.datasets import BENCHMARKS
from localmem.evals.limits import POINTS
from localmem.evals.run import Run, evaluate
from localmem.evals.vectors import CachingEmbedder


@click.group("eval")
def eval_group() -> None:
    """Evaluate memory on LoCoMo and LongMemEval, offline."""


@eval_group.command("run")
@click.option("--benchmark", type=click.Choice(list(BENCHMARKS)), required=True, help="Format of the data.")
@click.option("--arm", type=click.Choice(list(ARMS)), required=True, help="How records are chosen.")
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="The benchmark's file.",
)
@click.option("--no-llm", is_flag=True, help="Use no language model (these arms use none).")
@click.option("--k", "numbers", type=NUMBERS, default="10,34", show_default=True, help="Records kept.")
@click.option(
    "--point", type=click.Choice(list(POINTS)), help="Completion's budget as in the paper's sweep (Table 16)."
)
@click.option("--max-steps", type=click.IntRange(min=0), help="Rounds of completion, by default 3.")
@click.option("--max-calls", type=click.IntRange(min=0), help="Its retrieval calls, by default 6.")
@click.option("--max-records", type=click.IntRange(min=0), help="New records it may add, by default 30.")
@click.option("--keep", type=click.IntRange(min=1), help="New records a round, by default the arm's own.")
@click.option("--limit", type=click.IntRange(min=1), help="So many questions, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="For what is drawn.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep the log here, and go on from it.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@pass_context
def run_command(
    context: Context,
    benchmark: str,
    arm: str,
    data: Path,
    no_llm: bool,
    numbers: tuple[int, ...],
    point: str | None,
    max_steps: int | None,
    max_calls: int | None,
    max_records: int | None,
    keep: int | None,
    limit: int | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask a benchmark's questions and measure which evidence was found."""
    run = Run(benchmark, arm, data, numbers, limit, seed, point, max_steps, max_calls, max_records, keep)
    embedder = CachingEmbedder(context.library.embedder(), context.home / "cache" / "vectors.db")
    try:
        with context.progress() as bar:
            task = bar.add_task(f"{benchmark} {arm}", total=None)
            result = evaluate(
                run, embedder, out, lambda done, total: bar.update(task, completed=done, total=total)
            )
    finally:
        embedder.close()
    context.say(f"{1000 * result.seconds:.1f} ms a question")
    if as_json:
        print_json(result.summary)
    else:
        _print(result.summary)


def _print(result: dict[str, Any]) -> None:
    rows = [("all", result["n"], result)]
    rows += [(name, part["n"], part) for name, part in result["by_type"].items()]
    columns = [("at_k", k, name) for k, values in result["at_k"].items() for name in values]
    heads = [f"{name.replace('_', ' ')} @{k}" for _, k, name in columns]
    width = max(len(str(name)) for name, _, _ in rows)
    click.echo(f"{'':{width}}  {'n':>5}  " + "  ".join(heads))
    for name, count, part in rows:
        values = [
            f"{100 * part[where][k][metric]:>{len(head)}.1f}"
            for (where, k, metric), head in zip(columns, heads, strict=True)
        ]
        click.echo(f"{name:{width}}  {count:>5}  " + "  ".join(values))
    metrics, ledger = result["metrics"], result["ledger"]
    click.echo(
        f"all records kept: gold hit {100 * metrics['gold_hit']:.1f}, evidence recall "
        f"{100 * metrics['evidence_recall']:.1f}, complete evidence recall "
        f"{100 * metrics['complete_evidence_recall']:.1f}"
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
