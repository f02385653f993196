"""The service under load, and clients that are slow, silent or rude; tests/long/serve_load.py measures more."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from long.serve_load import ALLOWED, MODEL, load_of

from lveg.serve.pool import FEW, HEAVY, LASTING, QUEUE, Demand, Pool
from lveg.serve.problems import ApiError

HASTY = """
import sys
from lveg.serve import server
server.HEADER_SECONDS = 0.5
server.MAX_CONNECTIONS = 6
from lveg.cli import main
main()
"""


@contextmanager
def hasty() -> Iterator[int]:
    """The port of a server that waits half a second for headers, and takes six connections."""
    command = [sys.executable, "-c", HASTY, "serve", str(MODEL), "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "http://" in line)
            yield int(line.partition("http://")[2].partition("/")[0].rpartition(":")[2])
        finally:
            process.terminate()
            process.communicate(timeout=30)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with hasty() as found:
        yield found


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def status_of(connection: socket.socket, path: str = "/health") -> int:
    """The status of a request whose answer is JSON."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"}"):
        answer += connection.recv(65536)
    return int(answer.split(b" ", 2)[1])


def is_ended(connection: socket.socket) -> bool:
    """Whether the server ends a connection, within the time-out of the socket."""
    try:
        return connection.recv(65536) == b""
    except ConnectionResetError:
        return True


def test_a_silent_connection_is_ended(port: int) -> None:
    with connected(port) as connection:
        assert is_ended(connection)


def test_a_header_that_never_ends(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET /health HTT")
        assert is_ended(connection)


def test_a_second_header_that_never_ends(port: int) -> None:
    with connected(port) as connection:
        assert status_of(connection) == 200
        connection.sendall(b"GET /health HTT")
        assert is_ended(connection)


def test_a_connection_that_is_used_stays_open(port: int) -> None:
    with connected(port) as connection:
        for _ in range(4):
            assert status_of(connection) == 200
            time.sleep(0.2)


def test_silent_connections_do_not_keep_others_out(port: int) -> None:
    with ExitStack() as silent:
        for _ in range(30):
            silent.enter_context(connected(port))
        assert status_of(silent.enter_context(connected(port))) == 200


def test_a_header_that_is_too_large(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n" + b"x: " + b"a" * 20_000)
        answer = connection.recv(65536)
        assert b" 400 " in answer.split(b"\r\n")[0] or b" 431 " in answer.split(b"\r\n")[0]


def test_twice_the_load_that_it_can_hold() -> None:
    load = load_of(MODEL, 4.0, n_rude=2)
    assert set(load.statuses) <= ALLOWED
    assert load.statuses[200] > 0
    assert load.lost == 0


def pool_with(pending: int, calm: float, refused: float, load: float) -> Any:
    """A pool of one worker in a state, without its process. load: of the last second, including the next request."""
    pool = Pool.__new__(Pool)
    pool.size, pool.pending, pool.calm, pool.refused, pool.deadline = 1, pending, calm, refused, 0.01
    pool.demand = Demand(1)
    pool.demand.seconds = 0.01
    now = time.monotonic()
    for _ in range(round(load * LASTING / 0.01) - 1):
        pool.demand.arrive(now)
    return pool


async def is_taken(pool: Pool) -> bool:
    """Whether a pool takes a request; there is no worker to answer it."""
    try:
        await pool.answer(None, None)  # type: ignore[arg-type]
    except ApiError:
        return False
    except AttributeError:
        return True
    return True


@pytest.mark.parametrize(
    ("pending", "calm", "refused", "load", "taken"),
    [
        (QUEUE - 1, 0.0, 99.0, 2.0, True),
        (QUEUE, 0.0, 99.0, 2.0, False),
        (FEW, 2 * LASTING, 99.0, 2.0, False),
        (FEW - 1, 2 * LASTING, 99.0, 2.0, True),
        (FEW, 0.0, LASTING / 2, 2.0, False),
        (FEW, 2 * LASTING, LASTING / 2, HEAVY - 0.1, True),
        (FEW, 2 * LASTING, LASTING / 2, HEAVY + 0.1, False),
    ],
    ids=["burst", "full", "lasting", "soon", "refused", "light", "heavy"],
)
def test_a_burst_may_wait_but_lasting_load_may_not(
    pending: int, calm: float, refused: float, load: float, taken: bool
) -> None:
    import asyncio

    now = time.monotonic()
    assert asyncio.run(is_taken(pool_with(pending, now - calm, now - refused, load))) is taken


def test_the_load_is_that_of_late() -> None:
    demand = Demand(2)
    assert demand.arrive(0.0) == 0.0  # nothing was answered yet
    for _ in range(200):
        demand.answered(0.5)
    assert demand.seconds == pytest.approx(0.5)
    for number in range(50):  # ten in a second, for five seconds: two workers answer four
        load = demand.arrive(1.0 + number / 10)
    assert load == pytest.approx(2.5, abs=0.2)
    assert demand.arrive(60.0) < 0.2
