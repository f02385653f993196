"""Gaussian mixture grammars over forests: exact inside, outside, posteriors and gradients.

Every rule has components; a component has a weight and, for each slot of its rule (left-hand side, left child,
right child), a Gaussian with diagonal covariance. A node's inside score is a mixture of the left-hand-side
Gaussians of the rules used there, so it is one coefficient for each component of an entry  [math: gm-inside]. What
entries and queries are, and how overlaps come in blocks that all nodes share, is in gm_plan. Work on a block is one
loop over all its overlaps, long enough for vector instructions; coefficients are *spread* for it: repeated so that
they stand beside the overlaps that they multiply. Four components a rule is the usual number, and has loops of its
own, written out so that sums stay in registers: a block costs a third of the general way.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.factors import Factors
from lveg.kernels.gm_overlaps import Components, add_block_gradients, fill_overlaps
from lveg.kernels.gm_plan import COPY, View, edge_origins, number_blocks, planned_factors, view_plan
from lveg.kernels.jit import DEAD, exponent_of, kernel, power_of_two

_LOWEST = -1000
"""Shifts below this are no contribution."""

_POWERS = np.ldexp(1.0, np.arange(_LOWEST, 1))
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class Scores(NamedTuple):
    """Where things are in one plan, and their values.

    entry_place, query_place: where the components of each entry or query begin. alpha, entry_scale: coefficients,
    times two to the scale. answer, query_scale: what queries were answered. beta, omega: the outside values of alpha
    and answer, such that beta × alpha and omega × answer are posteriors. edge_factor: what the answers below a planned
    edge are multiplied with, beside the weights, to be a part of its entry's coefficients.
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


class Cut(NamedTuple):
    """The paper's component pruning: of c components more than `least`, the largest min(least + c ** power, most).

    most is 0 where nothing is cut. tally: components that inside and outside scores had, and how many were cut.
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
def places(ptr: Any, rule_of: Any, per_rule: int) -> Any:
    """Where the components of each entry (one a rule) or query (two slots a rule) begin, and their number."""
    place = np.empty(rule_of.shape[0] + 1, np.int32)
    place[0] = 0
    for index in range(rule_of.shape[0]):
        rule = rule_of[index] // per_rule
        place[index + 1] = place[index] + ptr[rule + 1] - ptr[rule]
    return place


@kernel
def scores_for(plan: View, ptr: Any) -> Scores:
    """Room for the scores of a plan."""
    entry_place, query_place = places(ptr, plan.entry_rule, 1), places(ptr, plan.query_slot, 2)
    n_entries, n_queries = plan.entry_rule.shape[0], plan.query_slot.shape[0]
    n_alpha, n_answer = entry_place[n_entries], query_place[n_queries]
    return Scores(
        entry_place, query_place, np.empty(n_alpha), np.empty(n_entries, np.int64),
        np.empty(n_answer), np.empty(n_queries, np.int64), np.empty(n_alpha), np.empty(n_answer),
        np.empty(plan.edge_left.shape[0]),
    )  # fmt: skip


@kernel
def widest_rule(ptr: Any) -> int:
    """The largest number of components of a rule."""
    widest = 1
    for rule in range(ptr.shape[0] - 1):
        widest = max(widest, ptr[rule + 1] - ptr[rule])
    return widest


@kernel
def spread_each(source: Any, begin: int, end: int, times: int, into: Any) -> None:
    """source[begin:end], each number `times` times."""
    at = 0
    for place in range(begin, end):
        for _ in range(times):
            into[at] = source[place]
            at += 1


@kernel
def spread_all(source: Any, begin: int, end: int, times: int, into: Any) -> None:
    """source[begin:end], the whole of it `times` times."""
    at = 0
    for _ in range(times):
        for place in range(begin, end):
            into[at] = source[place]
            at += 1


@kernel
def cut_smallest(values: Any, begin: int, end: int, cut: Cut) -> None:
    """Zero the smallest of the positive values[begin:end] beyond what the cut allows."""
    count = 0
    for place in range(begin, end):
        count += values[place] > 0.0
    cut.tally[0] += count
    allowed = count
    if count > cut.least:
        allowed = min(cut.least + int(count**cut.power), cut.most)
    if count <= allowed:
        return
    cut.tally[1] += count - allowed
    ordered = np.sort(values[begin:end])
    border = ordered[ordered.shape[0] - allowed]
    above = 0
    for place in range(begin, end):
        above += values[place] > border
    for place in range(begin, end):
        if values[place] == border and above < allowed:
            above += 1
        elif values[place] <= border:
            values[place] = 0.0


@kernel
def add_four(into: Any, at: int, factor: float, left: Any, a: int, right: Any, b: int) -> None:
    """Add factor × left × right, component by component."""
    i, j, k = np.uint64(at), np.uint64(a), np.uint64(b)
    s0, s1 = left[j] * right[k], left[j + _ONE] * right[k + _ONE]
    s2, s3 = left[j + _TWO] * right[k + _TWO], left[j + _THREE] * right[k + _THREE]
    into[i] += factor * s0
    into[i + _ONE] += factor * s1
    into[i + _TWO] += factor * s2
    into[i + _THREE] += factor * s3


@kernel
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


@kernel
def tell_four(
    overlap: Any, use: Any, at: int, alpha: Any, beta: Any, first: int, n_entries: int, omega: Any, of: int,
    posterior: Any, sign: float,
) -> None:  # fmt: skip
    """Add what a query of four components has above it to the outside of a node's coefficients, and to posteriors."""
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
                x = sign * alpha[a]
                posterior[t] += x * p0
                posterior[t + _ONE] += x * p1
                posterior[t + _TWO] += x * p2
                posterior[t + _THREE] += x * p3
            a += _ONE
            t += _FOUR


@kernel
def inside(
    plan: View, factors: Factors, parameters: Components, table: Table, first_use: int, widest: int, cut: Cut,
    scores: Scores,
) -> float:  # fmt: skip
    """log Z; fills coefficients of entries, answers of queries, and their scales  [math: gm-inside].

    factors: of the planned edges.
    """
    _, node_entry, node_query, entry_rule, entry_edge, _, edge_left, edge_right = plan
    entry_place, query_place, alpha, entry_scale, answer, query_scale, _, _, edge_factor = scores
    overlap, use, _ = table
    ptr, weight = parameters.ptr, parameters.weight
    mantissa, exponents = factors
    with_factors = mantissa.shape[0] > 0
    most_entries, most_edges = 1, 1
    for node in range(node_entry.shape[0] - 1):
        begin, end = node_entry[node], node_entry[node + 1]
        most_entries = max(most_entries, end - begin)
        most_edges = max(most_edges, entry_edge[end] - entry_edge[begin])
    shifts = np.empty(most_edges, np.int64)
    spread, total = np.empty(most_entries * widest * widest), np.empty(widest * widest)
    at = first_use
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
                shift += exponents[edge]
            shifts[edge - first_edge] = shift
            largest = max(largest, shift)
        for place in range(first, last):
            alpha[place] = 0.0
        best = 0.0
        if largest > DEAD:
            for entry in range(begin, end):
                place, count = entry_place[entry], entry_place[entry + 1] - entry_place[entry]
                of = ptr[entry_rule[entry]]
                for edge in range(entry_edge[entry], entry_edge[entry + 1]):
                    shift = shifts[edge - first_edge] - largest
                    if shift < _LOWEST:
                        edge_factor[edge] = 0.0
                        continue
                    factor = _POWERS[shift - _LOWEST]
                    if with_factors:
                        factor *= mantissa[edge]
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
            if cut.most > 0:
                cut_smallest(alpha, first, last, cut)
        for entry in range(begin, end):
            entry_scale[entry] = scale
        width = 0
        all_four = last - first == 4 * (end - begin)
        for query in range(node_query[node], node_query[node + 1]):
            query_scale[query] = scale
            to = query_place[query]
            if all_four and query_place[query + 1] - to == 4:
                ask_four(overlap, use, at, alpha, first, end - begin, answer, to)
                at += end - begin
                continue
            if query_place[query + 1] - to != width:
                width = query_place[query + 1] - to
                spread_each(alpha, first, last, width, spread)
            for index in range(width * widest):
                total[index] = 0.0
            x = np.uint64(0)
            for entry in range(begin, end):
                t = np.uint64(use[at])
                at += 1
                size = np.uint64(width * (entry_place[entry + 1] - entry_place[entry]))
                for j in range(size):
                    total[j] += spread[x + j] * overlap[t + j]
                x += size
            for k in range(width):
                value = 0.0
                for row in range(widest):
                    value += total[row * width + k]
                answer[to + k] = value
    if node_entry.shape[0] == 1 or scale == DEAD:
        return -math.inf
    z = 0.0
    for place in range(first, last):
        z += alpha[place]
    log_z: float = math.log(z) + scale * math.log(2.0)
    return log_z


@kernel
def outside(
    plan: View, parameters: Components, table: Table, last_use: int, widest: int, sign: float, cut: Cut, scores: Scores
) -> None:
    """Fill the outside values; where there is room in the table, add sign × the posteriors of uses  [math: gm-outside].

    Outside values are kept times their node's scale over Z.
    """
    _, node_entry, node_query, entry_rule, entry_edge, _, edge_left, edge_right = plan
    entry_place, query_place, alpha, entry_scale, answer, _, beta, omega, edge_factor = scores
    overlap, use, posterior = table
    ptr, weight = parameters.ptr, parameters.weight
    with_posterior = posterior.shape[0] > 0
    beta[:] = 0.0
    omega[:] = 0.0
    root = node_entry.shape[0] - 2
    z = 0.0
    for place in range(entry_place[node_entry[root]], entry_place[node_entry[root + 1]]):
        z += alpha[place]
    for place in range(entry_place[node_entry[root]], entry_place[node_entry[root + 1]]):
        beta[place] = 1.0 / z
    most_entries = 1
    for node in range(root + 1):
        most_entries = max(most_entries, node_entry[node + 1] - node_entry[node])
    spread, total = np.empty(most_entries * widest * widest), np.empty(most_entries * widest * widest)
    above, product, heft = np.empty(widest * widest), np.empty(widest * widest), np.empty(widest)
    at = last_use
    for node in range(root, -1, -1):
        begin, end = node_entry[node], node_entry[node + 1]
        first, last = entry_place[begin], entry_place[end]
        if begin == end or entry_scale[begin] == DEAD:
            at -= (end - begin) * (node_query[node + 1] - node_query[node])
            continue
        if cut.most > 0:
            cut_smallest(omega, query_place[node_query[node]], query_place[node_query[node + 1]], cut)
        width = 0
        all_four = last - first == 4 * (end - begin)
        for query in range(node_query[node + 1] - 1, node_query[node] - 1, -1):
            at -= end - begin
            of = query_place[query]
            if all_four and query_place[query + 1] - of == 4:
                tell_four(overlap, use, at, alpha, beta, first, end - begin, omega, of, posterior, sign)
                continue
            if query_place[query + 1] - of != width:
                if width > 0:
                    add_sums(total, width, beta, first, last)
                width = query_place[query + 1] - of
                spread_each(alpha, first, last, width, spread)
                for index in range((last - first) * width):
                    total[index] = 0.0
            spread_all(omega, of, of + width, widest, above)
            x = np.uint64(0)
            for entry in range(begin, end):
                t = np.uint64(use[at + entry - begin])
                size = np.uint64(width * (entry_place[entry + 1] - entry_place[entry]))
                for j in range(size):
                    product[j] = above[j] * overlap[t + j]
                for j in range(size):
                    total[x + j] += product[j]
                if with_posterior:
                    for j in range(size):
                        posterior[t + j] += sign * product[j] * spread[x + j]
                x += size
        if width > 0:
            add_sums(total, width, beta, first, last)
        if cut.most > 0:  # what was cut from the inside score has no part in any derivation
            for place in range(first, last):
                if alpha[place] == 0.0:
                    beta[place] = 0.0
        for entry in range(begin, end):
            place, count = entry_place[entry], entry_place[entry + 1] - entry_place[entry]
            for k in range(count):
                heft[k] = beta[place + k] * weight[ptr[entry_rule[entry]] + k]
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
                        add_four(omega, a, factor, heft, 0, answer, b)
                        add_four(omega, b, factor, heft, 0, answer, a)
                    else:
                        for k in range(count):
                            value = factor * heft[k]
                            omega[a + k] += value * answer[b + k]
                            omega[b + k] += value * answer[a + k]
                elif left >= 0:
                    a = query_place[left]
                    for k in range(count):
                        omega[a + k] += factor * heft[k]


@kernel
def add_sums(total: Any, width: int, beta: Any, first: int, last: int) -> None:
    """Add to each coefficient's outside the sum of its row."""
    at = 0
    for place in range(first, last):
        value = 0.0
        for k in range(width):
            value += total[at + k]
        beta[place] += value
        at += width


@kernel
def fill_edge_posteriors(plan: View, parameters: Components, sign: float, scores: Scores, edge_post: Any) -> None:
    """Sign × the posterior of every edge of the forest."""
    _, _, _, entry_rule, entry_edge, _, edge_left, edge_right = plan
    entry_place, query_place, alpha, entry_scale, answer, _, beta, _, edge_factor = scores
    ptr, weight = parameters.ptr, parameters.weight
    origin = edge_origins(plan)
    edge_post[:] = 0.0
    for entry in range(entry_rule.shape[0]):
        place, of = entry_place[entry], ptr[entry_rule[entry]]
        if entry_scale[entry] == DEAD:
            continue
        for edge in range(entry_edge[entry], entry_edge[entry + 1]):
            left, right = edge_left[edge], edge_right[edge]
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
            edge_post[origin[edge]] += sign * total * edge_factor[edge]


@kernel
def run(
    packed: Any, sign: Any, factors: Factors, parameters: Components, log_z: Any, edge_post: Any, node_post: Any,
    grad_weight: Any, grad_mean: Any, grad_std: Any, cut: Cut,
) -> None:  # fmt: skip
    """Inference over plans one after the other: log Z of each, and where there is room for them the rest.

    sign: one per plan, or empty for 1. factors, edge_post: of the edges of the forests; edge_post gets sign × their
    posteriors. node_post: posteriors of the nodes of a single plan. grad_weight, grad_mean, grad_std: sign × the
    gradient of log Z in log weights, means and log standard deviations is added.
    """
    with_gradient, with_edges = grad_weight.shape[0] > 0, edge_post.shape[0] > 0
    ptr = parameters.ptr
    widest = widest_rule(ptr)
    use, slots, rules, begins = number_blocks(packed, ptr)
    overlap = np.empty(begins[begins.shape[0] - 1])
    fill_overlaps(parameters, slots, rules, begins, overlap)
    table = Table(overlap, use, np.zeros(overlap.shape[0] if with_gradient else 0))
    at, begin, number, first_edge = 0, 0, 0, 0
    while begin < packed.shape[0]:
        plan = view_plan(packed, begin)
        last_edge = first_edge + packed[begin + 5]
        node_entry, node_query, entry_rule, entry_edge = (
            plan.node_entry,
            plan.node_query,
            plan.entry_rule,
            plan.entry_edge,
        )
        own = planned_factors(
            plan, Factors(factors.mantissa[first_edge:last_edge], factors.exponent[first_edge:last_edge])
        )
        scores = scores_for(plan, ptr)
        entry_place, alpha, beta = scores.entry_place, scores.alpha, scores.beta
        log_z[number] = inside(plan, own, parameters, table, at, widest, cut, scores)
        for node in range(node_entry.shape[0] - 1):
            at += (node_entry[node + 1] - node_entry[node]) * (node_query[node + 1] - node_query[node])
        if log_z[number] == -math.inf:
            edge_post[first_edge:last_edge] = 0.0
        elif with_gradient or with_edges:
            some_sign = sign[number] if sign.shape[0] > 0 else 1.0
            outside(plan, parameters, table, at, widest, some_sign, cut, scores)
            for node in range(node_post.shape[0]):
                node_post[node] = 0.0
                for place in range(entry_place[node_entry[node]], entry_place[node_entry[node + 1]]):
                    node_post[node] += alpha[place] * beta[place]
            if with_edges:
                fill_edge_posteriors(plan, parameters, some_sign, scores, edge_post[first_edge:last_edge])
            if with_gradient:
                for entry in range(entry_rule.shape[0]):
                    if plan.edge_right[entry_edge[entry]] != COPY:
                        place, to = entry_place[entry], ptr[entry_rule[entry]]
                        for k in range(entry_place[entry + 1] - place):
                            grad_weight[to + k] += some_sign * alpha[place + k] * beta[place + k]
        begin += packed[begin]
        number += 1
        first_edge = last_edge
    if with_gradient:
        add_block_gradients(parameters, slots, rules, begins, table.posterior, grad_mean, grad_std)
