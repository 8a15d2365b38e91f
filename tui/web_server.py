"""textual-serve, closed to everything but our own page."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler
from textual_serve.server import Server

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws://{address}; frame-ancestors 'none'"
)
"""textual-serve's page asks another server for a font: what the page may load is what comes from here."""


class ChatServer(Server):
    """Serves a command to browsers on this machine.

    Any page in a browser can open a WebSocket to this machine, and any name can be made to lead here. What
    was not asked for by our own address, or comes from another page, is refused.
    """

    def __init__(self, command: str, host: str, port: int) -> None:
        super().__init__(command, host=host, port=port, title="localmem")
        self._address = f"{host}:{port}"

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.middlewares.append(self._refuse_strangers)
        app.on_response_prepare.append(self._only_from_here)
        return app

    def initialize_logging(self) -> None:
        """Tell no more than warnings: not every request."""

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the command line has told the address."""

    @web.middleware
    async def _refuse_strangers(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        port = self._address.partition(":")[2]
        ours = {self._address, f"localhost:{port}"}
        origin = request.headers.get("Origin")
        if request.headers.get("Host") not in ours or (
            origin is not None and origin.removeprefix("http://") not in ours
        ):
            raise web.HTTPForbidden(text="This chat is for its own page only.\n")
        return await handler(request)

    async def _only_from_here(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Content-Security-Policy"] = _POLICY.format(address=self._address)
