"""Sentences from any input format."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import words

from lveg.errors import TreebankError, UsageError
from lveg.treebank.source import Faults, guess_format
from lveg.treebank.text import Input, Reading, count_sentences, read_sentences
from lveg.trees import Cleaning

CONLLU = """# sent_id = s1
1-2 ab _ _ _ _ _ _ _ _
1 a _ DET DT _ _ _ _ _
2 _ _ SYM _ _ _ _ _ _

"""
CONLLU = re.sub("^([0-9].*)$", lambda line: line[0].replace(" ", "\t"), CONLLU, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.txt", "text"),
        ("a.mrg", "brackets"),
        ("a.ptb", "brackets"),
        ("a.bracket", "brackets"),
        ("a.brackets", "brackets"),
        ("a.tree", "brackets"),
        ("a.trees", "brackets"),
        ("a.parse", "brackets"),
        ("a.conllu", "conllu"),
        ("a.conll", "conllu"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("A.MRG.gz", "brackets"),
        ("x/y.conllu/a.jsonl.gz", "jsonl"),
        ("a.txt.gz", "text"),
        ("x.conllu/plain", "text"),
        ("plain.gz", "text"),
        ("a.foo", "text"),
        ("-", "text"),
        ("", "text"),
    ],
)
def test_guess_format(name: str, expected: str) -> None:
    assert guess_format(name) == expected
    assert guess_format(Path(name)) == expected


def make(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_text_keeps_lines_aligned(tmp_path: Path) -> None:
    path = make(tmp_path, "a.txt", "\ufeffa b\n\n  c\t d \r\n \t\v\f\n\ne")
    assert [found.words for found in read_sentences(path)] == [["a", "b"], [], ["c", "d"], [], [], ["e"]]
    assert list(read_sentences(make(tmp_path, "b.txt", ""))) == []
    assert list(read_sentences(make(tmp_path, "c.txt", "\n"))) == [Input([])]


@given(st.lists(st.lists(words() | st.sampled_from(["(", ")"]), max_size=5), max_size=4))
def test_text_round_trip(tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]]) -> None:
    text = "".join(" ".join(sentence) + "\n" for sentence in sentences)
    path = make(tmp_path_factory.getbasetemp(), "drawn.txt", text if text[:1] != "\ufeff" else "\ufeff" + text)
    assert [found.words for found in read_sentences(path)] == sentences


def test_standard_input_is_text_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    give("a b\n")
    assert [found.words for found in read_sentences("-")] == [["a", "b"]]
    give("(NN a)\n")
    assert [found.words for found in read_sentences("-", Reading("brackets"))] == [["a"]]
    give('["a"]\n[\n')
    with pytest.raises(TreebankError, match=r"^<stdin>:2: not JSON"):
        list(read_sentences("-", Reading("jsonl")))


def test_brackets(tmp_path: Path) -> None:
    text = "( (S (NP-1 (NNP-X a)) (-NONE- *) (NN b)))\n(())\n( (S (-NONE- *)))\n"
    path = make(tmp_path, "a.mrg.gz", text)
    assert list(read_sentences(path)) == [Input(["a", "b"], ["NNP-X", "NN"]), Input([], []), Input([], [])]
    keep = Cleaning(strip_functions=False, empty_elements="")
    assert list(read_sentences(path, Reading(cleaning=keep))) == [
        Input(["a", "*", "b"], ["NNP-X", "-NONE-", "NN"]),
        Input([], []),
        Input(["*"], ["-NONE-"]),
    ]


def test_conllu(tmp_path: Path) -> None:
    path = make(tmp_path, "a.conllu", CONLLU)
    (found,) = read_sentences(path)
    assert (found.words, found.tags, found.id) == (["a", "_"], ["DET", "SYM"], "s1")
    assert found.sentence is not None
    assert str(found.sentence) == CONLLU
    assert [other.tags for other in read_sentences(path, Reading(column="xpos"))] == [["DT", "_"]]
    assert [other.tags for other in read_sentences(path, Reading(column="feats"))] == [None]


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        ["a", "b c", "(", "\u2009"],
        [],
        {"words": ["a"], "id": "x"},
        {"words": ["a", "b"], "tags": ["A", "B"], "id": 7, "more": {"is": ["passed", "over"]}},
        {"tags": None, "words": []},
    ]
    path = make(tmp_path, "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert list(read_sentences(path)) == [
        Input(["a", "b c", "(", "\u2009"]),
        Input([]),
        Input(["a"], None, "x"),
        Input(["a", "b"], ["A", "B"], 7),
        Input([]),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('["a", ""]', "word 2 is an empty string"),
        ('{"words": [""]}', "word 1 is an empty string"),
        ('{"words": ["a"], "tags": []}', "0 tags for 1 words"),
        ('{"words": ["a"], "tags": [""]}', "tag 1 is an empty string"),
        ('["a"', "not JSON: "),
        ("a b c", "not JSON: "),
        ('["a"] ["b"]', "not JSON: "),
        (r'["\ud800"]', "not JSON: "),
        ("", "an empty line; an empty sentence is []"),
        ("  ", "an empty line; an empty sentence is []"),
        ('["a", 1]', 'expected an array of words or an object with "words": Expected `str`, got `int`'),
        ('"a"', "expected an array of words or an object"),
        ("null", "expected an array of words or an object"),
        (
            '{"id": 1}',
            'expected an array of words or an object with "words": Object missing required field `words`',
        ),
        ('{"words": "a b"}', "expected an array of words or an object"),
        ('{"words": [], "id": [1]}', "expected an array of words or an object"),
        ("[" * 5000, "expected an array of words or an object"),
    ],
)
def test_faults_in_json_lines(tmp_path: Path, line: str, message: str) -> None:
    path = make(tmp_path, "a.jsonl", f'["a"]\n{line}\n["b"]\n')
    with pytest.raises(TreebankError) as caught:
        list(read_sentences(path))
    assert str(caught.value).startswith(f"{path}:2: {message}")
    faults = Faults(skip=True)
    assert [found.words for found in read_sentences(path, faults=faults)] == [["a"], ["b"]]
    assert faults.messages == [str(caught.value)]


def test_faults_are_skipped_in_every_format(tmp_path: Path) -> None:
    faults = Faults(skip=True)
    make(tmp_path, "1.mrg", "(NN a) )\n(NN b)\n")
    make(tmp_path, "2.conllu", "1\ta\n\n" + CONLLU)
    make(tmp_path, "3.jsonl.gz", '{}\n["c"]\n')
    make(tmp_path, "4.txt", "d\n")
    found = [found.words for found in read_sentences(sorted(tmp_path.iterdir()), faults=faults)]
    assert found == [["a"], ["b"], ["a", "_"], ["c"], ["d"]]
    assert [message.split(":")[0].removeprefix(f"{tmp_path}/") for message in faults.messages] == [
        "1.mrg", "2.conllu", "3.jsonl.gz",
    ]  # fmt: skip


def test_the_format_can_be_given(tmp_path: Path) -> None:
    path = make(tmp_path, "a.mrg", "(NN a)\n")
    assert [found.words for found in read_sentences(path, Reading("text"))] == [["(NN", "a)"]]
    with pytest.raises(UsageError, match="no input format 'xml'; there are text, brackets, conllu, jsonl"):
        Reading("xml")  # type: ignore[arg-type]


def test_a_directory_is_refused_with_advice(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "a\n")
    with pytest.raises(UsageError, match=r"is a directory; name the files in it, such as .*/\*\.txt$"):
        list(read_sentences([tmp_path / "a.txt", tmp_path]))


def test_sentences_know_where_they_begin(tmp_path: Path) -> None:
    files = [
        make(tmp_path, "1.txt", "a\nb\n"),
        make(tmp_path, "2.mrg", "\n(S (A a)\n(B b)) (C c)\n(D d)\n"),
        make(tmp_path, "3.conllu.gz", "# only a comment\n\n" + CONLLU + CONLLU),
        make(tmp_path, "4.jsonl", '["a"]\n{}\n["b"]\n'),
    ]
    found = [(Path(one.file).name, one.line) for one in read_sentences(files, faults=Faults(skip=True))]
    assert found == [
        ("1.txt", 1), ("1.txt", 2), ("2.mrg", 2), ("2.mrg", 3), ("2.mrg", 4), ("3.conllu.gz", 3), ("3.conllu.gz", 8),
        ("4.jsonl", 1), ("4.jsonl", 3),
    ]  # fmt: skip
    assert count_sentences(files) == len(found) + 1  # the malformed one counts
    assert [count_sentences(file) for file in files] == [2, 3, 2, 3]


def test_sentences_that_cannot_be_counted(tmp_path: Path) -> None:
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"a\nb\n" * 99)[:-9])
    for path in ("-", tmp_path, tmp_path / "nowhere", tmp_path / "cut.txt.gz", "/dev/null"):
        assert count_sentences([make(tmp_path, "a.txt", "a\n"), path]) is None


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "\n"])
def test_counting_agrees_with_reading(tmp_path: Path, text: str) -> None:
    path = make(tmp_path, "a.txt", text)
    assert count_sentences(path) == len(list(read_sentences(path)))


def test_blocks_without_words_are_kept_on_request(tmp_path: Path) -> None:
    text = "\n# a\n\n" + CONLLU + "\n# b"
    path = make(tmp_path, "a.conllu", text)
    assert [found.words for found in read_sentences(path)] == [["a", "_"]]
    kept = list(read_sentences(path, Reading(keep_blanks=True)))
    assert "".join(str(found.sentence) for found in kept) == text
    # A file that ends without a blank line gets one if another file follows.
    twice = "".join(str(found.sentence) for found in read_sentences([path, path], Reading(keep_blanks=True)))
    assert twice == f"{text}\n\n{text}"
