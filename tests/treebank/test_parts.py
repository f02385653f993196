"""Files cut into parts: read one by one, they have the same sentences as the whole file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lveg.errors import TreebankError
from lveg.text.ptb import PtbTokeniser
from lveg.treebank.parts import cut
from lveg.treebank.source import Faults, InputFormat
from lveg.treebank.text import Input, Reading, read_part, read_sentences

ROW = "\t_\t_\t_\t_\t_\t_\t_\t_\n"
FILES: dict[str, str] = {
    "lines.txt": "\ufeffa b\n\nc\u2028d\re\r\nf\n \nlast",
    "blocks.conllu": f"# only a comment\n\n1\ta{ROW}2\tb{ROW}\n\n\n1\tc{ROW}\r\n# sent_id = x\n1\td{ROW}",
    "trees.mrg": "( (S (A a)\n  (B b)) ) ( (S\n(A c)))\n\n  (S (A d))\n(())\n(TOP (X (Y e)))",
    "objects.jsonl": '["a", "b"]\n[]\n{"words": ["c"], "id": 5}\n',
    "empty.txt": "",
}


@pytest.mark.parametrize("count", [1, 2, 3, 100])
@pytest.mark.parametrize("name", list(FILES))
def test_parts_have_the_sentences_of_the_file(name: str, count: int, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(FILES[name].encode())
    reading = Reading(keep_blanks=True)
    parts = list(cut(str(file), reading.format_of(name), False, count))
    assert b"".join(part.data for part in parts) == file.read_bytes()
    assert [part.number for part in parts] == list(range(len(parts)))
    whole = list(read_sentences(file, reading))
    found = [sentence for part in parts for sentence in read_part(str(file), part, reading, Faults())]
    assert found == whole
    assert [(one.file, one.line) for one in found] == [(one.file, one.line) for one in whole]
    assert (len(parts) > 1) == (count < 3 and bool(whole)) or count == 3


def test_large_parts_end_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lveg.treebank.parts.LARGEST_PART", 10)
    file = tmp_path / "a.txt"
    file.write_text("a long line\n" * 3)
    assert [part.line for part in cut(str(file), "text", False, 100)] == [1, 2, 3]


def test_raw_text_is_cut_between_paragraphs(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("He slept. She\ndid.\n \u00a0\n\nIt was late.\n\n\nThe end.\n")
    reading = Reading(tokeniser=PtbTokeniser())
    parts = list(cut(str(file), "text", True, 1))
    found = [sentence for part in parts for sentence in read_part(str(file), part, reading, Faults())]
    assert [sentence.id for sentence in found] == ["1.1", "1.2", "5.1", "8.1"]
    assert "# sent_id = 1.2\n" in str(found[1].sentence)
    whole = list(read_sentences(file, reading))
    assert [sentence.id for sentence in whole] == [1, 2, 3, 4]

    def bare(sentence: Input) -> Input:
        return replace(sentence, id=None, sentence=None)

    assert list(map(bare, found)) == list(map(bare, whole))


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.mrg", "(S (A a))\n(S (B b))\n(S (C c) d)\n", ":3: tree 3 has the bare word"),
        ("a.conllu", f"1\ta{ROW}\n1\tb{ROW}\n2\tc{ROW}\n", ":5: id 2 is out of order"),
        ("a.txt", "a\nb\n\udcff\n", ":3: byte 0xff"),
        ("a.jsonl", "[]\n[]\n[1]\n", ":3: expected an array"),
    ],
)
def test_faults_are_located_in_the_file(name: str, text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    form: InputFormat = Reading().format_of(name)
    last = list(cut(str(file), form, False, 1))[-1]
    assert last.number > 0
    with pytest.raises(TreebankError) as caught:
        list(read_part(str(file), last, Reading(), Faults()))
    assert str(caught.value).startswith(f"{file}{what}")


def test_an_unclosed_tree_is_found_as_in_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "a.mrg"
    file.write_text("(TOP (S (A a)))\n(TOP (S (B b)\n(TOP (S (C c)))\n")
    whole, parts = Faults(skip=True), Faults(skip=True)
    expected = list(read_sentences(file, faults=whole))
    cuts = cut(str(file), "brackets", False, 1)
    assert [one for part in cuts for one in read_part(str(file), part, Reading(), parts)] == expected
    assert parts.messages == whole.messages
    assert len(expected) == 2
