"""What training does beyond a single family: options by size, ensembles, the decoder that it records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lveg
from lveg.errors import UsageError
from lveg.evaluation.models import score_parser
from lveg.families.contextual.family import Contextual
from lveg.families.contextual.options import ContextOptions
from lveg.families.gm.options import GmOptions
from lveg.families.product.family import Product
from lveg.families.tag_forms.options import TagFormsOptions
from lveg.model import Parser
from lveg.training import train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

QUICK: dict[str, Any] = {"epochs": 1, "components": 2, "dim": 2, "context_epochs": 1}


def trees() -> list[Tree]:
    return [tree for tree in read_trees(ENGLISH.parent / "demo-train.mrg") if len(tree.words()) <= 9][:80]


@pytest.mark.parametrize(
    ("sentences", "batch", "epochs", "patience"),
    [(1, 8, 45, 15), (200, 8, 45, 15), (1000, 25, 26, 9), (2999, 64, 15, 5), (3000, 64, 15, 5), (10**6, 64, 15, 5)],
)
def test_few_sentences_get_smaller_batches_and_more_epochs(
    sentences: int, batch: int, epochs: int, patience: int
) -> None:
    found = GmOptions().for_size(sentences, ())
    assert (found.batch, found.epochs, found.patience) == (batch, epochs, patience)


def test_what_is_given_does_not_follow_the_size() -> None:
    given = GmOptions(batch=100, epochs=3)
    assert given.for_size(200, {"batch", "epochs", "patience"}) == given
    assert given.for_size(200, {"batch", "epochs"}) == replace(given, patience=15)
    assert TagFormsOptions(batch=4).for_size(200, ()).batch == 4
    assert ContextOptions().for_size(200, ()).context_batch == 8
    assert ContextOptions().for_size(200, {"context_batch"}) == ContextOptions()


def test_the_default_is_a_gaussian_grammar_with_features() -> None:
    parser = train_parser(trees()[:60], trees()[60:], **QUICK)
    assert isinstance(parser.family, Contextual)
    assert (parser.info["config"]["model"], parser.info["config"]["context"]) == ("gm", "features")
    assert train_parser(trees()[:60], model="gm", epochs=1).info["config"]["context"] == "none"


def test_the_decoder_that_scores_best_is_recorded() -> None:
    parser = train_parser(trees()[:60], trees()[60:], **QUICK)
    assert parser.decoder == parser.info["decoder"]
    f1 = {decoder: score_parser(parser, trees()[60:], decoder).summary["f1"] for decoder in ("max-rule", "mbr")}
    assert f1[parser.decoder] == max(f1.values()) == parser.info["dev"]["f1"]
    for decoder in (None, 3, "best"):
        assert replace(parser, info={"decoder": decoder}).decoder == "max-rule"


def test_an_ensemble_needs_a_partner() -> None:
    with pytest.raises(UsageError, match="no partner for --model split-merge"):
        train_parser(trees()[:60], model="split-merge", ensemble=True)


def test_an_ensemble_is_one_model_file(tmp_path: Path) -> None:
    parser = train_parser(trees()[:60], trees()[60:], ensemble=True, **QUICK)
    assert isinstance(parser.family, Product)
    first, *partners = parser.family.members
    assert isinstance(first, Contextual)
    assert [partner.name for partner in partners] == ["split-merge"]
    lveg.save(parser, str(tmp_path / "m"))
    again = lveg.load(str(tmp_path / "m"))
    assert isinstance(again, Parser)
    words = trees()[61].words()
    assert again.parse(words).trees == parser.parse(words).trees
    same = train_parser(trees()[:60], trees()[60:], **parser.info["config"])
    lveg.save(same, str(tmp_path / "n"))
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
