"""Runs the web application until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lveg.errors import UsageError
from lveg.serve.app import make_app
from lveg.serve.pool import Pool

HEADER_SECONDS = 10.0
"""How long the header of each request may take to arrive, counted from the connection or from the last answer."""

UNREAD_SECONDS = 10.0
"""How long a client may leave a large answer unread."""

MAX_HEADER = 16_384
"""Bytes of the largest header."""

MAX_CONNECTIONS = 200
"""Beyond this, a new connection takes the place of the one that has been silent the longest; if there is none, it is
told that the server is busy."""


class _Protocol(H11Protocol):
    """Ends connections that send no complete header in time, that read no answer, or that are in the way of others."""

    silent_since: float
    silence: asyncio.TimerHandle
    unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        others = [one for one in self.connections if isinstance(one, _Protocol) and not one.transport.is_closing()]
        silent = [other for other in others if other.is_silent]
        if len(others) >= MAX_CONNECTIONS - 1 and silent:
            min(silent, key=lambda other: other.silent_since).transport.abort()
        super().connection_made(transport)
        self._await_header()

    @property
    def is_silent(self) -> bool:
        """Whether no request has arrived since the connection was made or the last answer was sent."""
        return self.cycle is None or self.cycle.response_complete

    def _await_header(self) -> None:
        self.silent_since = self.loop.time()
        self.silence = self.loop.call_later(HEADER_SECONDS, self._end_if_silent)

    def _end_if_silent(self) -> None:
        if self.is_silent:
            self.transport.abort()

    def on_response_complete(self) -> None:
        self.silence.cancel()
        self._await_header()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self.silence.cancel()
        if self.unread is not None:
            self.unread.cancel()
        super().connection_lost(exc)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; port 0 for any free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=MAX_CONNECTIONS)
    except OSError as error:
        raise UsageError(
            f"cannot listen at {host} port {port}: {error.strerror or error}; choose another with --host or --port"
        ) from None


def serve(pool: Pool, listener: socket.socket, host: str, ready: Callable[[str], None]) -> None:
    """Serve the page and the interface until Ctrl-C; ready is called with the address of the page."""
    config = uvicorn.Config(
        make_app(pool, host),
        http=_Protocol,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEADER,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=3,
    )
    name = f"[{host}]" if ":" in host else host
    ready(f"http://{name}:{listener.getsockname()[1]}/")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # how uvicorn ends after Ctrl-C
        pass
    finally:
        pool.close()
