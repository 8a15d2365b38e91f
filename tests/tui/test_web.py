from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import AsyncIterator

import pytest

from localmem.errors import BadInput
from localmem.tui.web import HOST, serve

pytest.importorskip("textual_serve", reason="needs the extra web")

from aiohttp import ClientSession, WSServerHandshakeError, web

from localmem.tui.web_server import ChatServer


@pytest.fixture
async def address() -> AsyncIterator[str]:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    server = ChatServer(f"{sys.executable} -c pass", HOST, port)
    runner = web.AppRunner(await server._make_app())
    await runner.setup()
    await web.TCPSite(runner, HOST, port).start()
    yield f"{HOST}:{port}"
    await runner.cleanup()


async def test_the_page_may_load_nothing_from_elsewhere(address: str) -> None:
    async with ClientSession() as browser, browser.get(f"http://{address}/") as page:
        assert page.status == 200
        policy = page.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy
    assert f"connect-src 'self' ws://{address}" in policy


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
async def test_another_page_or_name_is_refused(address: str, header: dict[str, str]) -> None:
    async with ClientSession() as browser:
        async with browser.get(f"http://{address}/", headers=header) as page:
            assert page.status == 403
        with pytest.raises(WSServerHandshakeError):
            await browser.ws_connect(f"http://{address}/ws", headers=header)


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        with pytest.raises(BadInput, match="is in use"):
            serve([], print, taken.getsockname()[1])


def test_without_the_extra_the_command_that_gets_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localmem.tui.web.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"localmem-assistant\[web\]"):
        serve([], print)
    assert importlib.util.find_spec("textual_serve")
