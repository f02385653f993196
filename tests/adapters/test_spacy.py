"""The component in real spaCy pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lveg.model_io import save_model
from lveg.training import train_parser, train_tagger
from lveg.treebank.synthetic import ENGLISH

spacy = pytest.importorskip("spacy", reason="needs the package spacy")

DATA = ENGLISH.parent
TEXT = "The dog saw a cat. The cat slept."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_model(train_parser(DATA / "demo-dev.mrg", model="pcfg"), folder / "parser")
    save_model(train_tagger(DATA / "demo-dev.conllu", model="hmm"), folder / "upos")
    save_model(train_tagger(DATA / "demo-dev.conllu", model="hmm", column="xpos"), folder / "xpos")
    return folder


def _pipeline(*models: Path) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    for model in models:
        nlp.add_pipe("lveg", name=model.name, config={"model": str(model)})
    return nlp


def test_the_factory_is_found_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    named = entry_points(group="spacy_factories", name="lveg")
    if not named:
        pytest.skip("lveg is on the path, but not installed")
    assert named["lveg"].load().__name__ == "make_component"
    assert spacy.blank("en").has_factory("lveg")


def test_tags(models: Path) -> None:
    doc = _pipeline(models / "upos", models / "xpos")(TEXT)
    assert [token.pos_ for token in doc][:4] == ["DET", "NOUN", "VERB", "DET"]
    assert [token.tag_ for token in doc][:4] == ["DT", "NN", "VBD", "DT"]
    assert "constituents" not in doc.spans


def test_constituents(models: Path) -> None:
    doc = _pipeline(models / "parser")(TEXT)
    first, second = doc.sents
    assert [tree.words() for tree in doc._.trees] == [[token.text for token in part] for part in (first, second)]
    assert [token.tag_ for token in doc] == [tag for tree in doc._.trees for tag in tree.tags()]
    found = [(span.label_, span.start, span.end) for span in doc.spans["constituents"]]
    tree = doc._.trees[0]
    expected = [(node.label, start, end) for node, start, end in tree.spans()[1:] if node.word is None]
    assert found[: len(expected)] == expected
    assert ("NP", 0, 2) in found
    assert {span.text for span in second._.constituents} >= {"The cat", "The cat slept."}
    assert all(span.start >= second.start for span in second._.constituents)
    assert [span.label_ for span in doc[0:2]._.constituents] == ["NP"]


def test_white_space_and_empty_texts(models: Path) -> None:
    nlp = _pipeline(models / "parser")
    doc = nlp("The dog  saw\n a cat.")
    assert any(token.is_space for token in doc)
    assert doc._.trees[0].words() == ["The", "dog", "saw", "a", "cat", "."]
    assert doc.spans["constituents"][0].text == doc.text
    for text in ("", " \n"):
        assert nlp(text)._.trees == []
        assert list(nlp(text).spans["constituents"]) == []


def test_many_documents_are_like_one_at_a_time(models: Path) -> None:
    nlp = _pipeline(models / "parser", models / "upos")
    texts = [TEXT, "", "A dog slept."] * 5
    for text, doc in zip(texts, nlp.pipe(texts, batch_size=4), strict=True):
        alone = nlp(text)
        assert doc._.trees == alone._.trees
        assert [token.pos_ for token in doc] == [token.pos_ for token in alone]


def test_a_pipeline_is_saved_and_loaded(models: Path, tmp_path: Path) -> None:
    _pipeline(models / "parser").to_disk(tmp_path / "nlp")
    doc = spacy.load(tmp_path / "nlp")(TEXT)
    assert len(doc._.trees) == 2
    again = spacy.tokens.Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert again._.trees == doc._.trees
    assert [span.label_ for span in again.spans["constituents"]] == [span.label_ for span in doc.spans["constituents"]]
