"""Networks with one output per component: the same grammar as with one output per rule, until they are trained."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from lveg.contexts.network.options import NetworkOptions
from lveg.families.contextual.family import Contextual

Load = Callable[[str], ModuleType]


@pytest.fixture
def script(load_script: Load) -> ModuleType:
    return load_script("experiments/component_outputs.py")


def test_divided_rules_are_the_same_grammar(script: ModuleType) -> None:
    bench = script.Bench(script.some_trees("demo", "train", most=40), script.some_trees("demo", "dev", most=3))
    base, _ = bench.learn(bench.options(epochs=1, components=3))
    network = script.start_network(bench.data, NetworkOptions(units=5, embedding=4), 0).context
    network = network.with_value(np.random.default_rng(0).normal(size=network.value.size))
    split = script.Split(bench.parser.grammar, np.diff(base.ptr))
    one = Contextual(base, (network,))
    each = Contextual(script.split_grammar(base, split), (script.split_network(network, split),))
    assert len(split.result.rule_lhs) > 2 * bench.parser.grammar.lexical_start
    for parses in bench.prepared:
        expected, found = one.posterior(parses.forest), each.posterior(parses.forest)
        assert found.log_z == pytest.approx(expected.log_z)
        np.testing.assert_allclose(found.edge, expected.edge, atol=1e-9)
        np.testing.assert_allclose(found.node, expected.node, atol=1e-9)


def test_both_are_trained_from_the_same_start(script: ModuleType) -> None:
    bench = script.Bench(script.some_trees("demo", "train", most=40), script.some_trees("demo", "dev", most=10))
    network = NetworkOptions(units=5, embedding=4, network_epochs=1)
    found = script.compare(bench, 0, bench.options(epochs=1, components=2), network, epochs=1)
    assert [len(scores) for scores in found.values()] == [1, 2, 2]
    assert found["one output per rule"][0] == pytest.approx(found["one output per component"][0])
