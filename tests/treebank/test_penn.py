"""Bracketed trees from files: every layout, and every fault is located."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import trees

from lveg.errors import TreebankError, UsageError
from lveg.treebank.penn import parse_tree, read_gold_trees, read_trees
from lveg.treebank.source import Faults
from lveg.trees import EMPTY_TREE, Cleaning, Tree

GOOD = "( (S (NP (NN a)) (VP (VB b))))"


def read(tmp_path: Path, text: str, faults: Faults | None = None, allow_empty: bool = False) -> list[str]:
    path = tmp_path / "trees.mrg"
    path.write_bytes(text.encode())
    return [str(tree) for tree in read_trees(path, faults, allow_empty)]


def skimmed(tmp_path: Path, text: str) -> tuple[list[str], list[str]]:
    """The remaining trees, and the faults without the folder's name."""
    faults = Faults(skip=True)
    found = read(tmp_path, text, faults)
    return found, [message.removeprefix(f"{tmp_path}/") for message in faults.messages]


@pytest.mark.parametrize("wrapper", ["", "ROOT", "TOP", "S1"])
@pytest.mark.parametrize(
    "layout", ["({} (S (A a) (B b)))\n", "({} (S\n    (A a)\n  (B b) )\n)\n", "({}\n(S\n(A a)\n(B b)))\n\n"]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_wrappers_and_layouts(tmp_path: Path, wrapper: str, layout: str, line_end: str) -> None:
    text = layout.format(wrapper).replace("\n", line_end)
    assert read(tmp_path, text * 3) == [f"({wrapper} (S (A a) (B b)))"] * 3


def test_no_wrapper(tmp_path: Path) -> None:
    assert read(tmp_path, "(S (A a)\n(B b))\n(NN c)") == ["(S (A a) (B b))", "(NN c)"]


def test_many_trees_on_a_line(tmp_path: Path) -> None:
    assert read(tmp_path, "(A a)(B b) (C\n c) (D d)\n") == ["(A a)", "(B b)", "(C c)", "(D d)"]


def test_an_empty_file_has_no_trees(tmp_path: Path) -> None:
    assert read(tmp_path, "") == []
    assert read(tmp_path, " \n\n") == []


def test_only_ascii_white_space_separates(tmp_path: Path) -> None:
    words = ["Xpd\u200a†XP", "¤\u2009", "a\xa0b", "a\u2028b", "a\x85b", "a\x1cb", "\u3000"]
    (tree,) = read_trees_of(tmp_path, "(S" + "".join(f" (NN {word})" for word in words) + ")")
    assert tree.words() == words
    assert parse_tree(str(tree)).words() == words


def read_trees_of(tmp_path: Path, text: str) -> list[Tree]:
    path = tmp_path / "trees.mrg"
    path.write_bytes(text.encode())
    return list(read_trees(path))


def test_leaves_of_three_fields(tmp_path: Path) -> None:
    (tree,) = read_trees_of(tmp_path, "(sn (da0ms0 El el) (nc x))")
    assert tree.words() == ["El", "x"]
    assert [leaf.lemma for leaf in tree.leaves()] == ["el", None]
    assert str(tree) == "(sn (da0ms0 El el) (nc x))"


def test_a_byte_order_mark_is_not_part_of_the_tree(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff(NN a)\n") == ["(NN a)"]


def test_gzip_directories_and_lists(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    (folder / "02").mkdir(parents=True)
    (folder / "02" / "b.mrg").write_text("(B b)")
    (folder / "01.mrg.gz").write_bytes(gzip.compress(b"(A a)\n"))
    (folder / ".hidden").write_text("no tree")
    (tmp_path / "c.mrg").write_text("(C c)")
    found = read_trees([folder, str(tmp_path / "c.mrg")])
    assert [str(tree) for tree in found] == ["(A a)", "(B b)", "(C c)"]


def test_stray_files_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("see below\n")
    (tmp_path / "wsj_0001.pos").write_text("[ The/DT dog/NN ]\n")
    (tmp_path / "a.conllu").write_text("1\ta\n")
    (tmp_path / "b.fid").write_text("\ufeff\n ( (B b))\n")
    (tmp_path / "c.mrg").write_text("(C c)\n")
    faults = Faults()
    assert [str(tree) for tree in read_trees(tmp_path, faults)] == ["( (B b))", "(C c)"]
    names = [message.removeprefix(f"{tmp_path}/") for message in faults.messages]
    assert names == [f"{name}: does not look like bracketed trees" for name in ("README", "a.conllu", "wsj_0001.pos")]
    with pytest.raises(TreebankError, match=r"README:1: tree 1 is preceded by 'see'"):
        list(read_trees(tmp_path / "README"))


def test_gold_trees_are_clean_and_have_words(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("( (S (NP-1 (NN a))))\n( (S (-NONE- *)))\n( (S (X b)))\n")
    gold = read_gold_trees([tmp_path / "a.mrg"], Cleaning())
    assert [str(tree) for tree in gold] == ["(TOP (S (NP (NN a))))", "(TOP (S (X b)))"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"(A a)\n(B\nb)\n")))
    assert [str(tree) for tree in read_trees("-")] == ["(A a)", "(B b)"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"(A a)\n(B\nb\n")))
    with pytest.raises(TreebankError, match=r"^<stdin>:2: tree 2 has 1 unclosed bracket at the end of the file$"):
        list(read_trees("-"))


FAULTS = [
    ("unclosed before the next", f"{GOOD}\n( (S (NN a)\n{GOOD}\n", "2: tree 2 has 2 unclosed brackets", 2),
    (
        "unclosed at the end",
        f"{GOOD}\n{GOOD}\n( (S\n (NN a)\n",
        "3: tree 3 has 2 unclosed brackets at the end",
        2,
    ),
    (
        "unclosed, no wrapper",
        "(S (A a)\n(S (B b))\n(S (C c))\n",
        "1: tree 1 has 1 unclosed bracket at the end",
        2,
    ),
    ("unclosed, indented", " (S (A a)\n (S (B b))\n (S\n  (C c))\n", "1: tree 1 has 1 unclosed", 2),
    ("stray bracket", f"{GOOD}\n{GOOD})\n{GOOD}\n", "2: tree 2 is followed by a stray closing bracket", 3),
    ("stray brackets on their line", f"{GOOD}\n)) )\n  )\n{GOOD}\n", "2: tree 1 is followed by a stray", 2),
    ("stray bracket on a line of many", f"{GOOD} ) {GOOD}\n", "1: tree 1 is followed by a stray", 2),
    ("part of a tree after a stray bracket", f"{GOOD})\n  (VP x)\n{GOOD}\n", "1: tree 1 is followed by a", 2),
    ("stray bracket, indented", " (S a))\n (S b)\n", "1: tree 1 is followed by a stray", 2),
    ("stray word", f"{GOOD}\nxyz\n{GOOD}\n", "2: tree 1 is followed by 'xyz' outside any bracket", 2),
    (
        "stray word first",
        f"xyz\n{GOOD}\n",
        "1: tree 1 is preceded by 'xyz' outside any bracket; expected trees in brackets, such as (NP (DT a) (NN dog))",
        1,
    ),
    ("empty label", f"{GOOD}\n( (S ( (NN a))))\n{GOOD}\n", "2: tree 2 has an empty label", 2),
    ("empty bracket", f"{GOOD}\n( (S (NN a) ()))\n{GOOD}\n", "2: tree 2 has an empty bracket", 2),
    ("no words", f"{GOOD}\n(S )\n{GOOD}\n", "2: tree 2 has no words", 2),
    ("nothing", f"{GOOD}\n( )\n{GOOD}\n", "2: tree 2 has no words", 2),
    ("the empty tree", f"{GOOD}\n(())\n{GOOD}\n", "2: tree 2 has an empty bracket", 2),
    ("empty phrase", f"{GOOD}\n(S\n (NP )\n (NN a))\n{GOOD}\n", "3: tree 2 has no word under 'NP'", 2),
    ("four fields", f"{GOOD}\n(S (NN a b c))\n{GOOD}\n", "2: tree 2 has 3 words under one label 'NN'", 2),
    ("bare word", f"{GOOD}\n(S (NN a) b)\n{GOOD}\n", "2: tree 2 has the bare word 'b' beside", 2),
    (
        "fault inside unindented lines",
        f"(TOP\n(S\n(A a b c)\n(B b)\n)\n)\n{GOOD}\n",
        "3: tree 1 has 3 words",
        1,
    ),
    ("unclosed unindented lines", f"{GOOD}\n(TOP\n(S\n(A a)\n(B b)\n", "2: tree 2 has 2 unclosed", 1),
    ("two faults in a tree", f"(S (A a b c) (B ))\n{GOOD}\n", "1: tree 1 has 3 words", 1),
]


@pytest.mark.parametrize(
    ("text", "message", "n_good"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_faults(tmp_path: Path, text: str, message: str, n_good: int) -> None:
    with pytest.raises(TreebankError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/trees.mrg:{message}")
    found, messages = skimmed(tmp_path, text)
    assert len(messages) == 1
    assert messages[0].startswith(f"trees.mrg:{message}")
    assert len(found) == n_good
    assert all(tree == GOOD or tree.startswith("(S") for tree in found)


BROKEN = [
    "( (S (NN x)",
    "( (S (NN x))))",
    "( (S ( (NN x))))",
    "( (S (NN x) ()))",
    "( (S (NN x y z)))",
    "( (S (NN x) y))",
    "( (S ))",
]


@given(st.lists(trees().map(lambda tree: str(tree) if tree.label == "" else f"( {tree})") | st.sampled_from(BROKEN)))
def test_skipping_loses_no_good_tree(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    found, messages = skimmed(tmp_path_factory.mktemp("skip"), "\n".join(lines))
    n_faults = sum(line in BROKEN for line in lines)
    # The tree before a stray bracket is a tree; nothing else of a broken line is.
    good = ["( (S (NN x)))" if line == "( (S (NN x))))" else line for line in lines]
    assert found == [line for line in good if line not in BROKEN]
    assert len(messages) == n_faults


def test_many_unclosed_trees_do_not_exhaust_the_stack(tmp_path: Path) -> None:
    found, messages = skimmed(tmp_path, "(S\n" * 1100 + "(S (B b))\n")
    assert found == ["(S (B b))"]
    assert len(messages) == 1100


def test_faults_are_reported_before_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_bytes(b"(S a)\n(S (A a b c)\n\xff\n")
    with pytest.raises(TreebankError, match=":2: tree 2 has 3 words"):
        list(read_trees(path))


def test_parser_output_may_be_empty(tmp_path: Path) -> None:
    text = "(())\n( ())\n()\n(TOP (S (NP ) (NN a)))\n(TOP )\n"
    found = read(tmp_path, text, allow_empty=True)
    assert found == ["(())", "(())", "(())", "(TOP (S (NP) (NN a)))", "(TOP)"]
    assert parse_tree("(())") == EMPTY_TREE


@pytest.mark.parametrize("text", ["", "(A a) (B b)", "(A a", "(A a))"])
def test_parse_tree_expects_one_tree(text: str) -> None:
    with pytest.raises(TreebankError, match=r"^<text>:1: "):
        parse_tree(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.mrg: cannot be opened"):
        list(read_trees(tmp_path / "absent.mrg"))
    with pytest.raises(UsageError, match="the directory holds no files"):
        list(read_trees(tmp_path))
    (tmp_path / "latin1.mrg").write_bytes(b"(A a)\n(B \xe9)\n")
    with pytest.raises(TreebankError, match=r"latin1\.mrg:2: byte 0xe9 at column 4 is not UTF-8"):
        list(read_trees(tmp_path / "latin1.mrg"))
    (tmp_path / "cut.mrg.gz").write_bytes(gzip.compress(b"(A a)\n" * 1000)[:-12])
    with pytest.raises(TreebankError, match="the gzip file is damaged"):
        list(read_trees(tmp_path / "cut.mrg.gz"))
    (tmp_path / "plain.mrg.gz").write_bytes(b"(A a)\n")
    with pytest.raises(TreebankError, match="the gzip file is damaged"):
        list(read_trees(tmp_path / "plain.mrg.gz"))


@pytest.mark.parametrize(
    ("name", "n_trees", "n_words"),
    [
        ("wsj-sample/dev.mrg.gz", 273, 6327),
        ("gum/dev.mrg.gz", 1575, 28119),
        ("craft/dev.mrg.gz", 2780, 67652),
        ("cess-es/dev.mrg.gz", 455, 16231),
    ],
)
def test_counts_of_the_shared_data(data_dir: Path, name: str, n_trees: int, n_words: int) -> None:
    """The numbers of trees and of words without traces that the data's own description gives."""
    cleaned = [Cleaning()(tree) for tree in read_trees(data_dir / name)]
    assert len(cleaned) == n_trees
    assert sum(len(tree.words()) for tree in cleaned if tree is not None) == n_words


def test_leaves_with_lemmas_in_the_shared_data(data_dir: Path) -> None:
    found = list(read_trees(data_dir / "cess-es/sample-with-lemmas.mrg.gz"))
    assert len(found) == 100
    assert found[0].leaves()[0].lemma == "el"
