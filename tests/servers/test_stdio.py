"""The MCP server over a real pipe."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from localmem.cli import main
from localmem.servers.hosts import FILES

SCRIPT = Path(__file__).with_name("scripted_mcp.py")
PATIENCE = 15.0


def hello(version: str = "2025-06-18") -> list[dict[str, Any]]:
    client = {"name": "test", "version": "0"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def exists(path: Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


async def test_a_conversation_with_the_official_client_survives_a_cancelled_answer(tmp_path: Path) -> None:
    server = StdioServerParameters(command=sys.executable, args=[str(SCRIPT), str(tmp_path)])
    async with Client(server) as client:
        await client.call_tool("remember", {"text": "My cat is called Miso."})
        asking = asyncio.create_task(client.call_tool("answer", {"question": "What is my cat called?"}))
        assert await exists(tmp_path / "waiting", PATIENCE)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await exists(tmp_path / "cancelled", 1.0)
        found = await client.call_tool("search", {"query": "cat"})
        assert found.structured_content
        assert [one["text"] for one in found.structured_content["quotations"]] == ["My cat is called Miso."]


def test_nothing_but_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        lines: list[Any] = []

        def send(*messages: Any) -> None:
            assert process.stdin is not None
            process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
            process.stdin.flush()

        def read_until(number: int) -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(json.loads(line))
                if lines[-1].get("id") == number:
                    return

        send(*hello(), call(1, "remember", text="My cat is called Miso."))
        read_until(1)
        process.stdin.write("this is no JSON\n")
        send(call(2, "answer", question="What is my cat called?"))
        end = time.monotonic() + PATIENCE
        while not (tmp_path / "waiting").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        send(cancel, call(3, "stats"))
        read_until(3)
        process.stdin.close()
        rest, remarks = process.stdout.read(), process.stderr.read()
        assert process.wait(PATIENCE) == 0
    assert rest == ""
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert lines[-1]["result"]["structuredContent"]["messages"] == 1
    for printed in ("before it serves", "a library", "a native library", "after it served"):
        assert printed in remarks
    assert "Traceback" not in remarks


def test_the_command_without_a_model_says_which_command_gets_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [
        sys.executable,
        "-m",
        "localmem",
        "--home",
        str(tmp_path),
        "--db",
        str(tmp_path / "m.db"),
        "mcp",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (3, "")
    assert "localmem models pull" in done.stderr


def config(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The entry of the server in a host's settings."""
    assert main(["--db", str(tmp_path / "a b.db"), "--home", str(tmp_path), "mcp", "--config", host]) == 0
    text = capsys.readouterr().out
    settings = tomllib.loads(text) if host == "codex" else json.loads(text)
    (servers,) = settings.values()
    server: dict[str, Any] = servers["localmem"]
    return server


@pytest.mark.parametrize("host", list(FILES))
def test_the_settings_for_each_host_name_the_command_its_file_and_its_home(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = config(host, tmp_path, capsys)
    assert server["args"] == ["--db", str(tmp_path / "a b.db"), "--home", str(tmp_path), "mcp"]
    assert Path(server["command"]).is_absolute()


def test_the_command_in_the_settings_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = config("claude-desktop", tmp_path, capsys)
    command = [server["command"], *server["args"], "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "MCP host" in done.stdout
