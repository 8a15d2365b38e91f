"""The chat in a browser on this machine: textual-serve, for nobody else."""

from __future__ import annotations

import importlib
import shlex
import socket
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from localmem.errors import BadInput

HOST = "127.0.0.1"
PORT = 8643


def serve(arguments: Sequence[str], say: Callable[[str], None], port: int = PORT) -> None:
    """Serve ``localmem ARGUMENTS`` on loopback until Ctrl+C; ``say`` gets the address.

    Raises :class:`BadInput` without the extra ``web``, or when the port is taken.
    """
    if find_spec("textual_serve") is None:
        raise BadInput(
            f"This needs another package. Get it: {sys.executable} -m pip install 'localmem-assistant[web]'"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BadInput(
                f"Port {port} of this machine is in use, perhaps by another `localmem chat --web`."
            ) from error
    command = shlex.join([sys.executable, "-P", "-m", "localmem", *arguments])
    server = importlib.import_module("localmem.tui.web_server").ChatServer(command, HOST, port)
    say(f"The chat is at http://{HOST}:{port}. Ctrl+C ends it.")
    server.serve()
