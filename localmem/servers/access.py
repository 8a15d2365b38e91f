"""Who may talk to the endpoint: a token, and only pages and names of this machine."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from localmem.errors import BadInput
from localmem.servers.openai_shapes import error_response

TOKEN_FILE = "endpoint-token"
_TOKEN_BYTES = 32


def endpoint_token(home: Path) -> str:
    """The bearer token of a home, made at the first use in a file that only its owner can read.

    Raises :class:`BadInput` when the file is empty, or when others can read it.
    """
    path = home / TOKEN_FILE
    home.mkdir(parents=True, exist_ok=True)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise BadInput(
                f"{path} can be read by others, so its token is no secret. Remove it; a new one is made."
            ) from None
        token = path.read_text(encoding="utf-8").strip()
        if not token.isascii() or len(token) < _TOKEN_BYTES:
            raise BadInput(f"{path} holds no token. Remove it; a new one is made.") from None
        return token
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        stream.write(token + "\n")
    return token


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


class Access:
    """Middleware that refuses before anything of a request's body is read.

    A page in a browser may reach this port, and by a name of its own that it lets point here (DNS
    rebinding); so the names in ``Host`` and ``Origin`` must be this machine's or ``named``, where the
    server was opened to others. ``open_to_others`` admits addresses too: rebinding needs a name.
    """

    def __init__(self, app: ASGIApp, token: str, named: Sequence[str] = (), *, open_to_others: bool = False):
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._named = {name.lower() for name in named}
        self._open = open_to_others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or refuse it."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        problem = self._problem(headers)
        if problem is None:
            await self._app(scope, receive, send)
            return
        status, message, code = problem
        more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        await error_response(status, message, code, headers=more)(scope, receive, send)

    def _problem(self, headers: Headers) -> tuple[int, str, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(f"//{hosts[0]}"):
            return 403, f"The host {hosts or 'none'} is not this server's.", "host_not_allowed"
        origin = headers.get("origin")
        if origin is not None and not self._is_ours(origin):
            return 403, f"Pages of {origin} may not use this server.", "origin_not_allowed"
        given = headers.get("authorization", "").encode("utf-8", "surrogateescape")
        if not secrets.compare_digest(given, self._expected):
            return 401, f"Wrong or no API key. It is in the file {TOKEN_FILE} of the home.", "invalid_api_key"
        return None

    def _is_ours(self, url: str) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        if is_loopback(host) or host.lower() in self._named:
            return True
        return self._open and _address(host) is not None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
