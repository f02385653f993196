"""A network that predicts the weights of a mixture's components, as the paper proposes, or one factor for each rule.

    python experiments/component_outputs.py wsj-sample 0,1

A rule with K components is the same as K rules with one component each. So a network with an output for each of those
rules predicts the weight of each component, given the words around a phrase. Both networks start from the same
Gaussian mixture grammar and the same network, trained alone with one output for each rule, and are then trained
together with the grammar, without features. Prints F1 on the development trees, by max-rule, before and after each
epoch. docs/decisions/0013 has what came out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from mixtures import Bench, some_trees

from lveg.chart.coarse import Parses
from lveg.contexts.context import Start
from lveg.contexts.network.context import Network, sizes
from lveg.contexts.network.learning import start as start_network
from lveg.contexts.network.options import NetworkOptions
from lveg.evaluation.models import score_parser
from lveg.families.contextual.family import Contextual
from lveg.families.contextual.learning import learn_together, learned_alone
from lveg.families.contextual.options import ContextOptions
from lveg.families.forest import Posterior
from lveg.families.gm.family import Gm
from lveg.families.gm.options import GmOptions
from lveg.forest.builders import union
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.learning.options import EpochOptions
from lveg.learning.run import Run


@dataclass(frozen=True, eq=False)
class Split:
    """Rules that are not lexical, each divided into one rule per component. counts: components of all rules."""

    grammar: Grammar
    counts: Ints

    @cached_property
    def copies(self) -> Ints:
        """The number of rules that each rule is divided into; a lexical rule stays whole."""
        return np.where(np.arange(self.grammar.n_rules) < self.grammar.lexical_start, self.counts, 1).astype(np.int32)

    @cached_property
    def first(self) -> Ints:
        """The first of the rules that each rule is divided into."""
        return (np.cumsum(self.copies) - self.copies).astype(np.int32)

    @cached_property
    def result(self) -> Grammar:
        """The grammar of the divided rules."""
        old, copies = self.grammar, self.copies
        binary, unary, root = (int(copies[old.kind_slice(kind)].sum()) for kind in ("binary", "unary", "root"))
        paths = np.repeat(np.arange(old.n_unary), copies[old.kind_slice("unary")])
        return replace(
            old, n_binary=binary, n_unary=unary, n_root=root, paths=tuple(old.paths[number] for number in paths),
            rule_lhs=np.repeat(old.rule_lhs, copies), rule_left=np.repeat(old.rule_left, copies),
            rule_right=np.repeat(old.rule_right, copies), count=np.repeat(old.count, copies),
        )  # fmt: skip

    @cached_property
    def ptr(self) -> Ints:
        """Where the components of each divided rule begin."""
        each = np.where(np.repeat(self.copies, self.copies) > 1, 1, np.repeat(self.counts, self.copies))
        return np.concatenate([[0], np.cumsum(each)]).astype(np.int32)

    def edge_counts(self, forest: Forest) -> Ints:
        """The number of edges that each edge of a forest is divided into."""
        return np.where(forest.edge_rule < 0, 1, self.copies[forest.edge_rule])

    def forest(self, forest: Forest) -> Forest:
        """The forest with divided edges."""
        counts = self.edge_counts(forest)
        begins = np.concatenate([[0], np.cumsum(counts)])
        turn = np.arange(begins[-1]) - np.repeat(begins[:-1], counts)
        rule = np.repeat(np.where(forest.edge_rule < 0, forest.edge_rule, self.first[forest.edge_rule]), counts) + turn
        return replace(
            forest, edge_ptr=begins[forest.edge_ptr].astype(np.int32), edge_rule=rule.astype(np.int32),
            edge_left=np.repeat(forest.edge_left, counts), edge_right=np.repeat(forest.edge_right, counts),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SplitGm(Gm):
    """A mixture grammar whose factors are those of divided edges."""

    split: Split = field(kw_only=True)

    @cached_property
    def _plain(self) -> Gm:
        return Gm(self.ptr, self.first, self.log_weight, self.mean, self.log_std)

    def pack(self, forest: Forest) -> Ints:
        """The plan of the divided forest."""
        return self._plain.pack(self.split.forest(forest))

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """The posterior of each edge, summed over those that it is divided into."""
        counts = self.split.edge_counts(forest)
        found = self._plain.posterior(self.split.forest(forest), log_factor)
        return replace(found, edge=np.add.reduceat(found.edge, np.cumsum(counts) - counts))


@dataclass(frozen=True, eq=False)
class SplitNetwork(Network):
    """A network with an output for each divided rule."""

    split: Split = field(kw_only=True)

    def rows(self, forest: Forest) -> Ints:
        """The words, the nodes, and the divided edges."""
        return super().rows(self.split.forest(forest))


def split_grammar(base: Gm, split: Split) -> SplitGm:
    """The same grammar, with divided rules."""
    return SplitGm(split.ptr, base.first, base.log_weight, base.mean, base.log_std, split=split)


def split_network(network: Network, split: Split) -> SplitNetwork:
    """The same network, with an output for each divided rule."""
    net, n_rules = network.layers.net(network.value), network.grammar.lexical_start
    out = np.concatenate([np.repeat(net.out[:n_rules], split.copies[:n_rules], axis=0), net.out[n_rules:]])
    layers = replace(network.layers, sizes=sizes(split.result))
    value = np.concatenate([part.ravel() for part in net._replace(out=out)])
    rest = {"dropout": network.dropout, "input_dropout": network.input_dropout, "least": network.least}
    return SplitNetwork(layers, value, grammar=split.result, split=split, **rest)


def likely(parses: Parses, base: Gm, least: float) -> Parses:
    """The part of a development forest to which the grammar gives some posterior; all of it if that has no tree."""
    grammar, forest = parses.grammar, parses.forest
    edges = np.flatnonzero(base.posterior(forest).edge >= least).astype(np.int32)
    part = union(grammar, [build_forest(grammar, forest.words, anchored_rules(forest, edges))])
    return parses if part.is_empty else replace(parses, forest=part)


def main() -> None:
    """Train both kinds of networks with every seed."""
    name, seeds = sys.argv[1:]
    bench = Bench(some_trees(name, "train"), some_trees(name, "dev"))
    network = NetworkOptions().for_size(len(bench.trees), ())
    for seed in map(int, seeds.split(",")):
        for what, scores in compare(bench, seed, bench.options(), network).items():
            print(name, f"seed {seed}", what, *(f"{score:.2f}" for score in scores), flush=True)


def compare(
    bench: Bench, seed: int, forests: GmOptions, layers: NetworkOptions, epochs: int = 4
) -> dict[str, Sequence[float]]:
    """F1 of the grammar alone, and before and after each epoch with each kind of network."""
    options = ContextOptions().for_size(len(bench.trees), ())
    base, trace = bench.learn(forests, seed)
    start = start_network(bench.data, layers, seed)
    assert start.alone is not None
    start = learned_alone(bench.data, start, start.alone, options, forests, Run(seed=seed))
    network = start.context
    assert isinstance(network, Network)
    prepared = [likely(parses, base, options.narrow) for parses in bench.prepared]
    split = Split(bench.parser.grammar, np.diff(base.ptr).astype(np.int32))
    found: dict[str, Sequence[float]] = {"grammar alone": [trace.f1]}
    for what, family, context in (
        ("one output per rule", base, network),
        ("one output per component", split_grammar(base, split), split_network(network, split)),
    ):
        scores: list[float] = []

        def score(model: Contextual, scores: list[float] = scores) -> tuple[float, dict[str, Any]]:
            parser = replace(bench.parser, family=replace(model, least=0.0))
            scores.append(float(score_parser(parser, bench.gold, prepared=prepared, marginals=False).summary["f1"]))
            return scores[-1], {}

        score(Contextual(family, (context,)))
        rounds = EpochOptions(epochs=epochs, patience=0)
        learn_together(
            bench.data, family, [Start(context, start.optimiser)], options, rounds, forests, Run(seed=seed, score=score)
        )
        found[what] = scores
    return found


if __name__ == "__main__":
    main()
