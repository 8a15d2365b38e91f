"""Runs the endpoint on a port until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from localmem.errors import BadInput
from localmem.home import Home
from localmem.memory import Memory
from localmem.models import network
from localmem.servers.access import Access, endpoint_token, is_loopback
from localmem.servers.http_app import Endpoint

CONNECTIONS = 64
"""At once; more are refused with status 503."""
KEEP_ALIVE_S = 5
STOP_S = 5
"""For replies under way, when the server is stopped."""


def listen(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """A socket that listens. Raises :class:`BadInput` for a host that others reach, or a port in use."""
    if not allow_remote and not is_loopback(host):
        raise BadInput(
            f"{host} can be reached from other machines, unencrypted. If that is meant, add --allow-remote."
        )
    try:
        with network.listening("serve"):
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
    except OSError as error:
        raise BadInput(f"{host} is no address of this machine: {error.strerror}.") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(CONNECTIONS)
    except OSError as error:
        listening.close()
        raise BadInput(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another: --port"
        ) from error
    return listening


def serve(
    memory: Memory, home: Home, listening: socket.socket, host: str, say: Callable[[str], None]
) -> None:
    """Serve until the process is interrupted; ``say`` tells the address and where the token is."""
    server, endpoint = uvicorn_server(memory, home, host)
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    say(f"OpenAI-compatible endpoint: http://{shown}:{port}/v1, models localmem and localmem-private.")
    say(f"The API key is in {home.path / 'endpoint-token'}. Stop with Ctrl+C.")
    try:
        server.run(sockets=[listening])
    finally:
        endpoint.close()


def uvicorn_server(memory: Memory, home: Home, host: str) -> tuple[uvicorn.Server, Endpoint]:
    """The server, not started, and the endpoint to close after it."""
    token = endpoint_token(home.path)
    endpoint = Endpoint(memory, home)
    guarded = Access(endpoint.app(), token, [host], open_to_others=not is_loopback(host))
    config = uvicorn.Config(
        guarded,
        log_level="warning",
        access_log=False,
        http="h11",
        ws="none",
        lifespan="off",
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STOP_S,
        server_header=False,
    )
    return uvicorn.Server(config), endpoint
