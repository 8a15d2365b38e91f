"""The shapes of OpenAI's API that the endpoint speaks: requests that are checked, replies, errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from localmem.errors import (
    BadInput,
    LocalmemError,
    ModelMissing,
    PromptTooLong,
    StoreError,
)

Jsonable = Mapping[str, object]

MAX_INPUTS = 512
"""Texts that one request may have embedded."""


class _Request(BaseModel):
    """What we do not know is passed over, as clients send much that a local model has no use for."""

    model_config = ConfigDict(extra="ignore", strict=True)


class TextPart(_Request):
    """A piece of a message's content."""

    type: Literal["text"]
    text: str


class ChatMessage(_Request):
    """A message as a client sends it."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """Its text."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content)


class StreamOptions(_Request):
    """How to stream."""

    include_usage: bool = False


class ChatRequest(_Request):
    """Body of ``POST /v1/chat/completions``. What would change the reply and is not offered is refused."""

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    store: bool | None = None
    """False: nothing of this conversation is remembered."""
    user: str | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    n: object = None
    stop: object = None
    tool_choice: object = None
    response_format: object = None

    @model_validator(mode="after")
    def _offered(self) -> Self:
        offered = {
            "n": self.n in (None, 1),
            "stop": not self.stop,
            "tool_choice": self.tool_choice in (None, "none", "auto"),
            "response_format": self.response_format in (None, {"type": "text"}),
        }
        for name, is_offered in offered.items():
            if not is_offered:
                raise PydanticCustomError(
                    "not_offered", "{name} is not offered here; leave it out", {"name": name}
                )
        return self

    @property
    def limit(self) -> int | None:
        """Tokens that the reply may have at most."""
        given = [one for one in (self.max_tokens, self.max_completion_tokens) if one is not None]
        return min(given, default=None)


class EmbeddingRequest(_Request):
    """Body of ``POST /v1/embeddings``."""

    model: str
    input: str | Annotated[list[str], Field(min_length=1, max_length=MAX_INPUTS)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


R = TypeVar("R", bound=_Request)


class BadRequest(BadInput):
    """A request that is not in the API's shape; ``param`` is the field."""

    def __init__(self, message: str, param: str | None = None, status: int = 400, code: str | None = None):
        super().__init__(message)
        self.param = param
        self.status = status
        self.code = code


def parsed(shape: type[R], body: bytes) -> R:
    """The request in ``body``; raises :class:`BadRequest` that names the field."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise BadRequest(
            f"{place}: {first['msg']}." if place else f"{first['msg']}.", place or None
        ) from error


def json_response(value: Jsonable, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON in ASCII, so that any text of memory goes out unchanged, lone surrogates too."""
    return Response(dumped(value), status, dict(headers or {}), media_type="application/json")


def dumped(value: Jsonable) -> str:
    """JSON on one line, in ASCII."""
    return json.dumps(value, separators=(",", ":"), default=str)


def error_response(
    status: int,
    message: str,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error as OpenAI's clients read it."""
    return json_response(error_json(status, message, code, param), status, headers)


def error_json(
    status: int, message: str, code: str | None = None, param: str | None = None
) -> dict[str, object]:
    """The body of an error."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def described(error: LocalmemError) -> tuple[int, str, str | None, str | None]:
    """Status, message, code and param of one of our errors."""
    match error:
        case BadRequest():
            return error.status, str(error), error.code, error.param
        case PromptTooLong():
            return 400, str(error), "context_length_exceeded", "messages"
        case BadInput():
            return 400, str(error), None, None
        case ModelMissing():
            return 503, str(error), "model_missing", None
        case StoreError():
            return 503, str(error), "memory_unavailable", None
        case _:
            return 500, str(error), None, None


def usage(read: int, written: int) -> dict[str, Any]:
    """Tokens as OpenAI counts them."""
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
