"""Parse or tag many sentences: in order, in bounded memory, on any number of threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lveg.chart.coarse import MAX_WORDS
from lveg.errors import GrammarError, UsageError
from lveg.forest.constraints import NO_CONSTRAINTS, Constraints
from lveg.model import CHUNK, Parse, Parser, Tagger, Tagging
from lveg.parallel import chunks, ordered_map
from lveg.treebank.source import display_name
from lveg.treebank.text import Input


@dataclass(frozen=True)
class ParseSettings:
    """How sentences are parsed; the first five are as in `Parser.parse`.

    keep_tags: keep the tags given with a sentence. pruner, prune_count: restrict to the rules of this parser's best
    trees, and the number of trees. explained: as in `Parser.parse`.
    """

    decoder: str | None = None
    count: int = 1
    p_min: float | None = None
    marginals: bool = False
    max_words: int = MAX_WORDS
    keep_tags: bool = False
    pruner: Parser | None = None
    prune_count: int = 200
    explained: bool = False


@dataclass(frozen=True)
class TagSettings:
    """How sentences are tagged, as in `Tagger.tag`."""

    decoder: str | None = None
    count: int = 1
    posteriors: bool = False


def parse_all(
    parser: Parser, sentences: Iterable[Input], settings: ParseSettings | None = None, threads: int = 1
) -> Iterator[tuple[Input, Parse]]:
    """Each sentence with its analysis, in order, as soon as it is available."""
    settings = settings or ParseSettings()
    return ordered_map(lambda sentence: (sentence, parse_one(parser, sentence, settings)), sentences, threads)


def parse_one(parser: Parser, sentence: Input, settings: ParseSettings) -> Parse:
    """The analysis of a sentence."""
    tags = sentence.tags if settings.keep_tags else None
    constraints = Constraints(tags=tuple(tags)) if tags else NO_CONSTRAINTS
    within = sentence.within
    try:
        if settings.pruner is not None:
            best = settings.pruner.parse(
                sentence.words, count=settings.prune_count, constraints=constraints, max_words=settings.max_words
            )
            within = [candidate.tree for candidate in best.trees]
        return parser.parse(
            sentence.words,
            settings.decoder,
            settings.count,
            constraints,
            settings.p_min,
            settings.marginals,
            settings.max_words,
            within,
            settings.explained,
        )
    except GrammarError as error:
        hint = "; leave the tags out, or take those of another column" if tags else ""
        raise UsageError(f"{display_name(sentence.file)}:{sentence.line}: {error}{hint}") from None


def tag_all(
    tagger: Tagger,
    sentences: Iterable[Input],
    settings: TagSettings | None = None,
    threads: int = 1,
    chunk_size: int = CHUNK,
) -> Iterator[tuple[Input, Tagging]]:
    """Each sentence with its tags, in order; chunk_size: number of sentences that are tagged together."""
    settings = settings or TagSettings()

    def work(chunk: list[Input]) -> list[tuple[Input, Tagging]]:
        return list(zip(chunk, tag_some(tagger, chunk, settings), strict=True))

    for pairs in ordered_map(work, chunks(sentences, chunk_size), threads, ahead=2):
        yield from pairs


def tag_some(tagger: Tagger, sentences: Sequence[Input], settings: TagSettings) -> list[Tagging]:
    """The tags of a few sentences, which are tagged together."""
    words = [sentence.words for sentence in sentences]
    return tagger.tag_chunk(words, settings.decoder, settings.count, settings.posteriors)
