"""The grammar of a treebank: order, counts, validation, determinism."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_cases, subject
from strategies import trees

from lveg.errors import GrammarError
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Grammar, fingerprint, tag_grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.grammar.symbols import TAG
from lveg.trees import Tree, with_root

A, B = Tree("A", (), "a"), Tree("B", (), "b")
SMALL = [
    Tree("TOP", [Tree("S", [A, B, A])]),
    Tree("TOP", [Tree("S", [Tree("X", [Tree("Y", [A])]), B])]),
    Tree("TOP", [A]),
]


def everything(grammar: Grammar) -> list[bytes]:
    """The whole contents of a grammar, as bytes."""
    arrays = (grammar.rule_lhs, grammar.rule_left, grammar.rule_right, grammar.count)
    rest = (grammar.symbols, grammar.paths, grammar.lexicon.words, grammar.lexicon.classes, grammar.fingerprint)
    return [array.tobytes() for array in arrays] + [repr(part).encode() for part in rest]


def test_rules_and_counts_by_hand() -> None:
    grammar = tree_grammar(SMALL, Binarisation(), LexiconOptions(threshold=1, smooth=0))
    counts = {grammar.describe_rule(rule): float(grammar.count[rule]) for rule in range(grammar.n_rules)}
    classes = {name: count for name, count in counts.items() if "UNK" in name}
    assert {name: count for name, count in counts.items() if name not in classes} == {
        "@S -> B A": 1,
        "S -> A @S": 1,
        "S -> X B": 1,
        "X -> Y -> A": 1,
        "ROOT -> A": 1,
        "ROOT -> S": 2,
        "A -> a": 4,
        "B -> b": 2,
    }
    assert set(classes) == {"A -> UNK", "B -> UNK"}
    assert grammar.tags == ("A", "B")
    assert (grammar.n_binary, grammar.n_unary, grammar.n_root) == (3, 1, 2)
    with pytest.raises(GrammarError, match="no trees"):
        tree_grammar([], Binarisation(), LexiconOptions())


@settings(max_examples=40)
@given(
    st.lists(trees(8).map(with_root), min_size=1, max_size=4),
    st.sampled_from(["right", "left", "head"]),
    st.sampled_from(["auto", "english", "single"]),
)
def test_order_and_determinism(drawn: list[Tree], direction: str, unknown: str) -> None:
    scheme, options = Binarisation(direction, 1, 2), LexiconOptions(unknown)
    grammar = tree_grammar(drawn, scheme, options)
    assert everything(grammar) == everything(tree_grammar(drawn, scheme, options))
    assert all((symbol.kind == TAG) == (n >= grammar.n_nonterminals) for n, symbol in enumerate(grammar.symbols))
    paths = ((),) * grammar.n_binary + grammar.paths + ((),) * (grammar.n_rules - grammar.root_start)
    rows = list(zip(grammar.rule_lhs, grammar.rule_left, grammar.rule_right, paths, strict=True))
    for kind in ("binary", "unary", "root", "lexical"):
        part = rows[grammar.kind_slice(kind)]
        assert part == sorted(part)
        assert len(set(part)) == len(part)
    assert grammar.count[grammar.kind_slice("root")].sum() == len(drawn)
    tokens = sum(len(tree.words()) for tree in drawn)
    assert grammar.count[grammar.kind_slice("lexical")].sum() >= tokens - 1e-6


SCRIPT = """
import hashlib
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import tag_grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.trees import Tree
letters = "abcdefgh"
words = [x + y + z for x in letters for y in letters for z in ("ing", "ed", "", "S")]
leaves = [Tree("NVDJ"[len(w) * i % 4], (), w) for i, w in enumerate(words)]
trees = [Tree("TOP", [Tree("S", leaves[i : i + 5])]) for i in range(0, 250, 5)] * 2 + [Tree("TOP", leaves[:9])]
tagged = [[(leaf.word, leaf.label) for leaf in tree.leaves()] for tree in trees]
for unknown in ("auto", "english", "single"):
    options = LexiconOptions(unknown, 3)
    for grammar in (tree_grammar(trees, Binarisation("left", 2, 2), options), tag_grammar(tagged, options)):
        data = b"".join(a.tobytes() for a in (grammar.rule_lhs, grammar.rule_left, grammar.rule_right, grammar.count))
        print(hashlib.sha256(data + repr((grammar.symbols, grammar.paths, grammar.lexicon)).encode()).hexdigest())
"""


def test_the_order_of_sets_does_not_matter() -> None:
    outputs = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 6


def test_look_up_by_symbols() -> None:
    for case in random_cases(30, seed=71, least=0):
        grammar, _ = subject(case.toy)
        for number, rule in enumerate(case.toy.rules):
            if rule.kind == "lexical":
                assert grammar.lexical_id(rule.lhs, rule.children[0]) == number
            else:
                right = rule.children[1] if rule.kind == "binary" else -1
                assert grammar.rule_id(rule.lhs, rule.children[0], right, rule.path) == number
        assert grammar.rule_id(0, 0, -1, ("none",)) is None
        assert grammar.lexical_id(0, 0) is None


def test_tag_grammar_has_every_transition() -> None:
    tagged = [[("a", "X"), ("b", "Y")], [("a", "X"), ("a", "X")], [], [("c", "Z")]]
    grammar = tag_grammar(tagged, LexiconOptions())
    counts = Counter({grammar.describe_rule(rule): float(grammar.count[rule]) for rule in range(grammar.root_start)})
    assert (grammar.n_binary, grammar.n_unary, grammar.n_root) == (9, 3, 3)
    assert counts["X -> X Y"] == 1
    assert counts["X -> X X"] == 1
    assert counts["Z -> Z"] == 1
    assert sum(counts.values()) == 5


def test_fingerprint_follows_the_data() -> None:
    one = [[("a", "X"), ("b", "Y")]]
    assert fingerprint(one) == fingerprint([list(one[0])])
    assert fingerprint(one) != fingerprint([[("a", "X")], [("b", "Y")]])
    assert fingerprint(one) != fingerprint([[("a", "X"), ("b", "Z")]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda grammar: {"rule_lhs": grammar.rule_lhs.astype(np.int64)}, "rule_lhs is not a contiguous int32"),
        (lambda grammar: {"rule_left": grammar.rule_left[:-1]}, "rule_left is not a contiguous int32"),
        (lambda grammar: {"rule_right": np.repeat(grammar.rule_right, 2)[::2]}, "rule_right is not a contiguous"),
        (lambda grammar: {"count": grammar.count[:-1]}, "count is not a float64"),
        (lambda grammar: {"count": -grammar.count}, "finite and not negative"),
        (lambda grammar: {"count": grammar.count * np.nan}, "finite and not negative"),
        (lambda grammar: {"n_root": 99}, "more rules than there are"),
        (lambda grammar: {"paths": ()}, "one path is needed"),
        (lambda grammar: {"rule_left": grammar.rule_left + 99}, "does not exist"),
        (lambda grammar: {"n_nonterminals": 1}, "does not exist"),
    ],
)
def test_invalid_grammars_are_errors(change: Callable[[Grammar], dict[str, Any]], message: str) -> None:
    grammar = tree_grammar(SMALL, Binarisation(), LexiconOptions())
    with pytest.raises(GrammarError, match=message):
        replace(grammar, **change(grammar))
