"""Hypothesis strategies: words, labels, trees and CoNLL-U sentences."""

from __future__ import annotations

from hypothesis import strategies as st

from lveg.trees import Tree

# Everything in Unicode except brackets and ASCII white space, so also U+2009, U+0085 and U+2028.
_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="() \t\r\n\v\f")


def words() -> st.SearchStrategy[str]:
    """Words that need no escaping in a bracketed tree."""
    awkward = st.sampled_from(["*", "0", "*0*", "-LRB-", "_", "1\\/2", "#", "¤\u2009", "a\u200ab", "a\x85b", "|"])
    return st.text(_CHARACTERS, min_size=1, max_size=6) | awkward


def labels() -> st.SearchStrategy[str]:
    """Labels of phrases and tags, some with function tags."""
    known = st.sampled_from(["S", "NP", "VP", "NP-SBJ-1", "NP=2", "ADVP|PRT", "-LRB-", "-NONE-", "sn.e-SUJ", "TOP"])
    return known | st.text(_CHARACTERS, min_size=1, max_size=4)


def leaves() -> st.SearchStrategy[Tree]:
    """A tag over a word."""
    return st.builds(lambda label, word: Tree(label, (), word), labels(), words())


def trees(max_leaves: int = 12) -> st.SearchStrategy[Tree]:
    """A phrase over at least one word, with unary chains and flat phrases."""
    phrases = st.recursive(
        st.builds(lambda label, leaf: Tree(label, (leaf,)), labels(), leaves()),
        lambda inner: st.builds(Tree, labels(), st.lists(inner | leaves(), min_size=1, max_size=4)),
        max_leaves=max_leaves,
    )
    return phrases | st.builds(lambda tree: Tree("", (tree,)), phrases)


def _fields() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1, max_size=5)


@st.composite
def conllu_sentences(draw: st.DrawFn) -> str:
    """A well-formed CoNLL-U sentence with its closing blank line."""

    def line(identifier: str) -> str:
        form, upos, misc = draw(_fields()), draw(_fields()), draw(_fields())
        return f"{identifier}\t{form}\t_\t{upos}\t_\t_\t0\t_\t_\t{misc}\n"

    comments = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")), max_size=2))
    parts = [f"#{comment}\n" for comment in comments]
    n_words = draw(st.integers(1, 6))
    covered = 0
    for number in range(n_words + 1):
        if number:
            parts.append(line(str(number)))
        parts.extend(line(f"{number}.{count}") for count in range(1, draw(st.integers(0, 2)) + 1))
        if covered <= number < n_words - 1 and draw(st.booleans()):
            covered = draw(st.integers(number + 2, n_words))
            parts.append(line(f"{number + 1}-{covered}"))
    return "".join(parts) + "\n"
