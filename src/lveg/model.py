"""A trained parser or tagger: everything needed to analyse a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from lveg._version import __version__
from lveg.chart.coarse import MAX_WORDS, CoarseParser, Parses
from lveg.decoding.derivations import DECODERS, decode, tree_of
from lveg.decoding.explain import Explanation, explain
from lveg.decoding.marginals import Sharpness, Span, constituents, tags_by_word
from lveg.decoding.tags import decode_tags
from lveg.errors import GrammarError, UsageError
from lveg.families.chain import Chains, GivenTags, word_tags
from lveg.families.forest import Judge
from lveg.families.product.family import Product
from lveg.families.registry import treebank_kind
from lveg.forest.constraints import NO_CONSTRAINTS, Constraints, intersect
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Grammar, Ints, same_rules
from lveg.grammar.symbols import PHRASE
from lveg.parallel import chunks, ordered_map
from lveg.progress import watched
from lveg.report import Report
from lveg.text.tokens import Tokeniser
from lveg.trees import EMPTY_TREE, ROOT, Cleaning, Tree, escape_word

CHUNK = 128
"""Number of sentences tagged per call; larger chunks are no faster."""

# Only ASCII white space separates words: U+2009 and U+200A occur inside words.
_WORD = re.compile(r"[^ \t\r\n\v\f]+")


def words_of(sentence: str | Sequence[str]) -> list[str]:
    """The words of a sentence, given as a list or as a text whose words are separated by white space."""
    if isinstance(sentence, str):
        return _WORD.findall(sentence)
    if not isinstance(sentence, Iterable):
        raise UsageError(f"expected the words of a sentence, not {sentence!r}")
    words = list(sentence)
    for number, word in enumerate(words, start=1):
        if not isinstance(word, str):
            raise UsageError(f"word {number} is not a string: {word!r}")
        if not word:
            raise UsageError(f"word {number} is empty: a word needs at least one character")
    return words


def _check(count: int, p_min: float | None = None, seed: int = 0) -> None:
    """Raise an error if an argument is out of range."""
    if count < 1:
        raise UsageError(f"count {count}: expected at least 1")
    if p_min is not None and not 0.0 <= p_min <= 1.0:
        raise UsageError(f"p_min {p_min}: expected a probability from 0 to 1")
    if seed < 0:
        raise UsageError(f"seed {seed}: expected at least 0")


def _check_several(sentences: object, name: str, single: str) -> None:
    """Raise an error if a single text was given where several sentences are expected."""
    if isinstance(sentences, str):
        raise UsageError(f"{name} takes several sentences: use {single} for one")


def _size(items: object) -> int | None:
    """The number of items, if it is known in advance."""
    return len(items) if isinstance(items, Sized) else None


@dataclass(frozen=True)
class Candidate:
    """A tree with its decoder score and log P(tree | sentence), which is None if no probability is defined."""

    tree: Tree
    score: float
    log_prob: float | None


@dataclass(frozen=True)
class Parse:
    """The analysis of a sentence: trees, best first, and how they were found.

    log_sentence: log P(sentence), None if undefined. fallback: None, or the fallback that was used (see chart.coarse;
    the name of the treebank grammar's family if the finer grammar had no derivation). constituents: P(constituent |
    sentence), if requested. posteriors: P(tag | sentence) of the possible tags of each word, most probable first, if
    requested. explanations: what supports each constituent of the best tree, if requested; empty for a flat tree.
    """

    words: list[str]
    trees: list[Candidate]
    log_sentence: float | None
    fallback: str | None
    constituents: dict[Span, float] = field(default_factory=dict)
    posteriors: list[dict[str, float]] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)

    @property
    def tree(self) -> Tree:
        """The best tree."""
        return self.trees[0].tree


@dataclass(frozen=True, slots=True)
class TagSequence:
    """Tags, their posterior probabilities, their decoder score and log P(tags | sentence)."""

    tags: list[str]
    confidence: list[float]
    score: float
    log_prob: float


@dataclass(frozen=True, slots=True)
class Tagging:
    """The tags of a sentence: sequences, best first.

    log_sentence: log P(sentence), None if the model does not define it. posteriors: if requested, P(tag | sentence) of
    the possible tags of each word, most probable first. fallback: None, or the name of the treebank's own family if the
    model found no tags for the sentence.
    """

    words: list[str]
    sequences: list[TagSequence]
    log_sentence: float | None
    posteriors: list[dict[str, float]] = field(default_factory=list)
    fallback: str | None = None

    @property
    def tags(self) -> list[str]:
        """The best tags."""
        return self.sequences[0].tags

    @property
    def confidence(self) -> list[float]:
        """The posterior probability of each of the best tags."""
        return self.sequences[0].confidence

    @property
    def log_prob(self) -> float:
        """log P(best tags | sentence)."""
        return self.sequences[0].log_prob


@dataclass(frozen=True, eq=False, repr=False)
class Parser:
    """A constituency parser: a treebank grammar, which prunes, and a grammar family over its rules, which scores.

    weight: the treebank grammar's rule probabilities. info: how the model was trained: options, scores, version, data
    fingerprint.
    """

    grammar: Grammar
    weight: Floats
    cleaning: Cleaning
    binarisation: Binarisation
    info: dict[str, Any]
    family: Judge

    task = "parser"

    def __repr__(self) -> str:
        return f"<Parser of model {self.family.name}, {self.grammar.n_rules:,} rules>"

    @property
    def p_min(self) -> float:
        """The default posterior threshold for parsing."""
        return self.family.p_min

    @property
    def is_treebank(self) -> bool:
        """Whether the model is the treebank grammar itself."""
        return self.family.name == treebank_kind("parser").name

    @cached_property
    def coarse(self) -> CoarseParser:
        """The builder of forests; exact if its probabilities are part of the result."""
        return CoarseParser(self.grammar, self.weight, is_exact=self.is_treebank)

    @property
    def decoder(self) -> str:
        """The default decoder."""
        decoder = self.info.get("decoder")
        return decoder if decoder in DECODERS else "max-rule"

    @property
    def sharpness(self) -> Sharpness:
        """How the log odds of constituents are changed, fitted on development trees: a factor, and an offset."""
        match self.info.get("sharpness"):
            case [float(factor), float(offset)] if 0.0 < factor < 100.0 and abs(offset) < 100.0:
                return Sharpness(factor, offset)
            case float(factor) if 0.0 < factor < 100.0:  # before there were offsets
                return Sharpness(factor)
        return Sharpness()

    def parse(
        self,
        words: str | Sequence[str],
        decoder: str | None = None,
        count: int = 1,
        constraints: Constraints = NO_CONSTRAINTS,
        p_min: float | None = None,
        marginals: bool = False,
        max_words: int = MAX_WORDS,
        within: Sequence[Tree] = (),
        explained: bool = False,
    ) -> Parse:
        """The best analysis of any sentence, or the `count` best; an empty sentence has the empty tree.

        words: a list, or a text whose words are separated by white space. decoder: max-rule, viterbi or mbr; by
        default, the one recorded in the model. within: trees of the same words, from any parser; if the grammar derives
        any of them, analyses are restricted to the rules of these trees. marginals, explained: whether to return the
        probabilities of constituents and tags, and explanations of the constituents of the best tree.
        """
        _check(count, p_min)
        words = [escape_word(word) for word in words_of(words)]
        if not words:
            return Parse([], [Candidate(EMPTY_TREE, 0.0, 0.0)], 0.0, None)
        p_min = self.p_min if p_min is None else p_min
        parses = self._within(words, within, constraints) if within else None
        if parses is None:
            parses = self.coarse.parses(words, p_min, constraints=constraints, max_words=max_words)
            if within and parses.fallback is None:
                parses = replace(parses, fallback="free")
        return self.decide(words, parses, decoder, count, constraints, marginals, explained)

    def parse_all(
        self,
        sentences: Iterable[str | Sequence[str]],
        decoder: str | None = None,
        count: int = 1,
        p_min: float | None = None,
        marginals: bool = False,
        max_words: int = MAX_WORDS,
        threads: int = 1,
        progress: bool | Report = False,
    ) -> Iterator[Parse]:
        """The analysis of each sentence, in order, as soon as it is known; see `parse`.

        Only a few sentences are read ahead, so that any number of them can be parsed. progress: whether to show
        progress on stderr, or a function that receives it (see `lveg.report`).
        """
        _check_several(sentences, "parse_all", "parse")
        _check(count, p_min)

        def work(words: str | Sequence[str]) -> Parse:
            return self.parse(words, decoder, count, NO_CONSTRAINTS, p_min, marginals, max_words)

        return watched(ordered_map(work, sentences, threads), progress, "parsing", _size(sentences))

    def kbest(
        self,
        words: str | Sequence[str],
        count: int,
        decoder: str | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        p_min: float | None = None,
    ) -> list[Candidate]:
        """The `count` best trees, or as many as there are, best first; see `parse`."""
        return self.parse(words, decoder, count, constraints, p_min).trees

    def marginals(
        self, words: str | Sequence[str], constraints: Constraints = NO_CONSTRAINTS, p_min: float | None = None
    ) -> dict[Span, float]:
        """P(constituent | sentence) of each (label, start, end) that some analysis has; see `parse`."""
        return self.parse(words, constraints=constraints, p_min=p_min, marginals=True).constituents

    def decide(
        self,
        words: Sequence[str],
        parses: Parses,
        decoder: str | None = None,
        count: int = 1,
        constraints: Constraints = NO_CONSTRAINTS,
        marginals: bool = False,
        explained: bool = False,
    ) -> Parse:
        """The best of the analyses that remain after pruning by the treebank grammar."""
        forest, grammar, fallback = parses.forest, parses.grammar, parses.fallback
        if forest is None:
            return self._flat(words, constraints)
        plain = self._treebank(parses)
        family = plain if fallback == "glue" else self.family
        posterior = family.posterior(forest)
        decoder = decoder or self.decoder
        best = decode(grammar, forest, posterior, decoder, count) if posterior.is_sound else []
        if not best and family is not plain:  # subtypes trained without smoothing may have no derivation
            family, fallback = plain, fallback or plain.name
            posterior = family.posterior(forest)
            best = decode(grammar, forest, posterior, decoder, count) if posterior.is_sound else []
        if not best:
            return self._flat(words, constraints)
        # The treebank grammar's own Z is known before pruning; that of others is over the forest.
        log_sentence = parses.log_z if family.name == plain.name else None
        if log_sentence is not None:
            posterior = replace(posterior, log_z=log_sentence)
        log_probs = family.log_probs(grammar, forest, [edges for _, edges in best], posterior)
        trees = [
            Candidate(tree_of(grammar, forest, edges, words), score, log_prob)
            for (score, edges), log_prob in zip(best, log_probs, strict=True)
        ]
        shares = constituents(grammar, forest, posterior) if marginals else {}
        sharpness = self.sharpness
        if sharpness != Sharpness():
            shares = {span: sharpness.of(share) for span, share in shares.items()}
        posteriors = tags_by_word(grammar, forest, posterior) if marginals else []
        reasons = explain(grammar, parses.weight, forest, family, posterior, best[0][1]) if explained else []
        return Parse(list(words), trees, log_sentence, fallback, shares, posteriors, reasons)

    def explain(self, words: str | Sequence[str], decoder: str | None = None) -> list[Explanation]:
        """What supports each constituent of the best tree, outer constituents first; see `parse`."""
        return self.parse(words, decoder, explained=True).explanations

    def _treebank(self, parses: Parses) -> Judge:
        """The pruning grammar, as a family."""
        made = treebank_kind("parser").load_family().restore(parses.grammar, parses.weight, {}, {})
        return cast(Judge, made)

    def _within(self, words: list[str], trees: Sequence[Tree], constraints: Constraints) -> Parses | None:
        """The forest made by the rules of these trees, if it satisfies the constraints."""
        cleaned = [tree for tree in map(self.cleaning, trees) if tree is not None]
        for tree in cleaned:
            if tree.words() != words:
                raise UsageError(
                    f"a tree to restrict the analysis to has other words than the sentence: {' '.join(tree.words())}"
                )
        parses = self.coarse.within(cleaned, self.binarisation)
        if parses is None or parses.forest is None:
            return None
        forest = intersect(self.grammar, parses.forest, constraints)
        return None if forest.is_empty else replace(parses, forest=forest)

    def log_prob(self, tree: Tree, p_min: float | None = None) -> float:
        """log P(tree | its words) of any tree, cleaned as in training; -inf if the grammar does not derive it."""
        _check(1, p_min)
        p_min = self.p_min if p_min is None else p_min
        cleaned = self.cleaning(tree)
        if cleaned is None:
            raise UsageError("the tree has no words")
        try:
            forest, gold = self.coarse.training_forest(cleaned, self.binarisation, p_min)
        except GrammarError:
            return -np.inf
        if self.is_treebank:  # the sum over all trees is known, not only the sum over the pruned forest
            posterior = self.family.posterior(gold)
            return posterior.log_z - self.coarse.prune(cleaned.words(), p_min, p_min)[0]
        return self.family.log_prob(gold, forest)

    def sample(
        self,
        words: str | Sequence[str],
        count: int = 1,
        seed: int = 0,
        p_min: float | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
    ) -> list[Tree]:
        """Trees sampled independently from P(tree | sentence, constraints); the same seed gives the same trees."""
        _check(count, p_min, seed)
        words = [escape_word(word) for word in words_of(words)]
        if not words:
            return [EMPTY_TREE] * count
        parses = self.coarse.parses(words, self.p_min if p_min is None else p_min, constraints=constraints)
        if parses.forest is not None:
            plain = self._treebank(parses)
            for family in (plain,) if parses.fallback == "glue" else (self.family, plain):
                try:
                    drawn = family.samples(parses.forest, count, seed)
                except GrammarError:  # no derivation has any weight
                    continue
                return [tree_of(parses.grammar, parses.forest, edges, words) for edges in drawn]
        return [self._flat_tree(words, constraints)] * count

    def _flat(self, words: Sequence[str], constraints: Constraints) -> Parse:
        """The flat tree, as the last fallback."""
        return Parse(list(words), [Candidate(self._flat_tree(words, constraints), -np.inf, None)], None, "flat")

    def _flat_tree(self, words: Sequence[str], constraints: Constraints) -> Tree:
        """Every word under its most frequent tag, all under the most frequent phrase label."""
        given = constraints.given_tags(len(words))
        tags = [
            tag or self._commonest_tag[terminal]
            for tag, terminal in zip(given, self.grammar.lexicon.terminals(words), strict=True)
        ]
        root = self.grammar.kind_slice("root")
        by_count = np.argsort(-self.grammar.count[root], kind="stable")
        symbols = [self.grammar.symbols[self.grammar.rule_left[root][index]] for index in by_count]
        label = next((symbol.label for symbol in symbols if symbol.kind == PHRASE), "X")
        leaves = [Tree(tag, (), word) for tag, word in zip(tags, words, strict=True)]
        return Tree(ROOT, (Tree(label, leaves),))

    @cached_property
    def _commonest_tag(self) -> dict[int, str]:
        """The most frequent tag of each terminal."""
        lexical = self.grammar.kind_slice("lexical")
        order = np.argsort(self.grammar.count[lexical], kind="stable") + lexical.start
        pairs = zip(self.grammar.rule_left[order].tolist(), self.grammar.rule_lhs[order].tolist(), strict=True)
        return {terminal: self.grammar.symbols[tag].label for terminal, tag in pairs}


def combine(parsers: Sequence[Parser]) -> Parser:
    """Several parsers of one treebank, combined into one.

    max-rule uses the product of their rule posteriors (Petrov 2010), and probabilities are means over the parsers. The
    first one prunes.
    """
    first = parsers[0]
    for number, other in enumerate(parsers, start=1):
        if not (same_rules(first.grammar, other.grammar) and np.array_equal(first.weight, other.weight)):
            raise UsageError(
                f"parser {number} has other rules than the first one: combined parsers must be trained on the "
                "same trees, with the same options for words and for binarisation"
            )
    if len(parsers) == 1:
        return first
    members = [
        member
        for parser in parsers
        for member in (parser.family.members if isinstance(parser.family, Product) else (parser.family,))
    ]
    trained = [info for parser in parsers for info in parser.info.get("trained", [parser.info])]
    info = {"lveg": __version__, "trained": trained}
    return replace(first, info=info, family=Product(tuple(members)))


@dataclass(frozen=True, eq=False, repr=False)
class Tagger:
    """A part-of-speech tagger: the treebank's HMM, and a family of chains that scores.

    weight: the treebank's own probabilities. column: the CoNLL-U column that it fills. tokeniser: finds sentences and
    words in raw text, if one was trained with it.
    """

    grammar: Grammar
    weight: Floats
    column: str
    info: dict[str, Any]
    family: Chains
    tokeniser: Tokeniser | None = None

    task = "tagger"

    def __repr__(self) -> str:
        return f"<Tagger of model {self.family.name}, {len(self.grammar.tags)} tags>"

    @cached_property
    def treebank(self) -> Chains:
        """The treebank's HMM, used if the family has no result."""
        if self.family.name == treebank_kind("tagger").name:
            return self.family
        return cast(Chains, treebank_kind("tagger").load_family().restore(self.grammar, self.weight, {}, {}))

    def tag(
        self,
        words: str | Sequence[str],
        decoder: str | None = None,
        count: int = 1,
        posteriors: bool = False,
        tags: Sequence[str | None] | Mapping[int, str] | None = None,
    ) -> Tagging:
        """The tags of any sentence: the best tag of each word (posterior), or the `count` best sequences (viterbi).

        words: a list, or a text whose words are separated by white space. The best sequence of a model with latent
        subtypes is that of the Markov chain with its posteriors. decoder: None means posterior, or viterbi if count >
        1. posteriors: whether to return the probabilities of all tags. tags: the known tag of each word, None if it is
        open, or the tags of some words by position; probabilities are then those given these tags, and log_sentence is
        the log probability of the sentence with them. The lexicon need not have a word with its known tag.
        """
        words = words_of(words)
        given = None if tags is None else [Constraints(tags=tags).tag_ids(self.grammar, len(words)).tolist()]
        return self.tag_chunk([words], decoder, count, posteriors, given)[0]

    def tag_all(
        self,
        sentences: Iterable[str | Sequence[str]],
        decoder: str | None = None,
        count: int = 1,
        posteriors: bool = False,
        threads: int = 1,
        progress: bool | Report = False,
        chunk_size: int = CHUNK,
    ) -> Iterator[Tagging]:
        """The tags of each sentence, in order; see `tag`. Many times faster than one sentence at a time.

        Only a few chunks of sentences are read ahead, so that any number of them can be tagged. progress: whether to
        show progress on stderr, or a function that receives it (see `lveg.report`). chunk_size: how many sentences are
        tagged together.
        """
        _check_several(sentences, "tag_all", "tag")
        _check(count)

        def work(chunk: Sequence[str | Sequence[str]]) -> list[Tagging]:
            return self.tag_chunk(chunk, decoder, count, posteriors)

        done = ordered_map(work, chunks(sentences, chunk_size), threads, ahead=2)
        return watched((tagging for part in done for tagging in part), progress, "tagging", _size(sentences))

    def tag_chunk(
        self,
        sentences: Sequence[str | Sequence[str]],
        decoder: str | None = None,
        count: int = 1,
        posteriors: bool = False,
        given: GivenTags | None = None,
    ) -> list[Tagging]:
        """The tags of several sentences, which are all in memory at once; see `tag`. given: numbers of known tags."""
        _check(count)
        decoder = decoder or ("posterior" if count == 1 else "viterbi")
        if not sentences:
            return []
        several = [words_of(words) for words in sentences]
        return list(self._tag_all(self.family, several, decoder, count, posteriors, given))

    def _tag_all(
        self,
        chains: Chains,
        sentences: Sequence[Sequence[str]],
        decoder: str,
        count: int,
        posteriors: bool,
        given: GivenTags | None,
    ) -> Iterator[Tagging]:
        """The tags according to a family; falls back to the HMM if log Z is not finite."""
        labels = self.grammar.tags
        lattices = chains.lattices(self.grammar, sentences, given)
        best = decode_tags(lattices, decoder, count)
        tags, confidence = best.tag.tolist(), best.confidence.tolist()
        scores, log_probs = best.score.tolist(), best.log_prob.tolist()
        shares = self._shares(lattices.packed, best.found.share) if posteriors else []
        first = 0
        for number, (words, log_z, score, log_prob) in enumerate(
            zip(sentences, best.found.log_z.tolist(), scores, log_probs, strict=True)
        ):
            last = first + len(words)
            sequences = [
                TagSequence(
                    [labels[tag] for tag in tags[rank][first:last]], confidence[rank][first:last], score[rank],
                    log_prob[rank],
                )
                for rank in range(count)
                if score[rank] > -math.inf
            ]  # fmt: skip
            share, first = shares[first:last], last
            if chains is not self.treebank and not (math.isfinite(log_z) and sequences):
                known = None if given is None else [given[number]]
                for tagging in self._tag_all(self.treebank, [words], decoder, count, posteriors, known):
                    yield replace(tagging, fallback=self.treebank.name)
            else:
                yield Tagging(list(words), sequences, log_z if chains.is_probability else None, share)

    def _shares(self, packed: Ints, share: Floats) -> list[dict[str, float]]:
        """The posteriors of the tags of each word of packed sentences."""
        labels, entry, found = self.grammar.tags, 0, []
        for tags in word_tags(packed):
            part = share[entry : entry + len(tags)]
            found.append({labels[tags[k]]: float(part[k]) for k in np.argsort(-part, kind="stable")})
            entry += len(tags)
        return found


Model = Parser | Tagger
