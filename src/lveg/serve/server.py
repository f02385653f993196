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
"""How long the first header may take to arrive."""

MAX_HEADER = 16_384
"""Bytes of the largest header."""

MAX_CONNECTIONS = 200
"""Further connections are told that the server is busy."""


class _Protocol(H11Protocol):
    """Closes connections that send no complete header in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEADER_SECONDS, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None:
            self.transport.close()


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
