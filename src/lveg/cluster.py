"""Workers in other processes and on other machines, by dask.distributed (docs/decisions/0019).

Work is described, not shared: what a worker needs is sent to it once as a parcel, with examples as the sources they are
made from. Each step sends what changed in the parameters, and receives gradients. Any worker can do any part, so a lost
worker costs only time; a worker that lacks something says so, and the part is sent again with everything it needs.
"""

from __future__ import annotations

import io
import logging
import pickle
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np

from lveg._version import __version__
from lveg.errors import UsageError
from lveg.grammar.grammar import Floats
from lveg.learning.examples import Examples
from lveg.learning.gradient import Changes, changes
from lveg.learning.run import Work
from lveg.report import Report, silent

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 4
"""Parts per thread of a worker that are sent before their results are needed."""

WAIT = 5.0
"""Seconds without a result after which it is checked whether there are any workers."""

IDLE = 900.0
"""Seconds after which a worker may forget a run that has not asked for anything; if it still goes on, it is asked to
send everything again."""

CONNECT = 10.0
"""Seconds to wait for the answer of a scheduler."""

TRIALS = 5
"""How often a part is sent again after all workers that had it were lost."""


class Parcel(NamedTuple):
    """A pickled object, and the names of the objects that it refers to but does not contain."""

    name: str
    data: bytes
    needs: tuple[str, ...]


class News(NamedTuple):
    """Parameters: changes since a version (0 for none), one for each vector; None for an unchanged vector."""

    since: int
    version: int
    vectors: list[Changes | None]


class Order(NamedTuple):
    """What a part of some work needs: the names of a run, of everything that it still uses, and of the work.

    setting: the versions of the programs that must be the same for the same result.
    """

    run: str
    live: frozenset[str]
    work: str
    setting: tuple[str, ...]


class Lacking:
    """The reply of a worker that lacks a parcel or the parameters before the last step."""


# What runs on workers.


@dataclass
class Bench:
    """What a worker has of a run: objects by name, and the state of each work."""

    objects: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    used: float = 0.0


@dataclass
class Tool:
    """Some work, prepared for a version of the parameters."""

    work: Work[Any, Any]
    version: int = 0
    values: list[Floats] = field(default_factory=list)
    function: Callable[[Any], Any] | None = None

    def update(self, news: News) -> bool:
        """Prepare the work for newer parameters; returns whether it is ready for them.

        Parameters are changed in place, which is safe: those before are no longer used when there are newer ones.
        """
        if self.version >= news.version:
            return self.version == news.version
        if not news.since:
            self.values = [np.empty(0)] * len(news.vectors)
        elif self.version != news.since:
            return False
        for index, found in enumerate(news.vectors):
            if found is not None and found.indices is None:
                self.values[index] = np.array(found.elements)
            elif found is not None:
                found.write_to(self.values[index])
        self.function, self.version = self.work(self.values), news.version
        return True


_benches: dict[str, Bench] = {}
_benches_lock = Lock()


def do_part(order: Order, item: Any, news: News, parcels: Sequence[Parcel]) -> Any:
    """The result of a part of some work, or `Lacking`; runs on a worker."""
    if order.setting != setting():
        raise UsageError(f"{_address()}: a worker has {_named(setting())}; needed is {_named(order.setting)}")
    bench = _bench(order.run)
    with bench.lock:
        tool = _tool(bench, order, parcels)
        if tool is None or not tool.update(news):
            return Lacking()
        function = tool.function
    assert function is not None
    return function(item)


def _bench(run: str) -> Bench:
    """The bench of a run; benches that were not used for long are removed."""
    with _benches_lock:
        bench, now = _benches.setdefault(run, Bench()), time.monotonic()
        bench.used = now
        for name in [name for name, other in _benches.items() if now - other.used > IDLE]:
            del _benches[name]
        return bench


def _tool(bench: Bench, order: Order, parcels: Sequence[Parcel]) -> Tool | None:
    """The tool of an order; what is no longer used is put away. None if something is lacking."""
    for name in [name for name in bench.objects if name not in order.live]:
        del bench.objects[name]
        bench.tools.pop(name, None)
    for parcel in parcels:
        if parcel.name not in bench.objects:
            if any(name not in bench.objects for name in parcel.needs):
                return None
            bench.objects[parcel.name] = _Unpickler(io.BytesIO(parcel.data), bench.objects).load()
    if order.work not in bench.tools:
        if order.work not in bench.objects:
            return None
        bench.tools[order.work] = Tool(bench.objects[order.work])
    return bench.tools[order.work]


def forget(run: str) -> None:
    """Remove what a worker has of a run."""
    with _benches_lock:
        _benches.pop(run, None)


def keep(parcel: Parcel) -> Parcel:
    """The same parcel: see `Cluster._keep`."""
    return parcel


@cache
def setting() -> tuple[str, ...]:
    """The versions that must be the same on all machines for the same result."""
    import platform

    import numba

    return __version__, platform.python_version(), np.__version__, numba.__version__


def _named(versions: tuple[str, ...]) -> str:
    names = ("lveg", "Python", "NumPy", "Numba")
    return ", ".join(f"{name} {version}" for name, version in zip(names, versions, strict=True))


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


# Pickling: examples are sent once for all work that uses them.


class _Pickler(pickle.Pickler):
    """Refers to examples by name, and leaves out what objects compute when needed."""

    def __init__(self, file: io.BytesIO, name_of: Callable[[Examples], str], root: Any) -> None:
        super().__init__(file, protocol=5)
        self._name_of, self._root, self.needs = name_of, root, dict[str, None]()

    def persistent_id(self, obj: Any) -> str | None:
        if not isinstance(obj, Examples) or obj is self._root:
            return None
        name = self._name_of(obj)
        self.needs[name] = None
        return name

    def reducer_override(self, obj: Any) -> Any:
        own = getattr(obj, "__dict__", None)
        if not isinstance(own, dict) or isinstance(obj, type) or not type(obj).__module__.startswith("lveg."):
            return NotImplemented
        computed = {name for name in own if isinstance(getattr(type(obj), name, None), cached_property)}
        if not computed:
            return NotImplemented
        return _restored, (type(obj), {name: value for name, value in own.items() if name not in computed})


def _restored(kind: type, fields: dict[str, Any]) -> Any:
    found: Any = object.__new__(kind)
    found.__dict__.update(fields)
    return found


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, objects: dict[str, Any]) -> None:
        super().__init__(file)
        self._objects = objects

    def persistent_load(self, pid: str) -> Any:
        return self._objects[pid]


# What runs where training was started.


@dataclass
class Published:
    """Parameters of some work as sent to workers. news, whole: as sent, from the version before or from none."""

    version: int
    values: list[Floats]
    news: Any
    whole: Any = None


@dataclass
class Traffic:
    """Bytes of messages and results, and the number of parts; copies from worker to worker are not counted."""

    sent: int = 0
    received: int = 0
    parts: int = 0


class Cluster:
    """Workers of dask.distributed: the same results as with threads, in the same order.

    Sums over items are taken in the order of the items, so workers that come and go do not change the result.
    """

    shares_memory = False

    def __init__(self, client: Any, address: str, report: Report = silent) -> None:
        self.traffic = Traffic()
        self._client, self._address, self._report = client, address, report
        self._run, self._numbers = uuid4().hex[:12], count(1)
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._parcels: dict[str, tuple[Any, tuple[str, ...]]] = {}
        self._published: dict[str, Published] = {}
        self._known: dict[str, dict[str, int]] = {}
        self._places: dict[int, list[str]] = {}

    def map(self, work: Work[Item, Result], items: Iterable[Item], values: Sequence[Floats] = ()) -> Iterator[Result]:
        """work(values)(item) for each item, in order.

        Of a given number of items, each goes to the same worker every time, as long as it exists.
        """
        rows = list(items)
        with self._messages():
            name = self._send(work)
            self._publish(name, values)
            threads = self._client.nthreads()
            places = self._places[len(rows)] = balanced(self._places.get(len(rows), []), len(rows), threads)
        ahead = AHEAD * max(1, sum(threads.values()))
        waiting: deque[Any] = deque()
        for number in range(len(rows)):
            with self._messages():
                for later in range(number + len(waiting), min(number + ahead, len(rows))):
                    waiting.append(self._submit(name, rows[later], places[later]))
                found = self._result(name, rows[number], places[number], waiting.popleft())
            yield found

    def close(self) -> None:
        """Make the workers forget this run."""
        with suppress(Exception):  # they may be gone
            self._client.run(forget, self._run, on_error="ignore")

    @contextmanager
    def _messages(self) -> Iterator[None]:
        """Turn the loss of the scheduler into an error that says what to do."""
        try:
            yield
        except (CancelledError, OSError):
            raise UsageError(
                f"{self._address}: the scheduler is gone; start it again and repeat the command (`lveg train` with "
                "--resume)"
            ) from None

    def _send(self, work: Any) -> str:
        """The name of an object, which is sent with the examples that it uses, unless it has been sent before."""
        known = self._names.get(work)
        if known is not None:
            return known
        name = self._names[work] = f"{self._run}-{next(self._numbers)}"
        file = io.BytesIO()
        pickler = _Pickler(file, self._send, work)
        try:
            pickler.dump(work)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UsageError(f"this model cannot be trained on a cluster: {error}") from None
        parcel = Parcel(name, file.getvalue(), tuple(pickler.needs))
        self._parcels[name] = self._keep(parcel), parcel.needs
        return name

    def _keep(self, parcel: Parcel) -> Any:
        """A parcel, as a task: the scheduler has it unpacked again if the worker that had it is lost."""
        self.traffic.sent += size_of(parcel)
        return self._client.submit(keep, parcel, key=f"lveg-parcel-{self._run}-{next(self._numbers)}", pure=False)

    def _scatter(self, news: News) -> Any:
        """Parameters, sent to one worker, from which others get them: the scheduler does not touch them."""
        self.traffic.sent += size_of(news)
        while True:
            if self._has_workers():
                try:
                    return self._client.scatter(news, hash=False)
                except OSError:  # the worker that was chosen may have been lost
                    if self._client.status != "running":
                        raise
            time.sleep(WAIT / 5)

    def _has_workers(self) -> bool:
        """Whether there are workers; reports if there are none."""
        if self._client.nthreads():
            return True
        self._report("cluster", {"note": f"{self._address}: waiting for a worker"})
        return False

    def _publish(self, name: str, values: Sequence[Floats]) -> None:
        """Send what changed in the parameters of some work; forget work that is no longer used."""
        live = set(self._names.values())
        books: tuple[dict[str, Any], ...] = (self._parcels, self._published, *self._known.values())
        for book in books:
            for gone in book.keys() - live:
                del book[gone]
        old = self._published.get(name)
        if old is None:
            self._published[name] = Published(1, [value.copy() for value in values], None)
            return
        found = [difference(before, value) for before, value in zip(old.values, values, strict=True)]
        if any(one is not None for one in found):
            news = News(old.version, old.version + 1, found)
            self._published[name] = Published(news.version, old.values, self._scatter(news))
            for before, one in zip(old.values, found, strict=True):
                if one is not None:
                    one.write_to(before)

    def _news(self, name: str, version: int) -> Any:
        """The message that brings a worker from a version of the parameters, 0 for none, to the present one."""
        present = self._published[name]
        if version >= present.version - 1 and present.news is not None:
            return present.news
        if present.whole is None:
            vectors = [Changes(None, value.copy()) for value in present.values]
            present.whole = self._scatter(News(0, present.version, list(vectors)))
        return present.whole

    def _submit(self, name: str, item: Any, place: str) -> Any:
        """Ask for a part of some work, preferably on a certain worker; sends what that worker does not have."""
        known = self._known.get(place, {})
        needed = [*self._parcels[name][1], name]
        parcels = [self._parcels[one][0] for one in needed if one not in known]
        order = Order(self._run, frozenset(self._names.values()), name, setting())
        return self._client.submit(
            do_part, order, item, self._news(name, known.get(name, 0)), parcels, pure=False,
            key=f"lveg-part-{self._run}-{next(self._numbers)}", workers=[place] if place else None,
            allow_other_workers=bool(place),
        )  # fmt: skip

    def _result(self, name: str, item: Any, place: str, future: Any) -> Any:
        """The result of a part, which is asked for again as often as needed."""
        from distributed import KilledWorker

        trials = 0
        while True:
            try:
                found = future.result(timeout=WAIT)
            except TimeoutError:
                self._has_workers()
                continue
            except KilledWorker:
                trials += 1
                if trials == TRIALS:
                    raise UsageError(
                        f"{self._address}: workers end again and again; do they have enough memory? "
                        "Then repeat the command (`lveg train` with --resume)"
                    ) from None
                found = Lacking()
            except CancelledError as error:
                if getattr(error, "reason", "") == "scheduler-connection-lost" or self._client.status != "running":
                    raise
                # The worker from which the others get the parameters was lost.
                self._published[name].news = self._published[name].whole = None
                found = Lacking()
            if not isinstance(found, Lacking):
                break
            self._known.pop(place, None)
            future = self._submit(name, item, place)
        known = self._known.setdefault(place, {})
        known |= dict.fromkeys(self._parcels[name][1], 0) | {name: self._published[name].version}
        self.traffic.received += size_of(found)
        self.traffic.parts += 1
        return found


def balanced(old: Sequence[str], number: int, threads: Mapping[str, int]) -> list[str]:
    """A worker for each of some parts, in proportion to its threads, mostly the same as in `old`; "" if there are none.

    threads: the number of threads of each worker.
    """
    if not threads:
        return [""] * number
    turns = sorted(
        ((turn, place) for place, own in threads.items() for turn in range(own)),
        key=lambda slot: (slot[0], slot[1] not in old, slot[1]),
    )
    left = Counter(turns[index % len(turns)][1] for index in range(number))
    places: list[str] = []
    for place in [*old[:number], *[""] * (number - len(old))]:
        is_kept = left[place] > 0
        left[place] -= is_kept
        places.append(place if is_kept else "")
    rest = left.elements()
    return [place or next(rest) for place in places]


def difference(old: Floats, new: Floats) -> Changes | None:
    """What changed in a vector, bit by bit; None if nothing did."""
    indices = np.flatnonzero(old.view(np.int64) != new.view(np.int64)).astype(np.int32)
    return changes(new, indices) if len(indices) else None


def size_of(found: Any) -> int:
    """The number of bytes of the arrays and pickles in a message or a result."""
    if isinstance(found, bytes):
        return len(found)
    if isinstance(found, np.ndarray):
        return int(found.nbytes)
    return sum(map(size_of, found)) if isinstance(found, tuple | list) else 0


@contextmanager
def connected(address: str, report: Report = silent) -> Iterator[Cluster]:
    """The workers of the scheduler at an address such as tcp://host:8786, or N processes of this machine: local:N.

    Security (TLS) is as in the configuration of Dask.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--cluster needs dask.distributed: pip install 'lveg[cluster]'") from None
    kind, _, number = address.partition(":")
    with ExitStack() as stack:
        # Parcels are sent as tasks on purpose: see `Cluster._keep`.
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}))
        target: Any = address
        if kind == "local":
            if not number.isdigit() or int(number) < 1:
                raise UsageError(f"--cluster {address}: expected the number of processes, such as local:4")
            target = stack.enter_context(
                LocalCluster(
                    n_workers=int(number),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    memory_limit=0,
                    silence_logs=logging.ERROR,
                )
            )
        try:
            client = Client(target, timeout=CONNECT, name="lveg", direct_to_workers=True)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(f"--cluster {address}: cannot connect: {error or 'no answer'}") from None
        stack.callback(_close, client)
        found = Cluster(client, address, report)
        report("cluster", {"address": address, "workers": len(client.nthreads())})
        stack.callback(found.close)
        yield found


def _close(client: Any) -> None:
    """Close the connection; never an error, which would hide the one that ended the work.

    After its scheduler is gone, the client may still be trying to reach it, and fail to close at the first attempt.
    """
    for _ in range(2):
        with suppress(Exception):
            client.close()
            return
