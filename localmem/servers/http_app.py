"""An endpoint in the shape of OpenAI's API, so that any desktop chat gains a memory without code."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeVar

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from localmem.errors import LocalmemError
from localmem.events import Event
from localmem.home import Home
from localmem.memory import Memory
from localmem.models.protocols import Vectors
from localmem.servers.openai_shapes import (
    BadRequest,
    ChatRequest,
    EmbeddingRequest,
    described,
    dumped,
    error_json,
    error_response,
    json_response,
    parsed,
    usage,
)
from localmem.servers.replying import MODEL, PRIVATE_MODEL, Reply, conversation_of
from localmem.servers.runner import THREADS, Runner

T = TypeVar("T")

MAX_BODY = 8 << 20
"""Bytes of a request: a conversation of a few novels, or 512 long texts to embed."""
BODY_SECONDS = 20.0
"""For a client to send its request; a program on the same machine needs milliseconds."""
SESSION_HEADER = "x-localmem-session"
"""The client's own name for the conversation; without it the conversation is known by its messages."""
BUSY = {"Retry-After": "2"}
GONE = 499
"""Status of a request whose client went away; nobody reads it."""


class Endpoint:
    """The routes, over a memory and the models of a home; the caller closes both, after :meth:`close`."""

    def __init__(self, memory: Memory, home: Home, *, body_seconds: float = BODY_SECONDS) -> None:
        self._memory = memory
        self._home = home
        self._runner = Runner()
        self._body_seconds = body_seconds
        self._running = 0
        self._started = int(time.time())

    def app(self) -> Starlette:
        """The application; it knows of no token, see :class:`~localmem.servers.access.Access`."""
        routes = [
            Route("/v1/chat/completions", self.chat_completions, methods=["POST"]),
            Route("/v1/embeddings", self.embeddings, methods=["POST"]),
            Route("/v1/models", self.models, methods=["GET"]),
            Route("/v1/models/{model}", self.model, methods=["GET"]),
        ]
        handlers = {LocalmemError: _known, HTTPException: _http, ClientDisconnect: _gone, Exception: _unknown}
        return Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]

    def close(self) -> None:
        """Stop what is being written, store it, and end. Closing twice is allowed."""
        self._runner.close()

    async def models(self, _: Request) -> Response:
        """``GET /v1/models``: the two models of the chat and the embedding model."""
        return json_response({"object": "list", "data": [self._model(name) for name in self._names()]})

    async def model(self, request: Request) -> Response:
        """``GET /v1/models/{model}``."""
        name = request.path_params["model"]
        if name not in self._names():
            raise BadRequest(f"There is no model {name!r}.", "model", 404, "model_not_found")
        return json_response(self._model(name))

    async def embeddings(self, request: Request) -> Response:
        """``POST /v1/embeddings``: vectors of length 1, as memory itself uses them."""
        asked = parsed(EmbeddingRequest, await self._body(request))
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        with self._turn():
            embedder = await self._runner.call(lambda _: self._home.embedder())
            if asked.model not in (embedder.name, MODEL):
                raise BadRequest(
                    f"There is no embedding model {asked.model!r}, but {embedder.name}.",
                    "model",
                    404,
                    "model_not_found",
                )
            if asked.dimensions not in (None, embedder.dimension):
                raise BadRequest(f"{embedder.name} gives {embedder.dimension} dimensions.", "dimensions")
            vectors: Vectors = await self._runner.call(lambda _: embedder.embed_documents(texts))
        as_base64 = asked.encoding_format == "base64"
        data = [
            {"object": "embedding", "index": place, "embedding": _encoded(row) if as_base64 else row.tolist()}
            for place, row in enumerate(vectors)
        ]
        words = sum(len(text.split()) for text in texts)
        return json_response(
            {"object": "list", "data": data, "model": embedder.name, "usage": usage(words, 0)}
        )

    async def chat_completions(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        asked = parsed(ChatRequest, await self._body(request))
        conversation = conversation_of(asked, request.headers.get(SESSION_HEADER))

        def begin(cancel: threading.Event) -> Iterator[Event]:
            model, trust = self._home.answerer()
            return self._memory.reply(conversation, model=model, trust=trust, cancel=cancel)

        reply = Reply(asked.model)
        pieces = self._pieces(request, reply, begin)
        if not asked.stream:
            async with aclosing(pieces):
                async for _ in pieces:
                    pass
            return json_response(reply.whole())
        first = await anext(pieces, None)  # whatever is wrong from the beginning has a status of its own
        with_usage = asked.stream_options is not None and asked.stream_options.include_usage
        return StreamingResponse(
            _sse(reply, first, pieces, with_usage),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-cache"},
        )

    async def _pieces(
        self, request: Request, reply: Reply, begin: Callable[[threading.Event], Iterator[Event]]
    ) -> AsyncGenerator[str]:
        """The reply's text as it may be sent; the generation ends with the client."""
        with self._turn():
            events = self._runner.stream(begin)
            async with aclosing(_while_there(request, reply.follow(events))) as pieces:
                async for piece in pieces:
                    yield piece

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Only so many at once; who comes on top is told to come again."""
        if self._running >= THREADS:
            raise BadRequest("The server is busy. Try again in a moment.", None, 429, "busy")
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _body(self, request: Request) -> bytes:
        """The request's body, if it is neither too large nor too slow."""
        try:
            declared = int(request.headers.get("content-length", "0"))
        except ValueError:
            declared = 0  # the server has checked it; what counts is what comes
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                if declared <= MAX_BODY:
                    async for chunk in request.stream():
                        body += chunk
                        if len(body) > MAX_BODY:
                            break
        except TimeoutError as error:
            raise BadRequest(
                f"The body did not arrive within {self._body_seconds:g} seconds.", None, 408
            ) from error
        if declared > MAX_BODY or len(body) > MAX_BODY:
            raise BadRequest(f"The body has more than {MAX_BODY >> 20} MB.", None, 413, "too_large")
        return bytes(body)

    def _names(self) -> list[str]:
        return [MODEL, PRIVATE_MODEL, self._home.embedder().name]

    def _model(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "localmem"}


async def _sse(
    reply: Reply, first: str | None, pieces: AsyncGenerator[str], usage: bool
) -> AsyncGenerator[str]:
    """The reply as server-sent events. An error in the midst is an event too: the status is sent already."""
    try:
        yield _event(reply.chunk(role=True))
        if first is not None:
            yield _event(reply.chunk(first))
        async for piece in pieces:
            yield _event(reply.chunk(piece))
        yield _event(reply.last_chunk())
        if usage:
            yield _event(reply.usage_chunk())
    except LocalmemError as error:
        status, message, code, param = described(error)
        yield _event(error_json(status, message, code, param))
    except ClientDisconnect:
        return
    finally:
        await pieces.aclose()
    yield "data: [DONE]\n\n"


def _event(value: dict[str, object]) -> str:
    return f"data: {dumped(value)}\n\n"


async def _while_there(request: Request, items: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Yield ``items``, and raise :class:`ClientDisconnect` when nobody waits for them any more."""
    gone = asyncio.ensure_future(_until_gone(request))
    try:
        while True:
            step = asyncio.ensure_future(anext(items))
            try:
                await asyncio.wait({step, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not step.done():
                    raise ClientDisconnect
            finally:
                if not step.done():
                    step.cancel()
                    with anyio.CancelScope(shield=True):  # it must have ended before it can be closed
                        await asyncio.wait({step})
            try:
                yield step.result()
            except StopAsyncIteration:
                return
    finally:
        gone.cancel()
        await items.aclose()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _encoded(row: Vectors) -> str:
    """A vector as OpenAI's clients decode it: little-endian float32 in base64."""
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


async def _known(_: Request, error: LocalmemError) -> Response:
    status, message, code, param = described(error)
    return error_response(status, message, code, param, BUSY if status == 429 else None)


async def _http(_: Request, error: HTTPException) -> Response:
    return error_response(error.status_code, error.detail, headers=error.headers)


async def _gone(_: Request, error: ClientDisconnect) -> Response:
    return Response(status_code=GONE)


async def _unknown(_: Request, error: Exception) -> Response:
    return error_response(500, "The server failed; its terminal says why.")
