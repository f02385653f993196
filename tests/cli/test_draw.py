"""`lveg draw`, `lveg plot` and `lveg inspect`."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from .conftest import DOG, Run, Samples


def test_draw_sentences_with_probabilities(run: Run, samples: Samples) -> None:
    outcome = run("draw", samples.parser, stdin=f"{DOG}\n".encode())
    assert (outcome.status, outcome.err) == (0, "")
    assert "┌" in outcome.out
    assert "%" in outcome.out
    assert "probability " in outcome.out
    Path("s.txt").write_text(f"{DOG}\n\n")
    for name, begin in (("a.svg", "<svg"), ("a.html", "<!DOCTYPE html>"), ("a.tex", "% Compile"), ("a.txt", " ")):
        assert run("draw", samples.parser, "s.txt", "--count", 3, "--out", name) == (0, "", "")
        assert Path(name).read_text().startswith(begin)
    assert run("draw", samples.parser, "s.txt", "--out", "a.svg.gz").status == 0
    assert gzip.decompress(Path("a.svg.gz").read_bytes()).startswith(b"<svg")
    assert run("draw", samples.parser, "s.txt", "--format", "latex").out.count("\\begin{forest}") == 2
    assert Path("a.html").read_text().count("<figure ") == 4


def test_draw_trees_of_files(run: Run, samples: Samples) -> None:
    assert run("draw", samples.dev_trees, "--out", "dev.html").status == 0
    assert Path("dev.html").read_text().count("<figure ") == 40
    Path("lists.mrg").write_text("(S (NN a))\n(S (VB a))\n\n(S (NN a))\n(S (NN b))\n\n")
    assert run("draw", "lists.mrg", "--format", "html").out.count("<section>") == 3
    assert "VB*" in run("draw", "lists.mrg").out
    assert run("draw", stdin=b"(S (NN a))").out.split() == ["S", "│", "NN", "│", "a"]


def test_draw_refusals(run: Run, samples: Samples) -> None:
    Path("s.txt").write_text(f"{DOG}\n")
    assert "s.txt:1: " in run("draw", "s.txt").refusal()
    assert "nowhere: cannot be opened" in run("draw", "nowhere").refusal()
    assert "--count needs a model" in run("draw", samples.dev_trees, "--count", 2).refusal()
    assert "is a tagger" in run("draw", samples.tagger, "s.txt").refusal()
    assert "it is an input" in run("draw", samples.parser, "s.txt", "--out", "s.txt").refusal()


def test_the_suffix_says_how_trees_are_drawn(run: Run) -> None:
    Path("t.mrg").write_text("(S (NN a))\n")
    for name, begin in (("a", "S"), ("a.txt", "S"), ("a.SVG", "<svg")):
        assert run("draw", "t.mrg", "--out", name).status == 0
        assert Path(name).read_text().startswith(begin)
    assert run("draw", "t.mrg", "--out", "-").out.startswith("S")
    for name in ("d.pdf", "d.png", "d.pdf.gz"):
        refusal = run("draw", "t.mrg", "--out", name).refusal()
        assert "no pictures are written as .p" in refusal
        assert ".svg, .html, .htm, .tex, .txt" in refusal
        assert not Path(name).exists()
    assert run("draw", "t.mrg", "--out", "d.xhtml", "--format", "html").status == 0


def test_plot_the_log_of_a_run(run: Run, samples: Samples) -> None:
    pytest.importorskip("matplotlib", reason="`lveg plot` needs it")
    train = ("train", "tagger", samples.train_tags, "--dev", samples.dev_tags, "--model", "hmm")
    assert run(*train, "--out", "m", "--log", "m.log").status == 0
    assert run("plot", "m.log", "--out", "m.svg") == (0, "", "")
    assert Path("m.svg").read_text().count("<svg") == 1
    assert "it is an input" in run("plot", "m.log", "--out", "m.log").refusal()
    assert "ends in .svg" in run("plot", "m.log", "--out", "m.txt").refusal()


def test_inspect_models(run: Run, samples: Samples) -> None:
    for model, symbol in ((samples.parser, "NP"), (samples.tagger, "NOUN")):
        assert run("inspect", model, "--out", "m.html") == (0, "", "")
        page = Path("m.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert f"{symbol} (" in page
        assert len(page) > len(run("inspect", model, "--symbol", symbol, "--out", "-").out) > 1000
    assert "there is no symbol 'XYZ'" in run("inspect", samples.parser, "--symbol", "XYZ", "--out", "m.html").refusal()
    assert "it is an input" in run("inspect", samples.parser, "--out", samples.parser).refusal()
