"""CoNLL-U: sentences that keep every line unchanged, so that reading and writing preserves every byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from lveg.errors import UsageError
from lveg.treebank.source import Faults, Part, Paths, as_list, display_name, expand, read_lines

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The ten columns, named as in the format's description, in lower case."""

_ID = re.compile(r"(0|[1-9][0-9]{0,8})(?:([-.])([1-9][0-9]{0,8}))?\t")
_SENT_ID = re.compile(r"#[ \t]*sent_id[ \t]*=[ \t]*([^\r\n]*)")
# "1<tab>", "2<tab>", ...: recognises a word line with one comparison.
_EXPECTED = [f"{number}\t" for number in range(1, 1001)]


class Sentence:
    """The lines of a sentence, line ends included: comments, ranges `3-4`, empty nodes `5.1`, and words.

    `word_lines` are the positions of the syntactic words in `lines`; `end` is the blank line that closes the sentence,
    or "" if the file ends without one. A comment-only block, or an extra blank line, is a sentence without words, which
    is falsy. Sentences are immutable.
    """

    __slots__ = ("end", "lines", "word_lines")

    def __init__(self, lines: Sequence[str], word_lines: Sequence[int], end: str = "\n") -> None:
        self.lines = lines
        self.word_lines = word_lines
        self.end = end

    def __str__(self) -> str:
        """The sentence as in its file, with the blank line after it."""
        return "".join(self.lines) + self.end

    def __repr__(self) -> str:
        return f"<Sentence of {len(self)} words>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __len__(self) -> int:
        """The number of syntactic words."""
        return len(self.word_lines)

    @property
    def id(self) -> str | None:
        """The value of the comment `# sent_id = ...`, or None."""
        for line in self.lines:
            if line[0] != "#":
                break
            if match := _SENT_ID.match(line):
                return match[1].rstrip()
        return None

    def words(self) -> list[str]:
        """The forms of the syntactic words; `_` is a form like any other."""
        lines = self.lines
        return [lines[index].split("\t", 2)[1] for index in self.word_lines]

    def column(self, name: str) -> list[str]:
        """The values of a column, one for each syntactic word; of several, such as `upos+feats`, joined by spaces."""
        if "+" in name:
            return [" ".join(values) for values in zip(*map(self.column, name.split("+")), strict=True)]
        at = _column_number(name)
        if at == 9:
            return [self.lines[index].rstrip("\r\n").split("\t")[9] for index in self.word_lines]
        lines = self.lines
        return [lines[index].split("\t", at + 1)[at] for index in self.word_lines]

    def with_column(self, name: str, values: Sequence[str]) -> Sentence:
        """The sentence with these values in a column of the word lines; every other byte stays the same.

        Values of several columns, such as `upos+feats`, are joined by spaces.
        """
        first, _, rest = name.partition("+")
        if rest:
            parts = [value.split(" ", 1) for value in values]
            if any(len(part) != 2 for part in parts):
                raise ValueError(f"the columns {name} need a value each, joined by spaces")
            return self.with_column(first, [part[0] for part in parts]).with_column(rest, [part[1] for part in parts])
        at = _column_number(name)
        if at == 0:
            raise ValueError("the ids of a sentence cannot be replaced")
        for value in set(values):
            if not value or "\t" in value or "\n" in value or "\r" in value:
                raise ValueError(f"{value!r} is not allowed in a column: it is empty or contains a tab or line break")
        return self._replaced(at, values)

    def with_misc(self, key: str, values: Sequence[str | None]) -> Sentence:
        """The sentence with `key=value` in MISC of the word lines, replacing any older value.

        None leaves a line unchanged.
        """
        self._check_count(values)
        pairs = zip(self.column("misc"), values, strict=True)
        return self._replaced(9, [None if value is None else _with_feature(misc, key, value) for misc, value in pairs])

    def closed(self) -> Sentence:
        """The sentence with a blank line after it, so that another can follow."""
        if self.end:
            return self
        last = self.lines[-1]
        line_end = "\r\n" if last.endswith("\r\n") else "\n"
        return Sentence(self.lines, self.word_lines, line_end if last.endswith("\n") else 2 * line_end)

    def _replaced(self, at: int, values: Sequence[str | None]) -> Sentence:
        self._check_count(values)
        lines = list(self.lines)
        for index, value in zip(self.word_lines, values, strict=True):
            if value is None:
                continue
            line = lines[index]
            fields = line.split("\t", at + 1)
            if at == 9:  # the last column includes the line end
                value += line[len(line.rstrip("\r\n")) :]
            fields[at] = value
            lines[index] = "\t".join(fields)
        return Sentence(lines, self.word_lines, self.end)

    def _check_count(self, values: Sequence[object]) -> None:
        if len(values) != len(self):
            raise ValueError(f"{len(values)} values for {len(self)} words")


def _column_number(name: str) -> int:
    try:
        return COLUMNS.index(name)
    except ValueError:
        raise ValueError(f"no column {name!r}; there are {', '.join(COLUMNS)}") from None


def _with_feature(misc: str, key: str, value: str) -> str:
    if not key or "=" in key or any(mark in part for mark in "|\t\r\n" for part in (key, value)):
        raise ValueError(f"{key}={value} is not allowed in MISC: neither part may contain |, a tab or a line break")
    kept = [] if misc in ("_", "") else [old for old in misc.split("|") if not old.startswith(f"{key}=")]
    return "|".join([*kept, f"{key}={value}"])


def read_conllu(paths: Paths, faults: Faults | None = None) -> Iterator[Sentence]:
    """The sentences of files and directories, in order, one at a time; see `Sentence` for those without words.

    Files in a directory that are not CoNLL-U are noted in `faults` and skipped.
    """
    faults = faults or Faults()
    for path in expand(paths, "conllu", faults):
        yield from (sentence for _, sentence in numbered_sentences(path, faults))


def read_tagged(paths: Paths, column: str, faults: Faults | None = None) -> list[list[tuple[str, str]]]:
    """The (word, tag) sequences of files and directories, with the tags of the given column."""
    return list(each_tagged(paths, column, faults))


def each_tagged(paths: Paths, column: str, faults: Faults | None = None) -> Iterator[list[tuple[str, str]]]:
    """Like `read_tagged`, one sentence at a time."""
    faults, files = faults or Faults(), as_list(paths)
    is_seen = is_tagged = False
    for path in expand(files, "conllu", faults):
        for line, sentence in numbered_sentences(path, faults):
            tags = sentence.column(column)
            wrong = [index for index, tag in enumerate(tags) if not _is_whole(tag, column)]
            if wrong:
                line += sentence.word_lines[wrong[0]]
                faults.report(f"{display_name(path)}:{line}: column {column} is empty; write `_` for no tag")
            elif sentence:
                yield list(zip(sentence.words(), tags, strict=True))
                is_seen, is_tagged = True, is_tagged or not all(set(tag) <= {"_", " "} for tag in tags)
    if is_seen and not is_tagged:
        name = display_name(files[0])
        raise UsageError(f"{name}: column {column} is `_` for every word; choose another with --column")


def _is_whole(tag: str, column: str) -> bool:
    """Whether the tag has a value for the column, or for each of several; spaces separate only those of several."""
    return bool(tag) if "+" not in column else len(tag.split()) == column.count("+") + 1 == tag.count(" ") + 1


def write_conllu(sentences: Iterable[Sentence], stream: TextIO) -> None:
    """Write the sentences unchanged, with a blank line between any two."""
    missing = ""
    for sentence in sentences:
        stream.write(f"{missing}{sentence}")
        missing = "" if sentence.end else sentence.closed().end


def numbered_sentences(path: str, faults: Faults, part: Part | None = None) -> Iterator[tuple[int, Sentence]]:
    """(number of its first line, sentence) of each sentence in a file or a part of it."""
    block = _Block(1 if part is None else part.line)
    lines, word_lines, expected = block.lines, block.word_lines, _EXPECTED[0]
    for number, line in read_lines(path, part):
        # The most common case first: the next word, with ten columns and a form.
        if line.startswith(expected) and line.count("\t") == 9 and line[len(expected)] != "\t":
            word_lines.append(len(lines))
            lines.append(line)
            last = len(word_lines)
            expected = _EXPECTED[last] if last < len(_EXPECTED) else f"{last + 1}\t"
        elif line == "\n" or line == "\r\n":
            if not lines:  # one of several blank lines
                yield number, Sentence((), (), line)
                block.start = number + 1
                continue
            if block.is_sound(path, faults):
                yield block.start, Sentence(lines, word_lines, line)
            block = _Block(number + 1)
            lines, word_lines, expected = block.lines, block.word_lines, _EXPECTED[0]
        else:
            if line[0] != "#" and not block.faulty and (what := block.fault_of(line)):
                block.faulty = True
                faults.report(f"{display_name(path)}:{number}: {what}")
            lines.append(line)
    if lines and block.is_sound(path, faults):
        yield block.start, Sentence(lines, word_lines, "")


class _Block:
    """The lines between two blank ones while they are read, and what ids may follow."""

    __slots__ = (
        "empty_after",
        "empty_count",
        "faulty",
        "lines",
        "range_end",
        "range_text",
        "start",
        "word_lines",
    )

    def __init__(self, start: int) -> None:
        self.start = start
        self.lines: list[str] = []
        self.word_lines: list[int] = []
        self.faulty = False  # already reported
        self.range_end = 0  # last word of the latest range
        self.range_text = ""
        self.empty_after = -1  # the word before the latest empty node
        self.empty_count = 0

    def fault_of(self, line: str) -> str | None:
        """What is wrong with a line that is not the next word; None for a valid range or empty node."""
        n_columns = line.count("\t") + 1
        if n_columns != 10:
            hint = "; this looks like trees in brackets, not like CoNLL-U" if line.lstrip().startswith("(") else ""
            return f"expected 10 columns separated by tabs, found {n_columns} in {_shown(line)}{hint}"
        match = _ID.match(line)
        if match is None:
            id_text = line.partition("\t")[0]
            return f"malformed id {id_text!r}; expected a word 3, a range 3-4 or an empty node 3.1"
        first, mark, second = match.groups()
        if mark == "-":
            return self._fault_of_range(int(first), int(second))
        if mark == ".":
            return self._fault_of_empty_node(int(first), int(second))
        n_words = len(self.word_lines)
        if int(first) == n_words + 1:
            return f"word {first} has an empty form"
        return f"id {first} is out of order; expected {n_words + 1}"

    def _fault_of_range(self, first: int, last: int) -> str | None:
        following = len(self.word_lines) + 1
        if first != following or last < first or first <= self.range_end:
            return f"range {first}-{last} does not fit before word {following}"
        self.range_end, self.range_text = last, f"{first}-{last}"
        return None

    def _fault_of_empty_node(self, word: int, count: int) -> str | None:
        n_words = len(self.word_lines)
        wanted = self.empty_count + 1 if self.empty_after == n_words else 1
        if word != n_words or count != wanted:
            return f"empty node {word}.{count} is out of order; expected {n_words}.{wanted}"
        self.empty_after, self.empty_count = word, count
        return None

    def is_sound(self, path: str, faults: Faults) -> bool:
        """Whether the lines, now complete, form a sentence; reports faults that can only be detected now."""
        if self.faulty:
            return False
        n_words = len(self.word_lines)
        if self.range_end > n_words > 0:
            what = f"range {self.range_text} does not fit a sentence of {n_words} words"
        elif not n_words and (self.range_end or self.empty_count):
            what = "a block of lines without a word; a sentence needs at least one"
        else:
            return True
        faults.report(f"{display_name(path)}:{self.start}: {what}")
        return False


def _shown(line: str) -> str:
    text = line.rstrip("\r\n")
    return repr(text if len(text) <= 40 else text[:37] + "...")
