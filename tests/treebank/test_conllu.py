"""CoNLL-U: no byte changes, and every fault is located."""

from __future__ import annotations

import gzip
import io
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import conllu_sentences

from lveg.errors import TreebankError, UsageError
from lveg.treebank.conllu import COLUMNS, Sentence, read_conllu, read_tagged, write_conllu
from lveg.treebank.source import Faults, open_output


def row(identifier: str | int, form: str = "x", upos: str = "NOUN", xpos: str = "NN", misc: str = "_") -> str:
    return f"{identifier}\t{form}\t_\t{upos}\t{xpos}\t_\t0\troot\t_\t{misc}\n"


RICH = (
    "# sent_id = s-1 \n"
    "# text = vámonos al _\n"
    + row("0.1", "e")
    + row("1-2", "vámonos", "_", "_", "SpaceAfter=No")
    + row(1, "vamos", "VERB", "V", "Tag=old|A=b")
    + row(2, "nos", "PRON", "P")
    + row("2.1", "e")
    + row("2.2", "e")
    + row("3-4", "al", "_", "_")
    + row(3, "a", "ADP", "S")
    + row(4, "el", "DET", "D", "SpaceAfter=No")
    + row(5, "_", "SYM", "_")
    + "\n"
)
PLAIN = row(1, "a") + row(2, "b") + "\n"


def read(tmp_path: Path, text: str, faults: Faults | None = None) -> list[Sentence]:
    path = tmp_path / "some.conllu"
    path.write_bytes(text.encode())
    return list(read_conllu(path, faults))


def written(sentences: list[Sentence]) -> str:
    stream = io.StringIO(newline="\n")
    write_conllu(sentences, stream)
    return stream.getvalue()


def test_accessors(tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, RICH)
    assert len(sentence) == 5
    assert sentence.words() == ["vamos", "nos", "a", "el", "_"]
    assert sentence.column("form") == sentence.words()
    assert sentence.column("upos") == ["VERB", "PRON", "ADP", "DET", "SYM"]
    assert sentence.column("xpos") == ["V", "P", "S", "D", "_"]
    assert sentence.column("misc") == ["Tag=old|A=b", "_", "_", "SpaceAfter=No", "_"]
    assert sentence.column("id") == ["1", "2", "3", "4", "5"]
    assert sentence.id == "s-1"
    with pytest.raises(ValueError, match="no column 'tag'; there are id, form"):
        sentence.column("tag")


def test_a_sentence_without_comments_has_no_id(tmp_path: Path) -> None:
    assert read(tmp_path, PLAIN)[0].id is None
    assert read(tmp_path, "# text = a\n#sent_id=7\n" + PLAIN)[0].id == "7"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_with_column_changes_only_that_column(tmp_path: Path, line_end: str) -> None:
    text = RICH.replace("\n", line_end)
    (sentence,) = read(tmp_path, text)
    for at, name in enumerate(COLUMNS[1:], start=1):
        new = sentence.with_column(name, ["Q1", "Q2", "Q3", "Q4", "Q5"])
        assert new.column(name) == ["Q1", "Q2", "Q3", "Q4", "Q5"]
        for old_line, new_line in zip(text.split(line_end), str(new).split(line_end), strict=True):
            fields = old_line.split("\t")
            if fields[0].isdigit():
                fields[at] = f"Q{fields[0]}"
            assert new_line == "\t".join(fields)
    assert str(sentence) == text
    assert sentence.with_column("upos", sentence.column("upos")) == sentence


def test_with_misc_adds_or_replaces_one_key(tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, RICH)
    new = sentence.with_misc("Tag", ["1", "2", None, "4", "5"])
    assert new.column("misc") == ["A=b|Tag=1", "Tag=2", "_", "SpaceAfter=No|Tag=4", "Tag=5"]
    assert new.with_column("misc", sentence.column("misc")) == sentence


def test_values_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, PLAIN)
    for values in (["A"], ["A", "B", "C"]):
        with pytest.raises(ValueError, match="values for 2 words"):
            sentence.with_column("upos", values)
        with pytest.raises(ValueError, match="values for 2 words"):
            sentence.with_misc("P", values)
    for value in ("", "a\tb", "a\n", "a\r"):
        with pytest.raises(ValueError, match="is not allowed in a column"):
            sentence.with_column("upos", ["A", value])
    for key, value in (("P", "a|b"), ("P=", "a"), ("", "a"), ("P", "a\tb"), ("P|Q", "a")):
        with pytest.raises(ValueError, match="is not allowed in MISC"):
            sentence.with_misc(key, ["1", value])
    with pytest.raises(ValueError, match="ids"):
        sentence.with_column("id", ["1", "2"])


@pytest.mark.parametrize("cut", [0, 1, 2])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_end_of_file_round_trips(tmp_path: Path, cut: int, line_end: str) -> None:
    text = (PLAIN + RICH)[: len(PLAIN + RICH) - cut].replace("\n", line_end)
    sentences = read(tmp_path, text)
    assert written(sentences) == text
    assert sentences[1].words() == ["vamos", "nos", "a", "el", "_"]
    assert sentences[1].column("misc")[-1] == "_"
    # The missing blank line is added before another sentence.
    again = read(tmp_path, written([*sentences, sentences[0]]))
    assert [sentence.words() for sentence in again] == [sentence.words() for sentence in [*sentences, sentences[0]]]


@given(st.lists(conllu_sentences(), min_size=1, max_size=3), st.booleans(), st.integers(0, 2))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, blocks: list[str], windows: bool, cut: int) -> None:
    text = "".join(blocks)
    text = text[: len(text) - cut]
    if windows:
        text = text.replace("\n", "\r\n")
    sentences = read(tmp_path_factory.getbasetemp(), text)
    assert len(sentences) == len(blocks)
    assert written(sentences) == text
    for sentence in sentences:
        for name in COLUMNS[1:]:
            assert sentence.with_column(name, sentence.column(name)) == sentence


def test_long_sentences(tmp_path: Path) -> None:
    text = "".join(row(number, str(number)) for number in range(1, 2501)) + "\n"
    (sentence,) = read(tmp_path, text * 1)
    assert sentence.words() == [str(number) for number in range(1, 2501)]
    assert str(sentence) == text


FAULTS = [
    (
        "nine columns",
        PLAIN + row(1) + "2\ta\t_\t_\t_\t_\t_\t_\t_\n\n",
        "5: expected 10 columns separated by tabs, found 9",
    ),
    (
        "a tree",
        PLAIN + "(S (NN dog))\n",
        "4: expected 10 columns separated by tabs, found 1 in '(S (NN dog))'; this looks like trees in brackets",
    ),
    ("eleven columns", PLAIN + row(1)[:-1] + "\tx\n\n", "4: expected 10 columns separated by tabs, found 11"),
    (
        "spaces for tabs",
        PLAIN + row(1).replace("\t", " ") + "\n",
        "4: expected 10 columns separated by tabs, found 1",
    ),
    ("a line of white space", PLAIN + row(1) + "  \n", "5: expected 10 columns separated by tabs, found 1"),
    ("id missing", PLAIN + row(1) + row(3) + "\n", "5: id 3 is out of order; expected 2"),
    ("id twice", PLAIN + row(1) + row(1) + "\n", "5: id 1 is out of order; expected 2"),
    ("first id", PLAIN + row(2) + "\n", "4: id 2 is out of order; expected 1"),
    ("id zero", PLAIN + row(0) + "\n", "4: id 0 is out of order; expected 1"),
    ("id of letters", PLAIN + row("x") + "\n", "4: malformed id 'x'; expected a word 3, a range 3-4"),
    ("id empty", PLAIN + row("") + "\n", "4: malformed id ''"),
    ("id with zeros", PLAIN + row("01") + "\n", "4: malformed id '01'"),
    ("id of other digits", PLAIN + row("١") + "\n", "4: malformed id '١'"),
    ("id of very many digits", PLAIN + row("9" * 5000) + "\n", "4: malformed id '999"),
    ("half a range", PLAIN + row("1-") + row(1) + "\n", "4: malformed id '1-'"),
    ("empty form", PLAIN + row(1, "") + "\n", "4: word 1 has an empty form"),
    ("range backwards", PLAIN + row("1-0") + row(1) + "\n", "4: malformed id '1-0'"),
    (
        "range backwards later",
        PLAIN + row(1) + row("2-1") + row(2) + "\n",
        "5: range 2-1 does not fit before word 2",
    ),
    ("range late", PLAIN + row(1) + row("1-2") + row(2) + "\n", "5: range 1-2 does not fit before word 2"),
    (
        "ranges that overlap",
        PLAIN + row("1-2") + row(1) + row("2-3") + row(2) + row(3) + "\n",
        "6: range 2-3 does not fit",
    ),
    (
        "range past the end",
        PLAIN + row("1-3") + row(1) + row(2) + "\n",
        "4: range 1-3 does not fit a sentence of 2 words",
    ),
    (
        "empty node early",
        PLAIN + row("1.1") + row(1) + "\n",
        "4: empty node 1.1 is out of order; expected 0.1",
    ),
    (
        "empty node twice",
        PLAIN + row(1) + row("1.1") + row("1.1") + "\n",
        "6: empty node 1.1 is out of order; expected 1.2",
    ),
    ("range alone", PLAIN + row("1-2") + "\n", "4: a block of lines without a word"),
    ("empty node alone", PLAIN + "# a\n" + row("0.1") + "\n", "4: a block of lines without a word"),
    ("two faults", PLAIN + row("x") + row("y") + row(1) + "\n", "4: malformed id 'x'"),
]


@pytest.mark.parametrize(("text", "message"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_faults(tmp_path: Path, text: str, message: str, line_end: str) -> None:
    with pytest.raises(TreebankError) as caught:
        read(tmp_path, text.replace("\n", line_end))
    assert str(caught.value).startswith(f"{tmp_path}/some.conllu:{message}")
    assert len(str(caught.value).splitlines()) == 1
    faults = Faults(skip=True)
    blank = "" if text.endswith("\n\n") else "\n"
    found = read(tmp_path, (text + blank + RICH).replace("\n", line_end), faults)
    assert [sentence.words() for sentence in found] == [["a", "b"], ["vamos", "nos", "a", "el", "_"]]
    assert [fault.startswith(f"{tmp_path}/some.conllu:{message}") for fault in faults.messages] == [True]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (PLAIN + "\n" + PLAIN, [2, 0, 2]),
        ("\n\n" + PLAIN, [0, 0, 2]),
        ("# a\n# b\n\n" + PLAIN + "# sent_id = c\n", [0, 2, 0]),
        (PLAIN + "\n\n\n", [2, 0, 0, 0]),
        ("# a", [0]),
        ("\n", [0]),
        ("", []),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_blocks_without_words_are_kept(tmp_path: Path, text: str, sizes: list[int], line_end: str) -> None:
    text = text.replace("\n", line_end)
    sentences = read(tmp_path, text)
    assert [len(sentence) for sentence in sentences] == sizes
    assert written(sentences) == text
    assert [bool(sentence) for sentence in sentences] == [size > 0 for size in sizes]
    assert all(sentence.with_column("upos", sentence.column("upos")) == sentence for sentence in sentences)
    assert all(words for words in read_tagged(tmp_path / "some.conllu", "upos"))


def test_tagged_words(tmp_path: Path) -> None:
    read(tmp_path, "# a\n\n" + RICH + PLAIN)
    first, second = read_tagged(tmp_path / "some.conllu", "xpos")
    assert first == [("vamos", "V"), ("nos", "P"), ("a", "S"), ("el", "D"), ("_", "_")]
    assert second == [("a", "NN"), ("b", "NN")]


def test_faults_of_tags_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    read(tmp_path, PLAIN + "# a\n" + row(1, "a") + row(2, "b", upos="") + "\n" + PLAIN)
    with pytest.raises(TreebankError, match=r"some\.conllu:6: column upos is empty; write `_` for no tag"):
        read_tagged([path], "upos")
    faults = Faults(skip=True)
    assert len(read_tagged([path], "upos", faults)) == 2
    assert [message.split(": ")[0] for message in faults.messages] == [f"{path}:6"]
    with pytest.raises(UsageError, match=r"some\.conllu: column feats is `_` for every word"):
        read_tagged(path, "feats")


def test_stray_files_in_a_directory(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    folder.mkdir()
    (folder / "README.md").write_text("# A treebank\n\nOf 2 sentences.\n")
    (folder / "stats.xml").write_text("<?xml version='1.0'?>\n<treebank>\n")
    (folder / "raw.txt").write_text("1 a\n")
    (folder / "0-none.conllu").write_text("")
    (folder / "1.conllu").write_text(PLAIN)
    (folder / "2").write_text("\n# newdoc\n\n" + RICH)
    (folder / "3.gz").write_bytes(gzip.compress(PLAIN.rstrip().encode()))
    (folder / "4.gz").write_text("not packed")
    faults = Faults()
    assert [len(sentence) for sentence in read_conllu(folder, faults) if sentence] == [2, 5, 2]
    names = [message.removeprefix(f"{folder}/") for message in faults.messages]
    assert names == [f"{name}: does not look like CoNLL-U" for name in ("4.gz", "README.md", "raw.txt", "stats.xml")]
    with pytest.raises(TreebankError, match=r"README\.md:3: "):  # a file that is named is read
        list(read_conllu(folder / "README.md"))
    (folder / "1.conllu").write_text("no treebank\n")  # and so is one with the right extension
    with pytest.raises(TreebankError, match=r"1\.conllu:1: "):
        list(read_conllu(folder))
    for name in ("0-none.conllu", "1.conllu", "2", "3.gz"):
        (folder / name).unlink()
    with pytest.raises(UsageError, match="bank: the directory holds no CoNLL-U"):
        list(read_conllu(folder))


def test_encoding(tmp_path: Path) -> None:
    (tmp_path / "latin1.conllu").write_bytes(PLAIN.encode() + row(1, "é").encode("latin-1"))
    with pytest.raises(TreebankError, match=r"latin1\.conllu:4: byte 0xe9 at column 3 is not UTF-8"):
        list(read_conllu(tmp_path / "latin1.conllu"))


def test_unicode_line_breaks_are_not_line_ends(tmp_path: Path) -> None:
    text = row(1, "a\u2028b") + row(2, "c\x85d\x0ce") + "\n"
    (sentence,) = read(tmp_path, text)
    assert sentence.words() == ["a\u2028b", "c\x85d\x0ce"]
    assert str(sentence) == text


def test_gzip_directories_lists_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bank"
    folder.mkdir()
    (folder / "1.conllu.gz").write_bytes(gzip.compress(PLAIN.encode()))
    (folder / "2.conllu").write_text(RICH)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert [len(sentence) for sentence in read_conllu([folder, "-"])] == [2, 5, 2]
    assert list(read_conllu([])) == []


def test_memory_does_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "long.conllu"
    path.write_text(RICH * 5000)
    tracemalloc.start()
    with open_output(str(tmp_path / "out.conllu")) as stream:
        write_conllu(read_conllu(path), stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 1_500_000
    assert peak < 400_000
    assert (tmp_path / "out.conllu").read_bytes() == path.read_bytes()


def test_repr_and_equality(tmp_path: Path) -> None:
    first, second = read(tmp_path, PLAIN + PLAIN)
    assert repr(first) == "<Sentence of 2 words>"
    assert first == second
    assert hash(first) == hash(second)
    assert first != first.with_column("upos", ["A", "B"])
    assert first != PLAIN


def test_the_shared_data_round_trips(data_dir: Path, tmp_path: Path) -> None:
    files = sorted((data_dir / "ud-1.4").rglob("*.conllu.gz"))
    if not files:
        pytest.skip(f"no CoNLL-U files in {data_dir}/ud-1.4")
    for file in files:
        out = tmp_path / "out.conllu"
        with open_output(str(out)) as stream:
            write_conllu(read_conllu(file), stream)
        with gzip.open(file) as packed:
            assert out.read_bytes() == packed.read(), file


@pytest.mark.parametrize(
    ("name", "n_sentences", "n_words"),
    [("en/dev", 2002, 25148), ("fr/dev", 1596, 38758), ("id/dev", 559, 12612), ("tr/dev", 844, 8852)],
)
def test_counts_of_the_shared_data(data_dir: Path, name: str, n_sentences: int, n_words: int) -> None:
    """The numbers of sentences and syntactic words that the data's own description gives."""
    sentences = list(read_conllu(data_dir / f"ud-1.4/{name}.conllu.gz"))
    assert len(sentences) == n_sentences
    assert sum(map(len, sentences)) == n_words
    assert all("" not in sentence.words() for sentence in sentences)


def test_several_columns_are_joined_by_spaces(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    path.write_text("1\tgoes\tgo\tVERB\tV\tTense=Pres\t_\t_\t_\t_\n2\t.\t.\tPUNCT\tP\t_\t_\t_\t_\t_\n\n")
    (sentence,) = read_conllu([path])
    assert sentence.column("upos+feats") == ["VERB Tense=Pres", "PUNCT _"]
    assert read_tagged([path], "upos+xpos+feats") == [[("goes", "VERB V Tense=Pres"), (".", "PUNCT P _")]]
    new = sentence.with_column("upos+feats", ["NOUN Number=Sing", "X _"])
    assert new.column("upos+xpos+feats") == ["NOUN V Number=Sing", "X P _"]
    with pytest.raises(ValueError, match="need a value each"):
        sentence.with_column("upos+feats", ["NOUN", "X"])
    path.write_text("1\tgoes\tgo\tVERB\tV\t\t_\t_\t_\t_\n\n")
    with pytest.raises(TreebankError, match=r"some\.conllu:1: column upos\+feats is empty"):
        read_tagged([path], "upos+feats")
