"""Kill real training runs at random moments, and see whether each one ends with the same model all the same.

Every case is trained once without a break. Then it is trained again and again with --resume, and each time one of these
happens: it is killed after a random time; it is killed inside a save, in the middle of a write or before a sync or a
renaming; saves fail for a while with a full disk or an I/O error; its newest checkpoint is damaged afterwards. A run
that gets to its end must have written the same bytes as the undisturbed one; then the case starts anew.

    python tests/long/kills.py --kills 200

Processes are forked from one that has loaded the kernels; they run the command line. Faults inside saves come from a
library in LD_PRELOAD (faults.c), so they need Linux and a C compiler; without them there are only kills by the clock.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import gc
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
KILLED = -signal.SIGKILL
MODEL = "m"

GRADIENT = ("--epochs", "2", "--batch", "8")
SMALL = ("--components", "2", "--dim", "2")
CASES: dict[str, tuple[str, ...]] = {
    "tagger-lvg": ("tagger", "--model", "lvg", "--epochs", "6", "--subtypes", "2"),
    "tagger-gm": ("tagger", "--model", "gm", *GRADIENT, *SMALL),
    "parser-gm": ("parser", "--model", "gm", *GRADIENT, *SMALL),
    "parser-split-merge": (
        "parser", "--model", "split-merge", "--cycles", "2", "--split-iterations", "3", "--merge-iterations", "2",
    ),
    "parser-pcfg-features": (
        "parser", "--model", "pcfg", "--context", "features", "--context-epochs", "2", "--context-batch", "8",
    ),
    "tagger-forms": (
        "tagger", "--model", "forms", *GRADIENT, "--network-epochs", "1", "--units", "8", "--embedding", "4",
    ),
    "parser-shared": ("parser", "--model", "shared", *GRADIENT, *SMALL),
    "parser-multi-scale": ("parser", "--model", "multi-scale", "--cycles", "1", "--epochs", "3", "--batch", "8"),
    "parser-lvg": ("parser", "--model", "lvg", "--epochs", "3", "--subtypes", "2"),
    "parser-cvg": (
        "parser", "--model", "cvg", "--base", "lvg", "--epochs", "2", "--subtypes", "2", "--folds", "2",
        "--dimensions", "2", "--phrase-epochs", "2", "--phrase-batch", "8",
    ),
    "parser-network": (
        "parser", "--model", "gm", *GRADIENT, *SMALL, "--context", "network", "--units", "8", "--embedding", "4",
        "--network-epochs", "1", "--context-epochs", "2", "--context-batch", "8",
    ),
    "parser-ensemble": (
        "parser", *GRADIENT, *SMALL, "--context", "none", "--ensemble",
    ),
}  # fmt: skip
QUICK = ("tagger-lvg", "tagger-gm", "parser-split-merge", "parser-pcfg-features")
"""The cases of the ordinary tests."""


@dataclass
class Case:
    """A training run that is disturbed.

    model: what it must write. seconds, calls: how long it takes, and how many calls of saves it makes.
    """

    name: str
    arguments: Sequence[str]
    folder: Path
    model: bytes = b""
    seconds: float = 0.0
    calls: int = 0
    attempts: int = 0

    def clear(self) -> None:
        """Start anew."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.attempts = 0


def build_faults(folder: Path) -> str | None:
    """The path of the compiled library; None where there is no compiler, or no LD_PRELOAD."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "faults.c", "-ldl"], check=True)
    return str(library)


def make_data(folder: Path, sentences: int) -> dict[str, list[str]]:
    """The files of a small synthetic treebank for each task."""
    from lveg.treebank.synthetic import ENGLISH

    found = {}
    for task, suffix, end in (("parser", "mrg", "\n"), ("tagger", "conllu", "\n\n")):
        parts = []
        for part in ("train", "dev"):
            text = (ENGLISH.parent / f"demo-{part}.{suffix}").read_text(encoding="utf-8")
            count = sentences if part == "train" else 5
            path = folder / f"{part}.{suffix}"
            path.write_text(end.join(text.split(end)[:count]) + end, encoding="utf-8")
            parts.append(str(path))
        found[task] = [parts[0], "--dev", parts[1]]
    return found


def lveg(arguments: Sequence[str]) -> int:
    """Run the command line in this process; returns its exit status."""
    from lveg.cli import main

    sys.argv = ["lveg", *arguments]
    try:
        main()
    except SystemExit as ending:
        return int(ending.code or 0)
    return 0


def forked(case: Case, prepare: Callable[[], None], patience: float | None) -> tuple[int, str]:
    """The exit status of a run of a case in a process of its own, killed after `patience` seconds, and its stderr."""
    errors = case.folder.parent / f"{case.name}.err"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.chdir(case.folder)
            os.dup2(os.open(errors, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
            prepare()
            status = lveg(["train", *case.arguments, "--out", MODEL, "--resume"])
        finally:
            os._exit(status)
    if patience is not None:
        time.sleep(patience)
        os.kill(child, signal.SIGKILL)  # not yet waited for, so it is still this process or its remains
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, errors.read_text(encoding="utf-8")


class Harness:
    """Disturbs cases in turn. faults: the library, if there is one."""

    def __init__(self, cases: Sequence[Case], faults: ctypes.CDLL | None, seed: int) -> None:
        self.cases, self.faults, self.random = cases, faults, random.Random(seed)
        self.done: Counter[str] = Counter()
        self.kills = 0

    def arm(self, first: int = 0, last: int = 0, number: int = 0) -> None:
        """Let the calls of saves with these numbers fail, or kill."""
        if self.faults is not None:
            self.faults.arm(ctypes.c_long(first), ctypes.c_long(last), ctypes.c_int(number))

    def measure(self, case: Case) -> None:
        """Train without a break, in this process: its kernels are then loaded for all others."""
        case.clear()
        before = os.getcwd()
        os.chdir(case.folder)
        for _ in range(2):  # the second time without compiling or loading kernels
            begun = time.monotonic()
            self.arm()
            if lveg(["train", *case.arguments, "--out", MODEL, "--quiet"]):
                raise SystemExit(f"{case.name}: cannot be trained")
            case.seconds = time.monotonic() - begun
        case.calls = 0 if self.faults is None else self.faults.counted()
        os.chdir(before)
        case.model = (case.folder / MODEL).read_bytes()
        case.clear()

    def disturb(self, case: Case) -> None:
        """One run that is killed or suffers errors; it ends with the right model or can be resumed."""
        kinds = ["clock"] if self.faults is None else ["clock", "inside", "full", "error"]
        kind = self.random.choice(kinds)
        place = 1 + int(case.calls * self.random.random() ** 2)  # a resumed run has fewer calls
        if kind == "clock":
            status, told = forked(case, self.arm, self.random.uniform(0.0, case.seconds))
        else:
            number = {"inside": 0, "full": errno.ENOSPC, "error": errno.EIO}[kind]
            last = place if kind == "inside" else place + self.random.randint(0, case.calls)
            status, told = forked(case, lambda: self.arm(place, last, number), None)
        case.attempts += 1
        name = {0: "finished", KILLED: "killed", 2: "refused"}.get(status, "failed")
        self.done[f"{kind}: {name}"] += 1
        self.kills += status == KILLED
        if status == 0:
            self.check(case)
        elif status == 2 and kind in ("full", "error"):
            if f"{MODEL}: cannot be written: " not in told:
                raise SystemExit(f"{case.name}: not about the model: {told}")
        elif status != KILLED:
            raise SystemExit(f"{case.name}: exit status {status} after {kind}: {told}")
        if self.random.random() < 0.2:
            self.damage(case)

    def damage(self, case: Case) -> None:
        """Cut off the end of one of the newest checkpoints that have one before."""
        found = sorted(path.with_suffix("") for path in case.folder.glob("*.previous") if path.with_suffix("").exists())
        if found:
            path = self.random.choice(found)
            os.truncate(path, self.random.randrange(path.stat().st_size))
            self.done["damaged afterwards"] += 1

    def finish(self, case: Case) -> None:
        """Resume without a disturbance; the run must end."""
        status, told = forked(case, self.arm, None)
        if status:
            raise SystemExit(f"{case.name}: exit status {status}: {told}")
        self.check(case)

    def check(self, case: Case) -> None:
        """The run has ended: its model must be right, and nothing else may be left."""
        left = sorted(path.name for path in case.folder.iterdir())
        if (case.folder / MODEL).read_bytes() != case.model:
            raise SystemExit(f"{case.name}: another model after {case.attempts} attempts")
        if left != [MODEL]:
            raise SystemExit(f"{case.name}: files are left: {left}")
        self.done["same model"] += 1
        case.clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--quick", action="store_true", help="the cases of the ordinary tests")
    parser.add_argument("--faults", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.faults is None and (library := build_faults(Path(name))):
            given = [sys.executable, __file__, *sys.argv[1:], "--faults", library]
            environment = os.environ | {"LD_PRELOAD": library, "OPENBLAS_NUM_THREADS": "1"}
            sys.exit(subprocess.run(given, env=environment, check=False).returncode)
        work(Path(name), options)


def work(folder: Path, options: argparse.Namespace) -> None:
    """Measure all cases, disturb them, and let them end."""
    files = make_data(folder, options.sentences)
    faults = None if options.faults is None else ctypes.CDLL(options.faults)
    common = ("--checkpoint-minutes", "0", "--threads", "2", "--held-out", "0")
    cases = [
        Case(name, (CASES[name][0], *files[CASES[name][0]], *CASES[name][1:], *common), folder / name)
        for name in (QUICK if options.quick else options.cases)
    ]
    harness = Harness(cases, faults, options.seed)
    for case in cases:
        harness.measure(case)
        print(f"{case.name}: {case.seconds:.2f} s, {case.calls} calls in saves", flush=True)
    gc.unfreeze()
    gc.collect()  # ends the threads of these runs: a process is forked without them
    assert threading.active_count() == 1
    for case in itertools.cycle(cases):
        if harness.kills >= options.kills:
            break
        harness.disturb(case)
    for case in cases:
        harness.finish(case)
    for what, count in sorted(harness.done.items()):
        print(f"{count:5d} {what}")


if __name__ == "__main__":
    main()
