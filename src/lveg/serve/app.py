"""The web application: routes, limits and headers. It reads no file and loads no model while it runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lveg._version import __version__
from lveg.serve.api import Health, Models, ParseRequest, Problem, ProblemAnswer, Request, TagRequest
from lveg.serve.openapi import document
from lveg.serve.pool import Pool
from lveg.serve.problems import ApiError

MAX_BODY = 1_000_000
"""Bytes of the largest body."""

MAX_DROPPED = 10_000_000
"""Bytes of a body that is too large which are read and dropped: many clients read no answer before all is sent."""

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

RETRY_AFTER = 1
"""Seconds after which a client should try again if the server is busy."""

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
"""The types of static files."""

LOOPBACK = ("127.0.0.1", "localhost")
_NAMES_LOOPBACK = re.compile(rf"(?:{'|'.join(map(re.escape, LOOPBACK))})(?::\d+)?", re.ASCII | re.IGNORECASE)

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Headers of every answer: only this server's scripts and styles run, and nothing inline."""

Body = TypeVar("Body", bound=Request)


def make_app(pool: Pool, host: str) -> Starlette:
    """The application. On a loopback address it answers only to loopback names, against DNS rebinding."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with pool.running():
            yield

    supplies = pool.supplies
    models = Models(pool.facts, supplies.max_words, __version__)
    app = Starlette(
        routes=[
            Route("/api/parse", _work(pool, ParseRequest), methods=["POST"]),
            Route("/api/tag", _work(pool, TagRequest), methods=["POST"]),
            Route("/api/models", _constant(msgspec.json.encode(models), "application/json")),
            Route("/openapi.json", _constant(msgspec.json.encode(document()), "application/json")),
            Route("/health", _health(pool)),
            *_static(),
        ],
        middleware=[Middleware(_Headers), *([Middleware(_Loopback)] if host in LOOPBACK else [])],
        exception_handlers={ApiError: _problem, HTTPException: _http_problem, ClientDisconnect: _gone},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # Starlette fails to redirect if the query is not UTF-8
    return app


Endpoint = Callable[[HttpRequest], Awaitable[Response]]


def _work(pool: Pool, kind: type[Body]) -> Endpoint:
    """The handler of requests for workers."""

    async def handle(request: HttpRequest) -> Response:
        wish = _decoded(await _body(request), kind)

        async def is_wanted() -> bool:
            return not await request.is_disconnected()

        return Response(await pool.answer(wish, is_wanted), media_type="application/json")

    return handle


async def _body(request: HttpRequest) -> bytes:
    """The body, if it is JSON, not too large and in time."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "type", "expected a body of type application/json")
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= MAX_BODY:
                    body += chunk
                elif size > MAX_DROPPED:
                    break
    except TimeoutError:
        raise ApiError(408, "slow", f"the body took more than {BODY_SECONDS:g} seconds") from None
    if size > MAX_BODY:
        raise ApiError(413, "too_large", f"a body may have at most {MAX_BODY:,} bytes")
    return bytes(body)


def _decoded(body: bytes, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise ApiError(422, "schema", f"{error}; /openapi.json describes requests") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ApiError(400, "json", "the body is not JSON in UTF-8") from None


def _constant(content: bytes, media_type: str) -> Endpoint:
    async def handle(request: HttpRequest) -> Response:
        return Response(content, media_type=media_type)

    return handle


def _health(pool: Pool) -> Endpoint:
    async def handle(request: HttpRequest) -> Response:
        alive = pool.n_alive
        content = msgspec.json.encode(Health("ok" if alive else "starting", alive))
        return Response(content, 200 if alive else 503, media_type="application/json")

    return handle


def _static() -> list[Route]:
    """The page and its scripts and styles, read once."""
    routes = []
    for file in sorted(files("lveg.serve").joinpath("static").iterdir(), key=lambda file: file.name):
        path = "/" if file.name == "index.html" else f"/static/{file.name}"
        routes.append(Route(path, _constant(file.read_bytes(), TYPES[file.name.rpartition(".")[2]])))
    return routes


def _told(status: int, code: str, message: str) -> Response:
    content = msgspec.json.encode(ProblemAnswer(Problem(code, message)))
    headers = {"retry-after": str(RETRY_AFTER)} if status == 503 else {}
    if status in (408, 413):  # what is left of the body is not read
        headers["connection"] = "close"
    return Response(content, status, headers, media_type="application/json")


async def _problem(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _told(error.status, error.code, error.message)


async def _http_problem(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _told(error.status_code, "http", error.detail)


async def _gone(request: HttpRequest, error: Exception) -> Response:
    return Response(status_code=400)  # no one reads it


class _Loopback:
    """Refuses requests that name another host than this machine."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _NAMES_LOOPBACK.fullmatch(Headers(scope=scope).get("host", "")):
            await self.app(scope, receive, send)
        else:
            refusal = _told(400, "host", f"the header Host names none of {', '.join(LOOPBACK)}")
            await refusal(scope, receive, send)


class _Headers:
    """Adds HEADERS to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)
