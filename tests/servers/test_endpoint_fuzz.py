"""Whatever a client sends, the endpoint answers in the API's shape and lives on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from localmem.memory import Memory
from localmem.servers.http_app import Endpoint

TEXT = st.text(max_size=40)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
CONTENT = TEXT | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}), max_size=3)
ROLE = st.sampled_from(["system", "user", "assistant", "tool", "developer"])
MESSAGE = st.fixed_dictionaries({"role": ROLE, "content": CONTENT})
ASKED = st.fixed_dictionaries({"role": st.just("user"), "content": st.text(min_size=1, max_size=40)})
GOOD = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["localmem", "localmem-private"]),
        "messages": st.builds(lambda before, last: [*before, last], st.lists(MESSAGE, max_size=4), ASKED),
    },
    optional={
        "stream": st.booleans(),
        "stream_options": st.fixed_dictionaries({"include_usage": st.booleans()}),
        "store": st.booleans(),
        "user": TEXT,
        "max_tokens": st.integers(1, 9),
        "temperature": ODD,
    },
)
FIELDS = (
    "model messages stream stream_options store user max_tokens n stop tool_choice response_format".split()
)
CHAT = GOOD | st.builds(
    lambda good, field, odd: {**good, field: odd}, GOOD, st.sampled_from(FIELDS), ODD | st.lists(MESSAGE)
)
EMBED = st.fixed_dictionaries(
    {"model": st.just("hash") | ODD, "input": TEXT | st.lists(TEXT, max_size=4) | ODD},
    optional={
        "encoding_format": st.sampled_from(["float", "base64"]) | ODD,
        "dimensions": st.just(384) | ODD,
    },
)
BODY = st.binary(max_size=60) | st.builds(lambda value: json.dumps(value).encode(), CHAT | EMBED | ODD)
PATH = st.sampled_from(
    ["/v1/chat/completions", "/v1/embeddings", "/v1/models", "/v1/models/x", "/", "/v1/\u00e4"]
)


@pytest.fixture
def fuzzed(kept: Memory, home: Any) -> Iterator[TestClient]:
    endpoint = Endpoint(kept, home)
    with TestClient(endpoint.app()) as client:  # an exception that nobody expected is raised here
        yield client
    endpoint.close()


def check(status: int, text: str) -> None:
    """The API's own shape, for good and bad ends."""
    if text.startswith("data: "):
        events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        assert events[-1] == "[DONE]"
        for event in events[:-1]:
            assert {"choices", "error"} & json.loads(event).keys()
        return
    value = json.loads(text)
    if status == 200:
        assert value["object"] in ("list", "model", "chat.completion")
    else:
        assert 400 <= status < 500, (status, value)
        assert value["error"]["message"]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    method=st.sampled_from(["POST", "POST", "POST", "GET", "PUT", "HEAD"]), path=PATH, body=BODY, name=TEXT
)
def test_any_request_is_answered_in_the_shape_of_the_api(
    fuzzed: TestClient, method: str, path: str, body: bytes, name: str
) -> None:
    session = {"X-Localmem-Session": name} if name and name.isascii() and name.isprintable() else {}
    response = fuzzed.request(method, path, content=body, headers=session)
    if method != "HEAD":
        check(response.status_code, response.text)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(body=CHAT)
def test_any_conversation_is_answered_or_refused(fuzzed: TestClient, body: dict[str, Any]) -> None:
    response = fuzzed.post("/v1/chat/completions", content=json.dumps(body).encode())
    check(response.status_code, response.text)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(body=GOOD)
def test_a_conversation_in_the_shape_of_the_api_is_answered(fuzzed: TestClient, body: dict[str, Any]) -> None:
    response = fuzzed.post("/v1/chat/completions", content=json.dumps(body).encode())
    check(response.status_code, response.text)
    if body["messages"][-1]["content"].strip():
        assert response.status_code == 200
