"""Fuzzing: millions of mutated inputs for everything that reads what others wrote.

    python tests/long/fuzz.py TARGET --inputs 10000000 --seed 1

Input number i of a seed is always the same bytes, so `--only i` repeats one. The inputs are run in a child process; a
child that ends by a signal, or hangs, is replaced and the input is noted. Only errors of lveg (`LvegError`, `ApiError`)
are allowed, and no input may take more than 512 MiB, or a second of CPU time; those above 160 kB may take 6 us for each
byte, since readers are linear in the number of lines and brackets. The record says what was run; inputs that failed are
saved next to it. There is no guidance by coverage: mutations know the formats instead.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

MOST_SECONDS, SECONDS_PER_BYTE = 1.0, 6e-6
MOST_BYTES = 512 * 2**20
LARGEST = 1_000_000
"""Bytes of the largest input."""

HANGS = 60.0
"""Seconds of wall time after which an input counts as hanging."""

MOST_FAILURES = 20
COUNTER = 8
"""Bytes of the number of the current input, which a child leaves where its parent finds it."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed. make: the bytes of an input, from its own random numbers. run: reads them; see the module."""

    make: Callable[[Random], bytes]
    run: Callable[[bytes], None]


@dataclass
class Record:
    """What a run did: CPU seconds, the slowest input and its seconds, bytes of memory above the start, failures."""

    target: str
    seed: int
    inputs: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_input: int = -1
    peak_bytes: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rate = self.inputs / max(self.seconds, 1e-9)
        told = f"{self.target}: {self.inputs:,} inputs of seed {self.seed} in {self.seconds:,.0f} s ({rate:,.0f}/s); "
        told += f"slowest {self.slowest:.3f} s (input {self.slowest_input}); "
        return told + f"memory +{self.peak_bytes / 2**20:.0f} MiB; {len(self.failures)} failures"


class Mutator:
    """Bytes from seeds by a few random changes. tokens: pieces of the format that are inserted."""

    def __init__(self, seeds: list[bytes], tokens: list[bytes], largest: int = LARGEST) -> None:
        self.seeds, self.tokens, self.largest = seeds, tokens, largest

    def __call__(self, random: Random) -> bytes:
        """A mutated seed; one in a few thousand is repeated up to the largest size."""
        data = bytearray(random.choice(self.seeds))
        for _ in range(random.choice((1, 1, 2, 3, 5, 9))):
            self._change(data, random)
        if random.random() < 0.0003 and data:
            start = random.randrange(len(data))
            piece = data[start : start + random.randrange(1, 30)]
            size = min(random.choice((10_000, 100_000, LARGEST)), self.largest - len(data))
            at = random.randrange(len(data) + 1)
            data[at:at] = (bytes(piece) * (size // len(piece) + 1))[:size]
        return bytes(data[: self.largest])

    def _change(self, data: bytearray, random: Random) -> None:
        at = random.randrange(len(data) + 1)
        length = random.choice((1, 1, 2, 4, 16, 64))
        match random.randrange(9):
            case 0 if at < len(data):
                data[at] ^= 1 << random.randrange(8)
            case 1:
                data[at : at + 1] = random.randbytes(1)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = random.randbytes(length)
            case 4:
                data[at:at] = data[at : at + length] * random.choice((1, 2, 10))
            case 5:
                start = random.randrange(len(data) + 1)
                piece = data[start : start + length]
                del data[start : start + length]
                data[at:at] = piece
            case 6:
                other = random.choice(self.seeds)
                start = random.randrange(len(other) + 1)
                data[at:] = other[start : start + 500]
            case _:
                data[at : at + random.choice((0, 0, 1, length))] = random.choice(self.tokens)


def data_of(target: Target, seed: int, number: int) -> bytes:
    """Input number `number` of a seed."""
    return target.make(Random(f"{seed}-{number}"))


def targets() -> dict[str, Callable[[], Target]]:
    """Every target by name; its modules are imported only when it is made."""
    from long import fuzz_targets

    return fuzz_targets.TARGETS


def _child(name: str, seed: int, first: int, count: int, folder: Path) -> None:
    """Run inputs, and note after each how far they got; the record is written at the end."""
    from lveg.errors import LvegError
    from lveg.kernels.jit import watch_compilation
    from lveg.serve.problems import ApiError

    warnings.simplefilter("ignore")  # numbers of hostile models overflow
    target, record = targets()[name](), Record(name, seed)
    for number in range(20):  # import and compile what is needed before anything is measured
        with suppress(Exception):  # it will be found again below
            target.run(data_of(target, seed, first + number))
    begun = time.process_time()
    peak = _Peak()
    last_peak = start_peak = peak.now()
    compiled: list[int] = []
    with (
        open(folder / "counter", "r+b") as stream,
        mmap.mmap(stream.fileno(), COUNTER) as counter,
        watch_compilation(compiled.append),
    ):
        for number in range(first, first + count):
            counter[:COUNTER] = number.to_bytes(COUNTER, "little")
            data, told = data_of(target, seed, number), ""
            before = time.process_time()
            compiled.clear()
            try:
                target.run(data)
            except (LvegError, ApiError) as error:
                told = "the message has several lines" if "\n" in str(error) else ""
            except Exception:
                told = traceback.format_exc()
            seconds = 0.0 if compiled else time.process_time() - before  # compiled once, for all
            more, last_peak = peak.now() - last_peak, peak.now()
            if seconds > max(MOST_SECONDS, SECONDS_PER_BYTE * len(data)):
                told += f"it took {seconds:.2f} s"
            if more > MOST_BYTES:
                told += f"it took {more / 2**20:,.0f} MiB"
            if told:
                record.failures.append(_saved(folder, name, seed, number, data, told))
            if seconds > record.slowest:
                record.slowest, record.slowest_input = seconds, number
            record.inputs += 1
            if len(record.failures) >= MOST_FAILURES:
                break
    record.seconds, record.peak_bytes = time.process_time() - begun, last_peak - start_peak
    (folder / "record.json").write_text(json.dumps(asdict(record)))


class _Peak:
    """The largest memory of this process so far; it is read only after page faults, since only they raise it."""

    def __init__(self) -> None:
        self.faults, self.bytes = -1, 0

    def now(self) -> int:
        """The number of bytes."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        faults = usage.ru_minflt + usage.ru_majflt
        if faults != self.faults:
            self.faults, self.bytes = faults, _peak()
        return self.bytes


def _peak() -> int:
    """The largest memory of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss begins with that of the process that started this one
        return int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1]) * 1024  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _saved(folder: Path, name: str, seed: int, number: int, data: bytes, told: str) -> str:
    """Save an input that failed; returns a line about it."""
    file = folder / f"{name}-{seed}-{number}"
    file.write_bytes(data)
    file.with_suffix(".txt").write_text(told)
    return f"{file.name}: {told.strip().splitlines()[-1]}"


def fuzz(name: str, seed: int, inputs: int, folder: Path) -> Record:
    """Run inputs in child processes; the files of failures are in the folder."""
    total, first, made = Record(name, seed), 0, None
    while first < inputs and len(total.failures) < MOST_FAILURES:
        (folder / "counter").write_bytes(first.to_bytes(COUNTER, "little"))
        (folder / "record.json").unlink(missing_ok=True)
        command = [sys.executable, "-X", "faulthandler", __file__, name, "--seed", str(seed)]
        command += ["--first", str(first), "--inputs", str(inputs - first), "--child", "--folder", str(folder)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            told = _watch(process, folder)
        if not told:
            found = Record(**json.loads((folder / "record.json").read_text()))
            total.failures += found.failures
            total.inputs, total.seconds = total.inputs + found.inputs, total.seconds + found.seconds
            total.peak_bytes = max(total.peak_bytes, found.peak_bytes)
            if found.slowest > total.slowest:
                total.slowest, total.slowest_input = found.slowest, found.slowest_input
            break
        number = int.from_bytes((folder / "counter").read_bytes(), "little")
        made = made or targets()[name]()
        total.failures.append(_saved(folder, name, seed, number, data_of(made, seed, number), told))
        total.inputs, first = total.inputs + number + 1 - first, number + 1
    return total


def _watch(process: subprocess.Popen[str], folder: Path) -> str:
    """Wait for a child; returns how it ended if that was not as it should."""
    last, since = b"", time.monotonic()
    while True:
        try:
            _, told = process.communicate(timeout=2.0)
        except subprocess.TimeoutExpired:
            now = (folder / "counter").read_bytes()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > HANGS:
                process.kill()
                process.communicate()
                return f"it hangs: more than {HANGS:g} s"
            continue
        if process.returncode == 0:
            return ""
        name = signal.Signals(-process.returncode).name if process.returncode < 0 else str(process.returncode)
        return f"{told}\nthe process ended with {name}"


def main() -> int:
    """Run a target as the arguments say."""
    parser = argparse.ArgumentParser(description="Fuzz one target.")
    parser.add_argument("target", choices=sorted(targets()))
    parser.add_argument("--inputs", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run one input in this process, and show what it raises")
    parser.add_argument("--folder", type=Path, help="for the record and the inputs that failed")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only is not None:
        target = targets()[given.target]()
        data = data_of(target, given.seed, given.only)
        print(data[:2000])
        target.run(data)
        return 0
    folder = given.folder or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    folder.mkdir(parents=True, exist_ok=True)
    if given.child:
        _child(given.target, given.seed, given.first, given.inputs, folder)
        return 0
    begun = time.time()
    record = fuzz(given.target, given.seed, given.inputs, folder)
    (folder / "record.json").write_text(json.dumps(asdict(record) | {"wall_seconds": time.time() - begun}, indent=1))
    print(record, f"(in {folder})", *record.failures, sep="\n  ")
    return int(bool(record.failures))


if __name__ == "__main__":
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    sys.exit(main())
