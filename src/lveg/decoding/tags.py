"""The best tags and tag sequences of many sentences at once, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lveg.errors import UsageError
from lveg.families.chain import ChainFamily
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.chain import Posteriors, best_sequences, best_tags, extents

TAG_DECODERS = ("posterior", "viterbi")


@dataclass(frozen=True)
class TagSequences:
    """`count` tag sequences for each of packed sentences, best first.

    packed: the sentences, `count` times each, with their tags. confidence: the posteriors of those tags. score and
    log_prob (sentences, count): what the decoder maximised, -inf where a sentence has fewer sequences, and log
    P(tags | sentence). found: what is known of the sentences; log Z is no number where the family's numbers fail.
    """

    count: int
    packed: Ints
    confidence: Floats
    score: Floats
    log_prob: Floats
    found: Posteriors


def decode_tags(family: ChainFamily, packed: Ints, decoder: str, count: int = 1) -> TagSequences:
    """The best tags of packed sentences: of highest posterior each, or of the `count` best sequences (viterbi).

    The best sequences are those of the Markov chain with the family's posteriors: Viterbi's for the HMM.
    """
    if decoder not in TAG_DECODERS:
        raise UsageError(f"decoder {decoder!r} is not one of {', '.join(TAG_DECODERS)}")
    if decoder == "posterior" and count > 1:
        raise UsageError("the best tags of each word are one sequence: several are by the decoder viterbi")
    n_sentences, n_words, *_ = extents(family.table, packed)
    found = family.posteriors(packed, pairs=decoder == "viterbi")
    ranked, confidence = np.tile(packed, count), np.zeros(n_words * count)
    score = np.zeros((n_sentences, count))
    if decoder == "viterbi":
        best_sequences(family.table, packed, found.share, found.pair, count, ranked, confidence, score)
    else:
        best_tags(family.table, ranked, found.share, confidence, score)
    with np.errstate(invalid="ignore"):
        log_prob = family.log_zs(ranked).reshape(n_sentences, count) - found.log_z[:, None]
    return TagSequences(count, ranked, confidence, score, log_prob, found)
