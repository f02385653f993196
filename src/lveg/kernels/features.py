"""Surface features of anchored rules: hashed properties of spans and splits, combined with rules and left-hand sides.

The *rows* of a forest, the input of a context, are int32: the size, the numbers of words, nodes and edges; the atoms of
each word, with PADDING boundary words on both sides; for each node its symbol, start and end and where its edges begin;
for each edge its rule and split.

A property is a template with its values at a position: (atom of the first word, atom of the last word). A feature is a
property together with a rule or a left-hand side. Its key is a hash of both; a table maps keys to weights, and keys
that are not in the table have weight 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import ZERO, inner_kernel, int64, kernel, lean_kernel

N_WORDS, N_EDGES, WORDS = 1, 3, 4
"""Indices in rows of the number of words, the number of edges, and the atoms of the words."""

PADDING = 2
"""Number of words before the first and after the last that properties may refer to."""

MOST_PARTS = 3
"""Maximum number of parts of a template; missing parts are -1."""

FIRST, LAST, SPLIT, LENGTH, LEFT_LENGTH, RIGHT_LENGTH, OUTLINE = range(7)
"""What a part of a template refers to: a word counted from the span's first word, from its last, or from the first
right of the split; or a length, or the shapes of all words of a short span."""

WIDEST = 64
"""A part is anchor × WIDEST² + (offset + WIDEST // 2) × WIDEST + atom."""

ON_SPAN, AT_SPLIT, OF_WORD = (int64(salt) for salt in (0, 1000, 2000))
"""Distinguish the kinds of templates in hashes."""

LONGEST_OUTLINE = 6
EMPTY = -1
_MIX, _STEP = -7046029254386353131, -4417276706812531889


class Templates(NamedTuple):
    """Properties of spans, of splits and of single words, each int32 (templates, MOST_PARTS)."""

    span: Any
    split: Any
    word: Any


class Table(NamedTuple):
    """Open addressing: key[slot], EMPTY for none, has the weight with number[slot]. The capacity is a power of two."""

    key: Any
    number: Any


class Rules(NamedTuple):
    """Numbers of rules and symbols that features distinguish."""

    lexical_start: int
    n_rules: int


@kernel
def mix(value: int) -> int:
    """Mix the bits of a number."""
    value = (value ^ (value >> 31)) * _MIX
    value = (value ^ (value >> 29)) * _STEP
    return value ^ (value >> 32)


@kernel
def part_value(
    rows: Any, words: int, atoms: int, n: int, part: int, start: int, split: int, end: int, shape: int
) -> int:
    """The value of a part of a template; words: where the atoms of the words begin in the rows."""
    anchor = part // (WIDEST * WIDEST)
    if anchor <= SPLIT:
        place = part // WIDEST % WIDEST - WIDEST // 2
        place += start if anchor == FIRST else end - 1 if anchor == LAST else split
        place = min(max(place, -PADDING), n + PADDING - 1)
        return int(rows[words + (place + PADDING) * atoms + part % WIDEST])
    if anchor == LENGTH:
        return bucket(end - start)
    if anchor == LEFT_LENGTH:
        return bucket(split - start)
    if anchor == RIGHT_LENGTH:
        return bucket(end - split)
    if end - start > LONGEST_OUTLINE:
        return 0
    value = 1
    for place in range(start, end):
        value = mix(value + rows[words + (place + PADDING) * atoms + shape])
    return value


@kernel
def bucket(length: int) -> int:
    """The bucket of a length."""
    if length <= 5:
        return length
    return 6 if length <= 7 else 7 if length <= 10 else 8 if length <= 15 else 9 if length <= 20 else 10


@kernel
def fill_properties(
    rows: Any, words: int, atoms: int, n: int, template: Any, start: int, split: int, end: int, shape: int, salt: int,
    noise: int, dropout: float, property: Any,
) -> None:  # fmt: skip
    """Fill `property` with the hash of each template at a position; 0 for one that is dropped at random.

    salt: distinguishes the kinds of templates. noise: a seed, 0 for none.
    """
    for p in range(template.shape[0]):
        value = mix(salt + p + 1)
        for q in range(MOST_PARTS):
            if template[p, q] >= 0:
                value = mix(value + part_value(rows, words, atoms, n, template[p, q], start, split, end, shape) + q)
        property[p] = value
        if noise != 0:
            chance = mix(noise + mix(value + start * 1000003 + split * 1009 + end)) & 0xFFFFFF
            if chance < dropout * 0x1000000:
                property[p] = 0


@kernel
def find(table: Table, property: int, owner: int) -> int:
    """The index of the weight of a feature, -1 if it has none."""
    key = (mix(property + owner * _STEP) >> 32) & 0x7FFFFFFF
    mask = table.key.shape[0] - 1
    slot = key & mask
    while table.key[slot] != key:
        if table.key[slot] == EMPTY:
            return -1
        slot = (slot + 1) & mask
    return int(table.number[slot])


@kernel
def insert(table: Table, property: int, owner: int, size: int) -> int:
    """Give a feature a weight if it has none; returns the new number of weights, given the old number `size`."""
    return insert_key(table, (mix(property + owner * _STEP) >> 32) & 0x7FFFFFFF, size)


@inner_kernel
def insert_key(table: Table, key: int, size: int) -> int:
    """Like `insert`, for the feature with this key."""
    mask = table.key.shape[0] - 1
    slot = key & mask
    while table.key[slot] != key:
        if table.key[slot] == EMPTY:
            table.key[slot] = key
            table.number[slot] = size
            return size + 1
        slot = (slot + 1) & mask
    return size


@kernel
def total_of(table: Table, weight: Any, property: Any, owner: int) -> float:
    """The sum of the weights that some properties have with an owner."""
    total = 0.0
    for p in range(property.shape[0]):
        if property[p] != 0:
            number = find(table, property[p], owner)
            if number >= 0:
                total += weight[number]
    return total


@kernel
def give_to(table: Table, slope: Any, touched: Any, property: Any, owner: int, value: float, size: int) -> int:
    """Add a value to the gradients of the weights that some properties have with an owner, or give them weights.

    slope: None to give weights. size: the number of weights, or of indices in `touched`; the new number is returned.
    """
    for p in range(property.shape[0]):
        if property[p] != 0:
            if slope is None:
                size = insert(table, property[p], owner, size)
            else:
                number = find(table, property[p], owner)
                if number >= 0:
                    if slope[number] == 0.0 and size < touched.shape[0]:
                        touched[size] = number
                        size += 1
                    slope[number] += value
    return size


@kernel
def visit(
    rows: Any, atoms: int, shape: int, templates: Templates, table: Table, rules: Rules, weight: Any, edge_score: Any,
    edge_slope: Any, slope: Any, touched: Any, least: float, noise: int, dropout: float, size: int,
) -> int:  # fmt: skip
    """Visit the features of the edges of forests whose gradient is at least `least`, for one of three purposes.

    With weight and edge_score: fill the latter, initially zero, with the sum of each edge's weights. With slope and
    touched: add the gradient of each edge to the gradients of its weights; `touched` receives the indices of the
    weights that had no gradient before, and their number is returned. With none of these: give a weight to each
    feature; returns the new number of weights, given the old number `size`. Unused arguments are None.
    """
    n_span, n_split, n_word = templates.span.shape[0], templates.split.shape[0], templates.word.shape[0]
    span, at_split, word = np.zeros(n_span, np.int64), np.zeros(n_split, np.int64), np.zeros(n_word, np.int64)
    begin, first_edge = 0, 0
    while begin < rows.shape[0]:
        n, n_nodes, n_edges = int64(rows[begin + N_WORDS]), rows[begin + 2], rows[begin + N_EDGES]
        words = begin + WORDS
        node = words + (n + 2 * PADDING) * atoms
        edge = node + 4 * n_nodes + 1
        own_noise = noise
        if noise != 0:
            for i in range(n):
                own_noise = mix(own_noise + rows[words + (i + PADDING) * atoms])
        last_start, last_end = -1, -1
        for v in range(n_nodes):
            symbol = rows[node + v]
            start, end = int64(rows[node + n_nodes + v]), int64(rows[node + 2 * n_nodes + v])
            first, last = rows[node + 3 * n_nodes + v], rows[node + 3 * n_nodes + v + 1]
            owner = rules.n_rules + 1 + symbol
            is_word = first < last and rows[edge + first] >= rules.lexical_start
            of_node = 0.0
            for e in range(first, last):
                if rows[edge + e] >= 0:
                    of_node += edge_slope[first_edge + e]
            if abs(of_node) < least:
                continue
            if is_word:
                fill_properties(
                    rows, words, atoms, n, templates.word, start, start, end, shape, OF_WORD, own_noise, dropout, word
                )  # fmt: skip
            elif start != last_start or end != last_end:
                fill_properties(
                    rows, words, atoms, n, templates.span, start, start, end, shape, ON_SPAN, own_noise, dropout, span
                )  # fmt: skip
                last_start, last_end = start, end
            # Edges of one rule are adjacent: the span's properties are combined with the rule once, and with the symbol
            # once.
            of_symbol = 0.0
            if edge_score is not None:
                of_symbol = total_of(table, weight, word if is_word else span, owner)
            else:
                size = give_to(table, slope, touched, word if is_word else span, owner, of_node, size)
            e = first
            while e < last:
                rule, after, of_rule = int64(rows[edge + e]), e, 0.0
                while after < last and rows[edge + after] == rule:
                    of_rule += edge_slope[first_edge + after]
                    after += 1
                if rule < 0 or abs(of_rule) < least:
                    e = after
                    continue
                score = 0.0
                if not is_word:
                    if edge_score is not None:
                        score = total_of(table, weight, span, rule)
                    else:
                        size = give_to(table, slope, touched, span, rule, of_rule, size)
                while e < after:
                    value, split = edge_slope[first_edge + e], int64(rows[edge + n_edges + e])
                    if abs(value) >= least:
                        if split < end:
                            fill_properties(
                                rows, words, atoms, n, templates.split, start, split, end, shape, AT_SPLIT, own_noise,
                                dropout, at_split,
                            )  # fmt: skip
                        if edge_score is not None:
                            total = of_symbol + score
                            if split < end:
                                total += total_of(table, weight, at_split, rule)
                                total += total_of(table, weight, at_split, owner)
                            edge_score[first_edge + e] = total
                        elif split < end:
                            size = give_to(table, slope, touched, at_split, rule, value, size)
                            size = give_to(table, slope, touched, at_split, owner, value, size)
                    e += 1
        first_edge += n_edges
        begin += rows[begin]
    return size


@kernel
def look_up(
    rows: Any, atoms: int, shape: int, template: Any, salt: int, table: Table, owner: int, start: int, split: int,
    end: int, number: Any,
) -> None:  # fmt: skip
    """Fill `number` with the index of the weight that each template has with an owner at a position of a forest."""
    property, words, n = np.zeros(template.shape[0], np.int64), int64(WORDS), int64(rows[N_WORDS])
    fill_properties(rows, words, atoms, n, template, start, split, end, shape, salt, ZERO, 0.0, property)
    for p in range(template.shape[0]):
        number[p] = find(table, property[p], owner)


@lean_kernel
def insert_keys(table: Table, keys: Any, size: int) -> int:
    """Give the next numbers, from `size`, to the keys that are not in the table; returns the new number of keys."""
    for key in keys:
        size = insert_key(table, int64(key), size)
    return size


@kernel
def grow(table: Table, larger: Table) -> None:
    """Copy all features of a table to an empty, larger one."""
    mask = larger.key.shape[0] - 1
    for old in range(table.key.shape[0]):
        if table.key[old] != EMPTY:
            slot = table.key[old] & mask
            while larger.key[slot] != EMPTY:
                slot = (slot + 1) & mask
            larger.key[slot] = table.key[old]
            larger.number[slot] = table.number[old]
