"""Compare one space for all symbols with a separate mixture per rule, at similar numbers of parameters; draw maps.

    python experiments/shared_space.py --treebanks wsj-sample,gum --sizes all,500 --seeds 0,1 --out shared-space

A smaller treebank of n out of N trees has trees int(i N / n). Systems are models with the options of `lveg train
parser` that differ from their defaults. The best epoch and the decoder are chosen on the same development trees that
are scored. Every run is added to OUT.csv at once. Runs that are already there are not repeated, so remove the file
after a change.

For `shared` models there are also
- OUT-TREEBANK-SIZE-SEED.svg, the map: the centre of each symbol's region, projected to the first two principal
  components; circles show the widths of regions. With several `shared` systems, it is the map of the last one;
- `together`: the mean distance of tags with the same first two letters, divided by the mean distance of all tags;
  about 1 at a random start;
- `unseen`: the probability that a rule that occurs only in the development trees has more weight in the shared
  components, without biases, than a triple of symbols that occurs in neither part; `by_counts` is the same for the
  product of how often the three symbols are left-hand side, left child and right child in training.

--quick is for tests: little data, one epoch.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from common import parse_setting, print_table, trees_of
from runs import names, read_rows, write_rows

from lveg.families.shared.family import Parameters, Shared
from lveg.families.shared.learning import mean_heights
from lveg.files import replacing
from lveg.grammar.grammar import Floats, Grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.shared import LEFT, RIGHT
from lveg.model import Parser
from lveg.training import Setting, train_parser
from lveg.trees import Tree

SYSTEMS = ("gm components=1 dim=3", "shared dim=4", "gm components=2 dim=2", "shared dim=8", "gm", "pcfg")
QUICK = "epochs=1 components=4 dim=2"


@dataclass(frozen=True)
class Run:
    """The result of one run. epoch: the best. f1: on the development trees. together, unseen, by_counts: see above."""

    treebank: str
    sentences: int
    system: str
    seed: int
    parameters: int
    epoch: int
    f1: float
    cpu_seconds: float
    together: float | None = None
    unseen: float | None = None
    by_counts: float | None = None

    @property
    def key(self) -> tuple[str, int, str, int]:
        """The values that identify a run."""
        return self.treebank, self.sentences, self.system, self.seed


def evenly(trees: list[Tree], size: str) -> list[Tree]:
    """A number of evenly spaced trees, or all."""
    count = len(trees) if size == "all" else min(int(size), len(trees))
    return [trees[i * len(trees) // count] for i in range(count)]


def run(name: str, trees: list[Tree], dev: list[Tree], system: str, seed: int) -> tuple[Run, Parser]:
    """Train and score one system."""
    best: dict[str, Any] = {"dev_f1": -1.0, "epoch": 0}

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and facts["dev_f1"] > best["dev_f1"]:
            best.update(facts)

    model, _, changes = system.partition(" ")
    begun = time.process_time()
    parser = train_parser(trees, dev, model, Setting(report=report), seed=seed, **parse_setting(changes or "base"))
    seconds, extra = time.process_time() - begun, {}
    if isinstance(parser.family, Shared):
        extra = facts_of(parser, parser.family, dev)
    size = parser.family.describe().get("parameters", parser.grammar.n_rules)
    f1 = round(float(parser.info["dev"]["f1"]), 2)
    return Run(name, len(trees), system, seed, size, best["epoch"], f1, round(seconds, 1), **extra), parser


def facts_of(parser: Parser, family: Shared, dev: Sequence[Tree]) -> dict[str, float]:
    """The measures `together`, `unseen` and `by_counts` of a parser."""
    cleaned = [tree for tree in map(parser.cleaning, dev) if tree is not None]
    wanted, is_seen = new_rules(parser.grammar, tree_grammar(cleaned, parser.binarisation, LexiconOptions()))
    found = {"together": together(parser.grammar, family.parameters)}
    if wanted.any():
        found["unseen"] = chance_above(shared_weights(family.parameters), wanted, is_seen)
        found["by_counts"] = chance_above(counted_weights(parser.grammar), wanted, is_seen)
    return {name: round(value, 3) for name, value in found.items()}


def together(grammar: Grammar, own: Parameters) -> float:
    """The mean distance of tags with the same first two letters, divided by the mean distance of all tags."""
    labels = [symbol.label for symbol in grammar.symbols[grammar.n_nonterminals :]]
    points = own.region_mean.mean(axis=1)[grammar.n_nonterminals :]
    pairs = [(i, j) for i in range(len(labels)) for j in range(i)]
    length = {pair: float(np.linalg.norm(points[pair[0]] - points[pair[1]])) for pair in pairs}
    alike = [length[i, j] for i, j in pairs if labels[i][:2] == labels[j][:2] and labels[i][:2].isalpha()]
    return statistics.fmean(alike) / statistics.fmean(length.values()) if alike else 1.0


def new_rules(grammar: Grammar, other: Grammar) -> tuple[Floats, Floats]:
    """(binary rules that only `other` has, binary rules of either grammar), as tables over triples of symbols."""
    number = {symbol: place for place, symbol in enumerate(grammar.symbols)}
    known, others = (np.zeros((len(number),) * 3, bool) for _ in range(2))
    binary = slice(0, grammar.n_binary)
    known[grammar.rule_lhs[binary], grammar.rule_left[binary], grammar.rule_right[binary]] = True
    for rule in range(other.n_binary):
        names = [other.symbols[side[rule]] for side in (other.rule_lhs, other.rule_left, other.rule_right)]
        if all(name in number for name in names):
            others[tuple(number[name] for name in names)] = True
    return others & ~known, others | known


def shared_weights(own: Parameters) -> Floats:
    """The weight of the shared components for each triple of symbols."""
    lhs = mean_heights(own, own.lhs_mean, own.lhs_log_std)
    left, right = (
        mean_heights(own, own.slot_mean[kind].T, own.slot_log_std[kind].T) * np.exp(own.height[kind])
        for kind in (LEFT, RIGHT)
    )
    found: Floats = np.einsum("am,bm,cm->abc", lhs, left, right, optimize=True)
    return found


def counted_weights(grammar: Grammar) -> Floats:
    """The product of how often symbols are left-hand side, left child and right child."""
    binary, size = slice(0, grammar.n_binary), len(grammar.symbols)
    lhs, left, right = (
        np.bincount(side[binary], grammar.count[binary], size)
        for side in (grammar.rule_lhs, grammar.rule_left, grammar.rule_right)
    )
    found: Floats = np.einsum("a,b,c->abc", lhs, left, right)
    return found


def chance_above(weight: Floats, wanted: Floats, is_seen: Floats) -> float:
    """The probability that a wanted triple has more weight than an unseen one whose left-hand side occurs."""
    phrases = is_seen.any(axis=(1, 2))
    others = np.sort(weight[phrases][~is_seen[phrases]])
    low, high = (np.searchsorted(others, weight[wanted], side) for side in ("left", "right"))  # type: ignore[call-overload]
    return float((low + high).mean() / 2 / len(others))


def drawn(grammar: Grammar, own: Parameters, size: int = 900) -> str:
    """The map of all symbols not made by binarisation, as SVG: phrases black, tags blue."""
    shown = [number for number, symbol in enumerate(grammar.symbols) if symbol.kind != "part"]
    points = own.region_mean.mean(axis=1)[shown]
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    plane = centred @ axes.T
    scale = 0.45 * size / np.abs(plane).max()
    width = np.exp(own.region_log_std).mean(axis=(1, 2))[shown]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" font-family="sans-serif" '
        f'font-size="13" text-anchor="middle">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    places = [(size / 2 + scale * x, size / 2 - scale * y) for x, y in np.pad(plane, ((0, 0), (0, 2)))[:, :2]]
    for (x, y), radius in zip(places, 0.25 * scale * width, strict=True):
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="grey" fill-opacity="0.07"/>')
    for (x, y), number in zip(places, shown, strict=True):
        symbol = grammar.symbols[number]
        colour = "#1f5fbf" if symbol.kind == "tag" else "black"
        name = "^".join((symbol.label, *symbol.parents))
        lines.append(f'<text x="{x:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>\n"])


def neighbours(grammar: Grammar, own: Parameters, count: int = 3) -> list[list[object]]:
    """The most frequent symbols with their nearest neighbours among them; rare ones stay near their random start."""
    points, labels = own.region_mean.mean(axis=1), [symbol.label for symbol in grammar.symbols]
    used = np.bincount(grammar.rule_lhs[grammar.rule_lhs >= 0], grammar.count[grammar.rule_lhs >= 0], len(labels))
    whole = [number for number, symbol in enumerate(grammar.symbols) if symbol.kind != "part"]
    frequent = sorted(whole, key=lambda number: -used[number])[:40]
    rows: list[list[object]] = []
    for number in frequent:
        distance = np.linalg.norm(points[frequent] - points[number], axis=1)
        nearest = [frequent[place] for place in np.argsort(distance, kind="stable")]
        rows.append([labels[number], *(labels[other] for other in nearest if other != number)][: count + 1])
    return rows


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebanks", type=names, default=["wsj-sample", "gum"])
    parser.add_argument("--sizes", type=names, default=["all", "500"])
    parser.add_argument("--systems", type=names, default=list(SYSTEMS))
    parser.add_argument("--seeds", type=names, default=["0"])
    parser.add_argument("--out", type=Path, default=Path("shared-space"), help="prefix of the names of output files")
    parser.add_argument("--quick", action="store_true", help="a smoke test on the demonstration treebank")
    asked = parser.parse_args()
    if asked.quick:
        asked.treebanks, asked.sizes = ["demo"], ["60"]
        asked.systems = [f"{model} {QUICK}" for model in ("gm", "shared")]
    return asked


def main() -> None:
    """Run what is missing, then print all requested runs."""
    asked = arguments()
    path = asked.out.with_name(f"{asked.out.name}.csv")
    known = {done.key: done for done in read_rows(path, Run)}
    shown: list[Run] = []
    for name in asked.treebanks:
        train, dev = trees_of(name, "train"), trees_of(name, "dev")
        for size in asked.sizes:
            trees = evenly(train, size)
            for system in asked.systems:
                for seed in map(int, asked.seeds):
                    key = name, len(trees), system, seed
                    if key not in known:
                        known[key], parser = run(name, trees, dev, system, seed)
                        write_rows(path, Run, known.values())
                        if isinstance(parser.family, Shared):
                            show(asked.out.with_name(f"{asked.out.name}-{name}-{size}-{seed}.svg"), parser)
                    shown.append(known[key])
    rows = [["" if value is None else value for value in asdict(done).values()] for done in shown]
    print_table([field.name for field in fields(Run)], rows)


def show(path: Path, parser: Parser) -> None:
    """Draw the map of a parser, and print the nearest neighbours of symbols."""
    assert isinstance(parser.family, Shared)
    with replacing(str(path)) as stream:
        stream.write(drawn(parser.grammar, parser.family.parameters).encode())
    print_table(["symbol", "nearest", "", ""], neighbours(parser.grammar, parser.family.parameters))


if __name__ == "__main__":
    main()
