"""Tokenisers learned from a treebank: what they see, what they find, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from small import packed
from spaced import spaced, write_spaced

import lveg
from lveg.container import read_whole, unpack
from lveg.errors import ModelError, UsageError
from lveg.evaluation.models import score_tokeniser
from lveg.model_io import describe_model, load_model, save_model
from lveg.text.characters import LABELS, LENGTH, examples, labels, positions, stand_ins, views
from lveg.text.expansions import Expansions, learn_expansions
from lveg.text.joined import joined_words
from lveg.text.learned import WINDOW, LearnedTokeniser
from lveg.text.surroundings import MORE
from lveg.text.tokens import Token, TokenSentence, paragraphs, text_of
from lveg.treebank.raw import read_tokens, to_conllu


@pytest.fixture(scope="module")
def tokeniser() -> LearnedTokeniser:
    return lveg.train_tokeniser(spaced("train", 300), spaced("dev", 40))


def test_a_tokeniser_finds_what_it_was_trained_on(tokeniser: LearnedTokeniser) -> None:
    gold = spaced("dev", 100)
    scores = score_tokeniser(tokeniser, gold)
    assert scores.tokens.f1 > 99
    assert scores.words.f1 > 99
    assert scores.sentences.f1 > 95
    assert tokeniser.info["dev"]["token_f1"] > 99
    assert any(len(token.words) == 2 for sentence in gold for token in sentence.tokens)


def test_text_is_kept_and_paragraphs_end_sentences(tokeniser: LearnedTokeniser) -> None:
    text = "a dog\n\nthe   cat\tslept\n\n\n!\n"
    found = list(tokeniser.sentences(text))
    assert text_of(found) == "a dog\n\nthe cat slept\n\n!"
    assert [sentence.starts_paragraph for sentence in found].count(True) == 3
    assert list(tokeniser.sentences("")) == list(tokeniser.sentences(" \n ")) == []


def test_long_paragraphs_are_labelled_in_windows(tokeniser: LearnedTokeniser) -> None:
    gold = spaced("dev", 150)
    assert len(text_of(gold)) > 3 * WINDOW
    assert score_tokeniser(tokeniser, gold).tokens.f1 > 99
    endless = "x" * (2 * WINDOW + 7)
    assert text_of(tokeniser.sentences(endless)) == endless


def test_training_again_gives_the_same_bytes(tokeniser: LearnedTokeniser, tmp_path: Path) -> None:
    for name, model in (("one", tokeniser), ("other", lveg.train_tokeniser(spaced("train", 300), spaced("dev", 40)))):
        save_model(model, str(tmp_path / name))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_files(tokeniser: LearnedTokeniser, tmp_path: Path) -> None:
    path = str(tmp_path / "t.model")
    save_model(tokeniser, path)
    loaded = load_model(path)
    assert isinstance(loaded, LearnedTokeniser)
    text = text_of(spaced("dev", 30))
    assert list(loaded.sentences(text)) == list(tokeniser.sentences(text))
    facts = describe_model(loaded)
    assert facts["task"] == "tokeniser"
    assert facts["multiword_tokens"] == len(tokeniser.expansions.lexicon) > 0


def test_a_tagger_keeps_its_tokeniser(tmp_path: Path) -> None:
    train = write_spaced(tmp_path / "train.conllu", "train", 60)
    options: dict[str, Any] = {"epochs": 1, "context": "forms", "held_out": 0.0}
    tagger = lveg.train_tagger(train, with_tokeniser=True, **options)
    plain = lveg.train_tagger(train, **options)
    save_model(tagger, str(tmp_path / "both"))
    save_model(plain, str(tmp_path / "plain"))
    both, alone = load_model(str(tmp_path / "both")), load_model(str(tmp_path / "plain"))
    assert isinstance(both, lveg.Tagger)
    assert isinstance(alone, lveg.Tagger)
    assert alone.tokeniser is None
    assert both.tokeniser is not None
    assert both.tag("The dog saw it .").log_prob == alone.tag("The dog saw it .").log_prob
    assert len(list(both.tokeniser.sentences("The dog saw it.\n\nIt slept."))) == 2
    assert describe_model(both)["tokeniser"]["task"] == "tokeniser"
    with pytest.raises(UsageError, match="files"):
        lveg.train_tagger([[("a", "X")]], with_tokeniser=True)


class TestHostileFiles:
    @pytest.fixture
    def sound(self, tokeniser: LearnedTokeniser, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        save_model(tokeniser, str(tmp_path / "t"))
        text, tensors = unpack(read_whole(str(tmp_path / "t")))
        return msgspec.json.decode(text), tensors

    def refused(self, header: dict[str, Any], tensors: dict[str, Any], folder: Path) -> str:
        (folder / "bad").write_bytes(packed(msgspec.json.encode(header).decode(), tensors))
        with pytest.raises(ModelError) as caught:
            load_model(str(folder / "bad"))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_headers(self, sound: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path) -> None:
        header, tensors = sound
        (tmp_path / "good").write_bytes(packed(msgspec.json.encode(header).decode(), tensors))
        assert load_model(str(tmp_path / "good")).task == "tokeniser"
        text = header["text"]
        for change in (
            {"text": {**text, "expansions": {"al": ["al"]}}},
            {"text": {**text, "expansions": {"al": ["a", ""]}}},
            {"text": {**text, "expansions": {"": ["a", "b"]}}},
            {"text": {**text, "expansions": [1]}},
            {"text": {**text, "either": [1]}},
            {"text": {**text, "more": 1}},
            {"text": {**text, "seen_as": {"“": "''"}}},
            {"text": {**text, "seen_as": {"“": " "}}},
            {"column": "upos"},
            {"task": "tagger", "column": "upos"},
            {"family": "none"},
            {"tokeniser": header},
            {"symbols": [[f"odd {label}", *rest] for label, *rest in header["symbols"]]},
        ):
            self.refused({**header, **change}, tensors, tmp_path)
        self.refused({key: value for key, value in header.items() if key != "text"}, tensors, tmp_path)
        self.refused(header, {**tensors, "tokeniser.weight": tensors["weight"]}, tmp_path)

    def test_what_a_tagger_has_as_its_tokeniser(
        self, sound: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
    ) -> None:
        header, tensors = sound
        tagger = {key: value for key, value in header.items() if key != "text"} | {"task": "tagger", "column": "upos"}
        both = tensors | {f"tokeniser.{name}": array for name, array in tensors.items()}
        (tmp_path / "good").write_bytes(packed(msgspec.json.encode(tagger | {"tokeniser": header}).decode(), both))
        assert load_model(str(tmp_path / "good")).task == "tagger"
        self.refused(tagger | {"tokeniser": tagger}, both, tmp_path)
        self.refused(tagger | {"tokeniser": header}, tensors, tmp_path)
        self.refused(tagger, both, tmp_path)


class TestExpansions:
    lexicon = Expansions(
        {"del": ("de", "el"), "dámelo": ("da", "me", "lo"), "au": ("à", "le"), "evdeki": ("evde", "ki")}
    )

    @pytest.mark.parametrize(
        ("token", "words"),
        [
            ("del", ["de", "el"]),
            ("Del", ["De", "el"]),
            ("DEL", ["DE", "EL"]),
            ("Au", ["À", "le"]),
            ("Ankara'daki", ["Ankara'da", "ki"]),
            ("ki", ["ki"]),
            ("zzz", ["zzz"]),
        ],
    )
    def test_words_of_a_token(self, token: str, words: list[str]) -> None:
        assert list(self.lexicon.words(token)) == words

    def test_the_most_frequent_words_are_kept(self) -> None:
        tokens = [Token("Del", ("De", "el")), Token("del", ("de", "el")), Token("del", ("d", "el")), Token("x", ("x",))]
        found = learn_expansions([TokenSentence(tuple(tokens))])
        assert found.lexicon == {"del": ("de", "el")}
        assert found.is_certain("DEL")
        assert not found.is_certain("x")
        also = learn_expansions([TokenSentence((*tokens, Token("DEL", ("DEL",))))])
        assert not also.is_certain("del")


class TestCharacters:
    def test_labels_and_views_are_parallel(self) -> None:
        sentences = spaced("dev", 30)
        text = text_of(sentences)
        assert len(labels(sentences)) == len(views(text)) == len(positions(text))
        assert {label for example in examples(sentences) for _, label in example} <= set(LABELS)

    def test_a_token_may_contain_a_space(self) -> None:
        sentence = TokenSentence((Token("10 000", ("10 000",)), Token(".", (".",))))
        assert labels([sentence]) == ["inside"] * 4 + ["token", "sentence"]

    def test_a_view_depends_on_few_characters(self) -> None:
        text = "aa bb cc dd."
        assert views(f"{text} Ee")[8] == views(f"zz{text[2:]} Ee")[8]
        assert views(f"{text} Ee")[8] != views(f"{text} ee")[8]

    def test_examples_end_anywhere(self) -> None:
        sentences = spaced("dev", 60)
        found = examples(sentences)
        assert [label for example in found for _, label in example] == labels(sentences)
        assert {len(example) for example in found[:-1]} == {LENGTH}
        assert {example[-1][1] for example in found} > {"sentence"}

    def test_unseen_characters_are_seen_as_those_used_alike(self) -> None:
        sentence = TokenSentence((Token('"', ('"',)), Token("—", ("—",)), Token("“", ("“",)), Token('"', ('"',))))
        found = stand_ins([sentence])
        assert found["”"] == '"'
        assert found["-"] == "—"
        assert not found.keys() & set("'“\"—")
        gold = [TokenSentence((Token("a", ("a",)), Token("”", ("”",))))]
        assert examples(gold, found)[0][1][0] == views('a "')[1]

    def test_what_surrounds_the_end_of_a_sentence(self) -> None:
        names = views('He ( or "she ) left. It rained')
        assert {"next It", "length 4 . ⇑", "since 4 . ⇑", "enclosed 01 ⇓. ⇑"} <= set(names[14].split(MORE))
        assert {"left left", "right .", "sides L P"} <= set(names[13].split(MORE))
        assert MORE not in names[12]


class TestConllu:
    def test_tokens_round_trip(self, tmp_path: Path) -> None:
        path = write_spaced(tmp_path / "a.conllu", "dev", 40)
        assert read_tokens(path) == spaced("dev", 40)

    def test_spaces_are_as_in_the_text(self, tmp_path: Path) -> None:
        rows = "1\tgo\t_\t_\t_\t_\t_\t_\t_\t_\n2\t.\t_\t_\t_\t_\t_\t_\t_\t{}\n\n"
        path = tmp_path / "a.conllu"
        for comment, text in (
            ("# text = go.\n", "go. go."),
            ("# sentence-text: go.\n", "go. go."),
            ("# text = went.\n", "go . go ."),
            ("", "go . go ."),
            ("# newpar\n# text = go.\n", "go.\n\ngo."),
        ):
            path.write_text(2 * (comment + rows.format("_")))
            assert text_of(read_tokens(path)) == text
        path.write_text(2 * ("# text = go.\n" + rows.format("SpaceAfter=No")))
        assert text_of(read_tokens(path)) == "go.go."

    def test_what_is_written(self) -> None:
        tokens = (Token("Va", ("Va",)), Token("al", ("a", "el")), Token("mar", ("mar",), False), Token(".", (".",)))
        written = str(to_conllu(TokenSentence(tokens, True), 3)).replace("\t_" * 7, "\t*")
        assert written == (
            "# newpar\n# sent_id = 3\n# text = Va al mar.\n1\tVa\t*\t_\n2-3\tal\t*\t_\n2\ta\t*\t_\n3\tel\t*\t_\n"
            "4\tmar\t*\tSpaceAfter=No\n5\t.\t*\t_\n\n"
        )


def test_paragraphs() -> None:
    assert list(paragraphs(["a\u00a0 b \n", "c\n", " \n", "\n", "\td"])) == ["a b c", "d"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("He did go .", None),
        ("He did go.", ("go", ".")),
        ("He didn't go .", ("did", "n't")),
        ("( He", None),
        ("(He did", ("(", "He")),
        ("Mr. Xyz. did", None),
        ("GO. did", ("GO", ".")),
        ("He, did", None),
        ("He ran.", ("ran", ".")),
        ("ran. He", None),
    ],
)
def test_text_that_is_not_tokenised(words: str, found: tuple[str, str] | None) -> None:
    known = {"He", "did", "go", ".", "n't", "(", "Mr."}
    assert joined_words(words.split(), known) == found
