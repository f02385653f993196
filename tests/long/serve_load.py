"""The service under twice the load that it can hold, with slow, silent and rude clients beside the others.

    python tests/long/serve_load.py --seconds 600

It demands: only the statuses 200, 413, 422, 503 and 504; memory that grows by less than 5 %; a p99 of accepted requests
of at most three times that without load; and that clients which send a byte per second, nothing at all, or headers
without end do not keep others out. The record is printed as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

MODEL = Path(__file__).resolve().parent.parent / "golden" / "0.1.0" / "parser-lvg.model"
ALLOWED = {200, 413, 422, 503, 504}
MOST_GROWTH, MOST_RATIO = 0.05, 3.0
SENTENCE = "The dog saw a cat in the long pipe . " * 3
ANSWER_SECONDS = 60.0
SATURATING = 4
"""Clients per worker that keep it busy: with one, it would wait for the client between two answers."""


@dataclass
class Load:
    """What happened: rates per second, seconds of accepted requests, bytes of the server with its workers.

    lag_p99, share: how late this program itself is when it should wake up, in seconds, and its share of a core. Both
    must be small, or what is measured is the program and not the server.
    """

    seconds: float
    capacity: float = 0.0
    offered: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    p99_alone: float = 0.0
    p99: float = 0.0
    bytes_before: int = 0
    bytes_after: int = 0
    rude: dict[str, int] = field(default_factory=dict)
    lag_p99: float = 0.0
    share: float = 0.0

    @property
    def problems(self) -> list[str]:
        """What is not as demanded."""
        found = [f"status {status}" for status in self.statuses if status not in ALLOWED]
        growth = self.bytes_after / max(self.bytes_before, 1) - 1.0
        found += [f"memory grew by {growth:.1%}"] if growth >= MOST_GROWTH else []
        ratio = self.p99 / max(self.p99_alone, 1e-9)
        found += [f"p99 is {ratio:.1f} times that without load"] if ratio > MOST_RATIO else []
        found += [f"{self.lost} requests got no answer"] if self.lost else []
        return found if self.statuses.get(200) else [*found, "nothing was accepted"]


@contextmanager
def serving(model: Path, workers: int = 2) -> Iterator[tuple[int, int]]:
    """(process id, port) of a server."""
    command = [sys.executable, "-m", "lveg", "serve", str(model), "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "http://" in line)
            yield process.pid, int(line.partition("http://")[2].partition("/")[0].rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def memory_of(root: int) -> int:
    """The bytes of a process and its children that no other process shares, where the system tells (Linux)."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            if root in (int(facts["Pid"]), int(facts["PPid"])):
                total += 1024 * int(facts.get("RssAnon", "0 kB").split()[0])
    return total


def request_of(random_number: random.Random) -> bytes:
    """A request: mostly a sentence, now and then one that is too long or not a request."""
    chance = random_number.random()
    body = json.dumps({"text": SENTENCE, "kbest": 2})
    if chance < 0.02:
        body = json.dumps({"text": "a " * 300})
    elif chance < 0.03:
        body = json.dumps({"kbest": -1})
    elif chance < 0.032:
        body = " " * 1_000_001
    head = ["POST /api/parse HTTP/1.1", "host: localhost", "content-type: application/json", "connection: close"]
    return "\r\n".join([*head, f"content-length: {len(body)}", "", body]).encode()


async def ask(port: int, data: bytes) -> tuple[int, float]:
    """(status, seconds) of the answer to a request on a connection of its own; status 0 for none."""
    begun = time.perf_counter()
    writer = None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(data)
            await writer.drain()
            answer = await reader.read()
        return int(answer.split(b" ", 2)[1]), time.perf_counter() - begun
    except (OSError, TimeoutError, IndexError, ValueError):
        return 0, time.perf_counter() - begun
    finally:
        if writer is not None:
            writer.close()


async def rude(port: int, kind: str, until: float, seen: Counter[str]) -> None:
    """A client that is slow, silent, never ends its header, or never reads, again and again."""
    while time.perf_counter() < until:
        writer = None
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            seen[kind] += 1
            for _ in range(30):
                if time.perf_counter() > until or reader.at_eof():
                    break
                if kind == "slow":
                    writer.write(b"P")
                elif kind == "header":
                    writer.write(b"x-a: " + b"a" * 4000 + b"\r\n")
                elif kind == "unread":
                    writer.write(request_of(random.Random(1)))
                await asyncio.sleep(1.0 if kind != "header" else 0.2)
                await writer.drain()
        except OSError:
            await asyncio.sleep(0.2)
        finally:
            if writer is not None:
                writer.close()


async def closed_loop(port: int, clients: int, seconds: float) -> list[float]:
    """The seconds of all requests of clients that each ask again as soon as they have an answer."""
    end, found, data = time.perf_counter() + seconds, list[float](), request_of(random.Random(1))

    async def client() -> None:
        while time.perf_counter() < end:
            status, taken = await ask(port, data)
            if status == 200:
                found.append(taken)

    await asyncio.gather(*(client() for _ in range(clients)))
    return found


async def lags(until: float, found: list[float]) -> None:
    """How late a sleep ends, again and again: what this program adds to every time that it measures."""
    while (begun := time.perf_counter()) < until:
        await asyncio.sleep(0.02)
        found.append(time.perf_counter() - begun - 0.02)


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return sorted(values)[int(0.99 * (len(values) - 1))] if values else 0.0


async def run(root: int, port: int, seconds: float, workers: int, n_rude: int, times: float = 2.0) -> Load:
    """Measure without load, then at `times` the capacity."""
    load, share = Load(seconds), max(seconds / 10, 1.0)
    load.p99_alone = p99(await closed_loop(port, 1, share))
    load.capacity = len(await closed_loop(port, SATURATING * workers, share)) / share
    wanted = times * max(load.capacity, 1.0)
    dice, statuses, taken, seen = random.Random(1), Counter[int](), list[float](), Counter[str]()
    begun, cpu, late = time.perf_counter(), time.process_time(), list[float]()
    until = begun + seconds
    others = [
        asyncio.create_task(rude(port, kind, until, seen)) for kind in ("slow", "silent", "header", "unread") * n_rude
    ]
    others.append(asyncio.create_task(lags(until, late)))
    asked: set[asyncio.Task[tuple[int, float]]] = set()

    def note(task: asyncio.Task[tuple[int, float]]) -> None:
        asked.discard(task)
        status, one = task.result()
        statuses[status] += 1
        if status == 200:
            taken.append(one)

    count, due = 0, begun  # by the clock: a late wake-up must not lower the rate
    while (now := time.perf_counter()) < until:
        if not load.bytes_before and now > begun + seconds / 5:
            load.bytes_before = memory_of(root)
        while due <= now:
            task = asyncio.create_task(ask(port, request_of(dice)))
            asked.add(task)
            task.add_done_callback(note)
            count, due = count + 1, due + dice.expovariate(wanted)
        await asyncio.sleep(max(due - time.perf_counter(), 0.0))
    load.bytes_after, load.offered = memory_of(root), count / seconds
    if asked:
        await asyncio.wait(asked)
    await asyncio.sleep(0)
    await asyncio.gather(*others)
    load.lost = statuses.pop(0, 0)
    load.statuses, load.p99, load.rude = dict(statuses), p99(taken), dict(seen)
    load.lag_p99, load.share = p99(late), (time.process_time() - cpu) / (time.perf_counter() - begun)
    return load


def load_of(model: Path, seconds: float, workers: int = 2, n_rude: int = 15, times: float = 2.0) -> Load:
    """Serve a model and load it for that many seconds. n_rude: clients of each rude kind. times: of its capacity."""
    with serving(model, workers) as (root, port):
        return asyncio.run(run(root, port, seconds, workers, n_rude, times))


def main() -> int:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description="Load `lveg serve`.")
    parser.add_argument("model", type=Path, nargs="?", default=MODEL)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rude", type=int, default=15, help="clients of each rude kind")
    parser.add_argument("--times", type=float, default=2.0, help="the load, in multiples of what the service can hold")
    given = parser.parse_args()
    load = load_of(given.model, given.seconds, given.workers, given.rude, given.times)
    print(json.dumps(asdict(load) | {"problems": load.problems}, indent=1))
    return int(bool(load.problems))


if __name__ == "__main__":
    sys.exit(main())
