"""``localmem bench``: how fast this machine is, measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from localmem.bench.chart import WAYS, check_chart, write_chart, write_speed_chart
from localmem.bench.generation import PROMPTS, SECONDS, WRITTEN, bench_generation
from localmem.bench.ingest import bench_ingest, made_up
from localmem.bench.peers import add_peers, peer_lines
from localmem.bench.retrieval import bench_retrieval
from localmem.bench.tui import bench_tui
from localmem.cli.context import Context, pass_context, print_json
from localmem.cli.numbers import NUMBERS
from localmem.importers import read_sessions
from localmem.models.catalog import ModelRole


@click.group("bench")
def bench_group() -> None:
    """Measure speed on this machine with made-up chats."""


@bench_group.command("ingest")
@click.option("--messages", type=click.IntRange(min=1), default=2000, show_default=True, help="How many.")
@click.option(
    "--data",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A history to take in instead of made-up chats.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@pass_context
def ingest_command(context: Context, messages: int, data: Path | None, as_json: bool) -> None:
    """Store and embed made-up chats, as an import does."""
    sessions = list(read_sessions(data, skipped=Counter())) if data else made_up(messages)
    result = bench_ingest(sessions, context.library.embedder())
    if as_json:
        print_json(result)
        return
    stages = result["stages"]
    click.echo(
        f"{result['messages']:,} messages of {result['words_mean']:.0f} words, {result['pieces']:,} pieces: "
        f"{result['stored_per_s']:,.0f} messages/s stored and found by their words, "
        f"{result['searchable_per_s']:,.0f} messages/s until all and their summaries have their vectors\n"
        f"  each alone: {stages['lexical_per_s']:,.0f} stored and found by their words, "
        f"{stages['summaries_per_s']:,.0f} summed up, {stages['embedding_per_s']:,.0f} embedded"
    )


@bench_group.command("retrieval")
@click.option(
    "--messages", "sizes", type=NUMBERS, default="1000,10000", show_default=True, help="Sizes of the memory."
)
@click.option("--peers", is_flag=True, help="Measure other memory stores too, up to 10,000 messages.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), help="Draw query times: an .svg file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@pass_context
def retrieval_command(
    context: Context, sizes: tuple[int, ...], peers: bool, chart: Path | None, as_json: bool
) -> None:
    """Build, append, start and query at several sizes.

    Past 10,000 messages the vectors are real ones plus noise.
    """
    if chart:
        check_chart(chart)
    embedder = context.library.embedder()
    result = bench_retrieval(sizes, embedder, context.home, context.say)
    if peers:
        add_peers(result, embedder, context.say)
    if chart:
        write_chart(result, chart)
    if as_json:
        print_json(result)
        return
    for row in result["rows"]:
        click.echo(_line(row))
        if row.get("peers"):
            click.echo("\n".join(peer_lines(row["peers"])))
    concepts = result["concepts"]
    click.echo(
        f"filter 50 notes by formal concepts: {concepts['usual_ms']:.1f} ms, "
        f"at worst {concepts['worst_ms']:.0f} ms ({concepts['worst_concepts']:,} concepts)"
    )
    if result["growth_exponents"]:
        grown = ", ".join(f"{value:.2f}" for value in result["growth_exponents"])
        click.echo(f"query time grows with messages to the power of {grown}")


@bench_group.command("generation")
@click.option("--model", "name", help="A model's name or .gguf file.  [default: the answerer's]")
@click.option(
    "--prompts",
    "sizes",
    type=NUMBERS,
    default=",".join(map(str, PROMPTS)),
    show_default=True,
    help="Sizes in tokens.",
)
@click.option(
    "--written", type=click.IntRange(min=2), default=WRITTEN, show_default=True, help="Tokens a call writes."
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0),
    default=SECONDS,
    show_default=True,
    help="Limit of the comparison with raw llama.cpp, once it has gone three rounds.",
)
@click.option("--chart", type=click.Path(dir_okay=False, path_type=Path), help="Draw speeds: an .svg file.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@pass_context
def generation_command(
    context: Context,
    name: str | None,
    sizes: tuple[int, ...],
    written: int,
    max_seconds: float,
    chart: Path | None,
    as_json: bool,
) -> None:
    """Read and write with a model, beside llama.cpp alone; about five minutes."""
    if chart:
        check_chart(chart)
    library = context.library
    name = name or library.role(ModelRole.ANSWERER)
    model, path = library.open_chat(name), library.path(name)
    result = bench_generation(model, path, sizes, written, max_seconds, context.say)
    if chart:
        write_speed_chart(result, chart)
    if as_json:
        print_json(result)
        return
    click.echo("\n".join(_generation_lines(result)))


@bench_group.command("tui")
@click.option(
    "--messages", "sizes", type=NUMBERS, default="1000,100000", show_default=True, help="Sizes of the memory."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@pass_context
def tui_command(context: Context, sizes: tuple[int, ...], as_json: bool) -> None:
    """Start the chat, open a long session, turn its pages and type in it; no model is needed."""
    result = bench_tui(sizes, context.say)
    if as_json:
        print_json(result)
        return
    for row in result["rows"]:
        click.echo(_tui_lines(row))


def _tui_lines(row: dict[str, Any]) -> str:
    process = row["process"]
    return (
        f"{row['messages']:,} messages: first frame {row['start_s']:.2f} s after the file is opened, "
        f"{process['first_frame_s']:.2f} s after the process is started\n"
        f"  a session of {row['session_messages']:,} messages is open after {row['open_session_s']:.2f} s\n"
        f"  a page up {_spread_of(row['page_ms'])}, down {_spread_of(row['down_ms'])}; {row['pages']} pages\n"
        f"  a notch of the wheel {_spread_of(row['wheel_ms'])}, a letter {_spread_of(row['key_ms'])}\n"
        f"  a key waits while it scrolls {_spread_of(row['stall_ms'])}"
    )


def _spread_of(spread: dict[str, float]) -> str:
    if not spread:  # a session of one page has nothing to turn
        return "not measured"
    return f"{spread['p50']:.0f} ms (p95 {spread['p95']:.0f}, at most {spread['max']:.0f})"


def _generation_lines(result: dict[str, Any]) -> Iterator[str]:
    for row in result["rows"]:
        yield f"prompts of {row['prompt_tokens']:,} tokens ({row['rounds']} rounds)"
        for way, name in WAYS.items():
            read, write = row[way]["read_per_s"]["median"], row[way]["write_per_s"]["median"]
            yield f"  {name:17} reads {read or 0:6,.0f} tokens/s, writes {write or 0:5,.1f}"
    read, write = result["read_ratio_interval"], result["write_ratio_interval"]
    yield (
        f"localmem / llama.cpp: reading {result['read_ratio']:.3f} ({read[0]:.3f} to {read[1]:.3f}), "
        f"writing {result['write_ratio']:.3f} ({write[0]:.3f} to {write[1]:.3f})"
    )
    first = result["first_token"]
    yield (
        f"first token after {first['loaded_s']:.2f} s, from no process {first['cold_s']:.2f} s; "
        f"with a long fixed prefix {first['cold_prefix_read_s']:.2f} s, "
        f"its state kept {first['cold_prefix_kept_s']:.2f} s"
    )
    for key, what in (("chat", "ten turns"), ("chat_with_summaries", "ten turns with summaries between")):
        shares = result[key]
        yield (
            f"{what}: {100 * shares['reread_share']:.1f} % of the tokens read again, "
            f"{100 * shares['reread_share_without_reuse']:.0f} % without reuse"
        )
    guess, bound, law = result["speculation"], result["grammar"], result["calibration"]
    yield (
        f"prompt lookup writes summaries {guess['ratio']:.2f} times as fast "
        f"({guess['interval'][0]:.2f} to {guess['interval'][1]:.2f}), "
        f"{100 * guess['same_text']:.0f} % of the texts the same"
    )
    yield f"a grammar costs a factor of {bound['cost']:.2f} in writing"
    if law["error"] is not None:
        yield f"calibrated in {law['seconds']:.0f} s; predictions at other sizes within {law['error']:.0%}"


def _line(row: dict[str, Any]) -> str:
    stages = ", ".join(f"{name} {value:.1f}" for name, value in row["stage_ms"].items())
    embedded = row["embed_messages_per_s"]
    return (
        f"{row['messages']:,} messages ({row['vectors']} vectors)\n"
        f"  query {row['query_ms']['p50']:.1f} ms, p95 {row['query_ms']['p95']:.1f} ({stages})\n"
        f"  append and search again {row['append_and_search_ms']['p50']:.1f} ms; "
        f"first result after opening {row['cold_start_s']:.2f} s\n"
        f"  stored {row['store_messages_per_s']:,.0f} messages/s"
        + (f", with vectors {embedded:,.0f}" if embedded else "")
        + f"; file {row['file_mb']:,.0f} MB, in memory {row['hot_mb']:,.0f} MB\n"
        f"  of the exact best {100 * row['exact_top_found']:.2f} % found; "
        f"lexical scores within {row['lexical_error']:.0e} of a plain computation"
    )
