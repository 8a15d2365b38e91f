"""The endpoint, with OpenAI's client as its client."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from localmem.cli import main
from localmem.errors import BadInput, ModelCrashed
from localmem.memory import Memory
from localmem.models.protocols import ChatModel
from localmem.models.scripted import ScriptedModel
from localmem.roles.trust import Trust
from localmem.servers import http_app
from localmem.servers.access import endpoint_token
from localmem.servers.http_run import listen, uvicorn_server

PATIENCE = 10.0


@dataclass
class Served:
    """A server in a thread."""

    memory: Memory
    home: Any
    port: int
    token: str

    def client(self, token: str | None = None) -> openai.OpenAI:
        return openai.OpenAI(
            base_url=f"http://127.0.0.1:{self.port}/v1",
            api_key=token or self.token,
            max_retries=0,
            timeout=PATIENCE,
        )

    def says(self, *replies: str | Exception) -> ScriptedModel:
        model = ScriptedModel(replies)
        self.home.model = model
        return model

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """A request as no client of OpenAI's would make it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def texts(self) -> list[tuple[str, ...]]:
        """What each session holds, oldest first."""
        sessions = sorted(self.memory.sessions(), key=lambda session: session.id)
        return [tuple(m.text for m in self.memory.messages(session.id)) for session in sessions]


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def served(kept: Memory, home: Any) -> Iterator[Served]:
    with listen("127.0.0.1", 0, allow_remote=False) as listening:
        server, endpoint = uvicorn_server(kept, home, "127.0.0.1")
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        until(lambda: server.started)
        try:
            yield Served(kept, home, listening.getsockname()[1], endpoint_token(home.path))
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            endpoint.close()


def user(*texts: str) -> list[Any]:
    """A conversation as a client keeps it: user and assistant take turns."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def test_a_reply_is_given_and_the_conversation_is_stored(served: Served) -> None:
    served.says("Hello, Nora.")
    done = served.client().chat.completions.create(model="localmem", messages=user("Hi, I am Nora."))
    assert done.choices[0].message.content == "Hello, Nora."
    assert done.choices[0].finish_reason == "stop"
    assert done.usage is not None
    assert done.usage.completion_tokens == 2
    assert served.texts() == [("Hi, I am Nora.", "Hello, Nora.")]
    assert done.model_extra is not None
    assert done.model_extra["localmem"]["session_id"] == served.memory.sessions()[0].id


def test_an_earlier_chat_is_remembered_streamed_and_cited(served: Served) -> None:
    client = served.client()
    served.says("Nice name.", "Your cat is called Miso.")
    client.chat.completions.create(model="localmem", messages=user("My cat is called Miso."))
    served.memory.wait_embedded()
    chunks = list(
        client.chat.completions.create(
            model="localmem",
            messages=user("What is my cat called?"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "Miso" in text
    assert chunks[-1].usage is not None
    (extra,) = [c.model_extra["localmem"] for c in chunks if c.model_extra and "localmem" in c.model_extra]
    assert [one["text"] for one in extra["citations"]] == ["My cat is called Miso."]
    assert extra["ledger"]["messages"] == 3
    assert served.texts()[1][0] == "What is my cat called?"


def test_a_reply_is_streamed_while_it_is_written(served: Served, patient: Callable[..., Any]) -> None:
    model = served.home.model = patient("Once upon")
    stream = served.client().chat.completions.create(
        model="localmem", messages=user("Tell a story."), stream=True
    )
    pieces = iter(chunk.choices[0].delta.content for chunk in stream)
    assert [next(pieces), next(pieces)] == ["", "Once upon"]
    model.release.set()
    assert "".join(piece or "" for piece in pieces) == " done."
    assert served.texts() == [("Tell a story.", "Once upon done.")]


def test_an_answer_that_memory_contradicts_is_never_sent(served: Served) -> None:
    served.memory.add("My dentist is Dr Brook.")
    served.memory.wait_embedded()
    served.says("It is Dr Zebulon.")
    stream = served.client().chat.completions.create(
        model="localmem", messages=user("Who is my dentist?"), stream=True
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert "Zebulon" not in text
    assert "Dr Brook" in text


def test_a_conversation_that_is_sent_again_with_each_turn_is_stored_once(served: Served) -> None:
    client = served.client()
    said = ["Hi", "ok", "Hi", "ok", "Hi", "ok"]
    served.says(*said[1::2])
    for turn in (1, 3, 5):
        client.chat.completions.create(model="localmem", messages=user(*said[:turn]))
    assert served.texts() == [tuple(said)]


def test_only_the_latest_messages_may_be_sent(served: Served) -> None:
    client = served.client()
    said = ["One", "ok", "Two", "fine", "Three", "yes", "Four", "no"]
    served.says(*said[1::2])
    for turn in (1, 3, 5, 7):
        client.chat.completions.create(model="localmem", messages=user(*said[max(0, turn - 3) : turn]))
    assert served.texts() == [tuple(said)]


def test_a_reply_that_is_asked_for_anew_does_not_repeat_the_question(served: Served) -> None:
    served.says("Blue.", "Green.", "Because.")
    client = served.client()
    for _ in range(2):
        client.chat.completions.create(model="localmem", messages=user("Name a colour."))
    assert served.texts() == [("Name a colour.", "Blue.", "Green.")]
    client.chat.completions.create(model="localmem", messages=user("Name a colour.", "Green.", "Why?"))
    assert served.texts() == [("Name a colour.", "Blue.", "Green.", "Why?", "Because.")]


def test_an_edited_message_is_added_beside_the_old_one(served: Served) -> None:
    served.says("Nice.", "Warm.", "Cold.")
    client = served.client()
    client.chat.completions.create(model="localmem", messages=user("Hello"))
    client.chat.completions.create(model="localmem", messages=user("Hello", "Nice.", "Is it June?"))
    client.chat.completions.create(model="localmem", messages=user("Hello", "Nice.", "Is it May?"))
    assert served.texts() == [("Hello", "Nice.", "Is it June?", "Warm.", "Is it May?", "Cold.")]
    messages = served.memory.messages(1)
    assert messages[4].parent == messages[1].external_id


def test_a_name_for_the_conversation_keeps_it_together(served: Served) -> None:
    served.says("a", "b")
    for text in ("First", "Second"):
        served.client().chat.completions.create(
            model="localmem", messages=user(text), extra_headers={"X-Localmem-Session": "trip"}
        )
    assert served.texts() == [("First", "a", "Second", "b")]


def test_a_system_prompt_is_heeded_and_not_stored(served: Served) -> None:
    model = served.says("Arr.")
    system: Any = {"role": "system", "content": "Talk like a pirate."}
    served.client().chat.completions.create(model="localmem", messages=[system, *user("Hello")])
    assert "Talk like a pirate." in model.history[0][0].text
    assert served.texts() == [("Hello", "Arr.")]


@pytest.mark.parametrize("how", [{"model": "localmem-private"}, {"model": "localmem", "store": False}])
def test_nothing_is_kept_of_a_private_conversation(served: Served, how: dict[str, Any]) -> None:
    served.says("Hush.")
    done = served.client().chat.completions.create(messages=user("A secret."), **how)
    assert done.choices[0].message.content == "Hush."
    assert served.texts() == []


def test_max_tokens_ends_a_reply_with_the_reason_length(served: Served) -> None:
    served.says("one two three four")
    done = served.client().chat.completions.create(model="localmem", messages=user("Count"), max_tokens=2)
    assert (done.choices[0].message.content, done.choices[0].finish_reason) == ("one two", "length")


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_stops_the_model_and_what_was_said_is_stored(
    served: Served, patient: Callable[..., Any], stream: bool
) -> None:
    model = served.home.model = patient("Once upon")
    body = json.dumps({"model": "localmem", "messages": user("Tell a story."), "stream": stream}).encode()
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as client:
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.token}"
        )
        client.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        assert model.waiting.wait(PATIENCE)
    assert model.cancelled.wait(1.0)
    until(lambda: served.texts() == [("Tell a story.", "Once upon")])
    served.says("Fine.")
    again = served.client().chat.completions.create(model="localmem", messages=user("Hello"))
    assert again.choices[0].message.content == "Fine."


def test_a_model_that_dies_in_mid_reply_is_an_error_in_the_stream(served: Served) -> None:
    served.says(ModelCrashed("The model's process died."))
    with pytest.raises(openai.InternalServerError, match="process died"):
        served.client().chat.completions.create(model="localmem", messages=user("Hello"), stream=True)
    assert served.texts() == [("Hello",)]


def test_more_replies_at_once_than_the_server_writes_are_told_to_come_again(
    served: Served, patient: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_app, "THREADS", 1)
    model = served.home.model = patient()
    stream = served.client().chat.completions.create(
        model="localmem", messages=user("Tell a story."), stream=True
    )
    assert model.waiting.wait(PATIENCE)
    with pytest.raises(openai.RateLimitError):
        served.client().chat.completions.create(model="localmem", messages=user("And another."))
    model.release.set()
    list(stream)
    served.says("Fine.")
    served.client().chat.completions.create(model="localmem", messages=user("And another."))


def test_models_are_listed(served: Served) -> None:
    names = [model.id for model in served.client().models.list()]
    assert names == ["localmem", "localmem-private", "hash"]
    assert served.client().models.retrieve("localmem").owned_by == "localmem"
    with pytest.raises(openai.NotFoundError):
        served.client().models.retrieve("gpt-9")


def test_embeddings_are_those_of_memory(served: Served) -> None:
    texts = ["a cat", "tulips"]
    made = served.client().embeddings.create(model="hash", input=texts)
    expected = served.home.embedder().embed_documents(texts)
    assert np.allclose([one.embedding for one in made.data], expected, atol=1e-6)
    body = {"model": "hash", "input": "a cat", "encoding_format": "base64"}
    status, raw = served.request("POST", "/v1/embeddings", json.dumps(body).encode())
    assert status == 200
    assert np.allclose(np.frombuffer(base64.b64decode(raw["data"][0]["embedding"]), "<f4"), expected[0])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer \xff"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "192.168.0.7"}, 403),
        ({"Host": "["}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "localhost:8642"}, 200),
        ({"Host": "[::1]:8642"}, 200),
    ],
)
def test_only_this_machine_with_the_token_may_talk(
    served: Served, headers: dict[str, str], status: int
) -> None:
    found, body = served.request("GET", "/v1/models", headers=headers)
    assert found == status
    assert ("error" in body) == (status != 200)


def test_the_openai_client_sees_a_wrong_token_as_what_it_is(served: Served) -> None:
    with pytest.raises(openai.AuthenticationError, match="endpoint-token"):
        served.client("wrong").models.list()


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"", 400, "not JSON"),
        (b"[1]", 400, "JSON object"),
        (b"\xff", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"model": "localmem"}', 400, "messages"),
        (b'{"model": "gpt-9", "messages": [{"role": "user", "content": "x"}]}', 404, "localmem-private"),
        (b'{"model": "localmem", "messages": []}', 400, "messages"),
        (b'{"model": "localmem", "messages": [{"role": "boss", "content": "x"}]}', 400, "role"),
        (b'{"model": "localmem", "messages": [{"role": "user", "content": "  "}]}', 400, "last message"),
        (b'{"model": "localmem", "messages": [{"role": "assistant", "content": "x"}]}', 400, "user's"),
        (b'{"model": "localmem", "messages": [{"role": "user", "content": "x"}], "n": 2}', 400, "n is not"),
        (b'{"model": "localmem", "messages": [{"role": "user", "content": "x"}], "stop": "y"}', 400, "stop"),
        (
            b'{"model": "localmem", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            400,
            "t",
        ),
    ],
)
def test_a_wrong_body_is_refused_with_the_reason(
    served: Served, body: bytes, status: int, expected: str
) -> None:
    found, answer = served.request("POST", "/v1/chat/completions", body)
    assert (found, expected in answer["error"]["message"]) == (status, True), answer
    assert served.texts() == []


def test_a_message_too_long_for_the_model_says_so(served: Served) -> None:
    served.says("never")
    with pytest.raises(openai.BadRequestError) as refused:
        served.client().chat.completions.create(model="localmem", messages=user("word " * 10_000))
    assert refused.value.code == "context_length_exceeded"


def test_an_oversized_body_is_refused_before_it_is_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Content-Length": str(1 << 40)}
    assert served.request("POST", "/v1/chat/completions", b"{}", headers)[0] == 413
    monkeypatch.setattr(http_app, "MAX_BODY", 1000)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    sent = {"Authorization": f"Bearer {served.token}"}
    connection.request(
        "POST", "/v1/embeddings", iter([b"x" * 600] * 2), sent, encode_chunked=True
    )  # of a length that is not declared
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_that_never_arrives_is_given_up(kept: Memory, home: Any, served: Served) -> None:
    server, endpoint = uvicorn_server(kept, home, "127.0.0.1")
    endpoint._body_seconds = 0.2
    with listen("127.0.0.1", 0, allow_remote=False) as listening:
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        with socket.create_connection(listening.getsockname(), timeout=PATIENCE) as client:
            head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.token}"
            client.sendall(f"{head}\r\nContent-Length: 100\r\n\r\n{{".encode())
            assert b"408" in client.recv(100)
        server.should_exit = True
        thread.join(PATIENCE)
        endpoint.close()


def test_a_missing_model_names_the_command_that_gets_it(served: Served) -> None:
    served.home.answerer = lambda: super(type(served.home), served.home).answerer()
    with pytest.raises(openai.InternalServerError, match="localmem models pull") as refused:
        served.client().chat.completions.create(model="localmem", messages=user("Hello"))
    assert refused.value.status_code == 503


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    token = endpoint_token(home)
    assert endpoint_token(home) == token
    path = home / "endpoint-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(BadInput, match="Remove it"):
        endpoint_token(home)
    path.chmod(0o600)
    path.write_text("\n")
    with pytest.raises(BadInput, match="Remove it"):
        endpoint_token(home)


def test_a_host_that_others_reach_needs_a_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(tmp_path), "--db", str(tmp_path / "m.db"), "serve", "--host", "0.0.0.0"]) == 2
    assert "--allow-remote" in capsys.readouterr().err
    listen("0.0.0.0", 0, allow_remote=True).close()


def test_a_port_in_use_names_the_option_that_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen("127.0.0.1", 0, allow_remote=False) as listening:
        port = str(listening.getsockname()[1])
        command = ["--home", str(tmp_path), "--db", str(tmp_path / "m.db"), "serve", "--port", port]
        assert main(command) == 2
    assert "--port" in capsys.readouterr().err


def test_the_command_without_a_model_says_so_before_it_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", str(tmp_path), "--db", str(tmp_path / "m.db"), "serve", "--port", "0"]) == 3
    assert "localmem models pull" in capsys.readouterr().err


def test_the_example_of_a_client_runs(served: Served) -> None:
    served.says("A fine name.", "Your cat is called Miso.")
    example = Path(__file__).parent.parent.parent / "examples" / "openai_client.py"
    address = f"http://127.0.0.1:{served.port}/v1"
    command = [sys.executable, str(example), address, str(served.home.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    first, second, cited = done.stdout.splitlines()
    assert first == "A fine name."
    assert "Miso" in second
    assert cited == "  said before: My cat is called Miso."


def test_a_reply_by_rule_needs_no_trusted_model(served: Served) -> None:
    served.memory.add("My cat is called Miso.")
    served.memory.wait_embedded()
    served.home.trust = Trust(trusted=False, reason="not probed")
    model: ChatModel = served.says("unused")
    done = served.client().chat.completions.create(model="localmem", messages=user("What is my cat called?"))
    assert "Miso" in str(done.choices[0].message.content)
    assert model.history == []  # type: ignore[attr-defined]
