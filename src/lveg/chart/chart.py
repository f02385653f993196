"""The chart of one sentence: filled with inside scores, then pruned to the anchored rules worth keeping."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.chart.layout import ChartRules
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.chart_estimate import Estimate, TagChain, estimate_side
from lveg.kernels.chart_inside import fill_cells
from lveg.kernels.chart_likely import fill_likely_spans, keep_likely_rules
from lveg.kernels.chart_outside import keep_rules
from lveg.kernels.chart_rules import Cells, Columns, Dense, Kept, Lexical, Likely, Rules, Work
from lveg.kernels.jit import DEAD

_LEAST = 2.0**-1022  # the smallest normal number: a posterior below it counts as impossible
_KEPT_FIRST = 512  # anchored rules per word: initial capacity for the rules that are kept


class Memory:
    """Memory for charts, reused from one sentence to the next.

    Allocating it again costs more than filling it. Each thread that fills a chart borrows a block while it does, so
    there are at most as many blocks as concurrent threads, of at most `limit` numbers each; a larger block is freed
    after use. All are freed with this object.
    """

    def __init__(self, limit: int = 2**25) -> None:
        self.limit = limit
        self._free: deque[Floats] = deque()

    def __reduce__(self) -> tuple[type[Memory], tuple[int]]:
        return Memory, (self.limit,)  # without the blocks

    @contextmanager
    def borrow(self, size: int) -> Iterator[Floats]:
        """A block of at least `size` uninitialised numbers."""
        try:
            block = self._free.pop()
        except IndexError:
            block = np.empty(0)
        if block.size < size:
            block = np.empty(size)
        try:
            yield block
        finally:
            if block.size <= self.limit:
                self._free.append(block)


class Sentence(NamedTuple):
    """A sentence as the chart kernels need it.

    spans: (n + 1, n + 1), the kind of each span. allowed: (2, kinds, N), see `Symbols`. lexical: the lexical rules of
    its words. scale: (n,), the power of two of their scores, DEAD for a word without any tag.
    """

    words: tuple[str, ...]
    spans: npt.NDArray[np.uint8]
    allowed: Floats
    lexical: Lexical
    scale: npt.NDArray[np.int64]


class Chart(NamedTuple):
    """A filled chart, scores of root rules, and log Z; -inf if there is no parse.

    filled: the scores of all symbols of all spans, or those of likely symbols. keep: the kernel that finds the anchored
    rules worth keeping in such a chart.
    """

    filled: tuple[Cells, Dense] | tuple[Likely, Columns]
    keep: Callable[..., int]
    from_root: Floats
    root_posterior: Floats
    log_z: float


def read_sentence(
    rules: ChartRules,
    words: Sequence[str],
    terminals: Ints,
    given_tags: Ints,
    spans: npt.NDArray[np.uint8],
    allowed: Floats,
) -> Sentence:
    """The words with their lexical rules; given_tags: (n,), each word's tag, numbered among the tags, or -1."""
    n = len(terminals)
    first = rules.terminal_ptr[terminals]
    count = rules.terminal_ptr[terminals + 1] - first
    scale = rules.terminal_scale[terminals]
    ptr = np.zeros(n + 1, np.int32)
    np.cumsum(count, out=ptr[1:])
    word = np.repeat(np.arange(n), count)
    index = np.arange(ptr[n]) + np.repeat(first - ptr[:n], count)
    if (given_tags >= 0).any():
        is_open = (given_tags[word] < 0) | (given_tags[word] == rules.terminal_tag[index])
        word, index = word[is_open], index[is_open]
        ptr = np.searchsorted(word, np.arange(n + 1)).astype(np.int32)
        scale = np.where(np.diff(ptr) > 0, scale, DEAD)
    tag = rules.terminal_tag[index]
    score = np.zeros((n, rules.n_tags))
    score[word, tag] = rules.terminal_weight[index]
    return Sentence(tuple(words), spans, allowed, Lexical(ptr, tag, rules.terminal_rule[index], score), scale)


def exact_size(rules: ChartRules, n: int) -> int:
    """Size of the exact chart of n words, in numbers."""
    return n * (n + 1) * (3 * rules.n_nonterminals + rules.n_left + rules.n_right)


def likely_size(rules: ChartRules, n: int, entries: int) -> int:
    """Size of the chart of n words with so many likely symbols per span, in numbers."""
    return 4 * (n * (n + 1) // 2 * min(entries, rules.n_nonterminals) + n * rules.n_nonterminals)


def exact_chart(rules: ChartRules, sentence: Sentence, block: Floats) -> Chart:
    """The chart of all cells. Cost: O(n^3 pairs) with small constants, O(n^2 N) memory."""
    n, n_left, n_right = len(sentence.words), rules.n_left, rules.n_right
    shape = (3, n, n + 1, rules.n_nonterminals)
    bottom, top, outer = block[: math.prod(shape)].reshape(shape)
    cells, block = Cells(bottom, top, outer, _scales(sentence)), block[math.prod(shape) :]
    left = block[: n * n_left * (n + 1)].reshape(n, n_left, n + 1)
    right = block[left.size : left.size + (n + 1) * n_right * n].reshape(n + 1, n_right, n)
    left[:], right[:] = 0.0, 0.0
    dense = Dense(
        left,
        np.full((n, n_left), n + 1, np.int32),
        np.full((n, n_left), -1, np.int32),
        right,
        np.full((n + 1, n_right), n + 1, np.int32),
        np.full((n + 1, n_right), -1, np.int32),
        np.zeros((n + 1, n_right)),
    )
    score = sentence.lexical.score
    fill_cells(_grammar(rules, sentence), sentence.spans, score, cells, dense, _room(rules, n))
    return Chart((cells, dense), keep_rules, *_root_scores(rules, sentence, top[0, n], int(cells.scale[0, n])))


def likely_chart(rules: ChartRules, chain: TagChain, sentence: Sentence, p_cell: float, block: Floats) -> Chart | None:
    """The chart without the symbols whose estimated posterior is below p_cell; log Z is that of the rest.

    None if the block is too small; see `likely_size`.
    """
    n, n_symbols, room = len(sentence.words), rules.n_nonterminals, len(block) // 4
    low, high, outer = block[: 3 * room].reshape(3, room)
    begin, middle, end = np.zeros((3, n, n + 1), np.int32)
    likely = Likely(_scales(sentence), begin, middle, end, block[3 * room :].view(np.int32)[:room], low, high, outer)
    columns = Columns(np.empty((n, 2, n_symbols)), np.empty((n, 2, n_symbols)), np.empty(n_symbols))
    score, scale = sentence.lexical.score, sentence.scale
    before, after = np.zeros((n + 1, n_symbols)), np.zeros((n + 1, n_symbols))
    before_scale, after_scale = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    now, then = np.empty((2, rules.n_tags + 1))
    estimate_side(chain.precedes, chain.ends, score, scale, True, now, then, after, after_scale)
    z = estimate_side(chain.follows, chain.begins, score, scale, False, now, then, before, before_scale)
    top = np.zeros(n_symbols)
    if z > 0.0:
        estimate = Estimate(before, before_scale, after, after_scale, z, int(before_scale[n]))
        grammar, work = _grammar(rules, sentence), _room(rules, n)
        if not fill_likely_spans(grammar, sentence.spans, score, estimate, p_cell, likely, columns, work):
            return None
        entries = slice(begin[0, n], end[0, n])
        top[likely.symbol[entries]] = high[entries]
    else:
        likely.scale[0, n] = DEAD
    scores = _root_scores(rules, sentence, top, int(likely.scale[0, n]))
    return Chart((likely, columns), keep_likely_rules, *scores)


def anchored_rules(rules: ChartRules, sentence: Sentence, chart: Chart, p_node: float, p_edge: float) -> Ints:
    """Anchored rules with posterior at least p_edge at nodes with at least p_node, int32 (4, m).

    They come sorted by width, start, level (rules of the unary step last) and left-hand side.
    """
    if chart.log_z == -math.inf:
        return np.empty((4, 0), np.int32)
    # At threshold 0, impossible rules, such as a tag other than the given one, must still be excluded.
    p_node, p_edge = max(p_node, _LEAST), max(p_edge, _LEAST)
    n = len(sentence.words)
    bits, rule_bits = n.bit_length(), rules.n_rules.bit_length()
    size, work = _KEPT_FIRST * n, _room(rules, n)
    keys = np.empty(0, np.int64)
    while len(keys) < size:  # a second pass in the rare case that the capacity was too small
        keys = np.empty(size, np.int64)
        kept, tag_outer = Kept(p_node, p_edge, 1 << bits, 1 << rule_bits, keys), np.zeros((n, rules.n_tags))
        size = chart.keep(
            _grammar(rules, sentence), sentence.lexical, *chart.filled, chart.from_root, kept, tag_outer, work
        )
    keys = np.sort(keys[:size])
    roots = np.flatnonzero(chart.root_posterior >= p_edge)
    items = np.empty((4, size + len(roots)), np.int32)
    rule, start, split, end = items[:, :size]
    split[:] = n - (keys & (1 << bits) - 1)
    keys >>= bits
    rule[:] = keys & (1 << rule_bits) - 1
    keys >>= rule_bits + 1
    start[:] = keys & (1 << bits) - 1
    end[:] = start + (keys >> bits)
    items[0, size:], items[1, size:], items[2:, size:] = rules.root_start + roots, 0, n
    return items


def _grammar(rules: ChartRules, sentence: Sentence) -> Rules:
    """The rules, with what the spans of a sentence may be."""
    symbols = rules.symbols._replace(allowed=sentence.allowed)
    return Rules(symbols, rules.pairs, rules.tags, rules.unaries)


def _room(rules: ChartRules, n: int) -> Work:
    """Scratch arrays for the chart kernels."""
    n_pairs, n_symbols = len(rules.pairs.left), rules.n_nonterminals
    factor, scaled, gathered = np.empty((3, n + 1))
    wanted, next_pair = np.empty((2, n_pairs), np.int32)
    cell, top = np.empty(n_symbols + rules.n_tags), np.empty(n_symbols)
    first_pair = np.zeros(rules.n_left, np.int32)
    return Work(factor, scaled, gathered, cell, top, np.zeros(n_pairs), wanted, next_pair, first_pair)


def _scales(sentence: Sentence) -> npt.NDArray[np.int64]:
    """The scales of spans before they are filled: those of words, and DEAD for longer ones."""
    n = len(sentence.words)
    scale = np.full((n + 1, n + 1), DEAD, np.int64)
    scale[np.arange(n), np.arange(n) + 1] = sentence.scale
    return scale


def _root_scores(rules: ChartRules, sentence: Sentence, top: Floats, scale: int) -> tuple[Floats, Floats, float]:
    """(outside scores of symbols over all words, posteriors of root rules, log Z), from the inside scores there."""
    n = len(sentence.words)
    score = np.zeros(rules.n_nonterminals + rules.n_tags)
    if scale != DEAD:
        score[: rules.n_nonterminals] = top
        if n == 1:
            score[rules.n_nonterminals :] = sentence.lexical.score[0]
    from_root = np.zeros(len(score))
    from_root[rules.root_child] = rules.root_weight
    # Weights far from probabilities may overflow; the pruned forest is then empty.
    with np.errstate(invalid="ignore", over="ignore"):
        z = float(from_root @ score)
        if not z > 0.0:
            return from_root, from_root, -math.inf
        from_root /= z
        log_z = math.log(z) + scale * math.log(2.0)
        return from_root, (from_root * score)[rules.root_child], log_z
