"""``localmem eval``: measure arms on a benchmark's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from localmem.cli.context import Context, pass_context, print_json
from localmem.cli.numbers import NUMBERS
from localmem.evals.arms import ARMS
from localmem.evals.datasets import BENCHMARKS
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
@click.option("--limit", type=click.IntRange(min=1), help="So many questions, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the draw.")
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
    limit: int | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask a benchmark's questions and measure which evidence was found."""
    run = Run(benchmark, arm, data, numbers, limit, seed)
    embedder = CachingEmbedder(context.library.embedder(), context.home / "cache" / "vectors.db")
    try:
        with context.progress() as bar:
            task = bar.add_task(f"{benchmark} {arm}", total=None)
            result = evaluate(
                run, embedder, out, lambda done, total: bar.update(task, completed=done, total=total)
            )
    finally:
        embedder.close()
    if as_json:
        print_json(result)
    else:
        _print(result)


def _print(result: dict[str, Any]) -> None:
    columns = [(k, name) for k, values in result["at_k"].items() for name in values]
    heads = [f"{name.replace('_', ' ')} @{k}" for k, name in columns]
    rows = [("all", result["n"], result["at_k"])]
    rows += [(name, part["n"], part["at_k"]) for name, part in result["by_type"].items()]
    width = max(len(str(name)) for name, _, _ in rows)
    click.echo(f"{'':{width}}  {'n':>5}  " + "  ".join(heads))
    for name, count, at_k in rows:
        values = [
            f"{100 * at_k[k][metric]:>{len(head)}.1f}"
            for (k, metric), head in zip(columns, heads, strict=True)
        ]
        click.echo(f"{name:{width}}  {count:>5}  " + "  ".join(values))
    ledger = result["ledger"]
    click.echo(
        f"{ledger['records']:.1f} records of {ledger['messages']:.0f} messages, "
        f"{ledger['retrieval_calls']:.1f} calls, {1000 * ledger['seconds_median']:.1f} ms a question"
    )
