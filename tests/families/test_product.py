"""Products of models against the sum of logs, edge by edge, and what becomes of one model twice."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from oracles import edge_lists
from test_lvg import random_model, small_forests

from lveg.decoding.derivations import decode
from lveg.families.gm import start
from lveg.families.pcfg import Pcfg
from lveg.families.product import Product
from lveg.kernels.assemble import STAY


def test_max_rule_has_the_product_of_rule_posteriors_and_the_rest_their_mean() -> None:
    for number, (grammar, weight, forest) in enumerate(small_forests(15)):
        members = (Pcfg(weight), random_model(grammar, number), start(grammar, weight, 2, 2, spread=1.0, seed=number))
        product = Product(members)
        found = [one for one in (member.posterior(forest) for member in members) if np.isfinite(one.log_z)]
        posterior = product.posterior(forest)
        np.testing.assert_allclose(posterior.edge, np.mean([one.edge for one in found], axis=0), atol=1e-14)
        np.testing.assert_allclose(posterior.node, np.mean([one.node for one in found], axis=0), atol=1e-14)
        best, best_score = (), -math.inf
        for edges in edge_lists(forest):
            score = 0.0
            for edge in edges:
                if forest.edge_rule[edge] != STAY:
                    score += sum(math.log(max(one.edge[edge], 1e-5)) for one in found)
            if score > best_score:
                best, best_score = edges, score
        ((score, edges),) = decode(grammar, forest, posterior)
        assert score == pytest.approx(best_score, abs=1e-9)
        assert best
        probability = np.mean([math.exp(m.log_derivation(grammar, forest, edges) - m.log_z(forest)) for m in members
                               if np.isfinite(m.log_z(forest))])  # fmt: skip
        assert product.log_prob(grammar, forest, edges, posterior) == pytest.approx(math.log(probability), abs=1e-9)


def test_a_model_twice_is_the_model() -> None:
    for grammar, weight, forest in small_forests(8):
        model = Pcfg(weight)
        posterior = Product((model, model)).posterior(forest)
        ((score, edges),) = decode(grammar, forest, posterior)
        ((once, same),) = decode(grammar, forest, model.posterior(forest))
        assert score == pytest.approx(2 * once, abs=1e-9)
        assert np.array_equal(edges, same)


def test_samples_are_of_the_mean() -> None:
    grammar, weight, forest = max(small_forests(10), key=lambda item: item[2].n_edges)
    product = Product((Pcfg(weight), Pcfg(weight**3)))
    drawn = Counter(tuple(edges.tolist()) for edges in product.samples(forest, 4000, seed=3))
    posterior = product.posterior(forest)
    for edges in edge_lists(forest):
        share = math.exp(product.log_prob(grammar, forest, np.array(edges, np.int32), posterior))
        assert drawn[edges] / 4000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000) + 1e-9)
