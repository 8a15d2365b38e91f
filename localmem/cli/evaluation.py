"""``localmem eval``: measure arms on a benchmark's own files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from rich.progress import TaskID

from localmem.cli.context import Context, pass_context, print_json
from localmem.cli.labelling import label_command
from localmem.cli.numbers import NUMBERS
from localmem.cli.reporting import report_command
from localmem.cli.tables import print_run, print_suite
from localmem.errors import BadInput
from localmem.evals.answerer import PROMPT_TOKENS
from localmem.evals.asking import Resources
from localmem.evals.comparing import (
    QUALITY,
    compare_with,
    comparison_lines,
    multi_run,
    multi_run_lines,
    to_json,
)
from localmem.evals.crew import NOBODY, ROLES, hire
from localmem.evals.datasets import BENCHMARKS
from localmem.evals.judging import PROTOCOLS, Panel, combined
from localmem.evals.limits import POINTS
from localmem.evals.log import Log, merge, read_logs
from localmem.evals.run import ARM_NAMES, WITHOUT, Run, Work, evaluate
from localmem.evals.sampling import parse_shard
from localmem.evals.scheduling import Cluster
from localmem.evals.suites import SUITES, missing_peers, run_suite
from localmem.evals.summing import summary
from localmem.evals.vectors import CachingEmbedder
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.text import printable

RUNS_TEMPERATURE = 0.7
"""At which answers are drawn when a run is repeated."""
DATA = click.Path(exists=True, path_type=Path)


class _Shard(click.ParamType[tuple[int, int]]):
    name = "I/N"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> tuple[int, int]:
        try:
            return parse_shard(str(value))
        except BadInput as error:
            self.fail(str(error), param, context)


class _RoleModel(click.ParamType[tuple[ModelRole, str]]):
    name = "ROLE=NAME"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> tuple[ModelRole, str]:
        role, _, name = str(value).partition("=")
        if role not in ROLES or not name:
            self.fail(
                f"{value!r} is not like answerer=smollm2-135m. Roles: {', '.join(ROLES)}.", param, context
            )
        return ModelRole(role), name


@click.group("eval")
def eval_group() -> None:
    """Evaluate memory on LoCoMo, LongMemEval or your own questions, offline."""


@eval_group.command("run")
@click.option("--benchmark", type=click.Choice(list(BENCHMARKS)), help="Format of the data.")
@click.option("--arm", type=click.Choice(ARM_NAMES), help="How records are chosen.")
@click.option("--suite", type=click.Choice(list(SUITES)), help="Run the arms of a paper's main table.")
@click.option("--data", type=DATA, required=True, help="The benchmark's file.")
@click.option("--no-llm", is_flag=True, help="Measure evidence only: no model words or marks answers.")
@click.option("--k", "numbers", type=NUMBERS, default="10,34", show_default=True, help="Records kept.")
@click.option(
    "--point", type=click.Choice(list(POINTS)), help="Completion's budget as in the paper's sweep (Table 16)."
)
@click.option("--max-steps", type=click.IntRange(min=0), help="Rounds of completion, by default 3.")
@click.option("--max-calls", type=click.IntRange(min=0), help="Its retrieval calls, by default 6.")
@click.option("--max-records", type=click.IntRange(min=0), help="New records it may add, by default 30.")
@click.option("--keep", type=click.IntRange(min=1), help="New records a round, by default the arm's own.")
@click.option("--without", multiple=True, type=click.Choice(WITHOUT), help="Leave this out (ablation).")
@click.option(
    "--layers",
    type=click.Choice(["cold", "warm"]),
    default="cold",
    show_default=True,
    help="Make all layers before the first question, or when they are read.",
)
@click.option("--model", "models", multiple=True, type=_RoleModel(), help="Give a role to a model.")
@click.option(
    "--protocol", type=click.Choice(list(PROTOCOLS)), help="The judge's; by default the benchmark's."
)
@click.option(
    "--prompt-tokens",
    type=click.IntRange(min=256),
    default=PROMPT_TOKENS,
    show_default=True,
    help="Longest prompt of the answerer.",
)
@click.option("--sufficiency", is_flag=True, help="Judge whether the evidence suffices: slow, needs a judge.")
@click.option("--retrieval-from", type=DATA, metavar="LOG", help="Take the evidence of this run.")
@click.option("--runs", type=click.IntRange(min=1), default=1, help="Repeat, with answers drawn by seed.")
@click.option("--limit", type=click.IntRange(min=1), help="So many questions, drawn at random.")
@click.option("--stratify", is_flag=True, help="Draw them from each category in proportion.")
@click.option("--seed", type=int, default=0, show_default=True, help="For what is drawn.")
@click.option("--shard", type=_Shard(), help="Ask only the I-th of N parts of the questions.")
@click.option("--scheduler", metavar="ADDRESS", help="Ask the questions on this Dask cluster.")
@click.option("--skip-bad", is_flag=True, help="Leave out records that cannot be read.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep the logs here, and go on from them.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@pass_context
def run_command(
    context: Context,
    benchmark: str | None,
    arm: str | None,
    suite: str | None,
    data: Path,
    no_llm: bool,
    numbers: tuple[int, ...],
    point: str | None,
    max_steps: int | None,
    max_calls: int | None,
    max_records: int | None,
    keep: int | None,
    without: tuple[str, ...],
    layers: str,
    models: tuple[tuple[ModelRole, str], ...],
    protocol: str | None,
    prompt_tokens: int,
    sufficiency: bool,
    retrieval_from: Path | None,
    runs: int,
    limit: int | None,
    stratify: bool,
    seed: int,
    shard: tuple[int, int] | None,
    scheduler: str | None,
    skip_bad: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask a benchmark's questions; measure which evidence was found and how it was answered."""
    if (suite is None) == (arm is None or benchmark is None):
        raise click.UsageError("Give --benchmark and --arm, or --suite.")
    if runs > 1 and no_llm:
        raise click.UsageError("Without a model every run is the same: --runs needs one.")
    settings = Run(
        benchmark=benchmark or SUITES[str(suite)].benchmark,
        arm=arm or "",
        data=data,
        k=numbers,
        limit=limit,
        stratify=stratify,
        seed=seed,
        shard=shard,
        point=point,
        steps=max_steps,
        calls=max_calls,
        records=max_records,
        keep=keep,
        without=without,
        warm=layers == "warm",
        answers=not no_llm,
        protocol=protocol or ("longmemeval" if "longmemeval" in (benchmark or suite or "") else "generous"),
        prompt_tokens=prompt_tokens,
        retrieval_from=retrieval_from,
        temperature=RUNS_TEMPERATURE if runs > 1 else 0.0,
        skip_bad=skip_bad,
    )
    opener = partial(resources, context.home, dict(models), no_llm, sufficiency)
    work = None if scheduler is None else Cluster(scheduler, opener)
    with opener() as ready:
        for number in range(1, runs + 1):
            logs = _run(context, replace(settings, number=number), suite, ready, out, work)
    if suite is not None:
        print_suite(suite, logs, missing_peers(suite), as_json)
    elif as_json:
        print_json(summary(logs[0]))
    else:
        print_run(summary(logs[0]))


@contextmanager
def resources(
    home: Path, models: dict[ModelRole, str], no_llm: bool, sufficiency: bool
) -> Iterator[Resources]:
    """The embedder and the models of a home; closed at the end.

    Raises :class:`BadInput` when sufficiency is to be judged and no model is trusted to.
    """
    library = Library(home)
    try:
        embedder = CachingEmbedder(library.embedder(), home / "cache" / "vectors.db")
        try:
            crew = NOBODY if no_llm else hire(library, home, models)
            judge = crew.model(ModelRole.JUDGE)
            if sufficiency and judge is None:
                raise BadInput(
                    "No model is trusted to judge sufficiency. Give one the role: --model judge=NAME"
                )
            yield Resources(embedder, crew, Panel.of(judge) if sufficiency and judge else None)
        finally:
            embedder.close()
    finally:
        library.close()


def _run(
    context: Context, run: Run, suite: str | None, ready: Resources, out: Path | None, work: Work | None
) -> list[Log]:
    """The logs of a run, or of all runs of a suite, with a progress bar."""
    with context.progress() as bar:
        tasks: dict[str, TaskID] = {}

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label, total=total, completed=done)
            bar.update(tasks[label], completed=done)

        def skipped(told: str) -> None:
            context.say(told)

        if suite is not None:
            return run_suite(suite, run, ready, out, show, work=work, skipped=skipped)
        return [evaluate(run, ready, out, partial(show, run.label), work=work, skipped=skipped)]


@eval_group.command("merge")
@click.argument("logs", nargs=-1, required=True, type=DATA)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the whole log.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def merge_command(logs: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Put the shards of a run together. LOGS are their files, or folders of them."""
    read = [log for path in logs for log in read_logs(path)]
    runs: dict[str, list[Log]] = {}
    for log in read:
        runs.setdefault(log.run["arm_label"], []).append(log)
    merged = [merge(shards, out, _calibration(shards)) for shards in runs.values()]
    for log in merged:
        if as_json:
            print_json(summary(log))
        else:
            click.echo(printable(f"{log.path}: {len(log.lines)} questions"))


def _calibration(shards: list[Log]) -> dict[str, object] | None:
    known = [log.calibration for log in shards if log.calibration is not None]
    return combined(known).to_json() if len(known) == len(shards) else None


@eval_group.command("compare")
@click.argument("first", type=DATA)
@click.argument("others", nargs=-1, type=DATA)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare_command(first: Path, others: tuple[Path, ...], as_json: bool) -> None:
    """Compare runs with FIRST: where each is better, by how much, and whether it may be chance.

    Runs are paired question by question; repeated ones (--runs) are compared as groups.
    """
    baseline, *rest = read_logs(first)
    logs = [*rest, *(log for path in others for log in read_logs(path))]
    if any(log.run["temperature"] for log in logs):
        repeated = multi_run([baseline, *logs], QUALITY)
        lines = list(multi_run_lines(repeated))
        found = [to_json(repeated)]
    else:
        compared = compare_with(baseline, logs)
        lines = [line for one in compared for line in (*comparison_lines(one), "")]
        found = [to_json(one) for one in compared]
    if as_json:
        print_json(found)
    else:
        click.echo(printable("\n".join(lines).rstrip()))


eval_group.add_command(label_command)
eval_group.add_command(report_command)
