"""Which settings of a Gaussian mixture grammar are better: development F1 and CPU time, over treebanks and seeds.

    python experiments/gm_settings.py wsj-sample,gum 0,1 base spread=0.05 l2=1 "components=8 epochs=12" ...

Each setting is `base`, the defaults, or what differs from them: options of `lveg train parser --model gm`. Training and
development forests are built once per treebank and threshold and kept in memory. One line per run, as it ends: best F1
of all epochs, mean of the last three, CPU seconds of learning without the forests. docs/decisions/0006 was written from
such runs.
"""

from __future__ import annotations

import sys
import time

from mixtures import Bench, Trace, parse_setting, some_trees


def main() -> None:
    """Run every setting on every treebank with every seed."""
    names, seeds, *settings = sys.argv[1:]
    for name in names.split(","):
        bench = Bench(some_trees(name, "train"), some_trees(name, "dev"))
        for setting in settings:
            for seed in seeds.split(","):
                options = bench.options(**parse_setting(setting))
                bench.examples(options)
                begun = time.process_time()
                _, trace = bench.learn(options, int(seed))
                tell(f"{name} seed {seed} {setting}", trace, time.process_time() - begun)


def tell(what: str, trace: Trace, seconds: float) -> None:
    """Print what came out."""
    last = sum(trace.scores[-3:]) / len(trace.scores[-3:])
    print(
        f"{what}: best F1 {trace.f1:.2f} (epoch {trace.epoch} of {len(trace.scores)}), last three {last:.2f}, "
        f"{seconds:.0f} CPU s",
        flush=True,
    )


if __name__ == "__main__":
    main()
