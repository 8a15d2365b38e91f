"""The lines of the README for other programs do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from localmem.memory import Memory
from localmem.models.library import Library
from localmem.models.scripted import ScriptedModel
from localmem.servers.http_run import listen, uvicorn_server

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")


def block(language: str, holding: str) -> str:
    """The one block of code in this language that holds a text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (found,) = [one for one in blocks if holding in one]
    return str(found)


@pytest.mark.real_model
def test_python_remembers_and_answers(models_home: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "LOCALMEM_HOME": str(models_home)}
    command = [sys.executable, "-c", block("python", "Memory.open")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert "Miso" in done.stdout


async def test_an_mcp_host_starts_the_server(tmp_path: Path) -> None:
    server: dict[str, Any] = json.loads(block("json", "mcpServers"))["mcpServers"]["localmem"]
    Library(tmp_path).use("embedder", "hash")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "LOCALMEM_HOME": str(tmp_path),
        "LOCALMEM_DB": str(tmp_path / "memory.db"),
    }
    start = StdioServerParameters(command=server["command"], args=server["args"], env=environment)
    async with Client(start) as client:
        await client.call_tool("remember", {"text": "My cat is called Miso."})
        found = await client.call_tool("search", {"query": "cat"})
    assert "Miso" in json.dumps(found.structured_content)


def test_the_openai_client_gets_an_answer_from_memory(kept: Memory, home: Any) -> None:
    kept.add("My cat is called Miso.")
    kept.wait_embedded()
    home.model = ScriptedModel(["Your cat is called Miso."])
    with listen("127.0.0.1", 0, allow_remote=False) as listening:
        server, endpoint = uvicorn_server(kept, home, "127.0.0.1")
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        try:
            end = time.monotonic() + 10
            while not server.started:
                assert time.monotonic() < end
                time.sleep(0.01)
            script = block("python", "openai").replace(":8642/", f":{listening.getsockname()[1]}/")
            command = [sys.executable, "-c", script]
            done = subprocess.run(
                command, cwd=home.path, capture_output=True, text=True, timeout=60, check=True
            )
        finally:
            server.should_exit = True
            thread.join(10)
            endpoint.close()
    assert "Miso" in done.stdout
