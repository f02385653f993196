"""Workers in other processes against threads: CPU time and bytes per step of training, and what the scheduler costs.

    python benchmarks/bench_cluster.py [sentences [treebank]]

CPU time is measured for each process, so that the figures hold on a busy machine; wall times are only for comparison
within one run. Forests are built before or in the first epoch, which is not counted.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from common import print_table, treebank

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from machines import Machines

from lveg.cluster import Cluster, connected
from lveg.grammar.grammar import Floats
from lveg.model_io import model_fingerprint
from lveg.training import Setting, train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import read_grammar, sample_trees

BATCH, EPOCHS = 128, 4
CASES: dict[str, dict[str, Any]] = {
    "gm": {"model": "gm", "context": "none", "batch": BATCH, "epochs": EPOCHS, "components": 4, "dim": 5},
    "pcfg + features": {
        "model": "pcfg", "context": "features", "context_batch": BATCH, "context_epochs": EPOCHS
    },
}  # fmt: skip


@dataclass
class Meter:
    """CPU times of this process, the scheduler and the workers, bytes of arrays, bytes on the loopback network."""

    machines: Machines | None
    cluster: Cluster | None

    def read(self) -> Floats:
        """All of them now, after the wall time."""
        if self.machines is None or self.cluster is None:
            return np.array([time.perf_counter(), time.process_time(), 0, 0, 0, 0, 0], np.float64)
        busy = [self.machines.cpu_seconds(one) for one in (self.machines.scheduler, *self.machines.workers)]
        traffic = self.cluster.traffic
        return np.array([
            time.perf_counter(), time.process_time(), busy[0], sum(busy[1:]), traffic.sent, traffic.received,
            loopback(),
        ])  # fmt: skip


def loopback() -> int:
    """Bytes that went over the loopback network so far."""
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.partition(":")[2].split()[0])


def examples_held() -> int:
    """The number of examples in this process; runs on workers."""
    from lveg import cluster
    from lveg.learning.examples import Examples

    found = [one for bench in cluster._benches.values() for one in bench.objects.values() if isinstance(one, Examples)]
    return sum(len(one._arrays) for one in found)


def measure(trees: list[Any], options: dict[str, Any], threads: int, workers: int) -> tuple[list[object], str]:
    """A row of the table, and the fingerprint of the model."""
    with ExitStack() as stack:
        machines = stack.enter_context(Machines(workers)) if workers else None
        cluster = stack.enter_context(connected(machines.address)) if machines else None
        if machines and cluster:
            cluster._client.wait_for_workers(workers)
        meter, times, held = Meter(machines, cluster), [], 0

        def report(event: str, facts: dict[str, Any]) -> None:
            nonlocal held
            if event == "epoch":
                times.append(meter.read())
                if cluster is not None:
                    held = sum(cluster._client.run(examples_held).values())

        model = train_parser(trees, setting=Setting(threads, report, workers=cluster), held_out=0.0, **options)
    steps = (len(times) - 1) * max(1, round(len(trees) / BATCH))
    wall, here, scheduler, others, sent, received, network = (times[-1] - times[0]) / steps
    cpu = here + scheduler + others
    name = f"{workers} workers" if workers else f"{threads} threads"
    row: list[object] = [
        name, f"{wall * 1e3:.0f}", f"{cpu * 1e3:.0f}", f"{here * 1e3:.0f}", f"{scheduler * 1e3:.1f}",
        f"{others * 1e3:.0f}", f"{sent / 1e3:.0f}", f"{received / 1e3:.0f}", f"{network / 1e3:.0f}",
        f"{held / len(trees):.2f}",
    ]  # fmt: skip
    return row, model_fingerprint(model)


def nothing(values: Any) -> Any:
    """Work that does nothing."""
    return int


def cost_of_a_part(count: int = 500) -> None:
    """Print the CPU time of this process, the scheduler and a worker for a part that computes nothing."""
    from bench_cluster import nothing  # by this name, workers find it

    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with Machines(1) as machines, connected(machines.address) as cluster:
        list(cluster.map(nothing, range(50)))
        meter = Meter(machines, cluster)
        before = meter.read()
        list(cluster.map(nothing, range(count)))
        wall, here, scheduler, other, *_ = (meter.read() - before) / count * 1e3
    print("ms per part that computes nothing (CPU; wall last)")
    print_table(["", "driver", "scheduler", "worker", "wall"], [
        ["", f"{here:.2f}", f"{scheduler:.2f}", f"{other:.2f}", f"{wall:.2f}"]
    ])  # fmt: skip


def main() -> None:
    """Print a table for each case."""
    count, name = int(sys.argv[1]) if len(sys.argv) > 1 else 768, sys.argv[2] if len(sys.argv) > 2 else "synthetic"
    source = sample_trees(read_grammar(), count, 1) if name == "synthetic" else read_trees(treebank(name, "train"))
    trees = list(islice(source, count))
    print(f"{name}: {len(trees)} sentences, {sum(len(tree.words()) for tree in trees)} words; batches of {BATCH}\n")
    header = [
        "per step", "wall ms", "CPU ms", "driver", "scheduler", "workers", "sent kB", "received kB", "network kB",
        "examples made",
    ]  # fmt: skip
    for name, options in CASES.items():
        rows: list[list[object]] = []
        models: set[str] = set()
        for threads, workers in ((1, 0), (2, 0), (1, 1), (1, 2)):
            row, model = measure(trees, options, threads, workers)
            rows.append(row)
            models.add(model)
        print(f"{name}: {'the same model' if len(models) == 1 else 'DIFFERENT MODELS'}")
        print_table(header, rows)
    cost_of_a_part()


if __name__ == "__main__":
    main()
