"""Commands that ask memory: search, ask, demo."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from datetime import datetime
from importlib import resources
from pathlib import Path

import click

from localmem.cli.asking import agent_of, fixed_of, ledger_lines, requirement_lines
from localmem.cli.context import Context, pass_context, print_json
from localmem.disclosure.budget import EFFORTS
from localmem.errors import BadInput
from localmem.events import Answered, Event, StepTaken
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.protocols import ChatModel
from localmem.reconstruction.fixed import FIXED
from localmem.roles.trust import TRUSTED, Trust
from localmem.shapes import answer_json, hit_json
from localmem.text import printable
from localmem.types import Answer, Message

EMBED_SECONDS = 10.0
"""How long a question waits for vectors that are missing; without them messages are found by their words."""

_DATE = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"])


@click.command("search")
@click.argument("query")
@click.option("-k", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--scope",
    type=click.Choice(["messages", "sessions"]),
    default="messages",
    show_default=True,
    help="Messages, or the best message of each session.",
)
@click.option("--after", type=_DATE, help="Only what was sent then or later.")
@click.option("--before", type=_DATE, help="Only what was sent earlier.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@pass_context
def search_command(
    context: Context,
    query: str,
    count: int,
    scope: str,
    after: datetime | None,
    before: datetime | None,
    as_json: bool,
) -> None:
    """Find messages by words and by meaning, best first."""
    if not query.strip():
        raise BadInput("The query is empty.")
    memory = context.memory()
    _finish_embedding(context, memory)
    hits = memory.search(query, count, after=after, before=before, by_session=scope == "sessions")
    if as_json:
        print_json([hit_json(hit) for hit in hits])
        return
    for hit in hits:
        click.echo(printable(f"{hit.score:.4f}  {_source_line(hit.message)}"))
        click.echo(printable(f"        {' '.join(hit.message.text.split())}"))
    if not hits:
        context.say("Nothing found.")


@click.command("ask")
@click.argument("question", required=False)
@click.option("--resume", type=int, metavar="TRACE", help="Go on with an earlier answer of policy agent.")
@click.option(
    "--policy",
    type=click.Choice(["auto", "fixed", "agent"]),
    default="auto",
    show_default=True,
    help="agent: a controller opens sessions layer by layer; fixed: search rounds complete a small set of "
    "messages; auto: agent if the controller's model is trusted, else fixed.",
)
@click.option(
    "--effort",
    type=click.Choice(list(EFFORTS)),
    default="medium",
    show_default=True,
    help="What the agent may spend; the options below replace single limits, of policy fixed those of calls "
    "and records.",
)
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), metavar="N")
@click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Iterations of the controller.")
@click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Queries put to the index.")
@click.option("--max-records", type=click.IntRange(min=1), metavar="N", help="Messages taken as evidence.")
@click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="That models read and write.")
@click.option("--date", "asked", type=_DATE, help="The day of the question; relative dates count from it.")
@click.option("--no-llm", is_flag=True, help="Answer by rule with the best sentences; use no language model.")
@click.option("--json", "as_json", is_flag=True, help="Print answer, evidence, notes and cost as JSON.")
@pass_context
def ask_command(
    context: Context,
    question: str | None,
    resume: int | None,
    policy: str,
    effort: str,
    max_seconds: float | None,
    max_steps: int | None,
    max_calls: int | None,
    max_records: int | None,
    max_tokens: int | None,
    asked: datetime | None,
    no_llm: bool,
    as_json: bool,
) -> None:
    """Answer a question from memory and cite the messages, or go on with an answer for more effort."""
    if (question is None) == (resume is None):
        raise BadInput("Give a question, or --resume with the number of a trace.")
    if question is not None and not question.strip():
        raise BadInput("The question is empty.")
    budget = EFFORTS[effort].but(
        steps=max_steps,
        calls=max_calls,
        records=max_records,
        model_tokens=max_tokens,
        seconds=max_seconds,
    )
    agent = agent_of(context, "agent" if resume is not None else policy, budget, asked, no_llm)
    model, trust = _answerer(context, no_llm)
    memory = context.memory()
    _finish_embedding(context, memory)
    if question is None:
        assert resume is not None
        assert agent is not None
        events = memory.resume(resume, model=model, trust=trust, agent=agent)
    else:
        fixed = FIXED if agent else fixed_of(context, max_calls, max_records, asked, no_llm)
        events = memory.answer(question, model=model, trust=trust, agent=agent, fixed=fixed)
    found = _answered(events, context.say)
    if as_json:
        print_json(answer_json(found))
    else:
        if no_llm and not found.abstained:
            context.say("By rule, from the best matching messages; no language model was used.")
        click.echo(_answer_text(found))


@click.command("demo")
@click.option("--no-llm", is_flag=True, help="Answer by rule; use no language model.")
@pass_context
def demo_command(context: Context, no_llm: bool) -> None:
    """Take in a sample history and ask it four questions, in a file that is thrown away."""
    model, trust = _answerer(context, no_llm)
    folder = resources.files("localmem.demo")
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    with (
        tempfile.TemporaryDirectory(prefix="localmem-") as scratch,
        resources.as_file(folder / "history.jsonl") as history,
        Memory(Path(scratch) / "demo.db", context.library.embedder()) as memory,
    ):
        import_files([history], "jsonl", memory.add)
        context.embed(memory)
        sessions, messages = memory.counts()
        click.echo(f"A sample history: {sessions} chats, {messages} messages over three months.\n")
        for item in questions:
            click.echo(f"> {item['question']}")
            click.echo(_answer_text(_ask(memory, item["question"], model, trust)) + "\n")


def _answerer(context: Context, no_llm: bool) -> tuple[ChatModel | None, Trust]:
    """The model that words answers, None when none shall, and how far it is trusted."""
    return (None, TRUSTED) if no_llm else context.models.answerer()


def _ask(memory: Memory, question: str, model: ChatModel | None, trust: Trust) -> Answer:
    return _answered(memory.answer(question, model=model, trust=trust), lambda step: None)


def _answered(events: Iterable[Event], say: Callable[[str], None]) -> Answer:
    """Follow an answer to its end; the controller's steps are said as they happen."""
    for event in events:
        if isinstance(event, StepTaken):
            say(str(event.step) + (" (saved before)" if event.replayed else ""))
        elif isinstance(event, Answered):
            return event.answer
    raise AssertionError("answer() ended without an answer")  # its contract, checked by the tests


def _finish_embedding(context: Context, memory: Memory) -> None:
    """An import that was interrupted left messages that can be found by their words only."""
    if memory.pending():
        context.embed_for_now(memory, EMBED_SECONDS)


def _answer_text(found: Answer) -> str:
    """The answer as the terminal shows it: text, citations, cost."""
    by_id = {item.message.id: item.message for item in found.evidence}
    lines = [found.text]
    lines += [f"  [{n}] {_source_line(by_id[i])}" for n, i in enumerate(found.citations, 1)]
    lines += requirement_lines(found)
    lines += ledger_lines(found)
    return printable("\n".join(lines))


def _source_line(message: Message) -> str:
    when = f"{message.sent_at:%Y-%m-%d}" if message.sent_at else "undated"
    who = message.speaker or message.role
    return f"{message.source} {message.external_id}, {when}, {who}: {' '.join(message.text.split())[:100]}"
