"""Grammars whose rules share their components, over forests: sums, posteriors, gradients and samples.

A node has one coefficient for each shared component, whatever the number of its rules. For each kind of child slot, a
node has one *answer* per component, h in docs/math.md. All edges with the node in such a slot share its answers, so an
edge costs one product for each component  [math: shared].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.assemble import STAY
from lveg.kernels.factors import Factors
from lveg.kernels.jit import DEAD, ZERO, exponent_of, inner_kernel, kernel, power_of_two
from lveg.kernels.lvg import NEGLIGIBLE, Packed, view_forest
from lveg.kernels.semiring import draw, edge_scale

LEFT, RIGHT, UNARY, ROOT = range(4)
"""Kinds of child slots."""

N_KINDS = 4

_LOWEST = -1000  # contributions with smaller exponents are neglected


class Tables(NamedTuple):
    """Tables for inference, computed from the parameters.

    weight: of each rule. block: (symbols, kinds), the first row of a symbol in a child slot; it has one row for each
    component. row: (rows, components), overlaps. Lexical rules begin at lexical_start; word: (lexical rules, kinds),
    the row of each in word_row.
    """

    weight: Any
    block: Any
    row: Any
    lexical_start: int
    word: Any
    word_row: Any


class Slopes(NamedTuple):
    """sign × the gradients of log Z with respect to log weights of rules and both tables of rows; they accumulate."""

    weight: Any
    row: Any
    word_row: Any


class Scores(NamedTuple):
    """Scores of a forest.

    alpha: (nodes, components), to be multiplied by two to the scale of the node. beta: the derivative of log Z with
    respect to alpha. place: (nodes, kinds), the position of a node's answers, -1 if they are not needed. omega: the
    derivative of log Z with respect to answers. edge_factor: factor of an edge, in addition to its rule's weight and
    its children's answers.
    """

    alpha: Any
    beta: Any
    scale: Any
    place: Any
    answer: Any
    omega: Any
    edge_factor: Any


@inner_kernel
def child_kind(symbol: int, right: int) -> int:
    """The kind of the left, or only, child slot of an edge, given the symbol of its node."""
    if right >= 0:
        return LEFT
    return UNARY if symbol >= 0 else ROOT


@kernel
def number_words(packed: Any, lexical_start: int, word: Any) -> tuple[Any, Any]:
    """(rules, kinds) of the rows for the words of forests; sets their numbers in `word`, which is initially all -1.

    word: (lexical rules, kinds).
    """
    rules, kinds = np.empty(packed.shape[0], np.int32), np.empty(packed.shape[0], np.int32)
    count, begin = 0, np.int64(0)
    while begin < packed.shape[0]:
        forest = view_forest(packed, begin)
        for node in range(forest.node_symbol.shape[0]):
            for edge in range(forest.edge_ptr[node], forest.edge_ptr[node + 1]):
                right = forest.edge_right[edge]
                for side in range(2):
                    child = right if side else forest.edge_left[edge]
                    if child < 0 or forest.edge_rule[edge] == STAY:
                        continue
                    kind = RIGHT if side else child_kind(forest.node_symbol[node], right)
                    for below in range(forest.edge_ptr[child], forest.edge_ptr[child + 1]):
                        rule = forest.edge_rule[below] - lexical_start
                        if rule >= 0 and word[rule, kind] < 0:
                            word[rule, kind] = count
                            rules[count], kinds[count] = rule, kind
                            count += 1
        begin += packed[begin]
    return rules[:count].copy(), kinds[:count].copy()


@kernel
def empty_scores(forest: Packed, width: int) -> Scores:
    """Allocate the scores of a forest, and assign the positions of answers."""
    n_nodes = forest.node_symbol.shape[0]
    place = np.full((n_nodes, N_KINDS), -1, np.int64)
    size = np.int64(0)
    for node in range(n_nodes):
        for edge in range(forest.edge_ptr[node], forest.edge_ptr[node + 1]):
            left, right = forest.edge_left[edge], forest.edge_right[edge]
            if left < 0 or forest.edge_rule[edge] == STAY:
                continue
            kind = child_kind(forest.node_symbol[node], right)
            if place[left, kind] < 0:
                place[left, kind] = size
                size += width
            if right >= 0 and place[right, RIGHT] < 0:
                place[right, RIGHT] = size
                size += width
    shape = (n_nodes, width)
    return Scores(
        np.zeros(shape), np.zeros(shape), np.empty(n_nodes, np.int64), place, np.zeros(size), np.zeros(size),
        np.empty(forest.edge_rule.shape[0]),
    )  # fmt: skip


@kernel
def inside(forest: Packed, factors: Factors, tables: Tables, scores: Scores) -> float:
    """Fill all scores but the outside scores; returns log Z."""
    node_symbol, edge_ptr, _, edge_left, edge_right = forest
    alpha, scale, edge_factor = scores.alpha, scores.scale, scores.edge_factor
    mantissa, exponents = factors
    with_factors = mantissa.shape[0] > 0
    n_nodes = node_symbol.shape[0]
    for node in range(n_nodes):
        begin, end = edge_ptr[node], edge_ptr[node + 1]
        level = DEAD
        for edge in range(begin, end):
            extra = exponents[edge] if with_factors else 0
            level = max(level, edge_scale(edge_left[edge], edge_right[edge], extra, scale))
        best = 0.0
        for edge in range(begin, end):
            extra = exponents[edge] if with_factors else 0
            shift = edge_scale(edge_left[edge], edge_right[edge], extra, scale) - level
            edge_factor[edge] = power_of_two(shift) if level > DEAD and shift > _LOWEST else 0.0
            if with_factors:
                edge_factor[edge] *= mantissa[edge]
            best += add_edge(forest, tables, scores, node, edge)
        for m in range(alpha.shape[1]):
            best = max(best, alpha[node, m])
        scale[node] = DEAD
        if best > 0.0:
            exponent = exponent_of(best)
            down = power_of_two(-exponent)
            for m in range(alpha.shape[1]):
                alpha[node, m] *= down
            for edge in range(begin, end):
                edge_factor[edge] *= down
            scale[node] = level + exponent
            fill_answers(forest, tables, scores, node)
    if n_nodes == 0 or scale[n_nodes - 1] == DEAD:
        return -math.inf
    log_z: float = math.log(alpha[n_nodes - 1].sum()) + scale[n_nodes - 1] * math.log(2.0)
    return log_z


@inner_kernel
def add_edge(forest: Packed, tables: Tables, scores: Scores, node: int, edge: int) -> float:
    """Add an edge's contribution to the node's coefficients and return 0; for a lexical edge, return its weight."""
    alpha, answer, factor = scores.alpha, scores.answer, scores.edge_factor[edge]
    rule, left, right = forest.edge_rule[edge], forest.edge_left[edge], forest.edge_right[edge]
    width = np.uint64(alpha.shape[1])
    if factor == 0.0:
        return 0.0
    if rule == STAY:
        for m in range(width):
            alpha[node, m] += factor * alpha[left, m]
        return 0.0
    factor *= tables.weight[rule]
    if left < 0:
        return float(factor)
    a = np.uint64(scores.place[left, child_kind(forest.node_symbol[node], right)])
    if right < 0:
        for m in range(width):
            alpha[node, m] += factor * answer[a + m]
        return 0.0
    b = np.uint64(scores.place[right, RIGHT])
    for m in range(width):
        alpha[node, m] += factor * answer[a + m] * answer[b + m]
    return 0.0


@inner_kernel
def fill_answers(forest: Packed, tables: Tables, scores: Scores, node: int) -> None:
    """Compute the answers of a node for all kinds of child slots in which it occurs."""
    alpha, answer, row = scores.alpha, scores.answer, tables.row
    width = np.uint64(alpha.shape[1])
    for kind in range(N_KINDS):
        if scores.place[node, kind] < 0:
            continue
        at = np.uint64(scores.place[node, kind])
        first = tables.block[forest.node_symbol[node], kind]
        if first >= 0:
            for m in range(alpha.shape[1]):
                value = alpha[node, m]
                for p in range(width):
                    answer[at + p] += value * row[first + m, p]
        for edge in range(forest.edge_ptr[node], forest.edge_ptr[node + 1]):
            rule = forest.edge_rule[edge]
            if rule >= tables.lexical_start:
                value = scores.edge_factor[edge] * tables.weight[rule]
                own = tables.word[rule - tables.lexical_start, kind]
                for p in range(width):
                    answer[at + p] += value * tables.word_row[own, p]


@kernel
def outside(
    forest: Packed, tables: Tables, scores: Scores, sign: float, slopes: Slopes, edge_post: Any, node_post: Any
) -> None:
    """Fill the outside scores; add to gradients and fill posteriors whose arrays are not empty; all times sign."""
    alpha, beta = scores.alpha, scores.beta
    root = forest.node_symbol.shape[0] - 1
    z = alpha[root].sum()
    beta[root] = sign / z
    for node in range(root, -1, -1):
        post = 0.0
        if scores.scale[node] > DEAD:
            post = ask_above(forest, tables, scores, node, slopes)
            for m in range(alpha.shape[1]):
                post += alpha[node, m] * beta[node, m]
        if node_post.shape[0] > 0:
            node_post[node] = post
        for edge in range(forest.edge_ptr[node], forest.edge_ptr[node + 1]):
            share = 0.0
            if abs(post) >= NEGLIGIBLE and scores.edge_factor[edge] != 0.0:
                share = hand_down(forest, tables, scores, node, edge)
            if slopes.weight.shape[0] > 0 and forest.edge_rule[edge] != STAY:
                slopes.weight[forest.edge_rule[edge]] += share
            if edge_post.shape[0] > 0:
                edge_post[edge] = share


@inner_kernel
def ask_above(forest: Packed, tables: Tables, scores: Scores, node: int, slopes: Slopes) -> float:
    """Add to the outside scores of a node those of its answers; returns the posterior of its words."""
    alpha, beta, omega, row = scores.alpha, scores.beta, scores.omega, tables.row
    width, with_slopes, post = np.uint64(alpha.shape[1]), slopes.row.shape[0] > 0, 0.0
    for kind in range(N_KINDS):
        if scores.place[node, kind] < 0:
            continue
        at = np.uint64(scores.place[node, kind])
        first = tables.block[forest.node_symbol[node], kind]
        if first >= 0:
            for m in range(alpha.shape[1]):
                total, value = 0.0, alpha[node, m]
                for p in range(width):
                    total += omega[at + p] * row[first + m, p]
                beta[node, m] += total
                if with_slopes:
                    for p in range(width):
                        slopes.row[first + m, p] += value * omega[at + p]
        for edge in range(forest.edge_ptr[node], forest.edge_ptr[node + 1]):
            rule = forest.edge_rule[edge]
            if rule >= tables.lexical_start:
                value = scores.edge_factor[edge] * tables.weight[rule]
                own = tables.word[rule - tables.lexical_start, kind]
                for p in range(width):
                    post += value * omega[at + p] * tables.word_row[own, p]
                if with_slopes:
                    for p in range(width):
                        slopes.word_row[own, p] += value * omega[at + p]
    return post


@inner_kernel
def hand_down(forest: Packed, tables: Tables, scores: Scores, node: int, edge: int) -> float:
    """Add to the outside scores of an edge's children; returns the posterior of the edge."""
    alpha, beta, answer, omega = scores.alpha, scores.beta, scores.answer, scores.omega
    rule, left, right = forest.edge_rule[edge], forest.edge_left[edge], forest.edge_right[edge]
    factor, width, post = scores.edge_factor[edge], np.uint64(alpha.shape[1]), 0.0
    if rule == STAY:
        for m in range(width):
            beta[left, m] += factor * beta[node, m]
            post += factor * beta[node, m] * alpha[left, m]
        return post
    factor *= tables.weight[rule]
    if left < 0:
        for kind in range(N_KINDS):
            if scores.place[node, kind] >= 0:
                at = np.uint64(scores.place[node, kind])
                own = tables.word[rule - tables.lexical_start, kind]
                for p in range(width):
                    post += factor * omega[at + p] * tables.word_row[own, p]
        return post
    a = np.uint64(scores.place[left, child_kind(forest.node_symbol[node], right)])
    if right < 0:
        for m in range(width):
            omega[a + m] += factor * beta[node, m]
            post += factor * beta[node, m] * answer[a + m]
        return post
    b = np.uint64(scores.place[right, RIGHT])
    for m in range(width):
        value = factor * beta[node, m]
        omega[a + m] += value * answer[b + m]
        omega[b + m] += value * answer[a + m]
        post += value * answer[a + m] * answer[b + m]
    return post


@kernel
def run(
    packed: Any, sign: Any, factors: Factors, tables: Tables, is_down: bool, log_z: Any, slopes: Slopes,
    edge_post: Any, node_post: Any,
) -> None:  # fmt: skip
    """Inference over a sequence of forests: log Z of each, and if `is_down`, gradients and posteriors (see `outside`).

    sign: one per forest. edge_post: sign × the posteriors of all edges. node_post: those of nodes, for a single forest.
    """
    begin, edge = np.int64(0), 0
    for number in range(sign.shape[0]):
        forest = view_forest(packed, begin)
        end = edge + forest.edge_rule.shape[0]
        own = Factors(factors.mantissa[edge:end], factors.exponent[edge:end])
        scores = empty_scores(forest, tables.row.shape[1])
        log_z[number] = inside(forest, own, tables, scores)
        if is_down and log_z[number] > -math.inf:
            outside(forest, tables, scores, sign[number], slopes, edge_post[edge:end], node_post)
        else:
            edge_post[edge:end] = 0.0
        begin += packed[begin]
        edge = end


@kernel
def draw_edges(forest: Packed, tables: Tables, scores: Scores, uniform: Any, chosen: Any) -> int:
    """Draw a derivation from the posterior. Fills `chosen` with its edges, parents first; returns their number.

    uniform: two random numbers in [0, 1) for each possible edge of a derivation  [math: shared-sample].
    """
    node_symbol, edge_ptr, edge_rule, edge_left, edge_right = forest
    alpha, width = scores.alpha, scores.alpha.shape[1]
    n_nodes, most = node_symbol.shape[0], 1
    for node in range(n_nodes):
        most = max(most, edge_ptr[node + 1] - edge_ptr[node])
    share, edge_share = np.empty(width), np.empty(most)
    # A node, and the kind and component of the child slot above it; or -1 and the node's own component.
    stack = np.empty((chosen.shape[0] + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = n_nodes - 1, -1, draw(alpha[n_nodes - 1], ZERO, width, uniform[0])
    height, size = 1, 0
    while height > 0:
        height -= 1
        node, kind, component = stack[height, 0], stack[height, 1], stack[height, 2]
        begin, end = edge_ptr[node], edge_ptr[node + 1]
        is_word = edge_rule[begin] >= tables.lexical_start
        if kind >= 0 and not is_word:
            first = tables.block[node_symbol[node], kind]
            for m in range(width):
                share[m] = alpha[node, m] * tables.row[first + m, component]
            component = draw(share, ZERO, width, uniform[2 * size])
        for edge in range(begin, end):
            rule, left, right = edge_rule[edge], edge_left[edge], edge_right[edge]
            value = scores.edge_factor[edge]
            if rule == STAY:
                value *= alpha[left, component]
            elif left < 0:
                own = tables.word[rule - tables.lexical_start, kind]
                value *= tables.weight[rule] * tables.word_row[own, component]
            else:
                at = scores.place[left, child_kind(node_symbol[node], right)]
                value *= tables.weight[rule] * scores.answer[at + component]
                if right >= 0:
                    value *= scores.answer[scores.place[right, RIGHT] + component]
            edge_share[edge - begin] = value
        edge = begin + draw(edge_share, ZERO, end - begin, uniform[2 * size + 1])
        chosen[size] = edge
        size += 1
        left, right = edge_left[edge], edge_right[edge]
        if right >= 0:
            stack[height, 0], stack[height, 1], stack[height, 2] = right, RIGHT, component
            height += 1
        if left >= 0:
            kind = -1 if edge_rule[edge] == STAY else child_kind(node_symbol[node], right)
            stack[height, 0], stack[height, 1], stack[height, 2] = left, kind, component
            height += 1
    return size


@kernel
def draw_many(packed: Any, factors: Factors, tables: Tables, uniform: Any, chosen: Any, sizes: Any) -> None:
    """Draw a derivation of a packed forest for each row of `uniform`; fills rows of `chosen` and their `sizes`."""
    forest = view_forest(packed, np.int64(0))
    scores = empty_scores(forest, tables.row.shape[1])
    inside(forest, factors, tables, scores)
    for row in range(uniform.shape[0]):
        sizes[row] = draw_edges(forest, tables, scores, uniform[row], chosen[row])
