"""What every registered family must do. A new family gets all of these tests by being registered."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import central_difference, edge_lists
from small import packed

from lveg.container import unpack
from lveg.contexts.context import ForestContext, Kept
from lveg.decoding.derivations import decode, tree_of
from lveg.decoding.explain import explain
from lveg.decoding.marginals import constituents
from lveg.errors import ModelError
from lveg.families.chain import word_tags
from lveg.families.contextual.family import Contextual
from lveg.families.family import Arrays, Facts
from lveg.families.forest import ForestFamily, Judge
from lveg.families.insight import Insight
from lveg.families.product.family import Product
from lveg.families.registry import Kind, bases_of, described, kinds, trainable, treebank_kind
from lveg.forest.constraints import Constraints, intersect
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.assemble import STAY
from lveg.learning.checkpoint import Checkpoint, Timer
from lveg.learning.data import TreeData
from lveg.model import Model, Parser, Tagger, combine
from lveg.model_io import Loaded, load_model, save_model
from lveg.options import describe
from lveg.training import Setting, train_parser, train_tagger
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

SMALL = {
    "epochs": 2, "batch": 16, "cycles": 1, "components": 2, "dim": 2, "subtypes": 2, "warm": 1,
    "split_iterations": 2, "merge_iterations": 1, "smooth_iterations": 1, "folds": 2, "dimensions": 3,
    "phrase_epochs": 2, "phrase_batch": 16, "phrase_rate": 0.1,
}  # fmt: skip
"""Values that make learning quick, for the families that have these options."""

PARSERS = trainable("parser")
parser_kinds = pytest.mark.parametrize("kind", PARSERS.values(), ids=PARSERS)
pytestmark = pytest.mark.xdist_group("contract")


def small_options(kind: Kind) -> dict[str, Any]:
    own = {item.name for item in described([kind, *bases_of(kind.task, kind)])}
    return {name: value for name, value in SMALL.items() if name in own}


@cache
def trees() -> list[Tree]:
    return [tree for tree in read_trees(ENGLISH.parent / "demo-train.mrg") if len(tree.words()) <= 9][:60]


@cache
def trained(kind: Kind, seed: int = 0) -> Parser:
    """A small parser of the family."""
    return train_parser(trees()[:50], trees()[50:], kind.name, seed=seed, **small_options(kind))


@cache
def forests() -> list[tuple[Forest, Forest]]:
    """Some sentences' forests with few derivations, and the forests of their gold trees alone."""
    parser = trained(treebank_kind("parser"))
    found = []
    for tree in trees()[:50]:
        cleaned = parser.cleaning(tree)
        assert cleaned is not None
        forest, gold = parser.coarse.training_forest(cleaned, parser.binarisation, 3e-3)
        if forest.n_edges < 120 and 2 < len(edge_lists(forest)) < 200:
            found.append((forest, gold))
    found.sort(key=lambda pair: -int((pair[0].edge_rule == STAY).sum()))
    assert STAY in found[0][0].edge_rule
    return found[:4]


def family_of(kind: Kind) -> ForestFamily:
    family = trained(kind).family
    assert isinstance(family, ForestFamily)
    return family


def random_factors(forest: Forest, seed: int) -> Floats:
    """Log factors of edges; 0 for those that stay."""
    log_factor = np.random.default_rng(seed).normal(0.0, 2.0, forest.n_edges)
    log_factor[forest.edge_rule == STAY] = 0.0
    return log_factor


def check_insights(insights: Sequence[Insight], names: Sequence[str]) -> None:
    """What is said about symbols covers all of them, and consists of shares."""
    for insight in insights:
        assert [about.name for about in insight.symbols] == list(names)
        for about in insight.symbols:
            lists = [about.lists, *(subtype.lists for subtype in about.subtypes)]
            shares = [[use.share for use in uses] for found in lists for uses in found.values()]
            assert all(share > 0.0 for own in shares for share in own)
            assert all(sum(own) < 1.0 + 1e-9 and own == sorted(own, reverse=True) for own in shares)
            if about.subtypes and about.count:
                assert sum(subtype.share for subtype in about.subtypes) == pytest.approx(1.0)
            if about.gaussians is not None:
                size, dim = about.gaussians.mean.shape
                assert about.gaussians.std.shape == (size, dim)
                assert len(about.gaussians.title) == len(about.gaussians.text) == len(about.gaussians.share) == size


class TestParsers:
    @parser_kinds
    def test_insights(self, kind: Kind) -> None:
        parser = trained(kind)
        check_insights(parser.family.insights(parser.grammar), [symbol.name for symbol in parser.grammar.symbols])

    @parser_kinds
    def test_what_it_is(self, kind: Kind) -> None:
        assert kind.load_family().name == kind.name
        assert kind.summary.endswith(".")
        assert repr(trained(kind)).startswith(f"<Parser of model {kind.name}")
        assert trained(kind).info["config"]["model"] == kind.name
        for item in describe(kind.load_options()):
            assert item.option.help.endswith("."), item.name

    @parser_kinds
    @pytest.mark.parametrize("with_factors", [False, True])
    def test_sums_posteriors_and_samples_equal_enumeration(self, kind: Kind, with_factors: bool) -> None:
        family, grammar = family_of(kind), trained(kind).grammar
        for number, (forest, _) in enumerate(forests()):
            factor = random_factors(forest, number) if with_factors else None
            found = edge_lists(forest)
            logs = np.array([family.log_derivation(grammar, forest, np.array(edges, np.int32)) for edges in found])
            if factor is not None:
                logs += [factor[list(edges)].sum() for edges in found]
            log_z = float(np.logaddexp.reduce(logs))
            edge = np.zeros(forest.n_edges)
            for edges, log in zip(found, logs, strict=True):
                edge[list(edges)] += math.exp(log - log_z)
            assert family.log_z(forest, factor) == pytest.approx(log_z, abs=1e-9)
            posterior = family.posterior(forest, factor)
            # Coarse-to-fine inference prunes improbable edges.
            assert posterior.log_z == pytest.approx(log_z, abs=5e-3)
            np.testing.assert_allclose(posterior.edge, edge, atol=5e-3)
            heads = np.bincount(forest.edge_head, posterior.edge, forest.n_nodes)
            np.testing.assert_allclose(posterior.node, heads, atol=1e-9)
            drawn = Counter(tuple(one.tolist()) for one in family.samples(forest, 2000, number, factor))
            for edges, log in zip(found, logs, strict=True):
                share = math.exp(log - log_z)
                assert abs(drawn[edges] / 2000 - share) < 5 * math.sqrt(share * (1 - share) / 2000) + 2e-3

    @parser_kinds
    def test_gradient_equals_differences(self, kind: Kind) -> None:
        check_gradient(family_of(kind), forests())

    @parser_kinds
    def test_gradient_with_a_context_equals_differences(self, kind: Kind) -> None:
        grammar = trained(kind).grammar
        value = np.random.default_rng(1).normal(0.0, 0.5, grammar.n_rules)
        family = Contextual(family_of(kind), (Capitals(grammar.n_rules, value), Capitals(grammar.n_rules, -value / 2)))
        check_gradient(family, forests())
        for forest, _ in forests():
            log_z = family.log_z(forest)
            for edges in edge_lists(forest)[:5]:
                chosen = np.array(edges, np.int32)
                log_prob = family.log_derivation(grammar, forest, chosen) - log_z
                (found,) = family.log_probs(grammar, forest, [chosen], family.posterior(forest))
                assert found == pytest.approx(log_prob, abs=5e-3)

    @parser_kinds
    def test_explanations_equal_enumeration(self, kind: Kind) -> None:
        parser, family = trained(kind), family_of(kind)
        value = np.random.default_rng(2).normal(0.0, 0.5, parser.grammar.n_rules)
        contexts = (Capitals(parser.grammar.n_rules, value), Capitals(parser.grammar.n_rules, -value / 2))
        check_explanations(family, parser)
        check_explanations(Contextual(family, contexts), parser)
        check_explanations(Contextual(family, contexts[:1], least=0.02), parser)
        check_explanations(Product((family, family_of(treebank_kind("parser")), Contextual(family, contexts))), parser)

    @parser_kinds
    def test_file_round_trip_to_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        check_round_trip(trained(kind), tmp_path)

    @parser_kinds
    def test_any_number_of_threads_gives_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        def train(setting: Setting) -> Parser:
            return train_parser(trees()[:50], trees()[50:], kind.name, setting, **large_batches(small_options(kind)))

        check_determinism(train, tmp_path)

    @parser_kinds
    def test_resume_to_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        def train(setting: Setting) -> Parser:
            return train_parser(trees()[:50], trees()[50:], kind.name, setting, **small_options(kind))

        check_resume(train, trained(kind), tmp_path, is_gradual=not kind.is_treebank)

    @parser_kinds
    def test_altered_files_are_refused(self, kind: Kind, tmp_path: Path) -> None:
        check_refusals(trained(kind), tmp_path)

    @parser_kinds
    def test_products(self, kind: Kind, tmp_path: Path) -> None:
        words = trees()[52].words()
        plain = trained(treebank_kind("parser"))
        product = combine([trained(kind), plain, trained(kind, seed=1)])
        check_round_trip(product, tmp_path)
        parse = product.parse(words, count=2, marginals=True)
        assert [candidate.tree.words() for candidate in parse.trees] == [words] * len(parse.trees)
        for candidate in parse.trees:
            logs = [member.log_prob(candidate.tree) for member in (trained(kind), plain, trained(kind, seed=1))]
            mean = float(np.logaddexp.reduce(logs) - math.log(3))
            assert candidate.log_prob == pytest.approx(mean, abs=0.05)
        assert len(product.sample(words, 3)) == 3

    @parser_kinds
    def test_constraints(self, kind: Kind) -> None:
        for tree in trees()[:5]:
            words, tags = tree.words(), tuple(tree.tags())
            parse = trained(kind).parse(words, constraints=Constraints(tags=tags))
            assert tuple(parse.tree.tags()) == tags
            spans = [(start, end) for node, start, end in tree.spans()[2:] if node.word is None and end - start > 1]
            parse = trained(kind).parse(words, constraints=Constraints(spans=tuple(spans)))
            found = {(start, end) for node, start, end in parse.tree.spans() if node.word is None}
            assert set(spans) <= found
            parse = trained(kind).parse(words, constraints=Constraints(not_spans=tuple(spans[:1])))
            assert not {(start, end) for node, start, end in parse.tree.spans()[2:] if node.word is None} & set(
                spans[:1]
            )

    @parser_kinds
    def test_constraints_with_labels_equal_enumeration(self, kind: Kind) -> None:
        family, grammar = family_of(kind), trained(kind).grammar
        for number, (forest, _) in enumerate(forests()):
            words, found = list(forest.words), edge_lists(forest)
            trees = [tree_of(grammar, forest, np.array(edges, np.int32), words) for edges in found]
            logs = [family.log_derivation(grammar, forest, np.array(edges, np.int32)) for edges in found]
            spans = list(map(_phrases, trees))
            doubtful = sorted(one for one in set().union(*spans) if not all(one in own for own in spans))
            for span in doubtful[number::3]:
                for constraints, is_there in ((Constraints([span]), True), (Constraints((), [span]), False)):
                    kept = [log for log, own in zip(logs, spans, strict=True) if (span in own) == is_there]
                    part = intersect(grammar, forest, constraints)
                    log_z = float(np.logaddexp.reduce(kept))
                    assert family.log_z(part) == pytest.approx(log_z, abs=1e-9)
                    # Coarse-to-fine inference prunes improbable edges.
                    posterior = family.posterior(part)
                    assert posterior.log_z == pytest.approx(log_z, abs=5e-3)
                    shares = constituents(grammar, part, posterior)
                    label = span[2], span[0], span[1]
                    assert shares.get(label, 0.0) == pytest.approx(float(is_there), abs=1e-6)
                    for edges in family.samples(part, 20, number):
                        tree = tree_of(grammar, part, edges, words)
                        assert (span in _phrases(tree)) == is_there

    @parser_kinds
    def test_probabilities_of_trees_agree(self, kind: Kind) -> None:
        parser = trained(kind)
        for tree in trees()[:5]:
            (best, *_) = parser.parse(tree.words(), count=3).trees
            assert best.log_prob is not None
            assert parser.log_prob(best.tree) == pytest.approx(best.log_prob, abs=0.02)


def _phrases(tree: Tree) -> set[tuple[int, int, str]]:
    """The constituents of a tree below its root."""
    return {(start, end, node.label) for node, start, end in tree.spans()[1:] if node.word is None}


TAGGERS = trainable("tagger")
tagger_kinds = pytest.mark.parametrize("kind", TAGGERS.values(), ids=TAGGERS)


@cache
def tagged() -> list[list[tuple[str, str]]]:
    return [list(zip(tree.words(), tree.tags(), strict=True)) for tree in trees()]


@cache
def trained_tagger(kind: Kind) -> Tagger:
    """A small tagger of the family."""
    return train_tagger(tagged()[:50], tagged()[50:], kind.name, **small_options(kind))


def sequences(packed: Ints) -> Iterator[Ints]:
    """A packed sentence with each of its tag sequences given."""
    n = int(packed[1])
    for places in itertools.product(*(range(len(tags)) for tags in word_tags(packed))):
        given = packed.copy()
        given[3 : 3 + n] = places
        yield given


class TestTaggers:
    @tagger_kinds
    def test_insights(self, kind: Kind) -> None:
        tagger = trained_tagger(kind)
        check_insights(tagger.family.insights(tagger.grammar), tagger.grammar.tags)

    @tagger_kinds
    def test_what_it_is(self, kind: Kind) -> None:
        assert kind.load_family().name == kind.name
        assert repr(trained_tagger(kind)).startswith(f"<Tagger of model {kind.name}")

    @tagger_kinds
    def test_sums_and_posteriors_equal_enumeration(self, kind: Kind) -> None:
        tagger = trained_tagger(kind)
        words = [[word for word, _ in sentence[:3]] for sentence in tagged()[:3]] + [["unheard", "Of"]]
        for sentence in words:
            family, packed, factors = tagger.family.lattices(tagger.grammar, [sentence])
            given = list(sequences(packed))
            logs = np.array([family.log_zs(one, factors)[0] for one in given])
            log_z = float(np.logaddexp.reduce(logs))
            share, begin = np.zeros(int(packed[2])), packed[3 + len(sentence) :][: len(sentence)]
            for one, log in zip(given, logs, strict=True):
                share[begin + one[3 : 3 + len(sentence)]] += math.exp(log - log_z)
            found = family.posteriors(packed, True, factors)
            assert found.log_z[0] == pytest.approx(log_z, abs=1e-9)
            np.testing.assert_allclose(found.share, share, atol=1e-9)
            assert family.log_z(packed, False, factors) == pytest.approx(log_z, abs=1e-9)
            best = tagger.tag(sentence, count=3)
            assert best.fallback is None
            for sequence in best.sequences:
                assert any(sequence.log_prob == pytest.approx(log - log_z, abs=1e-9) for log in logs)

    @tagger_kinds
    def test_given_tags_equal_enumeration(self, kind: Kind) -> None:
        tagger = trained_tagger(kind)
        sentence = [word for word, _ in tagged()[0][:3]]
        family, packed, factors = tagger.family.lattices(tagger.grammar, [sentence])
        given = list(sequences(packed))
        logs = np.array([family.log_zs(one, factors)[0] for one in given])
        names = [[tagger.grammar.tags[tag] for tag in tags] for tags in word_tags(packed)]
        for known in ({}, {1: names[1][-1]}, {0: names[0][0], 2: names[2][-1]}):
            kept = [
                (tags, log)
                for one, log in zip(given, logs, strict=True)
                for tags in [[names[i][place] for i, place in enumerate(one[3:6])]]
                if all(tags[i] == tag for i, tag in known.items())
            ]
            log_z = float(np.logaddexp.reduce([log for _, log in kept]))
            found = tagger.tag(sentence, posteriors=True, tags=known)
            for i, shares in enumerate(found.posteriors):
                for tag, share in shares.items():
                    assert share == pytest.approx(sum(math.exp(log - log_z) for tags, log in kept if tags[i] == tag))
            for sequence in tagger.tag(sentence, count=3, tags=known).sequences:
                (log,) = (log for tags, log in kept if tags == sequence.tags)
                assert sequence.log_prob == pytest.approx(log - log_z, abs=1e-9)

    @tagger_kinds
    def test_gradient_equals_differences(self, kind: Kind) -> None:
        tagger = trained_tagger(kind)
        family = tagger.family
        examples = np.concatenate(list(family.pack(tagger.grammar, tagged()[:4])))
        slope = np.zeros_like(family.value)
        family.add(examples, slope)

        def objective(value: Floats) -> float:
            return family.with_value(value).add(examples, np.zeros_like(value))

        moving = np.flatnonzero(np.abs(slope) > 1e-9)
        assert len(moving) > 5
        for place in np.random.default_rng(0).choice(moving, 12):
            expected = central_difference(objective, family.value, int(place))
            assert slope[place] == pytest.approx(expected, abs=1e-7, rel=1e-5)

    @tagger_kinds
    def test_file_round_trip_to_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        check_round_trip(trained_tagger(kind), tmp_path)

    @tagger_kinds
    def test_any_number_of_threads_gives_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        def train(setting: Setting) -> Tagger:
            return train_tagger(tagged()[:50], tagged()[50:], kind.name, setting, **large_batches(small_options(kind)))

        check_determinism(train, tmp_path)

    @tagger_kinds
    def test_resume_to_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        def train(setting: Setting) -> Tagger:
            return train_tagger(tagged()[:50], tagged()[50:], kind.name, setting, **small_options(kind))

        check_resume(train, trained_tagger(kind), tmp_path, is_gradual=not kind.is_treebank)

    @tagger_kinds
    def test_altered_files_are_refused(self, kind: Kind, tmp_path: Path) -> None:
        check_refusals(trained_tagger(kind), tmp_path)


CONTEXTS = {name: kind for name, kind in kinds("parser-context").items() if kind.learning}
context_kinds = pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
base_kinds = pytest.mark.parametrize("base", ["pcfg", "gm"])


@cache
def trained_in_context(context: Kind, base: str) -> Parser:
    """A small parser with a context on top of a family."""
    return in_context(context, base, Setting())


def small_context(context: Kind) -> dict[str, Any]:
    """Options that make a context small and quick to learn."""
    small = {"units": 8, "embedding": 4, "network_epochs": 1, "network_rate": 0.05, "network_share": 0.3}
    return {item.name: small[item.name] for item in describe(context.load_options()) if item.name in small}


def in_context(context: Kind, base: str, setting: Setting, batch: int = 16) -> Parser:
    options = small_options(PARSERS[base]) | {"context_epochs": 2, "context_batch": batch} | small_context(context)
    return train_parser(trees()[:50], trees()[50:], base, setting, context=context.name, **options)


class TestContexts:
    @context_kinds
    def test_what_it_is(self, context: Kind) -> None:
        assert context.load_family().name == context.name
        assert context.summary.endswith(".")
        for item in describe(context.load_options()):
            assert item.option.help.endswith("."), item.name

    @context_kinds
    @parser_kinds
    def test_gradient_equals_differences(self, kind: Kind, context: Kind) -> None:
        parser = trained(kind)
        assert isinstance(parser, Parser)
        data = TreeData(parser.coarse, parser.binarisation, trees()[:50])
        started = context.load_learning()(data, context.load_options()(**small_context(context)), 0).context
        every = [forest for pair in forests() for forest in pair]
        occurring = [started.occurring(started.rows(forest), np.ones(forest.n_edges)) for forest in every]
        grown = replace(started.grown(occurring), least=0.0)
        value = np.random.default_rng(1).normal(0.0, 0.1, grown.value.shape)
        check_gradient(Contextual(family_of(kind), (grown.with_value(value),)), forests())

    @context_kinds
    def test_reasons_of_an_edge_add_up_to_its_factor(self, context: Kind) -> None:
        parser = trained_in_context(context, "gm")
        assert isinstance(parser.family, Contextual)
        (own,) = parser.family.contexts
        for kept in (own, replace(own, dropout=0.4)):  # type: ignore[type-var]
            for forest, _ in forests():
                edges = np.flatnonzero(forest.edge_rule != STAY).astype(np.int32)
                found = kept.reasons(parser.grammar, forest, edges)
                sums = [math.fsum(value for _, value in terms) for terms in found]
                np.testing.assert_allclose(sums, kept.score(kept.rows(forest))[edges], atol=1e-9)
                assert np.abs(sums).max() > 0.01
        check_explanations(parser.family, parser)

    @context_kinds
    def test_it_reports_which_gradients_it_changed(self, context: Kind) -> None:
        family = trained_in_context(context, "gm").family
        assert isinstance(family, Contextual)
        (own,) = family.contexts
        forest, slope = forests()[0][0], np.zeros(own.value.size)
        for noise in (0, 5):
            touched = own.add(own.rows(forest), np.ones(forest.n_edges), slope, noise)
            assert set(np.flatnonzero(slope)) <= set(touched.tolist())
            slope[touched] = 0.0

    @context_kinds
    def test_the_same_noise_drops_the_same_features(self, context: Kind) -> None:
        family = trained_in_context(context, "gm").family
        assert isinstance(family, Contextual)
        own = replace(family.contexts[0], dropout=0.5)  # type: ignore[type-var]
        rows = own.rows(forests()[0][0])
        assert np.array_equal(own.score(rows, 7), own.score(rows, 7))
        assert not np.array_equal(own.score(rows, 7), own.score(rows, 8))
        assert not np.array_equal(own.score(rows, 7), own.score(rows))

    @context_kinds
    def test_edges_that_the_family_finds_unlikely_are_excluded(self, context: Kind) -> None:
        family = trained_in_context(context, "gm").family
        assert isinstance(family, Contextual)
        for forest, _ in forests():
            alone = family.family.posterior(forest).edge
            for least in (0.0, 0.01, 0.3):
                narrow = replace(family, least=least)
                found, log_factor = narrow.posterior(forest), narrow.log_factor(forest)
                is_out = (alone < least) & (forest.edge_rule != STAY)
                assert np.array_equal(log_factor[~is_out], replace(family, least=0.0).log_factor(forest)[~is_out])
                assert (found.edge[is_out] < 1e-20).all()
                assert found.log_z == pytest.approx(narrow.log_z(forest), abs=1e-9)
                assert found.node[-1] == pytest.approx(1.0)

    @base_kinds
    @context_kinds
    def test_file_round_trip_to_the_same_bytes(self, context: Kind, base: str, tmp_path: Path) -> None:
        check_round_trip(trained_in_context(context, base), tmp_path)

    @context_kinds
    def test_any_number_of_threads_gives_the_same_bytes(self, context: Kind, tmp_path: Path) -> None:
        check_determinism(lambda setting: in_context(context, "gm", setting, batch=64), tmp_path)

    @parser_kinds
    def test_a_family_with_all_contexts_resumes_to_the_same_bytes(self, kind: Kind, tmp_path: Path) -> None:
        def train(setting: Setting) -> Parser:
            options = small_options(kind) | {"context_epochs": 2, "context_batch": 16}
            for context in CONTEXTS.values():
                options |= small_context(context)
            return train_parser(trees()[:30], trees()[50:], kind.name, setting, context=",".join(CONTEXTS), **options)

        check_resume(train, train(Setting()), tmp_path, first=4)

    @context_kinds
    def test_altered_files_are_refused(self, context: Kind, tmp_path: Path) -> None:
        check_refusals(trained_in_context(context, "gm"), tmp_path)

    @context_kinds
    def test_config_trains_the_same_bytes(self, context: Kind, tmp_path: Path) -> None:
        first = trained_in_context(context, "gm")
        again = train_parser(trees()[:50], trees()[50:], **first.info["config"])
        assert file_bytes(again, tmp_path) == file_bytes(first, tmp_path)


@dataclass(frozen=True, eq=False)
class Capitals(ForestContext):
    """A weight per rule if the first word of its span has a capital, otherwise its negative."""

    n_rules: int
    value: Floats

    name = "capitals"

    def with_value(self, value: Floats) -> Capitals:
        return replace(self, value=value)

    def rows(self, forest: Forest) -> Ints:
        start = forest.node_start[forest.edge_head]
        sign = np.array([1 if word[0].isupper() else -1 for word in forest.words])[start]
        return np.concatenate([[1 + 2 * forest.n_edges], forest.edge_rule, sign]).astype(np.int32)

    def _parts(self, rows: Ints) -> tuple[Ints, Ints]:
        rules, signs, begin = [], [], 0
        while begin < len(rows):
            end = begin + int(rows[begin])
            rule, sign = np.split(rows[begin + 1 : end], 2)
            rules.append(rule)
            signs.append(np.where(rule == STAY, 0, sign))
            begin = end
        return np.concatenate(rules), np.concatenate(signs)

    def score(self, rows: Ints, noise: int = 0, kept: Kept | None = None) -> Floats:
        rule, sign = self._parts(rows)
        return np.asarray(sign * self.value[rule])

    def add(self, rows: Ints, edge_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        rule, sign = self._parts(rows)
        np.add.at(slope, rule, sign * edge_slope)
        return np.unique(rule)

    def arrays(self) -> Arrays:
        return {"value": self.value}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Capitals:
        return cls(grammar.n_rules, arrays["value"])

    def describe(self) -> Facts:
        return {}


def check_gradient(family: ForestFamily, examples: Sequence[tuple[Forest, Forest]]) -> None:
    """The gradient of the conditional likelihood against central differences, at some parameters and in a direction."""
    packed = np.concatenate([family.pack(forest) for pair in examples for forest in pair])
    finite = np.flatnonzero(np.isfinite(family.value))
    slope = np.zeros_like(family.value)
    value = family.add(packed, slope)
    log_zs = [family.log_z(forest) - family.log_z(gold) for forest, gold in examples]
    assert value == pytest.approx(sum(log_zs), abs=1e-9)

    def objective(value: Floats) -> float:
        return family.with_value(value).add(packed, np.zeros_like(value))

    moving = finite[np.abs(slope[finite]) > 1e-12]
    assert len(moving) > 5
    for place in np.random.default_rng(0).choice(moving, 12):
        expected = central_difference(objective, family.value, int(place))
        assert slope[place] == pytest.approx(expected, abs=1e-7, rel=1e-5)


def check_explanations(family: Judge, parser: Parser) -> None:
    """Every constituent against the most probable derivation without it, by enumeration; parts add up."""
    members = family.members if isinstance(family, Product) else (family,)
    grammar = parser.grammar
    for forest, _ in forests():
        posterior, found = family.posterior(forest), [np.array(edges, np.int32) for edges in edge_lists(forest)]
        logs = np.array([[member.log_derivation(grammar, forest, edges) for edges in found] for member in members])  # type: ignore[attr-defined]
        logs -= np.array([[member.log_z(forest)] for member in members])  # type: ignore[attr-defined]
        log_probs = np.logaddexp.reduce(logs) - math.log(len(members))
        has = [phrases(tree_of(grammar, forest, edges, forest.words)) for edges in found]
        ((_, chosen),) = decode(grammar, forest, posterior)
        (own,) = (number for number, edges in enumerate(found) if np.array_equal(edges, chosen))
        explanations = explain(grammar, parser.weight, forest, family, posterior, chosen, count=200)
        assert Counter(span for one in explanations for span in one.constituents) == Counter(has[own])
        for one in explanations:
            for span in one.constituents:
                rest = [log for log, spans in zip(log_probs, has, strict=True) if span not in spans]
                assert (one.rival is None) == (not rest)
                if one.rival is not None:
                    assert span not in phrases(one.rival)
                    assert one.difference == pytest.approx(log_probs[own] - max(rest), abs=1e-9)
            for part in one.parts:
                if part.reasons:
                    assert math.fsum(reason.value for reason in part.reasons) == pytest.approx(part.value, abs=1e-9)
            if one.rival is not None:
                assert math.fsum(part.value for part in one.parts) == pytest.approx(one.difference, abs=1e-9)


def phrases(tree: Tree) -> set[tuple[str, int, int]]:
    """The constituents of a tree below its root."""
    return {(node.label, start, end) for node, start, end in tree.spans()[1:] if node.word is None}


class StopError(Exception):
    """An interruption."""


class Stopper:
    """A report that interrupts training when this many batches, iterations, epochs and cycles have been reported."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        is_batch = event == "progress" and any(word in facts["what"] for word in ("epoch", "cycle"))
        self.left -= is_batch or event in ("epoch", "cycle")
        if not self.left:
            raise StopError


def check_resume(
    train: Callable[[Setting], Loaded], whole: Loaded, folder: Path, first: int = 2, is_gradual: bool = True
) -> None:
    """A run that is interrupted again and again, also within epochs, ends with the same file as an uninterrupted one.

    first: the number of batches, iterations, epochs and cycles before the first interruption; then one more each time.
    """
    for attempt in range(30):
        checkpoint = Checkpoint(str(folder / "run"), resume=attempt > 0, timer=Timer(0.0))
        try:
            model = train(Setting(report=Stopper(first + attempt), checkpoint=checkpoint))
        except StopError:
            assert list(folder.glob("run*"))
            continue
        assert (attempt > 0) == is_gradual
        assert file_bytes(model, folder) == file_bytes(whole, folder)
        return
    pytest.fail("it does not advance")


def large_batches(options: dict[str, Any]) -> dict[str, Any]:
    """Options with batches that are divided among threads."""
    return {name: 64 if name.endswith("batch") else value for name, value in options.items()}


def check_determinism(train: Callable[[Setting], Loaded], folder: Path) -> None:
    """Training gives one file, on any number of threads and again."""
    assert len({file_bytes(train(Setting(threads=threads)), folder) for threads in (1, 2, 4, 4)}) == 1


def file_bytes(model: Loaded, folder: Path) -> bytes:
    save_model(model, str(folder / "model"))
    return (folder / "model").read_bytes()


def check_round_trip(model: Model, folder: Path) -> None:
    """A model that is saved, loaded and saved again gives the same file and the same results."""
    first = file_bytes(model, folder)
    again = load_model(str(folder / "model"))
    assert file_bytes(again, folder) == first
    words = trees()[51].words()
    if isinstance(model, Parser):
        assert isinstance(again, Parser)
        assert again.parse(words, count=3).trees == model.parse(words, count=3).trees
    else:
        assert isinstance(again, Tagger)
        assert again.tag(words, count=3) == model.tag(words, count=3)


def check_refusals(model: Model, folder: Path) -> None:
    """A file with a missing array, or one of another type or shape or with non-finite numbers, is refused."""
    text, arrays = unpack(file_bytes(model, folder))
    own = [name for name in arrays if name.startswith("family.")]
    changed: list[Arrays] = [arrays | {"family.more": np.zeros(3)}]
    for name in own:
        array = arrays[name]
        changed.append({key: value for key, value in arrays.items() if key != name})
        changed.append(arrays | {name: array.astype(np.float32)})
        changed.append(arrays | {name: array[..., :-1].copy()})
        changed.append(arrays | {name: array[None].copy()})
        if array.dtype == np.float64:
            changed.append(arrays | {name: np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)})
        elif array.size:
            changed.append(arrays | {name: array - 1_000_000 if array.dtype == np.int32 else array.astype(np.int16)})
    for number, altered in enumerate(changed):
        (folder / "bad").write_bytes(packed(text, altered))
        with pytest.raises(ModelError):
            load_model(str(folder / "bad"))
        assert number < 100
    data = bytearray(file_bytes(model, folder))
    for place in np.random.default_rng(0).integers(8, len(data), 20):
        flipped = bytes(data[:place]) + bytes([data[place] ^ 0x10]) + bytes(data[place + 1 :])
        (folder / "bad").write_bytes(flipped)
        with pytest.raises(ModelError):
            load_model(str(folder / "bad"))
