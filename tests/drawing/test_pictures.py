"""Trees as SVG, HTML and LaTeX: well-formed for any words, complete, without overlaps."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lveg.drawing.figure import Figure, differences, labels_with, percent, row_of
from lveg.drawing.html import trees_page
from lveg.drawing.latex import latex_text, trees_document
from lveg.drawing.plane import Spot, plane_svg
from lveg.drawing.svg import sheet_svg, text_width, tree_svg
from lveg.drawing.text import beside, columns
from lveg.treebank.penn import parse_tree
from lveg.treebank.synthetic import read_grammar, sample_trees
from lveg.trees import EMPTY_TREE, Tree

NS = "{http://www.w3.org/2000/svg}"
HIGH = parse_tree("(TOP (S (NP (PRP He)) (VP (VBD saw) (NP (NN men)) (PP (IN with) (NP (NNS dogs))))))")
LOW = parse_tree("(TOP (S (NP (PRP He)) (VP (VBD saw) (NP (NP (NNS men)) (PP (IN with) (NP (NNS dogs)))))))")
HOSTILE = [
    "<script>alert</script>",
    "&amp;",
    "a\x00\x07\ud800b",
    "\"'",
    "\\",
    "{}$#%_^~",
    "]",
    ",",
    "=",
    "‮rtl",
    "東京",
    "שלום",
]


def hostile_tree() -> Tree:
    return Tree("S<&>\x01", [Tree(f"T{word}", (), word) for word in HOSTILE])


def texts(svg: str) -> list[tuple[str, float, float, float]]:
    """(text, x, y, font size) of each text."""
    found = ElementTree.fromstring(svg).iter(f"{NS}text")
    return [(one.text or "", *(float(one.attrib[name]) for name in ("x", "y", "font-size"))) for one in found]  # type: ignore[misc]


def test_svg_has_all_labels_and_words_and_nothing_overlaps() -> None:
    for tree in sample_trees(read_grammar(), 30, seed=3):
        found = texts(tree_svg(tree))
        assert sorted(text for text, *_ in found) == sorted([node.label for node in tree] + tree.words())
        rows: dict[float, list[tuple[float, float]]] = {}
        for text, x, y, size in found:
            half = text_width(text, size) / 2
            rows.setdefault(y, []).append((x - half, x + half))
        for row in rows.values():
            row.sort()
            assert all(left[1] < right[0] for left, right in pairwise(row))
        words = sorted((x, text) for text, x, y, _ in found if y == max(rows))
        assert [text for _, text in words] == tree.words()


def test_posteriors_are_shades_and_numbers() -> None:
    svg = tree_svg(LOW, {("NP", 2, 5): 0.25, ("VP", 1, 5): 0.999, ("NNS", 2, 3): 0.5})
    numbers = [text for text, *_ in texts(svg) if text.endswith("%")]
    assert numbers == [">99%", "25%"]
    shades = [
        float(one.attrib["fill-opacity"]) for one in ElementTree.fromstring(svg).iter(f"{NS}rect") if "x" in one.attrib
    ]
    assert shades[0] > 2 * shades[1]
    assert "probability 0.2500" in svg
    assert percent(0.001) == "<1%"
    assert percent(1.0) == "100%"


def test_what_the_best_tree_does_not_have_is_marked() -> None:
    assert differences(HIGH, LOW) == {("NP", 2, 5), ("NNS", 2, 3)}
    best, other = row_of([HIGH, LOW], captions=["1", "2"])
    assert not best.marked
    assert other.marked == {("NP", 2, 5), ("NNS", 2, 3)}
    assert row_of([LOW, HIGH])[1].caption == "without NP “men with dogs”"
    assert sheet_svg([[best, other]]).count("stroke-dasharray") == 2
    assert labels_with(other.marks()).count("NP*") == 1


def test_hostile_words_are_escaped_in_svg_and_html() -> None:
    tree = hostile_tree()
    found = [text for text, *_ in texts(tree_svg(tree))]
    assert "<script>alert</script>" in found
    assert "a\ufffd\ufffd\ufffdb" in found
    made = trees_page([row_of([tree])], "a <b> & c")
    assert "<script" not in made
    assert "http" not in made.replace("http://www.w3.org/2000/svg", "")
    opened: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "br"):
                opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Checker().feed(made)
    assert not opened
    made.encode("utf-8")


@pytest.mark.parametrize(
    "tree", [EMPTY_TREE, Tree("NP"), Tree("UH", (), "no"), Tree("S", [Tree("NP"), Tree("UH", (), "no")])]
)
def test_trees_of_one_node_or_without_words(tree: Tree) -> None:
    assert tree._repr_svg_() == tree_svg(tree)
    ElementTree.fromstring(tree_svg(tree, {("NP", 0, 0): 0.5}))
    assert trees_document([[Figure(tree)]]).count("\\begin{forest}") == 1


def test_deep_and_wide_trees_are_drawn() -> None:
    deep = Tree("NN", (), "deep")
    for _ in range(3000):
        deep = Tree("X", [deep])
    assert tree_svg(deep).count(">X</text>") == 3000
    assert trees_document([[Figure(deep)]]).count("[{X}") == 3000
    wide = Tree("X", [Tree("N", (), "word")] * 300)
    made = trees_page([[Figure(wide)]], "wide")
    width = int(ElementTree.fromstring(tree_svg(wide)).attrib["width"])
    assert width > 10_000
    assert f"min-width:{round(0.6 * width)}px" in made


def test_latex_escapes_special_characters() -> None:
    assert latex_text("a_b%") == r"a\_b\%"
    assert latex_text("\\x{}\x00") == r"\textbackslash{}x\{\}?"
    made = trees_document([row_of([hostile_tree()], {("S<&>\x01", 0, 12): 0.5}, ["50%"])])
    body = made.split("\\begin{document}")[1]
    assert body.count("[{") == 2 * len(HOSTILE) + 1
    assert "\x00" not in made


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    tree = Tree("S", [Tree(word, (), word) for word in HOSTILE if word.isascii() and "\x00" not in word])
    (tmp_path / "trees.tex").write_text(trees_document([row_of([tree]), row_of([HIGH, LOW], {("NP", 2, 5): 0.5})]))
    if subprocess.run(["kpsewhich", "forest.sty", "standalone.cls"], capture_output=True).stdout.count(b"\n") < 2:
        pytest.skip("the package forest or the class standalone is not installed")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "trees.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


def test_drawings_stand_next_to_each_other_if_there_is_room() -> None:
    assert beside(["a\nbb", "東"], 20).splitlines() == ["a       東", "bb"]
    assert beside(["a", "b"], 5) == "a\n\nb"
    assert columns(beside(["東京", "b"], 80)) == 4 + 6 + 1


def test_the_plane_has_a_point_for_each_spot_and_labels_that_do_not_overlap() -> None:
    spots = [
        Spot("words" if n % 2 else "rules", f"<w{n}>", 1 / (n + 1), n % 7, n // 7, (1.0, 0.5), 30) for n in range(40)
    ]
    svg = plane_svg(spots)
    assert len(list(ElementTree.fromstring(svg).iter(f"{NS}ellipse"))) == 40
    boxes = [(x, y - 12, x + text_width(text, 12), y) for text, x, y, _ in texts(svg) if text.startswith("<")]
    assert len(boxes) > 5
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    ElementTree.fromstring(plane_svg([Spot("words", "alone", 1.0, 3.0, 4.0, (1.0, 1.0))]))
