"""Commands that let other programs use memory: mcp, serve."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from localmem.cli.context import Context, pass_context
from localmem.errors import BadInput
from localmem.servers.hosts import FILES, snippet

PORT = 8642


@click.command("mcp")
@click.option(
    "--config", "host", type=click.Choice(list(FILES)), help="Only print what this program's settings need."
)
@pass_context
def mcp_command(context: Context, host: str | None) -> None:
    """Serve memory to an MCP host over stdin and stdout; the host starts this command."""
    if host is not None:
        context.say(f"For {FILES[host]}:")
        click.echo(snippet(host, _executable(), _arguments(context)))
        return
    _require("mcp", "mcp")
    from localmem.servers.stdio import guarded_stdout, run_stdio  # an extra, and a second to import

    if sys.stdin.isatty():
        context.say(
            "This speaks MCP on stdin and stdout; a host starts it. For its settings: mcp --config HOST"
        )
    with guarded_stdout() as wire:
        run_stdio(context.memory(), wire)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any free one."
)
@click.option("--allow-remote", is_flag=True, help="Let --host be one that other machines reach.")
@pass_context
def serve_command(context: Context, host: str, port: int, allow_remote: bool) -> None:
    """Serve an OpenAI-compatible endpoint that remembers, for desktop chats on this machine."""
    _require("serve", "uvicorn", "starlette")
    from localmem.servers.http_run import listen, serve  # an extra, and a second to import

    with listen(host, port, allow_remote=allow_remote) as listening:
        context.models.answerer()  # a model that is missing is told now, not to a client later
        serve(context.memory(), context.models, listening, host, context.say)


def _require(extra: str, *modules: str) -> None:
    if not all(find_spec(module) for module in modules):
        raise BadInput(
            f"This needs more packages. Get them: "
            f"{sys.executable} -m pip install 'localmem-assistant[{extra}]'"
        )


def _executable() -> str:
    """The command as a program with another PATH finds it."""
    beside = Path(sys.executable).with_name("localmem")
    return str(beside) if beside.exists() else shutil.which("localmem") or "localmem"


def _arguments(context: Context) -> list[str]:
    return ["--db", str(context.database.absolute()), "--home", str(context.home.absolute()), "mcp"]
