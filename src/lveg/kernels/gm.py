"""Gaussian mixture grammars over forests: exact inside, outside, posteriors and gradients.

Every rule has components; a component has a weight and, for each slot of its rule (left-hand side, left child, right
child), a Gaussian with diagonal covariance. A node's inside score is a mixture of the left-hand-side Gaussians of the
rules used there, so it has one coefficient for each component of an entry  [math: gm-inside]. gm_plan explains entries,
queries, and the blocks of overlaps that all nodes share. Four components per rule, the usual number, have their own
unrolled loops, so that sums stay in registers: a block costs a third of the general case.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from lveg.kernels.factors import Factors
from lveg.kernels.gm_overlaps import Components
from lveg.kernels.gm_plan import COPY, Plan, view_plan
from lveg.kernels.jit import DEAD, exponent_of, inner_kernel, kernel, lean_kernel, power_of_two

_LOWEST = -1000
"""Shifts below this contribute nothing."""

_POWERS = np.ldexp(1.0, np.arange(_LOWEST, 1))
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class Scores(NamedTuple):
    """Offsets in a plan, and values.

    entry_place, query_place: where the components of each entry or query begin. alpha, entry_scale: coefficients, times
    two to the scale. answer, query_scale: the answers of queries. beta, omega: the outside values of alpha and answer,
    such that beta × alpha and omega × answer are posteriors, times a sign. edge_factor: the factor, besides the
    weights, by which the answers below a planned edge contribute to its entry's coefficients. edge_scale, weighted:
    scratch arrays for the scales of the edges of one node and for beta times the weights.
    """

    entry_place: Any
    query_place: Any
    alpha: Any
    entry_scale: Any
    answer: Any
    query_scale: Any
    beta: Any
    omega: Any
    edge_factor: Any
    edge_scale: Any
    weighted: Any


@register_jitable
def empty_scores(plan: Plan, most: int) -> Scores:
    """Scores that are not filled yet; outside values are 0. most: the maximum number of components of a rule."""
    n_entries, n_queries, n_edges = plan.entry_rule.shape[0], plan.query_slot.shape[0], plan.edge_left.shape[0]
    n_alpha, n_answer = n_entries * most, n_queries * most
    return Scores(
        np.zeros(n_entries + 1, np.int32), np.zeros(n_queries + 1, np.int32), np.empty(n_alpha),
        np.empty(n_entries, np.int64), np.empty(n_answer), np.empty(n_queries, np.int64), np.zeros(n_alpha),
        np.zeros(n_answer), np.empty(n_edges), np.empty(n_edges, np.int64), np.empty(n_alpha),
    )  # fmt: skip


class Cut(NamedTuple):
    """The paper's component pruning: of c components more than `least`, the largest min(least + c ** power, most).

    tally: the number of components of inside and outside scores, and how many were pruned.
    """

    least: int
    most: int
    power: float
    tally: Any


class Table(NamedTuple):
    """Overlaps, by blocks; where the block of each use begins; and the posterior of every overlap's use, summed."""

    overlap: Any
    use: Any
    posterior: Any


@kernel
def cut_smallest(values: Any, begin: int, end: int, cut: Cut) -> None:
    """Set the values of values[begin:end] that are smallest in absolute value to zero, beyond what the cut allows."""
    count = 0
    for place in range(begin, end):
        count += values[place] != 0.0
    cut.tally[0] += count
    allowed = count
    if count > cut.least:
        allowed = min(cut.least + int(count**cut.power), cut.most)
    if count <= allowed:
        return
    cut.tally[1] += count - allowed
    largest = np.zeros(allowed)  # in absolute value so far, in descending order
    for place in range(begin, end):
        size, at = abs(values[place]), allowed - 1
        if size > largest[at]:
            while at > 0 and largest[at - 1] < size:
                largest[at] = largest[at - 1]
                at -= 1
            largest[at] = size
    border = largest[allowed - 1]
    above = 0
    for place in range(begin, end):
        above += abs(values[place]) > border
    for place in range(begin, end):
        if abs(values[place]) == border and above < allowed:
            above += 1
        elif abs(values[place]) <= border:
            values[place] = 0.0


@inner_kernel
def add_four(into: Any, at: int, factor: float, left: Any, a: int, right: Any, b: int) -> None:
    """Add factor × left × right, component by component."""
    i, j, k = np.uint64(at), np.uint64(a), np.uint64(b)
    s0, s1 = left[j] * right[k], left[j + _ONE] * right[k + _ONE]
    s2, s3 = left[j + _TWO] * right[k + _TWO], left[j + _THREE] * right[k + _THREE]
    into[i] += factor * s0
    into[i + _ONE] += factor * s1
    into[i + _TWO] += factor * s2
    into[i + _THREE] += factor * s3


@inner_kernel
def ask_four(overlap: Any, use: Any, at: int, alpha: Any, first: int, n_entries: int, answer: Any, to: int) -> None:
    """The answers of a query of four components at a node whose entries have four each."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    a, u = np.uint64(first), np.uint64(at)
    for _ in range(n_entries):
        t = np.uint64(use[u])
        u += _ONE
        for _ in range(4):
            x = alpha[a]
            s0 += x * overlap[t]
            s1 += x * overlap[t + _ONE]
            s2 += x * overlap[t + _TWO]
            s3 += x * overlap[t + _THREE]
            a += _ONE
            t += _FOUR
    answer[to], answer[to + 1], answer[to + 2], answer[to + 3] = s0, s1, s2, s3


@inner_kernel
def tell_four(
    overlap: Any, use: Any, at: int, alpha: Any, beta: Any, first: int, n_entries: int, omega: Any, of: int,
    posterior: Any,
) -> None:  # fmt: skip
    """Add the outside values of a query of four components to those of a node's coefficients, and to posteriors."""
    w0, w1, w2, w3 = omega[of], omega[of + 1], omega[of + 2], omega[of + 3]
    a, u = np.uint64(first), np.uint64(at)
    with_posterior = posterior.shape[0] > 0
    for _ in range(n_entries):
        t = np.uint64(use[u])
        u += _ONE
        for _ in range(4):
            p0, p1, p2, p3 = w0 * overlap[t], w1 * overlap[t + _ONE], w2 * overlap[t + _TWO], w3 * overlap[t + _THREE]
            beta[a] += p0 + p1 + p2 + p3
            if with_posterior:
                x = alpha[a]
                posterior[t] += x * p0
                posterior[t + _ONE] += x * p1
                posterior[t + _TWO] += x * p2
                posterior[t + _THREE] += x * p3
            a += _ONE
            t += _FOUR


@lean_kernel
def inside(
    plan: Plan,
    factors: Factors,
    parameters: Components,
    table: Table,
    first_use: Any,
    cut: Cut | None,
    scores: Scores,
) -> float:
    """log Z; fills all scores except the outside values  [math: gm-inside].

    first_use: where the uses of the plan begin in the table. cut: None for no pruning; no code for it is compiled then.
    """
    _, node_entry, node_query, entry_rule, entry_edge, query_slot, edge_left, edge_right = plan
    entry_place, query_place, alpha, entry_scale, answer, query_scale, _, _, edge_factor, edge_scale, _ = scores
    ptr, weight = parameters.ptr, parameters.weight
    for entry in range(entry_rule.shape[0]):
        rule = entry_rule[entry]
        entry_place[entry + 1] = entry_place[entry] + ptr[rule + 1] - ptr[rule]
    for query in range(query_slot.shape[0]):
        rule = query_slot[query] // 2
        query_place[query + 1] = query_place[query] + ptr[rule + 1] - ptr[rule]
    overlap, use, _ = table
    mantissa, exponents = factors
    with_factors = mantissa.shape[0] > 0
    at, real = first_use, -1
    scale = DEAD
    for node in range(node_entry.shape[0] - 1):
        begin, end = node_entry[node], node_entry[node + 1]
        first, last = entry_place[begin], entry_place[end]
        first_edge = entry_edge[begin]
        largest = DEAD
        for edge in range(first_edge, entry_edge[end]):
            left, right = edge_left[edge], edge_right[edge]
            shift = 0
            if right == COPY:
                shift = entry_scale[left]
            else:
                if left >= 0:
                    shift += query_scale[left]
                if right >= 0:
                    shift += query_scale[right]
            if with_factors:
                if right != COPY or edge == first_edge:  # the copies of a node represent its first edge
                    real += 1
                edge_factor[edge] = mantissa[real]
                shift += exponents[real]
            edge_scale[edge - first_edge] = shift
            largest = max(largest, shift)
        for place in range(first, last):
            alpha[place] = 0.0
        best = 0.0
        if largest > DEAD:
            for entry in range(begin, end):
                place, count = entry_place[entry], entry_place[entry + 1] - entry_place[entry]
                of = ptr[entry_rule[entry]]
                for edge in range(entry_edge[entry], entry_edge[entry + 1]):
                    shift = edge_scale[edge - first_edge] - largest
                    if shift < _LOWEST:
                        edge_factor[edge] = 0.0
                        continue
                    factor = _POWERS[shift - _LOWEST]
                    if with_factors:
                        factor *= edge_factor[edge]
                    edge_factor[edge] = factor
                    left, right = edge_left[edge], edge_right[edge]
                    if right == COPY:
                        below = entry_place[left]
                        for k in range(count):
                            alpha[place + k] = factor * alpha[below + k]
                    elif right >= 0:
                        a, b = query_place[left], query_place[right]
                        if count == 4:
                            add_four(alpha, place, factor, answer, a, answer, b)
                        else:
                            for k in range(count):
                                alpha[place + k] += factor * answer[a + k] * answer[b + k]
                    elif left >= 0:
                        a = query_place[left]
                        for k in range(count):
                            alpha[place + k] += factor * answer[a + k]
                    else:
                        for k in range(count):
                            alpha[place + k] += factor
                if edge_right[entry_edge[entry]] != COPY:
                    for k in range(count):
                        alpha[place + k] *= weight[of + k]
            for place in range(first, last):
                best = max(best, alpha[place])
        if best <= 0.0:
            scale = DEAD
        else:
            exponent = exponent_of(best)
            down = power_of_two(-exponent)
            for place in range(first, last):
                alpha[place] *= down
            for edge in range(first_edge, entry_edge[end]):
                edge_factor[edge] *= down
            scale = largest + exponent
            if cut is not None:
                cut_smallest(alpha, first, last, cut)
        for entry in range(begin, end):
            entry_scale[entry] = scale
        all_four = last - first == 4 * (end - begin)
        for query in range(node_query[node], node_query[node + 1]):
            query_scale[query] = scale
            to, width = query_place[query], query_place[query + 1] - query_place[query]
            if all_four and width == 4:
                ask_four(overlap, use, at, alpha, first, end - begin, answer, to)
                at += end - begin
                continue
            for k in range(width):
                answer[to + k] = 0.0
            a, q, n = np.uint64(first), np.uint64(to), np.uint64(width)
            for entry in range(begin, end):
                t = np.uint64(use[at])
                at += 1
                for _ in range(entry_place[entry + 1] - entry_place[entry]):
                    for k in range(n):
                        answer[q + k] += alpha[a] * overlap[t + k]
                    a += _ONE
                    t += n
    log_z = -math.inf
    if scale > DEAD:
        z = 0.0
        for place in range(first, last):
            z += alpha[place]
        log_z = math.log(z) + scale * math.log(2.0)
    return log_z


@lean_kernel
def outside(
    plan: Plan, parameters: Components, table: Table, last_use: Any, sign: float, cut: Cut | None, scores: Scores
) -> None:
    """Fill the outside values; if the table has space for them, add the posteriors of uses  [math: gm-outside].

    Outside values, initially 0, are multiplied by their node's scale and the sign, and divided by Z. last_use: where
    the uses of the plan end in the table.
    """
    _, node_entry, node_query, entry_rule, entry_edge, _, edge_left, edge_right = plan
    entry_place, query_place, alpha, entry_scale, answer, _, beta, omega, edge_factor, _, weighted = scores
    overlap, use, posterior = table
    ptr, weight = parameters.ptr, parameters.weight
    with_posterior = posterior.shape[0] > 0
    root = node_entry.shape[0] - 2
    z = 0.0
    for place in range(entry_place[node_entry[root]], entry_place[node_entry[root + 1]]):
        z += alpha[place]
    for place in range(entry_place[node_entry[root]], entry_place[node_entry[root + 1]]):
        beta[place] = sign / z
    at = last_use
    for node in range(root, -1, -1):
        begin, end = node_entry[node], node_entry[node + 1]
        first, last = entry_place[begin], entry_place[end]
        if begin == end or entry_scale[begin] == DEAD:
            at -= (end - begin) * (node_query[node + 1] - node_query[node])
            continue
        if cut is not None:
            cut_smallest(omega, query_place[node_query[node]], query_place[node_query[node + 1]], cut)
        all_four = last - first == 4 * (end - begin)
        for query in range(node_query[node + 1] - 1, node_query[node] - 1, -1):
            at -= end - begin
            of, width = query_place[query], query_place[query + 1] - query_place[query]
            if all_four and width == 4:
                tell_four(overlap, use, at, alpha, beta, first, end - begin, omega, of, posterior)
                continue
            a, o, n = np.uint64(first), np.uint64(of), np.uint64(width)
            for entry in range(begin, end):
                t = np.uint64(use[at + entry - begin])
                for _ in range(entry_place[entry + 1] - entry_place[entry]):
                    total = 0.0
                    for k in range(n):
                        total += omega[o + k] * overlap[t + k]
                    beta[a] += total
                    if with_posterior:
                        for k in range(n):
                            posterior[t + k] += alpha[a] * omega[o + k] * overlap[t + k]
                    a += _ONE
                    t += n
        if cut is not None:  # components pruned from the inside score are in no derivation
            for place in range(first, last):
                if alpha[place] == 0.0:
                    beta[place] = 0.0
        for entry in range(begin, end):
            place, count = entry_place[entry], entry_place[entry + 1] - entry_place[entry]
            for k in range(count):
                weighted[place + k] = beta[place + k] * weight[ptr[entry_rule[entry]] + k]
            for edge in range(entry_edge[entry], entry_edge[entry + 1]):
                left, right, factor = edge_left[edge], edge_right[edge], edge_factor[edge]
                if factor == 0.0:
                    continue
                if right == COPY:
                    below = entry_place[left]
                    for k in range(count):
                        beta[below + k] += factor * beta[place + k]
                elif right >= 0:
                    a, b = query_place[left], query_place[right]
                    if count == 4:
                        add_four(omega, a, factor, weighted, place, answer, b)
                        add_four(omega, b, factor, weighted, place, answer, a)
                    else:
                        for k in range(count):
                            value = factor * weighted[place + k]
                            omega[a + k] += value * answer[b + k]
                            omega[b + k] += value * answer[a + k]
                elif left >= 0:
                    a = query_place[left]
                    for k in range(count):
                        omega[a + k] += factor * weighted[place + k]


@lean_kernel
def fill_posteriors(plan: Plan, parameters: Components, scores: Scores, edge_post: Any, node_post: Any) -> None:
    """Fill the posteriors of nodes and of the forest's edges, times the sign."""
    _, node_entry, _, entry_rule, entry_edge, _, edge_left, edge_right = plan
    entry_place, query_place, alpha, entry_scale, answer, _, beta, _, edge_factor, _, _ = scores
    ptr, weight = parameters.ptr, parameters.weight
    to = -1
    for node in range(node_post.shape[0]):
        node_post[node] = 0.0
        for place in range(entry_place[node_entry[node]], entry_place[node_entry[node + 1]]):
            node_post[node] += alpha[place] * beta[place]
        first = entry_edge[node_entry[node]]
        for entry in range(node_entry[node], node_entry[node + 1]):
            place, of = entry_place[entry], ptr[entry_rule[entry]]
            for edge in range(entry_edge[entry], entry_edge[entry + 1]):
                left, right = edge_left[edge], edge_right[edge]
                if right != COPY or edge == first:  # the copies of a node represent its first edge
                    to += 1
                    edge_post[to] = 0.0
                if entry_scale[entry] == DEAD:
                    continue
                total = 0.0
                for k in range(entry_place[entry + 1] - place):
                    value = beta[place + k]
                    if right == COPY:
                        value *= alpha[entry_place[left] + k]
                    else:
                        value *= weight[of + k]
                        if left >= 0:
                            value *= answer[query_place[left] + k]
                        if right >= 0:
                            value *= answer[query_place[right] + k]
                    total += value
                edge_post[to] += total * edge_factor[edge]


@kernel
def add_gradients(
    packed: Any, sign: Any, factors: Factors, parameters: Components, most: int, table: Table, cut: Cut | None,
    log_z: Any, grad_weight: Any, edge_post: Any,
) -> None:  # fmt: skip
    """Fill the log Z of concatenated plans; add sign × its gradient with respect to log weights  [math: gm-gradient].

    sign: one per plan. most: the maximum number of components of a rule. The posteriors of uses, from which
    `add_block_gradients` computes the rest, are added to the table. edge_post: unless empty, receives sign × the
    posteriors of the edges of all forests.
    """
    ptr, at, begin, first_edge = parameters.ptr, np.int64(0), np.int64(0), 0
    for number in range(sign.shape[0]):
        plan = view_plan(packed, begin)
        last_edge = first_edge + packed[begin + 2]
        own = Factors(factors.mantissa[first_edge:last_edge], factors.exponent[first_edge:last_edge])
        scores = empty_scores(plan, most)
        log_z[number] = inside(plan, own, parameters, table, at, cut, scores)
        _, node_entry, node_query, entry_rule, entry_edge, _, _, edge_right = plan
        for node in range(node_entry.shape[0] - 1):
            at += (node_entry[node + 1] - node_entry[node]) * (node_query[node + 1] - node_query[node])
        if log_z[number] > -math.inf:
            outside(plan, parameters, table, at, sign[number], cut, scores)
            entry_place, alpha, beta = scores.entry_place, scores.alpha, scores.beta
            for entry in range(entry_rule.shape[0]):
                if edge_right[entry_edge[entry]] != COPY:
                    place, to = entry_place[entry], ptr[entry_rule[entry]]
                    for k in range(entry_place[entry + 1] - place):
                        grad_weight[to + k] += alpha[place + k] * beta[place + k]
            if edge_post.shape[0] > 0:
                node_post = np.empty(node_entry.shape[0] - 1)
                fill_posteriors(plan, parameters, scores, edge_post[first_edge:last_edge], node_post)
        else:
            edge_post[first_edge:last_edge] = 0.0
        begin += packed[begin]
        first_edge = last_edge
