"""A trained parser or tagger: everything needed to analyse a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from lveg.chart.coarse import MAX_WORDS, CoarseParser, Parses
from lveg.decoding.derivations import decode, sample_derivations, tree_of
from lveg.decoding.marginals import Span, constituents
from lveg.decoding.tags import decode_tags
from lveg.errors import GrammarError, UsageError
from lveg.families.gm import Gm
from lveg.families.pcfg import Pcfg
from lveg.families.tag_forms import TagForms
from lveg.families.tag_lvg import TagLvg, hmm
from lveg.families.tags import TagFamily, pack
from lveg.forest.builders import NO_CONSTRAINTS, Constraints
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.grammar.symbols import PHRASE
from lveg.trees import EMPTY_TREE, ROOT, Cleaning, Tree, escape_word

P_MIN = {"pcfg": 1e-5, "gm": 3e-5}
"""Default posterior threshold for nodes and edges of the forest that is parsed, by family (docs/decisions/0006)."""


CHUNK = 128
"""Sentences that are worth tagging by one call; more gain nothing."""


@dataclass(frozen=True)
class Candidate:
    """A tree with its score by the decoder and log P(tree | sentence), None where no probability is defined."""

    tree: Tree
    score: float
    log_prob: float | None


@dataclass(frozen=True)
class Parse:
    """The analysis of a sentence: trees, best first, and how they came about.

    log_sentence: log P(sentence), None where undefined. fallback: None, or what had to be resorted to (see
    chart.coarse). constituents: P(constituent | sentence), filled where asked for.
    """

    words: list[str]
    trees: list[Candidate]
    log_sentence: float | None
    fallback: str | None
    constituents: dict[Span, float] = field(default_factory=dict)

    @property
    def tree(self) -> Tree:
        """The best tree."""
        return self.trees[0].tree


@dataclass(frozen=True, slots=True)
class TagSequence:
    """Tags, their posterior probabilities, their score by the decoder and log P(tags | sentence)."""

    tags: list[str]
    confidence: list[float]
    score: float
    log_prob: float


@dataclass(frozen=True, slots=True)
class Tagging:
    """The tags of a sentence: sequences, best first.

    log_sentence: log P(sentence), None where the model has no probability of sentences. posteriors: where asked for,
    for each word P(tag | sentence) of the tags that it may have, the likeliest first.
    """

    words: list[str]
    sequences: list[TagSequence]
    log_sentence: float | None
    posteriors: list[dict[str, float]] = field(default_factory=list)

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


@dataclass(frozen=True)
class Parser:
    """A constituency parser: a treebank grammar, which prunes, and where there is one a finer grammar, which decides.

    weight: the treebank grammar's rule probabilities. gm: a Gaussian mixture grammar over the same rules.
    info: what the model file tells about its making: settings, scores, version, data fingerprint.
    """

    grammar: Grammar
    weight: Floats
    cleaning: Cleaning
    binarisation: Binarisation
    info: dict[str, Any]
    gm: Gm | None = None

    kind = "parser"

    @property
    def family_name(self) -> str:
        """What `--model` called it."""
        return "pcfg" if self.gm is None else "gm"

    @property
    def p_min(self) -> float:
        """The posterior threshold that it parses with where none is given."""
        return P_MIN[self.family_name]

    @cached_property
    def coarse(self) -> CoarseParser:
        """The builder of forests; exact where its probabilities are the answer."""
        return CoarseParser(self.grammar, self.weight, is_exact=self.gm is None)

    @cached_property
    def family(self) -> Pcfg | Gm:
        """What weighs the derivations of a forest."""
        return Pcfg(self.weight) if self.gm is None else self.gm

    def parse(
        self,
        words: Sequence[str],
        decoder: str = "max-rule",
        count: int = 1,
        constraints: Constraints = NO_CONSTRAINTS,
        p_min: float | None = None,
        marginals: bool = False,
        max_words: int = MAX_WORDS,
    ) -> Parse:
        """The best analysis of any sentence, or the `count` best; an empty sentence has the empty tree."""
        words = [escape_word(word) for word in words]
        if not words:
            return Parse([], [Candidate(EMPTY_TREE, 0.0, 0.0)], 0.0, None)
        p_min = self.p_min if p_min is None else p_min
        parses = self.coarse.parses(words, p_min, constraints=constraints, max_words=max_words)
        return self.decide(words, parses, decoder, count, constraints, marginals)

    def decide(
        self,
        words: Sequence[str],
        parses: Parses,
        decoder: str = "max-rule",
        count: int = 1,
        constraints: Constraints = NO_CONSTRAINTS,
        marginals: bool = False,
    ) -> Parse:
        """The best of the analyses that the coarse grammar left."""
        forest, grammar = parses.forest, parses.grammar
        if forest is None:
            tree = self._flat_tree(words, constraints)
            return Parse(list(words), [Candidate(tree, -np.inf, None)], None, parses.fallback)
        family = parses.coarse if parses.fallback == "glue" else self.family
        posterior = family.posterior(forest)
        # The treebank grammar's own Z is known before pruning; of others it is that of the forest.
        log_sentence = parses.log_z if self.gm is None else None
        log_z = posterior.log_z if log_sentence is None else log_sentence
        trees = [
            Candidate(
                tree_of(grammar, forest, edges, words), score, family.log_derivation(grammar, forest, edges) - log_z
            )
            for score, edges in decode(grammar, forest, posterior, decoder, count)
        ]
        shares = constituents(grammar, forest, posterior) if marginals else {}
        return Parse(list(words), trees, log_sentence, parses.fallback, shares)

    def log_prob(self, tree: Tree, p_min: float | None = None) -> float:
        """log P(tree | its words) of any tree, cleaned as in training; -inf where the grammar does not derive it."""
        p_min = self.p_min if p_min is None else p_min
        cleaned = self.cleaning(tree)
        if cleaned is None:
            raise UsageError("the tree has no words")
        try:
            forest, gold = self.coarse.training_forest(cleaned, self.binarisation, p_min)
        except GrammarError:
            return -np.inf
        if self.gm is None:  # the sum over all trees is known, not only that over the pruned forest
            return self.family.log_z(gold) - self.coarse.prune(cleaned.words(), p_min, p_min)[0]
        return self.family.log_z(gold) - self.family.log_z(forest)

    def sample(self, words: Sequence[str], count: int = 1, seed: int = 0, p_min: float | None = None) -> list[Tree]:
        """Trees drawn independently from P(tree | sentence), the same for the same seed."""
        words = [escape_word(word) for word in words]
        parses = self.coarse.parses(words, self.p_min if p_min is None else p_min)
        if parses.forest is None:
            return [self._flat_tree(words, NO_CONSTRAINTS)] * count
        if self.gm is not None and parses.fallback != "glue":
            drawn = self.gm.samples(parses.forest, count, seed)
        else:
            drawn = sample_derivations(parses.forest, parses.coarse.posterior(parses.forest), count, seed)
        return [tree_of(parses.grammar, parses.forest, edges, words) for edges in drawn]

    def _flat_tree(self, words: Sequence[str], constraints: Constraints) -> Tree:
        """Every word under its commonest tag, all under the commonest phrase."""
        given = constraints.tags or (None,) * len(words)
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
        """The commonest tag of each terminal."""
        lexical = self.grammar.kind_slice("lexical")
        order = np.argsort(self.grammar.count[lexical], kind="stable") + lexical.start
        pairs = zip(self.grammar.rule_left[order].tolist(), self.grammar.rule_lhs[order].tolist(), strict=True)
        return {terminal: self.grammar.symbols[tag].label for terminal, tag in pairs}


@dataclass(frozen=True)
class Tagger:
    """A part-of-speech tagger: an HMM, or a family with latent subtypes that was learned from it.

    weight: the HMM's probabilities. latent: the family that decides; None for the HMM itself.
    """

    grammar: Grammar
    weight: Floats
    column: str
    info: dict[str, Any]
    latent: TagFamily | TagForms | None = None

    kind = "tagger"

    @property
    def family_name(self) -> str:
        """What `--model` called it."""
        if self.latent is None:
            return "hmm"
        if isinstance(self.latent, TagForms):
            return "forms"
        return "lvg" if isinstance(self.latent, TagLvg) else "gm"

    @cached_property
    def hmm(self) -> TagFamily:
        """The HMM."""
        return hmm(self.grammar, self.weight)

    def tag(
        self, words: Sequence[str], decoder: str | None = None, count: int = 1, posteriors: bool = False
    ) -> Tagging:
        """The tags of any sentence; see `tag_all`."""
        return self.tag_all([words], decoder, count, posteriors)[0]

    def tag_all(
        self,
        sentences: Sequence[Sequence[str]],
        decoder: str | None = None,
        count: int = 1,
        posteriors: bool = False,
    ) -> list[Tagging]:
        """The tags of any sentences: of highest posterior each (posterior), or of the `count` best sequences (viterbi).

        The best sequence of a model with latent subtypes is that of the Markov chain with its posteriors. decoder: None
        for posterior, and for viterbi where several sequences are asked for.
        """
        decoder = decoder or ("posterior" if count == 1 else "viterbi")
        if not sentences:
            return []
        family, packed = self._over(sentences)
        return list(self._tag_all(family, sentences, packed, decoder, count, posteriors))

    def _over(self, sentences: Sequence[Sequence[str]]) -> tuple[TagFamily, Ints]:
        """What weighs the tag sequences of these sentences, and the sentences as it wants them."""
        if isinstance(self.latent, TagForms):
            ends = np.cumsum([0, *map(len, sentences)]).tolist()
            packed = [pack(range(first, last)) for first, last in pairwise(ends)]
            return self.latent.over_words(sentences), np.concatenate(packed)
        return self.hmm if self.latent is None else self.latent, self._by_lexicon(sentences)

    def _by_lexicon(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """The sentences with the lexicon's terminals."""
        return np.concatenate([pack(self.grammar.lexicon.terminals(words)) for words in sentences])

    def _tag_all(
        self, family: TagFamily, sentences: Sequence[Sequence[str]], packed: Ints, decoder: str, count: int,
        posteriors: bool,
    ) -> Iterator[Tagging]:  # fmt: skip
        """The tags by a family. Where its numbers fail, which learned ones do not, the HMM answers."""
        labels = self.grammar.tags
        best = decode_tags(family, packed, decoder, count)
        numbers, confidence = best.packed.tolist(), best.confidence.tolist()
        scores, log_probs = best.score.tolist(), best.log_prob.tolist()
        shares = self._shares(family, packed, best.found.share) if posteriors else iter(())
        at, word = 0, 0
        for words, log_z, score, log_prob in zip(sentences, best.found.log_z.tolist(), scores, log_probs, strict=True):
            n = len(words)
            sequences = []
            for rank in range(count):
                if score[rank] > -math.inf:
                    tags = [labels[tag] for tag in numbers[at + 1 + n : at + 1 + 2 * n]]
                    sequences.append(TagSequence(tags, confidence[word : word + n], score[rank], log_prob[rank]))
                at, word = at + 1 + 2 * n, word + n
            share = next(shares, [])
            if family is not self.hmm and not (math.isfinite(log_z) and sequences):
                again = self._by_lexicon([words])
                yield from self._tag_all(self.hmm, [words], again, decoder, count, posteriors)
            else:
                yield Tagging(list(words), sequences, log_z if family.is_probability else None, share)

    def _shares(self, family: TagFamily, packed: Ints, share: Floats) -> Iterator[list[dict[str, float]]]:
        """For each of packed sentences the posteriors of the tags of its words."""
        labels, ptr, tags = self.grammar.tags, family.table.ptr, family.table.tag
        at, entry = 0, 0
        while at < len(packed):
            found = []
            for terminal in packed[at + 1 : at + 1 + packed[at]].tolist():
                own = tags[ptr[terminal] : ptr[terminal + 1]]
                part = share[entry : entry + len(own)]
                found.append({labels[own[k]]: float(part[k]) for k in np.argsort(-part, kind="stable")})
                entry += len(own)
            yield found
            at += 1 + 2 * int(packed[at])


Model = Parser | Tagger
