"""Trees to derivations and back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import leaves, trees

from lveg.errors import GrammarError
from lveg.grammar.binarise import Binarisation, binarise, debinarise, learn_heads
from lveg.grammar.symbols import PART, PHRASE, TAG, Symbol
from lveg.trees import Tree, with_root

DIRECTIONS = ("right", "left", "head")


def leaf(tag: str) -> Tree:
    return Tree(tag, (), tag.lower())


def few_labels() -> st.SearchStrategy[Tree]:
    """Trees where labels repeat, so that chains X -> Y -> X and tags named as phrases are common."""
    name = st.sampled_from(["X", "Y", "TOP"])
    leaf_trees = st.builds(lambda tag: Tree(tag, (), "w"), name)
    return st.recursive(
        st.builds(lambda label, child: Tree(label, (child,)), name, leaf_trees),
        lambda inner: st.builds(Tree, name, st.lists(inner | leaf_trees, min_size=1, max_size=5)),
        max_leaves=10,
    )


def rooted() -> st.SearchStrategy[Tree]:
    several = st.lists(trees(5) | leaves(), min_size=2, max_size=4).map(lambda parts: Tree("TOP", parts))
    return (trees() | few_labels() | several | leaves()).map(with_root)


@settings(max_examples=200)
@given(rooted(), st.sampled_from(DIRECTIONS), st.integers(0, 3), st.integers(1, 4))
def test_round_trip(tree: Tree, direction: str, horizontal: int, vertical: int) -> None:
    scheme = Binarisation(direction, horizontal, vertical, learn_heads([tree]))
    steps = binarise(tree, scheme)
    assert debinarise(steps, tree.words()) == tree
    for number, step in enumerate(steps):
        assert max(step.left, step.right) < number
        assert len(step.symbol.parents) < vertical
        assert len(step.symbol.siblings) <= horizontal
        if step.right >= 0:
            assert (steps[step.left].start, steps[step.right].end) == (step.start, step.end)
            assert steps[step.left].end == steps[step.right].start
        elif step.left >= 0:
            # One unary step at most: below it a tag or a binary step.
            below = steps[step.left]
            assert below.symbol.kind == TAG or below.right >= 0
            assert step.symbol.kind == PHRASE


@settings(max_examples=50)
@given(few_labels().map(with_root))
def test_every_scheme_on_the_same_tree(tree: Tree) -> None:
    heads = learn_heads([tree])
    for direction, horizontal, vertical in itertools.product(DIRECTIONS, range(3), range(1, 4)):
        steps = binarise(tree, Binarisation(direction, horizontal, vertical, heads))
        assert debinarise(steps, tree.words()) == tree


@pytest.mark.parametrize(
    ("direction", "horizontal", "names"),
    [
        ("right", 0, ["@NP", "@NP", "NP"]),
        ("right", 1, ["@NP[B]", "@NP[A]", "NP"]),
        ("left", 2, ["@NP[C D]", "@NP[D]", "NP"]),
        ("head", 0, ["@NP>", "@NP<", "NP"]),
    ],
)
def test_binary_steps_by_hand(direction: str, horizontal: int, names: list[str]) -> None:
    tree = Tree("TOP", [Tree("NP", [leaf("A"), leaf("B"), leaf("C"), leaf("D")])])
    heads = {"NP": {"C": 1.0}}
    steps = binarise(tree, Binarisation(direction, horizontal, 1, heads))
    assert [step.symbol.name for step in steps if step.right >= 0] == names


def test_head_outward_cuts_the_left_side_first() -> None:
    tree = Tree("TOP", [Tree("NP", [leaf("A"), leaf("B"), leaf("C")])])
    steps = binarise(tree, Binarisation("head", heads={"NP": {"B": 1.0}}))
    spans = [(step.start, step.end) for step in steps if step.symbol.kind == PART]
    assert spans == [(1, 3)]
    steps = binarise(tree, Binarisation("head", heads={"NP": {"A": 1.0}}))
    assert [(step.start, step.end) for step in steps if step.symbol.kind == PART] == [(0, 2)]


def test_chains_are_one_step() -> None:
    chain = Tree("X", [Tree("Y", [Tree("X", [leaf("A"), leaf("B")])])])
    steps = binarise(Tree("TOP", [chain]), Binarisation())
    assert [(step.symbol.name, step.path) for step in steps] == [("A", ()), ("B", ()), ("X", ()), ("X", ("Y",))]
    over_tag = Tree("TOP", [Tree("X", [Tree("Y", [leaf("A")])])])
    assert [(step.symbol.name, step.path) for step in binarise(over_tag, Binarisation())] == [("A", ()), ("X", ("Y",))]


def test_vertical_markovisation() -> None:
    tree = Tree(
        "TOP", [Tree("S", [Tree("NP", [leaf("A"), leaf("B")]), Tree("VP", [Tree("NP", [leaf("C"), leaf("D")])])])]
    )
    names = {step.symbol for step in binarise(tree, Binarisation(vertical=2))}
    assert Symbol(PHRASE, "NP", ("S",)) in names
    assert Symbol(PHRASE, "NP", ("VP",)) in names
    assert Symbol(PHRASE, "VP", ("S",)) in names
    assert all(symbol.parents == () for symbol in names if symbol.kind == TAG)


def test_heads_are_children_that_phrases_rarely_lack() -> None:
    several = [
        Tree("TOP", [Tree("NP", [leaf("D"), leaf("N")]), Tree("VP", [leaf("V"), leaf("D")])]),
        Tree("TOP", [Tree("NP", [leaf("J"), leaf("N")]), Tree("VP", [leaf("V"), leaf("D")])]),
    ]
    heads = learn_heads(several)
    assert max(heads["NP"], key=heads["NP"].__getitem__) == "N"
    assert max(heads["VP"], key=heads["VP"].__getitem__) == "V"


def test_deep_trees_do_not_recurse() -> None:
    tree = leaf("A")
    for _ in range(3000):
        tree = Tree("X", [tree, leaf("B")])
    tree = Tree("TOP", [tree])
    assert debinarise(binarise(tree, Binarisation(vertical=3)), tree.words()) == tree


def test_bad_schemes_and_empty_phrases_are_errors() -> None:
    with pytest.raises(GrammarError, match="not one of right, left, head"):
        Binarisation("up")
    for horizontal, vertical in ((-1, 1), (0, 0)):
        with pytest.raises(GrammarError, match="starts at"):
            Binarisation("right", horizontal, vertical)
    with pytest.raises(GrammarError, match="'NP' has no words"):
        binarise(Tree("TOP", [Tree("S", [leaf("A"), Tree("NP")])]), Binarisation())
