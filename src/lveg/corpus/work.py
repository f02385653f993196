"""How a part of a file becomes a file of annotated text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from lveg.annotate import ParseSettings, TagSettings, parse_one, tag_some
from lveg.decoding.derivations import DECODERS
from lveg.decoding.tags import TAG_DECODERS
from lveg.errors import TreebankError, UsageError
from lveg.files import replacing
from lveg.model import CHUNK, Model, Parser
from lveg.model_io import analyser_of, model_bytes, model_of
from lveg.output import parse_text, tags_text
from lveg.parallel import chunks
from lveg.text.learned import LearnedTokeniser
from lveg.text.tokens import Tokeniser
from lveg.treebank.source import Faults, InputFormat, Part
from lveg.treebank.text import Input, Reading, read_part

Format = Literal["brackets", "conllu", "tsv", "jsonl"]

EXTENSIONS: dict[Format, str] = {"brackets": ".mrg", "conllu": ".conllu", "tsv": ".tsv", "jsonl": ".jsonl"}
"""How the names of outputs end."""

_FORMATS: dict[str, tuple[Format, ...]] = {"parser": ("brackets", "jsonl"), "tagger": ("conllu", "tsv", "jsonl")}
_DECODERS = {"parser": DECODERS, "tagger": TAG_DECODERS}


class Options(msgspec.Struct, frozen=True):
    """Everything besides the model and the input that the output depends on.

    tokeniser: the fingerprint or name of the one for raw text, None if the input is tokenised. part_size: the number of
    sentences that are annotated together.
    """

    format: Format
    count: int = 1
    decoder: str | None = None
    tokeniser: str | None = None
    input_format: InputFormat | None = None
    skip_bad: bool = False
    part_size: int = CHUNK


class Counts(msgspec.Struct):
    """What was annotated. fallbacks: number of sentences by fallback. skipped: messages about malformed sentences."""

    sentences: int = 0
    words: int = 0
    fallbacks: dict[str, int] = {}
    skipped: list[str] = []

    def __add__(self, other: Counts) -> Counts:
        fallbacks = Counter(self.fallbacks) + Counter(other.fallbacks)
        return Counts(
            self.sentences + other.sentences,
            self.words + other.words,
            dict(sorted(fallbacks.items())),
            self.skipped + other.skipped,
        )


class _Annotated(NamedTuple):
    sentence: Input
    text: str
    fallback: str | None


def default_format(model: Model) -> Format:
    """The format of the output if none is given."""
    return _FORMATS[model.task][0]


@dataclass(frozen=True)
class Annotator:
    """A model, and how it is applied. tokeniser: that for raw text."""

    model: Model
    options: Options
    tokeniser: Tokeniser | None = None

    def __post_init__(self) -> None:
        task, options = self.model.task, self.options
        for what, value, known in (
            ("--format", options.format, _FORMATS[task]),
            ("--decoder", options.decoder, (None, *_DECODERS[task])),
        ):
            if value not in known:
                raise UsageError(f"{what} {value}: a {task} has {', '.join(filter(None, known))}")
        if task == "tagger" and options.count > 1:
            if options.format != "jsonl":
                raise UsageError(f"--kbest needs --format jsonl: {options.format} has one tag per word")
            if options.decoder == "posterior":
                raise UsageError("--kbest lists sequences: leave --decoder posterior out")

    @property
    def reading(self) -> Reading:
        """How sentences are read."""
        options = self.options
        if isinstance(self.model, Parser):
            return Reading(options.input_format, self.model.cleaning, tokeniser=self.tokeniser)
        keep_blanks = options.format == "conllu"
        return Reading(options.input_format, column=None, keep_blanks=keep_blanks, tokeniser=self.tokeniser)

    def annotate(self, sentences: Iterable[Input]) -> Iterator[_Annotated]:
        """Each sentence with its text, and the fallback that it needed, if any."""
        options, model = self.options, self.model
        form, count = options.format, options.count
        if isinstance(model, Parser):
            settings = ParseSettings(options.decoder, count, marginals=form == "jsonl")
            for sentence in sentences:
                parse = parse_one(model, sentence, settings)
                yield _Annotated(sentence, parse_text(sentence, parse, form, count > 1), parse.fallback)
            return
        for chunk in chunks(sentences, CHUNK):
            taggings = tag_some(model, chunk, TagSettings(options.decoder, count))
            for sentence, tagging in zip(chunk, taggings, strict=True):
                text = tags_text(sentence, tagging, form, model.column, count > 1)
                yield _Annotated(sentence, text, tagging.fallback)


class Done(NamedTuple):
    """An annotated part: what it has, and its text."""

    counts: Counts
    text: bytes


def annotate_part(annotator: Annotator, file: str, part: Part) -> Done:
    """Annotate a part of a file.

    Depends on nothing but its arguments, so that it can run in any process; the file itself is not opened.
    """
    faults = Faults(annotator.options.skip_bad)
    counts, texts = Counts(skipped=faults.messages), []
    for sentence, text, fallback in annotator.annotate(read_part(file, part, annotator.reading, faults)):
        is_sentence = bool(sentence.words) or sentence.sentence is None  # not a comment or blank line of CoNLL-U
        counts.sentences += is_sentence
        counts.words += len(sentence.words)
        if fallback is not None:
            counts.fallbacks[fallback] = counts.fallbacks.get(fallback, 0) + 1
        texts.append(text)
    return Done(counts, "".join(texts).encode())


@dataclass(frozen=True, eq=False)
class RemoteAnnotator:
    """An annotator for workers in other processes: its models are files' bytes, read there when they are needed.

    tokeniser: bytes of a learned one, or a tokeniser that has only rules.
    """

    model: bytes
    tokeniser: bytes | Tokeniser | None
    options: Options

    @classmethod
    def of(cls, annotator: Annotator) -> RemoteAnnotator:
        """The same annotator, to be sent."""
        tokeniser = annotator.tokeniser
        sent = model_bytes(tokeniser) if isinstance(tokeniser, LearnedTokeniser) else tokeniser
        return cls(model_bytes(annotator.model), sent, annotator.options)

    def __call__(self, values: object) -> Callable[[tuple[str, Part]], Done | str]:
        """Annotates parts of files, given with their names; the message if a sentence is malformed."""
        tokeniser = model_of(self.tokeniser, "tokeniser") if isinstance(self.tokeniser, bytes) else self.tokeniser
        assert not isinstance(tokeniser, Model)
        annotator = Annotator(analyser_of(self.model, "model"), self.options, tokeniser)

        def annotate(item: tuple[str, Part]) -> Done | str:
            try:
                return annotate_part(annotator, *item)
            except TreebankError as error:
                return str(error)

        return annotate


def write_part(path: str, done: Done) -> None:
    """Write the counts as a line of JSON, and then the text; completely or not at all."""
    with replacing(path) as stream:
        stream.write(msgspec.json.encode(done.counts) + b"\n")
        stream.write(done.text)


def counts_in(path: str) -> Counts:
    """The counts of a part that is written."""
    with open(path, "rb") as stream:
        return msgspec.json.decode(stream.readline(), type=Counts)
