"""`lveg combine`: several parsers in one file, which is a model like any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import FAMILIES, quick_options, small_file

from lveg.model import Parser, combine
from lveg.model_io import load_model, save_model
from lveg.training import train_parser

from .conftest import Run, Samples

TEXT = "The dog saw a cat .\nA cat slept .\n\nThe dogs near the river saw a cat with a telescope .\n"
MODELS = [model for task, model in FAMILIES if task == "parser"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a parser of every family, and one of other trees."""
    folder = tmp_path_factory.mktemp("combined")
    train = small_file(folder, "parser", 60)
    small_file(folder, "parser", 15, "dev")
    for model in MODELS:
        save_model(train_parser(train, model=model, **quick_options("parser", model)), str(folder / model))
    save_model(train_parser(folder / "dev.mrg", model="pcfg"), str(folder / "other"))
    (folder / "text").write_text(TEXT)
    return folder


def load(path: Path) -> Parser:
    """The parser in a file."""
    model = load_model(str(path))
    assert isinstance(model, Parser)
    return model


def test_a_product_of_every_family_parses_like_any_model(run: Run, models: Path) -> None:
    first, *others = (models / model for model in MODELS)
    outcome = run("combine", first, *others, "--out", "product")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.startswith("wrote product (")
    also = [option for path in others for option in ("--with", path)]
    for options in ((), ("--format", "jsonl"), ("--kbest", "3"), ("--decoder", "mbr")):
        together = run("parse", first, models / "text", *also, *options)
        assert run("parse", "product", models / "text", *options) == together
        assert together.status == 0
    gold = models / "dev.mrg"
    scores = json.loads(run("evaluate", gold, "--model", "product", "--json").out)
    assert scores == json.loads(run("evaluate", gold, "--model", first, *also, "--json").out)
    assert len(load(Path("product")).sample("A cat slept .", 3)) == 3


def test_shared_arrays_are_stored_once(run: Run, models: Path) -> None:
    run("combine", models / "pcfg", models / "gm", models / "lvg", "--out", "product")
    sizes = {name: (models / name).stat().st_size for name in ("pcfg", "gm", "lvg")}
    learned = sum(sizes[name] - sizes["pcfg"] for name in ("gm", "lvg"))
    assert Path("product").stat().st_size < sizes["pcfg"] + learned + 3000


def test_products_of_products_are_products_of_all(run: Run, models: Path) -> None:
    run("combine", models / "gm", models / "lvg", "--out", "two")
    run("combine", "two", models / "pcfg", "--out", "three")
    run("combine", models / "gm", models / "lvg", models / "pcfg", "--out", "all")
    assert Path("three").read_bytes() == Path("all").read_bytes()


def test_info_describes_the_members(run: Run, models: Path) -> None:
    run("combine", models / "gm", models / "lvg", "--out", "product")
    facts = json.loads(run("info", "product", "--json").out)
    assert facts["model"] == "product"
    assert [member["model"] for member in facts["members"]] == ["gm", "lvg"]
    assert [info["config"]["model"] for info in facts["trained"]] == ["gm", "lvg"]
    shown = run("info", "product").out.splitlines()
    assert "members:" in shown
    assert "  1:" in shown
    assert "      model: lvg" in shown
    assert "was combined from other models" in run("info", "product", "--config").refusal()


def test_combining_one_parser_gives_that_parser(models: Path) -> None:
    parser = load(models / "gm")
    assert combine([parser]) is parser


def test_incompatible_models_are_refused(run: Run, models: Path, samples: Samples) -> None:
    Path("gm").write_bytes((models / "gm").read_bytes())
    assert "parser 2 has other rules" in run("combine", "gm", models / "other", "--out", "m").refusal()
    assert "is a tagger" in run("combine", "gm", samples.tagger, "--out", "m").refusal()
    assert "nowhere: cannot be opened" in run("combine", "gm", "nowhere", "--out", "m").refusal()
    assert "choose another file" in run("combine", models / "lvg", "gm", "--out", "gm").refusal()
    assert "there is no directory" in run("combine", "gm", models / "lvg", "--out", "none/m").refusal()
    assert run("combine", "--out", "m").status == 2
    assert not Path("m").exists()
    assert Path("gm").read_bytes() == (models / "gm").read_bytes()
