"""Runs the MCP server on stdin and stdout, and lets nothing but its protocol onto stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

import anyio
from mcp.server.stdio import stdio_server

from localmem.memory import Memory
from localmem.servers.mcp_server import mcp_server


@contextmanager
def guarded_stdout() -> Iterator[TextIOWrapper]:
    """Yield the real stdout; until then end of the process, file descriptor 1 is stderr.

    Native libraries print on descriptor 1 whenever they like, from the loading of a model to the end of the
    process, and the SDK guards it only while it serves. So it is not given back.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(wire, "w", encoding="utf-8", newline="\n") as stdout:
        yield stdout


def run_stdio(memory: Memory, wire: TextIOWrapper) -> None:
    """Serve until stdin ends."""
    server = mcp_server(memory)

    async def run() -> None:
        async with stdio_server(stdout=anyio.wrap_file(wire)) as (incoming, outgoing):
            low = server._lowlevel_server  # the SDK's own runner takes no streams of ours
            await low.run(incoming, outgoing, low.create_initialization_options())

    anyio.run(run)
