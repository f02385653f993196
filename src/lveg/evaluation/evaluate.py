"""Scores of a model, or of analyses, on gold data, as `lveg evaluate` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from lveg.errors import ModelError, UsageError
from lveg.evaluation import brackets, tags
from lveg.evaluation.params import COLLINS, EvalbParams
from lveg.evaluation.signature import signature
from lveg.evaluation.significance import Interval, bootstrap_interval
from lveg.grammar.grammar import fingerprint
from lveg.model import Parser, Tagger
from lveg.model_io import model_fingerprint
from lveg.report import Report, silent
from lveg.treebank.given import Pairs, Path, Sentences, Trees, given_tags, given_trees, items_of, named
from lveg.treebank.source import guess_format
from lveg.trees import EMPTY_TREE, Cleaning, Tree, trees_fingerprint

WHOLE = Cleaning(collapse_unaries=False)
"""How trees are cleaned before they are scored."""


@dataclass(frozen=True, repr=False)
class ParsingResult:
    """Scores of trees, in percent, as EVALB computes them.

    system: the trees that were scored. sentences: the scores of each. counts, short: sums over all sentences, and over
    those of at most 40 words, with further scores. interval: the 95 % interval of F1, by bootstrap over sentences.
    signature: what was measured.
    """

    system: list[Tree]
    sentences: list[brackets.SentenceScore]
    counts: brackets.BracketCounts
    short: brackets.BracketCounts
    interval: Interval
    signature: str

    @property
    def f1(self) -> float:
        """Labelled F1."""
        return self.counts.f1

    @property
    def precision(self) -> float:
        """Labelled precision."""
        return self.counts.precision

    @property
    def recall(self) -> float:
        """Labelled recall."""
        return self.counts.recall

    @property
    def exact_match(self) -> float:
        """Sentences with all constituents correct."""
        return self.counts.exact_match

    @property
    def tag_accuracy(self) -> float:
        """Words with the gold tag."""
        return self.counts.tag_accuracy

    def __repr__(self) -> str:
        interval = f"{self.interval.low:.2f} to {self.interval.high:.2f}"
        left_out = {"errors": self.counts.errors, "skipped": self.counts.skipped}
        rest = "".join(f", {name} {count:,}" for name, count in left_out.items() if count)
        return f"<F1 {self.f1:.2f} ({interval}), {self.counts.sentences:,} sentences{rest}>"


@dataclass(frozen=True, repr=False)
class TaggingResult:
    """Scores of tags, in percent.

    system: the tags that were scored. counts: sums, with further scores. interval: the 95 % interval of the token
    accuracy, by bootstrap over sentences. signature: what was measured.
    """

    system: list[list[str]]
    counts: tags.TagCounts
    interval: Interval
    signature: str

    @property
    def token_accuracy(self) -> float:
        """Words with the gold tag."""
        return self.counts.token_accuracy

    @property
    def sentence_accuracy(self) -> float:
        """Sentences with all tags correct."""
        return self.counts.sentence_accuracy

    @property
    def per_tag(self) -> list[tags.LabelScore]:
        """Precision, recall and F1 of each tag, the most frequent one first."""
        return tags.per_tag(self.counts)

    def __repr__(self) -> str:
        interval = f"{self.interval.low:.2f} to {self.interval.high:.2f}"
        return f"<accuracy {self.token_accuracy:.2f} ({interval}), {self.counts.sentences:,} sentences>"


@overload
def evaluate(
    system: Parser | Iterable[Tree], gold: Trees, *, decoder: str | None = ..., threads: int = ...,
    report: Report = ..., cleaning: Cleaning = ..., params: EvalbParams = ...,
) -> ParsingResult: ...  # fmt: skip


@overload
def evaluate(
    system: Tagger | Iterable[Sequence[tuple[str, str]]], gold: Sentences, *, decoder: str | None = ...,
    threads: int = ..., report: Report = ..., column: str = ...,
) -> TaggingResult: ...  # fmt: skip


@overload
def evaluate(
    system: Path | Iterable[Path], gold: Trees | Sentences, *, cleaning: Cleaning = ..., params: EvalbParams = ...,
    column: str = ...,
) -> ParsingResult | TaggingResult: ...  # fmt: skip


def evaluate(
    system: Any,
    gold: Any,
    *,
    decoder: str | None = None,
    threads: int = 1,
    report: Report = silent,
    cleaning: Cleaning = WHOLE,
    params: EvalbParams = COLLINS,
    column: str = "upos",
) -> ParsingResult | TaggingResult:
    """The scores of a model, or of analyses, on gold data.

    system: a parser or a tagger, which analyses the words of the gold data; or trees, tagged sentences, or files of
    them. gold: trees, sentences as (word, tag) pairs, or files. decoder, threads, report: for a model. cleaning,
    params: for trees: how both sides are cleaned, if no model says it, and EVALB's parameters. column: of tags in
    CoNLL-U files, if no model says it.
    """
    items = items_of(gold)
    if not items:
        raise UsageError("there is no gold data to score on")
    if isinstance(system, Parser):
        return _evaluate_parser(system, items, decoder, threads, report, params)
    if isinstance(system, Tagger):
        return _evaluate_tagger(system, items, decoder, threads, report)
    if _are_trees(items):
        trees, found = (_cleaned(part, cleaning) for part in (items, items_of(system)))
        _check_numbers(trees, found)
        return _parsing_result(trees, found, params)
    tagged, others = (list(given_tags(part, column)) for part in (items, items_of(system)))
    _check_numbers(tagged, others)
    for number, pair in enumerate(zip(tagged, others, strict=True), start=1):
        if len({tuple(word for word, _ in sentence) for sentence in pair}) > 1:
            raise UsageError(f"sentence {number} has other words than in the gold data")
    return _tagging_result(tagged, [[tag for _, tag in sentence] for sentence in others], None, column=column)


def _are_trees(items: list[Any]) -> bool:
    """Whether gold data are trees rather than tags."""
    if isinstance(items[0], Tree):
        return True
    return named(items) != "" and guess_format(items[0]) != "conllu"


def _evaluate_parser(
    parser: Parser, items: list[Any], decoder: str | None, threads: int, report: Report, params: EvalbParams
) -> ParsingResult:
    if not _are_trees(items):
        raise ModelError("the model is a parser; evaluate it on bracketed trees")
    gold = _cleaned(items, replace(parser.cleaning, collapse_unaries=False))
    if any(not tree.children for tree in gold):
        raise UsageError(f"{named(items)}a gold tree has no words")
    decoder = decoder or parser.decoder
    words = [tree.words() for tree in gold]
    found = [parse.tree for parse in parser.parse_all(words, decoder, threads=threads, progress=report)]
    return _parsing_result(gold, found, params, model=model_fingerprint(parser), decoder=decoder)


def _evaluate_tagger(
    tagger: Tagger, items: list[Any], decoder: str | None, threads: int, report: Report
) -> TaggingResult:
    if _are_trees(items):
        raise ModelError("the model is a tagger; evaluate it on tagged sentences")
    gold, decoder = list(given_tags(items, tagger.column)), decoder or "posterior"
    words = [[word for word, _ in sentence] for sentence in gold]
    found = [tagging.tags for tagging in tagger.tag_all(words, decoder, threads=threads, progress=report)]
    settings = {"column": tagger.column, "model": model_fingerprint(tagger), "decoder": decoder}
    return _tagging_result(gold, found, set(tagger.grammar.lexicon.words), **settings)


def _parsing_result(gold: list[Tree], found: list[Tree], params: EvalbParams, **settings: str) -> ParsingResult:
    scores = brackets.score_pairs(gold, found, params)
    summary = brackets.summarise(scores, params)
    interval = bootstrap_interval(brackets.f1_counts(scores), brackets.f1_from_counts)
    name = "COLLINS.prm" if params == COLLINS else "own"
    note = signature(gold=trees_fingerprint(gold), params=name, **settings)
    return ParsingResult(found, scores, summary.all, summary.short, interval, note)


def _tagging_result(
    gold: list[Pairs], found: list[list[str]], known: set[str] | None, **settings: str
) -> TaggingResult:
    words = [[word for word, _ in sentence] for sentence in gold]
    right = [[tag for _, tag in sentence] for sentence in gold]
    counts = tags.score_tags(words, right, found, known)
    interval = bootstrap_interval(tags.accuracy_counts(right, found), tags.accuracy_from_counts)
    return TaggingResult(found, counts, interval, signature(gold=fingerprint(gold), **settings))


def _cleaned(items: list[Any], cleaning: Cleaning) -> list[Tree]:
    """The trees to score; one without words becomes the empty tree."""
    return [cleaning(tree) or EMPTY_TREE for tree in given_trees(items, allow_empty=True)]


def _check_numbers(gold: Sequence[object], found: Sequence[object]) -> None:
    if len(gold) != len(found):
        raise UsageError(f"there are {len(found):,} analyses, and {len(gold):,} in the gold data")
