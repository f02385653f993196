"""Running a model over gold data and scoring what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lveg.chart.coarse import Parses
from lveg.evaluation import brackets, tags
from lveg.evaluation.params import COLLINS, EvalbParams
from lveg.model import CHUNK, Parse, Parser, Tagger, Tagging
from lveg.parallel import chunks, ordered_map
from lveg.report import Report, silent
from lveg.trees import Tree, escape_word


@dataclass(frozen=True)
class ParserScores:
    """What a parser made of gold trees, sentence by sentence and in all."""

    parses: list[Parse]
    sentences: list[brackets.SentenceScore]
    summary: dict[str, Any]


@dataclass(frozen=True)
class TaggerScores:
    """What a tagger made of gold sentences, and the counts."""

    taggings: list[Tagging]
    counts: tags.TagCounts
    summary: dict[str, Any]


def score_parser(
    parser: Parser,
    gold: Sequence[Tree],
    decoder: str = "max-rule",
    params: EvalbParams = COLLINS,
    threads: int = 1,
    report: Report = silent,
    prepared: Sequence[Parses] | None = None,
    marginals: bool = False,
) -> ParserScores:
    """Parse the words of gold trees and score the result as EVALB does.

    prepared: what `parser.coarse.parses` said of each sentence, where it is known already.
    """

    def analyse(number: int) -> Parse:
        words = [escape_word(word) for word in gold[number].words()]
        if prepared is None:
            return parser.parse(words, decoder, marginals=marginals)
        return parser.decide(words, prepared[number], decoder, marginals=marginals)

    parses = []
    for parse in ordered_map(analyse, range(len(gold)), threads):
        parses.append(parse)
        report("progress", {"what": "parsing", "done": len(parses), "total": len(gold)})
    scores = brackets.score_pairs(gold, [parse.tree for parse in parses], params)
    summary = brackets.summary_json(brackets.summarise(scores, params))
    return ParserScores(parses, scores, summary)


def score_tagger(
    tagger: Tagger,
    gold: Sequence[Sequence[tuple[str, str]]],
    decoder: str = "posterior",
    threads: int = 1,
    report: Report = silent,
) -> TaggerScores:
    """Tag the words of gold sentences and count what is right; known words are those of the tagger's lexicon."""
    words = [[word for word, _ in sentence] for sentence in gold]
    taggings: list[Tagging] = []
    for chunk in ordered_map(lambda chunk: tagger.tag_all(chunk, decoder), chunks(words, CHUNK), threads):
        taggings += chunk
        report("progress", {"what": "tagging", "done": len(taggings), "total": len(gold)})
    gold_tags = [[tag for _, tag in sentence] for sentence in gold]
    known = set(tagger.grammar.lexicon.words)
    counts = tags.score_tags(words, gold_tags, [tagging.tags for tagging in taggings], known)
    return TaggerScores(taggings, counts, tags.summary_json(counts))
