"""Training options that do not depend on the family: words, trees, seed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

from lveg.errors import UsageError
from lveg.options import Options, option, with_default

if TYPE_CHECKING:
    from lveg.grammar.binarise import Binarisation
    from lveg.grammar.lexicon import LexiconOptions
    from lveg.trees import Cleaning

FEW_WORDS = 1000
"""Parsers trained on fewer sentences keep every word in the lexicon (docs/decisions/0012)."""

Column = Literal["upos", "xpos", "feats", "upos+xpos", "upos+feats", "xpos+feats", "upos+xpos+feats"]
"""What a tagger can learn: a column of CoNLL-U, or several together."""

TAG_COLUMNS: tuple[Column, ...] = get_args(Column)

NO_WORD = 2**31
"""A number of occurrences that no word reaches."""

DATA, WORDS, TREES, CONTEXT = "Data", "Words", "Trees", "Context"


@dataclass(frozen=True)
class TaskOptions(Options):
    """Options that all tasks share."""

    max_length: int | None = option(None, "Train only on sentences of at most this many words.", group=DATA, least=1)
    seed: int = option(0, "The same seed, data and options give the same model file.", group=DATA, least=0)
    held_out: float = option(
        0.1,
        "Without --dev: hold out this share of the sentences, at most 3,000, and train on the others, to find the "
        "best number of epochs or cycles; then train on all sentences for that many. Takes about twice the time. With "
        "fewer than 50 sentences none are held out. 0: run all epochs and keep the last.",
        group=DATA, least=0.0, most=0.5,
    )  # fmt: skip


@dataclass(frozen=True)
class WordOptions(TaskOptions):
    """Options that parsers and taggers share."""

    unknown: str = option(
        "auto",
        "Classes for unknown words. auto: by shape and learned endings, any script. english: the Berkeley parser's "
        "signatures. single: one class for all.",
        group=WORDS,
        choices=("auto", "english", "single"),
    )
    unknown_threshold: int = option(2, "Words seen fewer times than this become unknown words.", group=WORDS, least=1)
    smooth: int = option(
        10,
        "Words seen at most this often are smoothed with the tags of their class; 0: none are.",
        group=WORDS,
        least=0,
    )

    @property
    def lexicon(self) -> LexiconOptions:
        """How words become terminals."""
        from lveg.grammar.lexicon import LexiconOptions

        return LexiconOptions(self.unknown, self.unknown_threshold, self.smooth)


@dataclass(frozen=True)
class ParserOptions(WordOptions):
    """How trees are cleaned and binarised."""

    unknown_threshold: int = option(
        2, "Words seen fewer times than this become unknown words. With fewer than 1,000 sentences, 1 if not given.",
        group=WORDS, least=1,
    )  # fmt: skip
    context: str | None = option(
        None, "Contexts, which score the words around each rule: names separated by commas, or none. If not given: "
        "those of the default model, or none if --model is given; plus every context of which an option is given.",
        group=CONTEXT, metavar="NAMES",
    )  # fmt: skip
    ensemble: bool = option(
        False, "Train a second grammar of another kind, and write the product of both as one model: more accurate, "
        "but slower.", group=CONTEXT,
    )  # fmt: skip
    binarise: str = option(
        "right", "Binarise long phrases from the right, the left, or outward from a learned head.",
        group=TREES, choices=("right", "left", "head"),
    )  # fmt: skip
    horizontal: int = option(0, "Sibling labels kept in the symbols of a binarised phrase.", group=TREES, least=0)
    vertical: int = option(1, "1: labels alone; 2: labels with their parent's; and so on.", group=TREES, least=1)
    keep_functions: bool = option(False, "Keep function labels and indices of phrases, as in NP-SBJ-1.", group=TREES)
    cut_tags: bool = option(False, "Cut tags at - = and | as well: N-D becomes N.", group=TREES)
    keep_traces: bool = option(False, "Keep traces and other empty elements.", group=TREES)
    keep_unaries: bool = option(False, "Keep X over X as two phrases.", group=TREES)
    empty: str | None = option(
        None, "Regular expression for `label word` of traces to remove, besides Penn's -NONE- and CESS's *0*.",
        group=TREES, metavar="PATTERN",
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """With few sentences all words are kept, even those seen once, which are a large part of the data."""
        return self.unless_given(given, unknown_threshold=1) if sentences < FEW_WORDS else self

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.empty:
            from lveg.trees import check_empty_elements

            try:
                check_empty_elements(self.empty)
            except ValueError as error:
                raise UsageError(f"--empty {self.empty!r}: {error}") from None

    @property
    def cleaning(self) -> Cleaning:
        """The steps that turn an annotated tree into the one that is modelled."""
        from lveg.trees import EMPTY_ELEMENTS, Cleaning

        pattern = "" if self.keep_traces else EMPTY_ELEMENTS
        if self.empty:
            pattern = f"{pattern}|{self.empty}" if pattern else self.empty
        return Cleaning(not self.keep_functions, pattern, not self.keep_unaries, self.cut_tags)

    @property
    def binarisation(self) -> Binarisation:
        """How phrases with more than two children are binarised."""
        from lveg.grammar.binarise import Binarisation

        return Binarisation(self.binarise, self.horizontal, self.vertical)


@dataclass(frozen=True)
class TaggerOptions(WordOptions):
    """What is tagged."""

    column: str = option(
        "upos", "The CoNLL-U column, or columns, that hold the tags to learn.", group=DATA, choices=TAG_COLUMNS
    )
    with_tokeniser: bool = option(
        False, "Also train a tokeniser on the same files and keep it in the model, for `lveg tag MODEL --raw`.",
        group=DATA,
    )  # fmt: skip
    smooth: int = with_default(WordOptions, "smooth", 0)


@dataclass(frozen=True)
class TokeniserOptions(TaskOptions):
    """How a tokeniser is trained; its words are characters."""

    column: ClassVar[str] = "characters"

    @property
    def lexicon(self) -> LexiconOptions:
        """No character has a terminal of its own: a chain sees each by its properties."""
        from lveg.grammar.lexicon import LexiconOptions

        return LexiconOptions("single", NO_WORD, 0)
