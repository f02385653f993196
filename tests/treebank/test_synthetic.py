"""The grammar's format, properties of sampling, and the treebank that lveg ships."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from lveg.cli.sample import SampleFormat, sample
from lveg.errors import GrammarError, UsageError
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import (
    ENGLISH,
    UPOS,
    SampleGrammar,
    conllu_block,
    parse_grammar,
    read_grammar,
    sample_trees,
)
from lveg.trees import ROOT, Cleaning, Tree

DATA = ENGLISH.parent
DEMO = {"train": (1750, 1), "dev": (300, 2)}


def grammar_of(text: str) -> SampleGrammar:
    return parse_grammar(enumerate(text.splitlines(keepends=True), start=1))


def drawn(text: str, count: int = 200, seed: int = 3, max_words: int = 40) -> list[Tree]:
    return list(sample_trees(grammar_of(text), count, seed, max_words))


@pytest.fixture(scope="module")
def english() -> SampleGrammar:
    return read_grammar()


# ------------------------------------------------------------------ the format


def test_features_agree_and_are_not_shown() -> None:
    text = """
%feature n sg pl
S -> N[$n] V[$n]    # once for each number
N[sg] = dog
N[pl] = dogs
V[sg] = runs
V[pl] = run
"""
    assert {str(tree) for tree in drawn(text)} == {
        f"({ROOT} (S (N Dog) (V runs)))",
        f"({ROOT} (S (N Dogs) (V run)))",
    }


def test_helpers_leave_only_their_children() -> None:
    text = "S -> @a @b\n@a -> @b X\n@b -> X\nX = x\n"
    assert str(drawn(text, 1)[0]) == f"({ROOT} (S (X X) (X x) (X x)))"


def test_a_feature_can_be_used_as_a_label() -> None:
    text = "%feature v VB VBZ\nS -> $v[t]\nVB[t] VBZ[t] = go goes\n"
    assert {str(tree) for tree in drawn(text)} == {f"({ROOT} (S (VB Go)))", f"({ROOT} (S (VBZ Goes)))"}


def test_weights_are_relative_frequencies() -> None:
    text = """
%feature n sg:3 pl
S ->
    3  @one[$n]
    1  B
@one[$n] -> A[$n]    # the left side has chosen, so the weight of sg does not count again
A[sg] = a
A[pl] = aa
B ~ b c
"""
    counts = Counter(tree.words()[0] for tree in drawn(text, 20_000))
    # @one[sg] 9, @one[pl] 3, B 1; under B by rank 1/2 to 1/3.
    expected = {"A": 9 / 13, "Aa": 3 / 13, "B": 0.6 / 13, "C": 0.4 / 13}
    for word, share in expected.items():
        assert counts[word] / 20_000 == pytest.approx(share, abs=4 * (share / 20_000) ** 0.5)


def test_rows_braces_and_gaps() -> None:
    grammar = grammar_of("S -> A B\nA B ~\n    x y\n    - z\nA = {p|q}{1|2}:3\n")
    assert grammar.choices["A"].options == (("x",), ("p1",), ("p2",), ("q1",), ("q2",))
    assert grammar.choices["A"].totals == (0.5, 3.5, 6.5, 9.5, 12.5)
    assert grammar.choices["B"].options == (("y",), ("z",))


def test_spelling_before_a_vowel_and_capitals() -> None:
    text = "%before a an aeiou\nS -> D N `` D N ''\nD = a\nN = owl\n`` = ``\n'' = ''\n"
    assert drawn(text, 1)[0].words() == ["An", "owl", "``", "An", "owl", "''"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("  S -> A\n", 1, "none came before"),
        ("# nothing\n", 1, "no rule"),
        ("S -> A\nA = a\n%colour red\n", 3, "%colour is unknown"),
        ("%feature n\n", 1, "at least one value"),
        ("%feature n sg\n   pl\n", 2, "one line"),
        ("%before a an\n", 1, "needs a word"),
        ("S -> A[$n]\n", 1, "$n is used before"),
        ("S -> A\nA = a\nB ->\n", 3, "no right side"),
        ("S ->\n  1 A\n  2\nA = a\n", 3, "nothing else"),
        ("S -> A\nA = a\nB c\n", 3, "expected `B ->`"),
        ("S -> A\nA B = a b c\n", 2, "rows of 2"),
        ("S -> A\nA = a:0\n", 2, "weight 0"),
        ("S -> A\nA = a\nS ->\n  1 A A\n  1 C\n", 5, "C has no rule"),
        ("S -> A\nA = a\nA -> S\n", 1, "both rules and words"),
        ("S -> @a\n@a = a\n", 1, "visible tag"),
        ("@s -> A\nA = a\n", 1, "must leave a bracket"),
        ("S -> A\nA = a\nB -> B A\n", 3, "turns B into words"),
    ],
)
def test_faults_name_file_and_line(text: str, line: int, what: str) -> None:
    with pytest.raises(GrammarError) as caught:
        grammar_of(text)
    assert str(caught.value).startswith(f"<text>:{line}: ")
    assert what in str(caught.value)


# ------------------------------------------------------------------ sampling


class OnlyRandom(random.Random):
    """A generator with only the method that Python guarantees."""

    def getrandbits(self, k: int) -> int:
        raise AssertionError("only random() keeps its sequence from one Python to the next")


def test_the_seed_decides_and_only_random_is_called(english: SampleGrammar, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [str(tree) for tree in sample_trees(english, 20, seed=5)]
    monkeypatch.setattr(random, "Random", OnlyRandom)
    assert [str(tree) for tree in sample_trees(english, 20, seed=5)] == first
    assert [str(tree) for tree in sample_trees(english, 20, seed=6)] != first
    assert [str(tree) for tree in sample_trees(english, 10, seed=5)] == first[:10]


def test_long_sentences_are_rejected(english: SampleGrammar) -> None:
    lengths = [len(tree.words()) for tree in sample_trees(english, 300, seed=4, max_words=8)]
    assert len(lengths) == 300
    assert max(lengths) == 8


def test_a_grammar_that_cannot_be_short_is_refused() -> None:
    with pytest.raises(GrammarError, match="more than 2 words"):
        drawn("S -> A A A\nA = a\n", 1, max_words=2)
    with pytest.raises(UsageError, match="at least one word"):
        drawn("S -> A\nA = a\n", 1, max_words=0)


def test_deep_trees_are_sampled() -> None:
    tree = drawn("S ->\n  9999 @s\n  1 A\n@s ->\n  9999 B\n  1 A\nB -> S\nA = a\n", 1, max_words=5000)[0]
    assert sum(1 for _ in tree) > 3000


def test_english_trees_are_clean_and_their_tags_are_known(english: SampleGrammar) -> None:
    steps = Cleaning()
    labels: set[str] = set()
    for tree in sample_trees(english, 500, seed=8):
        assert steps(tree) == tree
        assert tree.label == ROOT
        assert tree.words()[0][0].isupper() or tree.words()[0][0] in "`0123456789$"
        labels.update(tree.tags())
    assert labels <= set(UPOS)


def test_conllu_has_ten_columns() -> None:
    block = conllu_block(drawn("S -> NN VBZ .\nNN = snow\nVBZ = falls\n. = .\n", 1)[0], "s1")
    assert block == (
        "# sent_id = s1\n# text = Snow falls .\n"
        "1\tSnow\t_\tNOUN\tNN\t_\t_\t_\t_\t_\n"
        "2\tfalls\t_\tVERB\tVBZ\t_\t_\t_\t_\t_\n"
        "3\t.\t_\tPUNCT\t.\t_\t_\t_\t_\t_\n\n"
    )


# ------------------------------------------------------------------ what is shipped


@pytest.mark.parametrize("part", DEMO)
@pytest.mark.parametrize(("format", "suffix"), [(SampleFormat.brackets, "mrg"), (SampleFormat.conllu, "conllu")])
def test_the_shipped_treebank_is_what_the_command_writes(
    part: str, format: SampleFormat, suffix: str, tmp_path: Path
) -> None:
    count, seed = DEMO[part]
    out = tmp_path / f"again.{suffix}"
    sample(count, seed=seed, format=format, out=out)
    assert out.read_bytes() == (DATA / f"demo-{part}.{suffix}").read_bytes()


def test_the_shipped_treebank_is_learnable_but_not_trivial() -> None:
    train, dev = (list(read_trees(DATA / f"demo-{part}.mrg")) for part in DEMO)
    assert (len(train), len(dev)) == (1750, 300)
    assert max(len(tree.words()) for tree in dev) <= 40
    assert 10 <= sum(len(tree.words()) for tree in train) / len(train) <= 14
    known = {word for tree in train for word in tree.words()}
    words = [word for tree in dev for word in tree.words()]
    assert 0.03 <= sum(word not in known for word in words) / len(words) <= 0.08
    assert sum(file.stat().st_size for file in DATA.glob("demo-*")) < 1_200_000
