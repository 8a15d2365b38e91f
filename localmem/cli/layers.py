"""Commands about the layers of memory: show, export, stats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown

from localmem.cli.context import Context, pass_context, print_json
from localmem.disclosure.advice import step_distribution
from localmem.entries import Entry, Failure, Layer, Summary
from localmem.errors import BadInput
from localmem.export import ALL, export_jsonl, export_markdown, folder_name
from localmem.layers import markdown
from localmem.layers.stats import Judged, LayerStats
from localmem.models.catalog import ModelRole
from localmem.store.traces import StepCount
from localmem.text import printable
from localmem.types import Message

RAW = "raw"


@click.command("show")
@click.argument("session", type=int)
@click.option(
    "--layer",
    type=click.Choice([*(layer.value for layer in Layer), RAW]),
    default=RAW,
    show_default=True,
    help="From coarse to fine: summary, facts, notes, and the messages themselves.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@pass_context
def show_command(context: Context, session: int, layer: str, as_json: bool) -> None:
    """Print a session: its messages, or a layer that was derived from them, with message ids."""
    memory = context.memory()
    found = memory.session(session)
    messages = memory.messages(session)
    if layer == RAW:
        path = memory.path(session)
        if as_json:
            print_json([_message_json(message) for message in path])
        else:
            _print_markdown(markdown.heading(found, RAW) + "\n" + markdown.raw(path))
        if others := len(messages) - len(path):
            context.say(f"{others} messages of other versions are kept; search and export have them too.")
        return
    summariser = None
    if layer != Layer.SUMMARY:  # a summary is there at once, the others are made when first read
        summariser = context.team.if_trusted(ModelRole.SUMMARISER)
    entries = memory.layer(session, Layer(layer), summariser=summariser)
    failures = [one for one in memory.layer_failures(session) if one.scope.layer == layer]
    if as_json:
        print_json([*map(_entry_json, entries), *map(_failure_json, failures)])
        return
    text = markdown.derived(Layer(layer), entries, failures, messages)
    _print_markdown(markdown.heading(found, layer) + "\n" + text)


@click.command("export")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="The folder.")
@click.option("--session", "session_id", type=int, metavar="ID", help="Only this session.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["markdown", "jsonl"]),
    default="markdown",
    show_default=True,
    help="markdown: a folder for each session, a file for each layer; jsonl: one file to import again.",
)
@pass_context
def export_command(context: Context, out: Path, session_id: int | None, format_name: str) -> None:
    """Write sessions out: their layers as Markdown to read, or the messages as JSONL to import again."""
    memory = context.memory()
    sessions = memory.sessions() if session_id is None else [memory.session(session_id)]
    with context.progress() as bar:
        task = bar.add_task("exporting", total=len(sessions))

        def progress(done: int) -> None:
            bar.update(task, completed=done)

        if format_name == "markdown":
            export_markdown(memory, out, sessions, progress)
        else:
            one = ALL if session_id is None else f"{folder_name(sessions[0])}.jsonl"
            # In the order in which they came, which is that of their ids.
            out = export_jsonl(memory, out, sorted(sessions, key=attrgetter("id")), one, progress)
    memory.note_export(out)
    context.say(f"{len(sessions)} sessions written to {out}.")


@click.command("stats")
@click.option(
    "--traces", is_flag=True, help="Instead, how many steps answers took, and advice on --max-steps."
)
@click.option("--judge", type=click.IntRange(min=1), metavar="N", help="Have a model judge N summaries.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def stats_command(context: Context, traces: bool, judge: int | None, as_json: bool) -> None:
    """Show what memory holds, and how faithful and complete its layers are."""
    memory = context.memory()
    if traces:
        _print_steps(context, memory.step_counts(), as_json)
        return
    sessions, messages = memory.counts()
    with context.progress() as bar:
        task = bar.add_task("reading the layers")
        layers = memory.layer_stats(lambda done, total: bar.update(task, completed=done, total=total))
    verdicts = _judge(context, judge) if judge else None
    summaries = len(memory.builder(None).missing(Layer.SUMMARY))
    pending = {"embedding": memory.pending() - summaries, "summary": summaries}
    if as_json:
        found = {"sessions": sessions, "messages": messages, "pending": pending}
        by_judge = verdicts and asdict(verdicts)
        print_json({**found, "layers": [_stats_json(one) for one in layers], "judged": by_judge})
        return
    click.echo(f"{sessions} sessions, {messages} messages")
    click.echo(f"waiting: {pending['embedding']} vectors, {pending['summary']} summaries")
    for one in layers:
        click.echo(printable(_stats_line(one)))
    if verdicts:
        click.echo(
            f"judged: {verdicts.faithful} faithful, {verdicts.unfaithful} not, "
            f"{verdicts.unscored} without a verdict"
        )


def _judge(context: Context, count: int) -> Judged:
    """The judge's verdicts on summaries by models; raises :class:`BadInput` when none can be trusted."""
    model = context.team.if_trusted(ModelRole.JUDGE)
    if model is None:
        raise BadInput(
            f"No model is trusted to judge: {context.team.serving(ModelRole.JUDGE)}. "
            "See what it can do with: localmem models probe"
        )
    with context.progress() as bar:
        task = bar.add_task("judging", total=count)
        return context.memory().judge_summaries(
            model, count, lambda done, total: bar.update(task, completed=done, total=total)
        )


def _print_steps(context: Context, counts: Sequence[StepCount], as_json: bool) -> None:
    """How many steps the controller took (APDMem, Appendix D)."""
    if not counts:
        if as_json:
            print_json({"answers": 0})
        context.say("No answer of policy agent is kept: localmem ask --policy agent QUESTION")
        return
    found = step_distribution([one.steps for one in counts], [one.limit for one in counts])
    if as_json:
        print_json(asdict(found))
        return
    click.echo(
        f"{found.answers} answers of policy agent: {found.median} steps in the median, p95 {found.p95}, "
        f"p99 {found.p99}, at most {found.most}; {found.truncated} used up all they had"
    )
    if found.advice is None:
        click.echo("Too many were cut short to say how many steps are enough; allow more: --max-steps")
    else:
        click.echo(f"The tightest bound that is enough: --max-steps {found.advice}")


def _stats_line(stats: LayerStats) -> str:
    count = stats.count
    line = f"{count.layer:8} by {(count.model or 'rules')[:19]:19} {count.entries:6} entries"
    line += f", {count.empty} with nothing to tell, {count.failures} failed"
    if count.rejection_rate is not None:
        line += f", {count.rejection_rate:.0%} of its statements rejected"
    if stats.coverage is not None and stats.coverage.share is not None:
        line += f", {stats.coverage.share:.0%} of numbers, dates and names covered"
    return line


def _stats_json(stats: LayerStats) -> dict[str, object]:
    count = stats.count
    return {
        "layer": count.layer,
        "model": count.model,
        "entries": count.entries,
        "empty": count.empty,
        "failures": count.failures,
        "accepted": count.accepted,
        "rejected": count.rejected,
        "rejection_rate": count.rejection_rate,
        "coverage": stats.coverage and stats.coverage.share,
    }


def _print_markdown(text: str) -> None:
    """Laid out on a terminal, plain in a pipe."""
    console = Console()
    if console.is_terminal:
        console.print(Markdown(printable(text)))
    else:
        click.echo(printable(text))


def _message_json(message: Message) -> dict[str, object]:
    return {
        "message_id": message.id,
        "external_id": message.external_id,
        "turn": message.turn,
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "sent_at": message.sent_at and message.sent_at.isoformat(),
        "attachments": message.attachments,
    }


def _entry_json(entry: Entry) -> dict[str, object]:
    head = {
        "layer": entry.scope.layer,
        "turn": entry.scope.turn,
        "grade": entry.grade,
        "model": entry.maker and entry.maker.model,
        "message_ids": entry.messages,
    }
    if isinstance(entry.content, Summary):
        summary = entry.content
        return {**head, "summary": summary.text, "keywords": summary.keywords, "tags": summary.tags}
    return {**head, "bullets": _bullets_json(entry)}


def _bullets_json(entry: Entry) -> Sequence[dict[str, object]]:
    assert not isinstance(entry.content, Summary)
    return [{"text": bullet.text, "message_ids": bullet.messages} for bullet in entry.content]


def _failure_json(failure: Failure) -> dict[str, object]:
    return {
        "layer": failure.scope.layer,
        "turn": failure.scope.turn,
        "model": failure.maker and failure.maker.model,
        "failed": failure.reason,
    }
