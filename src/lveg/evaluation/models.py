"""Scores of a model on gold data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lveg.chart.coarse import Parses
from lveg.evaluation import brackets, tags
from lveg.evaluation.tokens import TokenScores, score_tokens
from lveg.model import Parse, Parser, Tagger
from lveg.parallel import ordered_map
from lveg.report import Report, counted, silent
from lveg.text.tokens import Tokeniser, TokenSentence, text_of
from lveg.trees import Tree


@dataclass(frozen=True)
class ParserScores:
    """A parser's analyses of gold sentences, and their scores."""

    parses: list[Parse]
    summary: dict[str, Any]


@dataclass(frozen=True)
class TaggerScores:
    """The scores of a tagger's tags for gold sentences."""

    counts: tags.TagCounts
    summary: dict[str, Any]


def score_parser(
    parser: Parser,
    gold: Sequence[Tree],
    decoder: str | None = None,
    threads: int = 1,
    report: Report = silent,
    prepared: Sequence[Parses] | None = None,
    marginals: bool = False,
) -> ParserScores:
    """The parser's analyses of the words of gold trees, scored as by EVALB.

    prepared: the result of `parser.coarse.parses` for each sentence, if already computed. marginals: whether the
    analyses include the probabilities of constituents.
    """

    def analyse(number: int) -> Parse:
        words = gold[number].words()
        if prepared is None:
            return parser.parse(words, decoder, marginals=marginals)
        return parser.decide(words, prepared[number], decoder, marginals=marginals)

    found = ordered_map(analyse, range(len(gold)), threads)
    parses = list(counted(found, report, "parsing", len(gold)))
    scores = brackets.score_pairs(gold, [parse.tree for parse in parses])
    return ParserScores(parses, brackets.summary_json(brackets.summarise(scores)))


def score_tagger(
    tagger: Tagger,
    gold: Sequence[Sequence[tuple[str, str]]],
    decoder: str = "posterior",
    threads: int = 1,
    report: Report = silent,
) -> TaggerScores:
    """The scores of the tagger's tags for the words of gold sentences; known words are those of its lexicon."""
    words = [[word for word, _ in sentence] for sentence in gold]
    found = [tagging.tags for tagging in tagger.tag_all(words, decoder, threads=threads, progress=report)]
    gold_tags = [[tag for _, tag in sentence] for sentence in gold]
    counts = tags.score_tags(words, gold_tags, found, set(tagger.grammar.lexicon.words))
    return TaggerScores(counts, tags.summary_json(counts))


def score_tokeniser(tokeniser: Tokeniser, gold: Sequence[TokenSentence]) -> TokenScores:
    """The scores of a tokeniser on the text of gold sentences."""
    return score_tokens(gold, tokeniser.sentences(text_of(gold)))
