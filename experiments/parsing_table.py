"""The paper's parsing table: accuracy and cost of every system on the development part of every treebank.

    python experiments/parsing_table.py                                   # everything, quick systems first
    python experiments/parsing_table.py --only wsj-sample gum/GM-LVeG-S "gum/GM-LVeG-S l2=1" --seeds 3

Systems are those of the paper, and past it `contextual-GM`, which is `lveg train parser` without options, and
`product`, which is what --ensemble trains: contextual-GM and split-merge, here combined from those two rows. Sizes are
the paper's (16 subtypes; K = 4 and d = 3); how words are treated and how systems learn are the package's defaults. A
system may be followed by options that differ. The best epoch or cycle and the decoder are chosen on the trees that are
scored.

Each row is trained and parsed by processes of their own, on one thread. It is added to DOCS/parsing-table.csv at once;
rows that are there are not made again, and an interrupted training continues, so the same command resumes a run.
Models, logs and parsed trees stay in the work folder. DOCS/parsing-table.svg and the tables in DOCS/parsing.md follow
the rows. A system that fails is reported, and the others go on. --quick is for tests: little data, few rounds.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from common import TREEBANKS, parse_setting, treebank
from runs import Cell, CommandError, Cost, add_row, figure, fill, lveg, markdown, read_rows, spread_text, train

from lveg._version import __version__
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH

ROOT = Path(__file__).parent.parent
SYSTEMS: dict[str, dict[str, Any]] = {
    "pcfg": {"model": "pcfg"},
    "LVG-G-16": {"model": "lvg", "subtypes": 16, "objective": "generative"},
    "LVG-D-16": {"model": "lvg", "subtypes": 16, "objective": "discriminative"},
    "multi-scale": {"model": "multi-scale"},
    "split-merge": {"model": "split-merge"},
    "CVG": {"model": "cvg"},
    "GM-LVeG-D": {"model": "gm", "components": 4, "dim": 3, "covariance": "diagonal"},
    "GM-LVeG-S": {"model": "gm", "components": 4, "dim": 3, "covariance": "spherical"},
    "contextual-GM": {},
}
PRODUCTS = {"product": ("contextual-GM", "split-merge")}
NAMES = (*SYSTEMS, *PRODUCTS)
SEEDLESS = ("pcfg",)
SLOW = ("LVG-D-16", "LVG-G-16", "CVG")
"""Systems that train long; they come last."""

QUICK: dict[str, dict[str, Any]] = {
    "pcfg": {},
    "split-merge": {"cycles": 1, "split_iterations": 1, "merge_iterations": 1, "smooth_iterations": 1},
    "contextual-GM": {"context": "features", "epochs": 1, "context_epochs": 1, "components": 1},
    "product": {},
}
"""The systems of --quick, with options that make them quick."""


@dataclass(frozen=True)
class Given:
    """Figures of the Berkeley parser 1.7 on the same development trees, measured once, one core."""

    cycles: int
    f1: float
    exact: float
    sentences_per_second: float
    training_cpu: float | None = None


BERKELEY = {
    "wsj-sample": Given(4, 85.3, 24.5, 12.6, 177),
    "gum": Given(5, 82.8, 36.1, 8.6, 988),
    "craft": Given(3, 79.4, 19.1, 10.7, 374),
    "cess-es": Given(3, 77.9, 4.4, 1.0),
}


@dataclass(frozen=True)
class Parsed:
    """A system that was trained on a treebank: scores in percent on the development trees, and costs.

    f1_40, exact_40: sentences of up to 40 words. start_cpu: seconds to parse one sentence, mostly spent on loading;
    parsing_cpu includes it. is_whole: False if training_cpu lacks a part that was interrupted.
    """

    treebank: str
    system: str
    seed: int
    f1: float
    exact: float
    f1_40: float
    exact_40: float
    tags: float
    sentences: int
    decoder: str
    training_cpu: float
    is_whole: bool
    training_gib: float
    parsing_cpu: float
    start_cpu: float
    parsing_gib: float
    megabytes: float
    version: str

    @property
    def key(self) -> tuple[str, str, int]:
        """The values that identify a row."""
        return self.treebank, self.system, self.seed

    @property
    def sentences_per_second(self) -> float:
        """Sentences parsed per CPU second, without loading."""
        return self.sentences / max(self.parsing_cpu - self.start_cpu, 0.1)


@dataclass(frozen=True)
class Bench:
    """Where models are kept, and whether everything is done quickly."""

    work: Path
    is_quick: bool = False

    def options(self, system: str, seed: int) -> dict[str, Any]:
        """The training options of a system."""
        name, _, changes = system.partition(" ")
        own = SYSTEMS[name] | (QUICK[name] if self.is_quick else {}) | parse_setting(changes)
        return own if name in SEEDLESS else own | {"seed": seed}

    def data(self, name: str) -> tuple[Path, Path]:
        """Training and development file of a treebank; `demo` is a little of the one in the package."""
        if name != "demo":
            return Path(treebank(name, "train")), Path(treebank(name, "dev"))
        files = self.work / "demo" / "train.mrg", self.work / "demo" / "dev.mrg"
        for file, count in zip(files, (120, 30), strict=True):
            lines = (ENGLISH.parent / f"demo-{file.stem}.mrg").read_text(encoding="utf-8").splitlines()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines[:count]) + "\n", encoding="utf-8")
        return files

    def model(self, name: str, system: str, seed: int) -> tuple[Path, Cost]:
        """The model of a system and the cost of training; of a product, that of its members."""
        path = self.work / name / f"{system.replace(' ', '_')}-{seed}.model"
        if system not in PRODUCTS:
            return path, train(path, *self.data(name), self.options(system, seed))
        members = [self.model(name, member, seed) for member in PRODUCTS[system]]
        cost = lveg("combine", *(member for member, _ in members), "--out", path)[1]
        return path, sum((spent for _, spent in members), cost)

    def row(self, name: str, system: str, seed: int) -> Parsed:
        """Train, parse and score."""
        model, trained = self.model(name, system, seed)
        dev = self.data(name)[1]
        decoders = ("max-rule", "mbr") if system in PRODUCTS else (chosen_decoder(model),)
        found = [(decoder, *parse(model, dev, decoder)) for decoder in decoders]
        decoder, scores, parsed = max(found, key=lambda item: float(item[1]["f1"]))
        words = next(iter(read_trees(str(dev)))).words()
        start = lveg("parse", model, "--decoder", decoder, "--threads", 1, "--quiet", given=" ".join(words) + "\n")[1]
        return Parsed(
            name, system, seed, scores["f1"], scores["exact_match"], scores["le40"]["f1"],
            scores["le40"]["exact_match"], scores["tag_accuracy"], scores["sentences"], decoder, trained.cpu_seconds,
            trained.is_whole, trained.gib, parsed.cpu_seconds, start.cpu_seconds, parsed.gib,
            round(model.stat().st_size / 1e6, 1), __version__,
        )  # fmt: skip


def chosen_decoder(model: Path) -> str:
    """The decoder that training chose."""
    return str(json.loads(lveg("info", model, "--json")[0]).get("decoder", "max-rule"))


def parse(model: Path, dev: Path, decoder: str) -> tuple[dict[str, Any], Cost]:
    """(scores, cost of parsing) of a model on development trees."""
    trees = model.with_suffix(f".{decoder}.mrg")
    _, cost = lveg("parse", model, dev, "--out", trees, "--decoder", decoder, "--threads", 1, "--quiet")
    return json.loads(lveg("evaluate", dev, trees, "--json")[0]), cost


def table(rows: Sequence[Parsed], name: str) -> str:
    """The table of a treebank in Markdown: means over seeds, with the standard deviation of several."""
    own = [row for row in rows if row.treebank == name]
    measures = ("f1_40", "exact_40", "f1", "exact")
    best = {measure: max(mean(own, system, measure) for system in systems_of(own)) for measure in measures}
    lines: list[list[Cell | str]] = []
    for system in systems_of(own):
        found = [row for row in own if row.system == system]
        cells = [
            (spread_text([getattr(row, measure) for row in found]), mean(own, system, measure) == best[measure])
            for measure in measures
        ]
        cpu = statistics.fmean(row.training_cpu for row in found)
        costs = [
            f"{'' if all(row.is_whole for row in found) else '> '}{cpu:,.0f}",
            f"{max(row.training_gib for row in found):.1f}",
            f"{statistics.fmean(row.sentences_per_second for row in found):,.0f}",
            f"{max(row.parsing_gib for row in found):.1f}",
        ]
        lines.append([system, str(len(found)), *cells, *costs])
    if name in BERKELEY:
        given = BERKELEY[name]
        cpu_text = "" if given.training_cpu is None else f"{given.training_cpu:,.0f}"
        peer = f"Berkeley parser 1.7, {given.cycles} cycles"
        speed = f"{given.sentences_per_second:,.0f}"
        lines.append([peer, "", "", "", f"{given.f1:.1f}", f"{given.exact:.1f}", cpu_text, "", speed, ""])
    header = [name, "seeds", "F1, ≤ 40", "exact, ≤ 40", "F1", "exact", "training CPU s", "GiB", "sentences/s", "GiB"]
    return markdown(header, lines)


def treebanks_of(rows: Sequence[Parsed]) -> list[str]:
    """The treebanks that have rows, in the order of the page."""
    return [name for name in (*TREEBANKS, "demo") if any(row.treebank == name for row in rows)]


def systems_of(rows: Sequence[Parsed]) -> list[str]:
    """The systems that have rows, in the order of the table."""
    found = dict.fromkeys(row.system for row in rows)
    return sorted(found, key=lambda system: (NAMES.index(system.partition(" ")[0]), system))


def mean(rows: Sequence[Parsed], system: str, measure: str) -> float:
    """The mean of a measure over the seeds of a system, as shown."""
    return round(statistics.fmean(getattr(row, measure) for row in rows if row.system == system), 2)


def draw(rows: Sequence[Parsed], path: Path) -> None:
    """A panel for each treebank: F1 of each system, all seeds and their mean; the treebank grammar is far lower."""
    names = treebanks_of(rows)
    with figure(path, 5.2 * min(len(names), 2), 3.4 * ((len(names) + 1) // 2)) as drawn:
        for number, name in enumerate(names, start=1):
            panel = drawn.add_subplot((len(names) + 1) // 2, min(len(names), 2), number)
            own = [row for row in rows if row.treebank == name]
            systems = [system for system in systems_of(own) if system not in SEEDLESS]
            for place, system in enumerate(systems):
                scores = [row.f1 for row in own if row.system == system]
                panel.plot(scores, [place] * len(scores), "o", color="#9fabb8", markersize=5)
                panel.plot(statistics.fmean(scores), place, "|", color="#1f5fbf", markersize=14, markeredgewidth=2)
            if name in BERKELEY:
                panel.axvline(BERKELEY[name].f1, linestyle="--", color="#b3541e", label="Berkeley parser 1.7")
            panel.set_yticks(range(len(systems)), systems)
            panel.invert_yaxis()
            panel.grid(visible=False, axis="y")
            panel.set_title(name)
            panel.set_xlabel("development F1")
        drawn.legend(*panel.get_legend_handles_labels(), loc="outside upper center", frameon=False)


def show(docs: Path) -> None:
    """Bring the page and the picture in line with the rows."""
    rows = read_rows(docs / "parsing-table.csv", Parsed)
    if rows:
        fill(docs / "parsing.md", "parsing table", "\n\n".join(table(rows, name) for name in treebanks_of(rows)))
        draw(rows, docs / "parsing-table.svg")


def everything() -> list[str]:
    """All rows, in the order in which they are made: what is quick and wanted first comes first."""
    early = [name for name in NAMES if name not in SLOW]
    head = [f"wsj-sample/{name}" for name in early]
    head += ["gum/contextual-GM", "gum/split-merge", "gum/product", "craft/contextual-GM"]
    rest = [f"{name}/{system}" for name in TREEBANKS for system in early]
    return list(dict.fromkeys([*head, *rest, *(f"{name}/{system}" for name in TREEBANKS for system in SLOW)]))


def wanted(only: Sequence[str], seeds: int) -> Iterator[tuple[str, str, int]]:
    """(treebank, system, seed) of the rows to make, all systems with a seed before the next seed."""
    for seed in range(seeds):
        for item in only:
            name, _, system = item.partition("/")
            for one in [system] if system else NAMES:
                if one.partition(" ")[0] not in NAMES:
                    raise SystemExit(f"{item}: there is no system {one}; there are {', '.join(NAMES)}")
                if seed == 0 or one not in SEEDLESS:
                    yield name, one, seed


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TREEBANK[/SYSTEM]", help="these rows, in this order")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "parsing-table", help="folder of models and logs")
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="folder of the table, the page and the picture"
    )
    parser.add_argument("--show", action="store_true", help="make no rows: only write the page and the picture")
    parser.add_argument("--quick", action="store_true", help="a smoke test on a few sentences")
    asked = parser.parse_args()
    asked.only = asked.only or ([f"demo/{name}" for name in QUICK] if asked.quick else everything())
    return asked


def main() -> None:
    """Make the rows that are missing."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    bench, path, failed = Bench(asked.work, asked.quick), asked.docs / "parsing-table.csv", 0
    todo = [] if asked.show else list(wanted(asked.only, asked.seeds))
    if todo and not asked.quick:
        lveg("warm", "--quiet")  # so that no row pays for the compilation
    for key in todo:
        if key in {row.key for row in read_rows(path, Parsed)}:
            continue
        print(*key, "...", file=sys.stderr, flush=True)
        try:
            row = bench.row(*key)
        except CommandError as error:
            failed += 1
            print(f"failed: {error}", file=sys.stderr, flush=True)
            continue
        add_row(path, row)
        show(asked.docs)
        print(f"F1 {row.f1:.2f}, exact {row.exact:.2f}, training {row.training_cpu:.0f} s", file=sys.stderr, flush=True)
    show(asked.docs)
    if failed:
        raise SystemExit(f"{failed} rows failed")


if __name__ == "__main__":
    main()
