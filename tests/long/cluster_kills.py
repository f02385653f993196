"""Every family on workers that are killed at random moments and replaced: the models must be those of threads.

python tests/long/cluster_kills.py [kills per family] [task/model ...]
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from machines import Machines
from small import FAMILIES, quick_options, small_file, train

from lveg.cluster import connected
from lveg.families.registry import treebank_kind
from lveg.model_io import model_fingerprint
from lveg.report import silent
from lveg.training import Setting

MORE: dict[str, Any] = {"epochs": 6, "phrase_epochs": 3, "batch": 66, "held_out": 0.0}


class Killer(Thread):
    """Kills a random worker at random moments, and starts another."""

    def __init__(self, machines: Machines, most: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.machines, self.most, self.random = machines, most, random.Random(seed)
        self.kills, self.is_over = 0, Event()

    def run(self) -> None:
        """Kill until the training is over."""
        while self.kills < self.most and not self.is_over.wait(self.random.uniform(0.2, 6.0)):
            alive = [worker for worker in self.machines.workers if worker.poll() is None]
            self.machines.kill(self.random.choice(alive))
            self.kills += 1
            self.machines.add()


def check(task: str, model: str, path: str, most: int) -> bool:
    """Train a family with and without a cluster."""
    own = quick_options(task, model)
    options = own | {name: value for name, value in MORE.items() if name in own or name in ("batch", "held_out")}
    if task == "parser":
        options["context"] = "none"
    if model in ("split-merge", "cvg"):
        del options["batch"]
    here = model_fingerprint(train(task, path, model=model, setting=Setting(2, silent), **options))
    begun = time.perf_counter()
    with Machines(2) as machines, connected(machines.address) as cluster:
        killer = Killer(machines, most, len(model))
        killer.start()
        setting = Setting(2, silent, workers=cluster)
        there = model_fingerprint(train(task, path, model=model, setting=setting, **options))
        killer.is_over.set()
        killer.join()
    word = "the same model" if here == there else f"DIFFERENT: {here} {there}"
    print(f"{task} {model}: {killer.kills} kills, {time.perf_counter() - begun:.0f} s, {word}", flush=True)
    return here == there


def main() -> None:
    """Check all families, or those that are named."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with TemporaryDirectory() as folder:
        chosen = [(task, model) for task, model in FAMILIES if model != treebank_kind(task).name]
        chosen = [one for one in chosen if "/".join(one) in sys.argv[2:] or len(sys.argv) < 3]
        files = {task: str(small_file(Path(folder), task, 66)) for task in dict(chosen)}
        results = [check(task, model, files[task], most) for task, model in chosen]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
