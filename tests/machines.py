"""A Dask scheduler and workers as separate processes, which tests can end at any moment."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import lveg

_SOURCE = Path(lveg.__file__).parent.parent


class Machines:
    """A scheduler and workers, which are all ended on exit."""

    def __init__(self, workers: int, threads: int = 1, host: str = "127.0.0.1") -> None:
        self.host, self.threads = host, threads
        self.port = _free_port(host)
        self.scheduler = self._start_scheduler()
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self.add()

    @property
    def address(self) -> str:
        """The address of the scheduler."""
        return f"tcp://{self.host}:{self.port}"

    def add(self, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start another worker. before: the start of its command, for example to run it in another network."""
        command = ["worker", self.address, "--no-nanny", "--nthreads", str(self.threads), "--no-dashboard"]
        self.workers.append(self._start([*command, "--memory-limit", "0"], before))
        return self.workers[-1]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """End a process at once."""
        process.send_signal(signal.SIGKILL)
        process.wait()

    def restart_scheduler(self) -> None:
        """Start the scheduler again, at the same address; workers that wait for it come back."""
        self.scheduler = self._start_scheduler()

    def cpu_seconds(self, process: subprocess.Popen[bytes]) -> float:
        """CPU time of a process so far."""
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        found = self._start(["scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard"])
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex((self.host, self.port)) == 0:
                    return found
            time.sleep(0.1)
        raise TimeoutError("the scheduler does not start")

    def _start(self, command: list[str], before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        paths = [str(_SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.Popen(
            [*before, sys.executable, "-m", "dask", *command], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                self.kill(process)


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
