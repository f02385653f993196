"""Worker processes: each answers one request at a time, and is ended and replaced if it takes too long."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from lveg.errors import LvegError, UsageError
from lveg.serve.api import ModelFacts, Request
from lveg.serve.problems import ApiError, busy
from lveg.serve.supplies import Supplies

COMPILING = "compiling"
"""What a worker says once if it has to compile kernels."""

QUEUE, FEW = 4, 1
"""How many requests per worker the server takes at a time; all but one of them wait. Under lasting load it takes only
few: they are answered soon, and the others are told at once that the server is busy."""

LASTING = 1.0
"""Seconds after which load is lasting: requests have always waited, or were refused."""

HEAVY = 0.9
"""Load above which the server takes only few requests, if it lasts; 1 is all that the workers can answer."""

_SPAN = 4  # answers per worker: the load is that of at least so long
_NEWEST = 0.1  # the share of the newest answer in the mean

RETRY = 1.0
"""Seconds until a worker that could not start is started again."""


class Worker:
    """A process with all models. Its methods block: call them from a thread."""

    def __init__(self, supplies: Supplies) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, supplies), daemon=True, name="lveg serve")
        self.process.start()
        theirs.close()

    def facts(self, notice: Callable[[], None] = lambda: None) -> list[ModelFacts]:
        """Wait until the models are loaded; notice is called if kernels have to be compiled."""
        while True:
            said = self._receive()
            if said != COMPILING:
                return list(said)
            notice()

    def ask(self, request: Request, seconds: float, deadline: float) -> bytes:
        """The answer to a request; after that many seconds the process is ended. deadline: as in the message."""
        self.connection.send(request)
        if not self.connection.poll(max(seconds, 0.0)):
            self.end()
            raise ApiError(504, "deadline", f"stopped after {deadline:g} seconds: send fewer or shorter sentences")
        return bytes(self._receive())

    def _receive(self) -> Any:
        try:
            said = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            raise ApiError(500, "worker", "the analysis failed: its process ended") from None
        if isinstance(said, Exception):
            raise said
        return said

    @property
    def is_alive(self) -> bool:
        """Whether the process can take another request."""
        return self.process.is_alive()

    def end(self) -> None:
        """End the process at once, whatever it is doing."""
        self.process.kill()
        self.process.join()


def work(connection: Connection, supplies: Supplies) -> None:
    """Load the models, then answer requests until the server is gone: the main function of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    try:
        from lveg.kernels.jit import watch_compilation
        from lveg.serve.desk import Desk

        def watch(count: int) -> None:
            if count == 1:
                connection.send(COMPILING)

        with watch_compilation(watch):
            desk = Desk(supplies)
        connection.send(desk.facts())
        while True:
            request = connection.recv()
            try:
                connection.send(desk.answer(request))
            except ApiError as error:
                connection.send(error)
            except MemoryError:
                connection.send(ApiError(500, "memory", "there is not enough memory: send fewer or shorter sentences"))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except LvegError as error:
        connection.send(error)


class Demand:
    """The load of some workers: 1 if requests arrive as fast as they can be answered."""

    def __init__(self, workers: int) -> None:
        self.workers, self.seconds = workers, 0.0
        self._arrivals: deque[float] = deque()

    def arrive(self, now: float) -> float:
        """Count a request; returns the load of late."""
        span = max(LASTING, _SPAN * self.seconds)
        self._arrivals.append(now)
        while self._arrivals[0] < now - span:
            self._arrivals.popleft()
        return len(self._arrivals) * self.seconds / (span * self.workers)

    def answered(self, seconds: float) -> None:
        """Note how long a worker took for an answer; old answers count less and less."""
        self.seconds += _NEWEST * (seconds - self.seconds)


class Pool:
    """Workers, and the requests that wait for them."""

    def __init__(
        self, supplies: Supplies, workers: int, deadline: float, notice: Callable[[], None] = lambda: None
    ) -> None:
        """Start the first worker and wait until it is ready; it compiles what has to be compiled."""
        self.supplies, self.size, self.deadline = supplies, workers, deadline
        self.pending = 0
        self.calm = self.refused = -LASTING
        self.demand = Demand(workers)
        self.is_open = True
        self.threads = ThreadPoolExecutor(2 * workers)  # each worker is waited for by one, and replaced by one
        self.workers = [Worker(supplies)]
        try:
            self.facts = self.workers[0].facts(notice)
        except ApiError:
            raise UsageError("the models could not be loaded: the process that loads them ended") from None
        except BaseException:
            self.close()
            raise

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start the other workers; end all of them afterwards."""
        self.idle: asyncio.Queue[Worker] = asyncio.Queue()
        self.idle.put_nowait(self.workers[0])
        self.starting = {asyncio.create_task(self._add()) for _ in range(self.size - 1)}
        try:
            yield
        finally:
            self.close()
            for task in self.starting:
                task.cancel()

    def close(self) -> None:
        """End all workers."""
        self.is_open = False
        for worker in self.workers:
            worker.end()
        self.threads.shutdown(wait=False, cancel_futures=True)

    @property
    def n_alive(self) -> int:
        """The number of workers that are running."""
        return sum(worker.is_alive for worker in self.workers)

    async def answer(self, request: Request, is_wanted: Callable[[], Awaitable[bool]]) -> bytes:
        """The answer of a worker as JSON; raises ApiError if there are too many requests, or at the deadline.

        is_wanted: whether the client still waits, asked when a worker is free.
        """
        now = time.monotonic()
        if self.pending < self.size:
            self.calm = now
        is_heavy = self.demand.arrive(now) > HEAVY  # otherwise a refusal would lead to others for as long as any come
        is_lasting = is_heavy and (now - self.calm > LASTING or now - self.refused < LASTING)
        if self.pending >= (FEW if is_lasting else QUEUE) * self.size:
            self.refused = now
            raise busy()
        self.pending += 1
        try:
            return await self._answer(request, is_wanted, time.monotonic() + self.deadline)
        finally:
            self.pending -= 1

    async def _answer(self, request: Request, is_wanted: Callable[[], Awaitable[bool]], end: float) -> bytes:
        try:
            worker = await asyncio.wait_for(self.idle.get(), self.deadline)
        except TimeoutError:
            raise busy() from None
        try:
            if not await is_wanted():
                return b""
            begun, loop = time.monotonic(), asyncio.get_running_loop()
            try:
                return await loop.run_in_executor(self.threads, worker.ask, request, end - begun, self.deadline)
            finally:
                self.demand.answered(time.monotonic() - begun)
        finally:
            self._put_back(worker)

    def _put_back(self, worker: Worker) -> None:
        """Let a worker take another request, or replace it."""
        if worker.is_alive:
            self.idle.put_nowait(worker)
        elif self.is_open:
            self.workers.remove(worker)
            self.starting.add(asyncio.create_task(self._add()))

    async def _add(self) -> None:
        """Start a worker, again and again until it works, and let it take requests."""
        loop = asyncio.get_running_loop()
        while self.is_open:
            worker = await loop.run_in_executor(self.threads, Worker, self.supplies)
            self.workers.append(worker)
            try:
                await loop.run_in_executor(self.threads, worker.facts)
            except (ApiError, LvegError):
                self.workers.remove(worker)
                await asyncio.sleep(RETRY)
            else:
                self.idle.put_nowait(worker)
                return
