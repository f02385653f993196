"""The best tags and tag sequences of many sentences at once, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lveg.errors import UsageError
from lveg.families.chain import Lattices
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.chain import Posteriors, best_sequences, best_tags, extents

TAG_DECODERS = ("posterior", "viterbi")


@dataclass(frozen=True)
class TagSequences:
    """The best tag sequences of packed sentences; row r has the r-th best of each.

    packed (count, size): the sentences, with those tags given. tag and confidence (count, words): the tags and their
    posteriors. score and log_prob (sentences, count): what the decoder maximised, -inf if a sentence has fewer
    sequences, and log P(tags | sentence). found: the posteriors; log Z is not finite if the family has no result for a
    sentence.
    """

    packed: Ints
    tag: Ints
    confidence: Floats
    score: Floats
    log_prob: Floats
    found: Posteriors


def decode_tags(lattices: Lattices, decoder: str, count: int = 1) -> TagSequences:
    """The best tags of packed sentences: the most probable tag of each word, or the `count` best sequences (viterbi).

    The best sequences are those of the Markov chain with the family's posteriors: Viterbi's for the HMM.
    """
    if decoder not in TAG_DECODERS:
        raise UsageError(f"decoder {decoder!r} is not one of {', '.join(TAG_DECODERS)}")
    if decoder == "posterior" and count > 1:
        raise UsageError("the best tags of each word are a single sequence: for several use the decoder viterbi")
    family, packed, factors = lattices
    n_sentences, n_words, *_ = extents(packed)
    found = family.posteriors(packed, decoder == "viterbi", factors)
    np.minimum(found.share, 1.0, out=found.share)  # rounding can leave a probability above 1
    ranked = np.tile(packed, (count, 1))
    tag, confidence = np.zeros((count, n_words), np.int32), np.zeros((count, n_words))
    score = np.zeros((n_sentences, count))
    if decoder == "viterbi":
        best_sequences(packed, found.share, found.pair, count, ranked, tag, confidence, score)
    else:
        best_tags(ranked[0], found.share, tag[0], confidence[0], score)
    with np.errstate(invalid="ignore"):
        log_prob = np.stack([family.log_zs(given, factors) - found.log_z for given in ranked], axis=1)
    return TagSequences(ranked, tag, confidence, score, log_prob, found)
