"""Whatever a host sends, the server answers in JSON-RPC and lives on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

SERVER = """
import sys
from pathlib import Path
from localmem.home import Home
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.servers.stdio import guarded_stdout, run_stdio

folder = Path(sys.argv[1])
with guarded_stdout() as wire, Memory(folder / "m.db", HashEmbedder(), home=Home(folder / "home")) as memory:
    memory.add("My cat is called Miso.")
    run_stdio(memory, wire)
"""
MESSAGES = 400
EVERY = 20
PATIENCE = 60
TOOLS = "search answer read_layer sessions stats remember forget no_such_tool".split()
ARGUMENTS = (
    "query k scope after before question effort use_model session_id layer limit offset text role at".split()
)
METHODS = (
    "tools/list",
    "resources/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "initialize",
    "notifications/cancelled",
    "notifications/initialized",
    "logging/setLevel",
    "no/such/method",
    "",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    10**30,
    1e300,
    "",
    "cat",
    "2026-03-01",
    "9999-12-31T23:59:59+14:00",
    "\x00",
    "\ud800",
    "\u202e\U0001f469\u200d",
    "x" * 5000,
    '"; DROP TABLE message; --',
    [],
    {},
    [[["deep"]]],
    {"a": {"b": None}},
    "raw",
    "localmem://sessions/1/facts",
    "localmem://sessions/../x",
)


def message(chance: random.Random, number: int) -> str:
    """One line: a tool called with odd values, another method, or no JSON-RPC at all."""
    way = chance.random()
    if way < 0.55:
        values = {chance.choice(ARGUMENTS): chance.choice(ODD) for _ in range(chance.randint(0, 4))}
        params: Any = {
            "name": chance.choice(TOOLS),
            "arguments": chance.choice([values, values, chance.choice(ODD)]),
        }
        sent: Any = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    elif way < 0.85:
        params = chance.choice([{}, {"uri": chance.choice(ODD)}, {"name": "recall", "arguments": {}}, *ODD])
        sent = {"jsonrpc": "2.0", "id": number, "method": chance.choice(METHODS), "params": params}
        if chance.random() < 0.3:
            sent[chance.choice(list(sent))] = chance.choice(ODD)
    else:
        return chance.choice(
            ["", "{", "null", "[]", "[1, 2]", '{"jsonrpc": "2.0"}', "no JSON", "\x00\x01", '{"a": 1e999}']
        )
    return json.dumps(sent)


def test_random_messages_are_answered_in_the_protocol_and_the_server_lives_on(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", SERVER, str(tmp_path)]
    with (
        (tmp_path / "remarks").open("w+") as remarks,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=remarks,
            text=True,
            encoding="utf-8",
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        watch = threading.Timer(PATIENCE, server.kill)
        watch.start()
        chance = random.Random(8)
        answered = errors = 0

        def ask(method: str, number: int, params: dict[str, Any]) -> Any:
            """Send a good request and read until its answer; every line on the way is the protocol's."""
            nonlocal answered, errors
            assert server.stdin is not None
            assert server.stdout is not None
            wanted = f"good-{number}"
            sent = {"jsonrpc": "2.0", "id": wanted, "method": method, "params": params}
            server.stdin.write(json.dumps(sent) + "\n")
            server.stdin.flush()
            for line in server.stdout:
                found = json.loads(line)
                assert found["jsonrpc"] == "2.0"
                answered += "result" in found
                errors += "error" in found
                if found.get("id") == wanted:
                    return found["result"]
            raise AssertionError("the server is gone")

        client = {"name": "fuzz", "version": "0"}
        ask("initialize", -1, {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for number in range(0, MESSAGES, EVERY):
            for one in range(number, number + EVERY):
                server.stdin.write(message(chance, one) + "\n")
            ask("ping", number, {})
        found = ask("tools/call", MESSAGES, {"name": "search", "arguments": {"query": "cat Miso"}})
        server.stdin.close()
        rest = server.stdout.read()
        assert server.wait(PATIENCE) == 0
        watch.cancel()
        for line in rest.splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
        remarks.seek(0)
        assert "Traceback" not in remarks.read()
    assert "Miso" in json.dumps(found["structuredContent"])
    assert answered > MESSAGES // 4
    assert errors > MESSAGES // 20
