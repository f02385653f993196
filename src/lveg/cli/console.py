"""What commands write to stderr, and the log of a training run."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, Any

from lveg.progress import say, shown
from lveg.report import Report, describe


class _Forgiving(io.TextIOWrapper):
    """A text stream that ignores write errors, such as a broken pipe."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def survive_stderr() -> None:
    """Keep working if stderr is closed or a broken pipe."""
    if sys.stderr is None:
        # Occupy descriptor 2, so that C libraries do not take one of our files for stderr.
        while (number := os.open(os.devnull, os.O_RDWR)) < 2:
            pass
        sys.stderr = open(number, "w", encoding="utf-8")  # noqa: SIM115 (open as long as the process runs)
    elif (stream := sys.__stderr__) is sys.stderr and stream is not None:
        sys.stderr = _Forgiving(stream.buffer, stream.encoding, stream.errors, line_buffering=True)


@contextmanager
def console_report(log: str | None = None, quiet: bool = False) -> Iterator[Report]:
    """A report that shows events on stderr, and appends them to a JSON-lines file if one is given."""
    stream: IO[bytes] | None = None
    if log is not None:
        from lveg.errors import UsageError

        try:
            stream = open(log, "ab", buffering=0)  # noqa: SIM115 (closed below, after the work)
        except OSError as error:
            raise UsageError(f"{log}: cannot be written: {error.strerror or error}") from None
    try:
        with nullcontext(_warnings) if quiet else shown() as show:
            yield show if stream is None else _logging(show, str(log), stream)
    finally:
        if stream is not None:
            stream.close()


def _warnings(event: str, facts: dict[str, Any]) -> None:
    """A report that shows only warnings."""
    if event == "warning":
        say(describe(event, facts))


TYPED = "lveg: reading from the terminal; Ctrl-D ends the input"
COMPILING = "lveg: compiling kernels, once; `lveg warm` does this in advance"


@contextmanager
def compilation_notice(quiet: bool = False) -> Iterator[None]:
    """Report on stderr that kernels are being compiled: a running count on a terminal, otherwise one line."""
    from lveg.kernels.jit import known, uncached, watch_compilation

    is_terminal = sys.stderr.isatty()

    def watch(count: int) -> None:
        if is_terminal:
            print(f"\rcompiling kernels, once: {count} of at most {len(known)} ", end="", file=sys.stderr, flush=True)
        elif count == 1:
            say(COMPILING)

    def erase() -> None:
        if is_terminal:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)

    if quiet or not (is_terminal or isinstance(sys.stderr, _Forgiving)):  # no one is watching, or stderr was replaced
        yield
        return
    if uncached:
        say("lveg: compiled kernels cannot be kept: no directory for them is writable; set NUMBA_CACHE_DIR to one")
    with watch_compilation(watch, erase):
        yield


def _logging(show: Report, log: str, stream: IO[bytes]) -> Report:
    """A report that also appends to a log; an error there is shown once, and the work goes on."""
    import msgspec

    troubles: list[str] = []

    def report(event: str, facts: dict[str, Any]) -> None:
        show(event, facts)
        if event == "progress":
            return
        try:
            stream.write(msgspec.json.encode({"event": event, "time": round(time.time(), 3), **facts}) + b"\n")
        except OSError as error:
            if not troubles:
                troubles.append(f"{log}: cannot be written: {error.strerror or error}; some events will be missing")
                show("warning", {"note": troubles[0]})

    return report


def announce_faults(messages: list[str]) -> None:
    """Report on stderr what was skipped: the first few messages, and the total."""
    for message in messages[:5]:
        say(f"lveg: skipped {message}")
    if messages:
        say(f"lveg: skipped {len(messages):,} in all")
