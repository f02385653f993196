"""Products of models against the sum of logs, edge by edge, and the product of a model with itself."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from oracles import edge_lists
from test_lvg import random_model, small_forests

from lveg.decoding.derivations import decode
from lveg.errors import GrammarError
from lveg.families.gm.family import start
from lveg.families.pcfg.family import Pcfg
from lveg.families.product.family import Product
from lveg.forest.forest import anchored_rules, build_forest
from lveg.kernels.assemble import STAY


def test_max_rule_has_the_product_of_rule_posteriors_and_the_rest_their_mean() -> None:
    for number, (grammar, weight, forest) in enumerate(small_forests(15)):
        members = (Pcfg(weight), random_model(grammar, number), start(grammar, weight, 2, 2, spread=1.0, seed=number))
        product = Product(members)
        found = [one for one in (member.posterior(forest) for member in members) if np.isfinite(one.log_z)]
        posterior = product.posterior(forest)
        np.testing.assert_allclose(posterior.edge, np.mean([one.edge for one in found], axis=0), atol=1e-14)
        np.testing.assert_allclose(posterior.node, np.mean([one.node for one in found], axis=0), atol=1e-14)
        best = max(
            sum(
                math.log(max(one.edge[edge], 1e-5)) for edge in edges if forest.edge_rule[edge] != STAY for one in found
            )
            for edges in edge_lists(forest)
        )
        ((score, chosen),) = decode(grammar, forest, posterior)
        assert score == pytest.approx(best, abs=1e-9)
        shares = [
            math.exp(member.log_derivation(grammar, forest, chosen) - member.log_z(forest))
            for member in members
            if np.isfinite(member.log_z(forest))
        ]
        (log_prob,) = product.log_probs(grammar, forest, [chosen], posterior)
        assert log_prob == pytest.approx(math.log(np.mean(shares)), abs=1e-9)


def test_a_product_of_a_model_with_itself_is_the_model() -> None:
    for grammar, weight, forest in small_forests(8):
        model = Pcfg(weight)
        posterior = Product((model, model)).posterior(forest)
        ((score, edges),) = decode(grammar, forest, posterior)
        ((once, same),) = decode(grammar, forest, model.posterior(forest))
        assert score == pytest.approx(2 * once, abs=1e-9)
        assert np.array_equal(edges, same)


def test_a_member_without_any_derivation_is_ignored() -> None:
    for grammar, weight, forest in small_forests(8):
        model, silent = Pcfg(weight), Pcfg(0.0 * weight)
        product = Product((silent, model))
        np.testing.assert_allclose(product.posterior(forest).edge, model.posterior(forest).edge, atol=1e-14)
        for edges in edge_lists(forest):
            rules = anchored_rules(forest, np.array(edges, np.int32))
            part = build_forest(grammar, forest.words, rules, may_stay=False)
            assert product.log_prob(part, forest) == pytest.approx(model.log_prob(part, forest), abs=1e-12)
        drawn = [[edges.tolist() for edges in one.samples(forest, 20, seed=1)] for one in (product, model)]
        assert drawn[0] == drawn[1]
        nothing = Product((silent, silent))
        assert nothing.posterior(forest).log_z == nothing.log_prob(forest, forest) == -np.inf
        with pytest.raises(GrammarError, match="no derivation has any weight"):
            nothing.samples(forest, 1)


def test_samples_follow_the_mean() -> None:
    grammar, weight, forest = max(small_forests(10), key=lambda item: item[2].n_edges)
    product = Product((Pcfg(weight), Pcfg(weight**3)))
    drawn = Counter(tuple(edges.tolist()) for edges in product.samples(forest, 4000, seed=3))
    posterior = product.posterior(forest)
    for edges in edge_lists(forest):
        (log_prob,) = product.log_probs(grammar, forest, [np.array(edges, np.int32)], posterior)
        share = math.exp(log_prob)
        assert drawn[edges] / 4000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000) + 1e-9)
