"""Gaussian mixture grammars over a forest: exact inside, outside, posteriors and gradients.

Every rule has components; a component has a weight and, for each slot of its rule (left-hand side, left child,
right child), a Gaussian with diagonal covariance. A node's inside score is a mixture of the left-hand-side
Gaussians of the rules used there, so it is one coefficient a (rule, component)  [math: gm-inside]. A *query* is a
child slot of a rule at a node: all edges with the same rule, side and child share it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import DEAD, exponent_of, kernel, power_of_two
from lveg.kernels.semiring import edge_scale

LHS, LEFT, RIGHT = 0, 1, 2
"""Slots of a component, as first index of means and variances."""

_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453
_TWO_PI = 6.283185307179586


class Components(NamedTuple):
    """Parameters: rule r has components [ptr[r], ptr[r + 1]).

    weight (C,) is linear; mean is (3, C, dim), by slot, and var the same or (3, C, 1); slots that a rule lacks are not
    read.
    """

    ptr: Any
    weight: Any
    mean: Any
    var: Any


class Plan(NamedTuple):
    """What inference over one forest needs beside it; no parameter is in it, so it is made once.

    Node v holds coefficients [node_ptr[v], node_ptr[v + 1]) for the components in `component`; edge e's begin at
    edge_place[e]. Queries on node v are [query_ptr[v], query_ptr[v + 1]); query q asks for the `query_slot`
    Gaussians of rule query_rule, and its answers begin at answer_ptr[q]. edge_left and edge_right are the queries
    of an edge, or -1.
    """

    node_ptr: Any
    component: Any
    edge_place: Any
    query_ptr: Any
    query_rule: Any
    query_slot: Any
    answer_ptr: Any
    edge_left: Any
    edge_right: Any


@kernel
def make_plan(ptr: Any, edge_ptr: Any, edge_rule: Any, edge_left: Any, edge_right: Any) -> Plan:
    """The plan of a forest for a grammar whose rules have components [ptr[r], ptr[r + 1])."""
    n_nodes, n_edges = edge_ptr.shape[0] - 1, edge_rule.shape[0]
    node_ptr = np.zeros(n_nodes + 1, np.int32)
    edge_place = np.zeros(n_edges, np.int32)
    for node in range(n_nodes):
        size = node_ptr[node]
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            rule = edge_rule[edge]
            if edge > edge_ptr[node] and edge_rule[edge - 1] == rule and rule >= 0:
                edge_place[edge] = edge_place[edge - 1]
                continue
            edge_place[edge] = size
            if rule >= 0:
                size += ptr[rule + 1] - ptr[rule]
            else:
                size += node_ptr[edge_left[edge] + 1] - node_ptr[edge_left[edge]]
        node_ptr[node + 1] = size
    component = np.empty(node_ptr[n_nodes], np.int32)
    for edge in range(n_edges):
        rule = edge_rule[edge]
        if rule >= 0:
            for k in range(ptr[rule + 1] - ptr[rule]):
                component[edge_place[edge] + k] = ptr[rule] + k
        else:
            below = edge_left[edge]
            for k in range(node_ptr[below + 1] - node_ptr[below]):
                component[edge_place[edge] + k] = component[node_ptr[below] + k]

    # Queries: (child, rule, side), numbered by child.
    n_rules = ptr.shape[0] - 1
    keys = np.empty(2 * n_edges, np.int64)
    asker = np.empty(2 * n_edges, np.int64)
    size = 0
    for edge in range(n_edges):
        if edge_rule[edge] < 0:
            continue
        for side in range(2):
            child = edge_left[edge] if side == 0 else edge_right[edge]
            if child >= 0:
                keys[size] = (np.int64(child) * n_rules + edge_rule[edge]) * 2 + side
                asker[size] = 2 * edge + side
                size += 1
    order = np.argsort(keys[:size])
    query_ptr = np.zeros(n_nodes + 1, np.int32)
    query_rule = np.empty(size, np.int32)
    query_slot = np.empty(size, np.int8)
    answer_ptr = np.zeros(size + 1, np.int32)
    left = np.full(n_edges, -1, np.int32)
    right = np.full(n_edges, -1, np.int32)
    count = 0
    for index in range(size):
        key = keys[order[index]]
        if index == 0 or key != keys[order[index - 1]]:
            rule = (key // 2) % n_rules
            query_rule[count] = rule
            query_slot[count] = LEFT + key % 2
            answer_ptr[count + 1] = answer_ptr[count] + ptr[rule + 1] - ptr[rule]
            query_ptr[key // 2 // n_rules + 1] += 1
            count += 1
        place = asker[order[index]]
        if place % 2 == 0:
            left[place // 2] = count - 1
        else:
            right[place // 2] = count - 1
    for node in range(n_nodes):
        query_ptr[node + 1] += query_ptr[node]
    return Plan(
        node_ptr, component, edge_place, query_ptr, query_rule[:count], query_slot[:count], answer_ptr[: count + 1],
        left, right,
    )  # fmt: skip


@kernel
def distance_row(
    mean: Any, var: Any, slot_mean: Any, slot_var: Any, slot: int, component: int, count: int, first: int,
    square: Any, product: Any,
) -> None:  # fmt: skip
    """Fill [first, first + count) with what the overlaps of one slot of a component with `count` Gaussians need.

    square: the squared distance over the summed variances. product: that of the variances times 2 pi. mean: (dim,
    room), the Gaussians side by side; var: the same, or (1, room) where all dimensions share one variance.
    """
    dim = mean.shape[0]
    at = np.uint64(first)
    if var.shape[0] < dim:
        own_var = slot_var[slot, component, 0]
        for l in range(np.uint64(count)):  # noqa: E741
            square[at + l] = 0.0
        for d in range(dim):
            own_mean = slot_mean[slot, component, d]
            for l in range(np.uint64(count)):  # noqa: E741
                diff = mean[d, l] - own_mean
                square[at + l] += diff * diff
        for l in range(np.uint64(count)):  # noqa: E741
            v = var[0, l] + own_var
            square[at + l] /= v
            product[at + l] = _TWO_PI * v
        for _ in range(dim - 1):
            for l in range(np.uint64(count)):  # noqa: E741
                product[at + l] *= _TWO_PI * (var[0, l] + own_var)
        return
    for l in range(np.uint64(count)):  # noqa: E741
        square[at + l] = 0.0
        product[at + l] = 1.0
    for d in range(dim):
        own_mean, own_var = slot_mean[slot, component, d], slot_var[slot, component, d]
        for l in range(np.uint64(count)):  # noqa: E741
            v = var[d, l] + own_var
            diff = mean[d, l] - own_mean
            square[at + l] += diff * diff / v
            product[at + l] *= _TWO_PI * v


@kernel
def overlaps_of(square: Any, product: Any, power: Any, power_bits: Any, count: int) -> None:
    """Turn square[:count], with its products, into overlaps  [math: overlap].

    The loops are vectorised, which a call of exp is not: the exponential is a polynomial times a power of two put
    together in power_bits, an integer view of power.
    """
    for l in range(count):  # noqa: E741
        x = max(-0.5 * square[l], -700.0)
        n = np.int32(x * _LOG2E - 0.5)
        power_bits[l] = (np.int64(n) + 1023) << 52
        r = x - n * _LN2
        e = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (
            1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880 + r / 3628800)))))))))  # fmt: skip
        square[l] = e / math.sqrt(product[l])
    for l in range(count):  # noqa: E741
        square[l] *= power[l]


@kernel
def gather(plan: Plan, parameters: Components, node: int, mean: Any, var: Any) -> int:
    """Copy the left-hand-side Gaussians of a node's components side by side; how many."""
    first, last = plan.node_ptr[node], plan.node_ptr[node + 1]
    all_mean, all_var, component = parameters.mean, parameters.var, plan.component
    for l in range(last - first):  # noqa: E741
        c = component[first + l]
        for d in range(all_mean.shape[2]):
            mean[d, l] = all_mean[LHS, c, d]
        for d in range(all_var.shape[2]):
            var[d, l] = all_var[LHS, c, d]
    return int(last - first)


@kernel
def inside(
    plan: Plan, parameters: Components, edge_ptr: Any, edge_rule: Any, edge_child: Any, edge_other: Any,
    alpha: Any, scale: Any, answer: Any, overlap_ptr: Any, overlap: Any,
) -> float:  # fmt: skip
    """log Z; fills the coefficients of nodes, their scales, the queries' answers and overlaps  [math: gm-inside]."""
    n_nodes = scale.shape[0]
    ptr, weight = parameters.ptr, parameters.weight
    node_ptr, edge_place = plan.node_ptr, plan.edge_place
    query_ptr, query_rule, query_slot, answer_ptr = plan.query_ptr, plan.query_rule, plan.query_slot, plan.answer_ptr
    query_left, query_right = plan.edge_left, plan.edge_right
    all_mean, all_var = parameters.mean, parameters.var
    dim = all_mean.shape[2]
    room = 1
    for node in range(n_nodes):
        room = max(room, node_ptr[node + 1] - node_ptr[node])
    mean, var = np.empty((dim, room)), np.empty((all_var.shape[2], room))
    room = 1
    for node in range(n_nodes):
        room = max(room, overlap_ptr[query_ptr[node + 1]] - overlap_ptr[query_ptr[node]])
    square, product, power = np.empty(room), np.empty(room), np.empty(room)
    power_bits = power.view(np.int64)
    for node in range(n_nodes):
        largest = DEAD
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            largest = max(largest, edge_scale(edge_child[edge], edge_other[edge], scale))
        first, last = node_ptr[node], node_ptr[node + 1]
        for place in range(first, last):
            alpha[place] = 0.0
        best = 0.0
        if largest != DEAD:
            for edge in range(edge_ptr[node], edge_ptr[node + 1]):
                shift = edge_scale(edge_child[edge], edge_other[edge], scale) - largest
                if shift < -1000:
                    continue
                factor = power_of_two(shift)
                rule, place = edge_rule[edge], edge_place[edge]
                if rule < 0:
                    below = node_ptr[edge_child[edge]]
                    for k in range(node_ptr[edge_child[edge] + 1] - below):
                        alpha[place + k] += factor * alpha[below + k]
                    continue
                for k in range(ptr[rule + 1] - ptr[rule]):
                    value = factor * weight[ptr[rule] + k]
                    if query_left[edge] >= 0:
                        value *= answer[answer_ptr[query_left[edge]] + k]
                    if query_right[edge] >= 0:
                        value *= answer[answer_ptr[query_right[edge]] + k]
                    alpha[place + k] += value
            for place in range(first, last):
                best = max(best, alpha[place])
        if best <= 0.0:
            scale[node] = DEAD
        else:
            exponent = exponent_of(best)
            down = power_of_two(-exponent)
            for place in range(first, last):
                alpha[place] *= down
            scale[node] = largest + exponent
        begin, end = overlap_ptr[query_ptr[node]], overlap_ptr[query_ptr[node + 1]]
        if begin == end:
            continue
        # All overlaps of a node at once, so that the loops are long.
        count = gather(plan, parameters, node, mean, var)
        row = 0
        for q in range(query_ptr[node], query_ptr[node + 1]):
            rule = query_rule[q]
            for c in range(ptr[rule], ptr[rule + 1]):
                distance_row(mean, var, all_mean, all_var, query_slot[q], c, count, row, square, product)
                row += count
        overlaps_of(square, product, power, power_bits, row)
        overlap[begin:end] = square[:row]
        at, to = np.uint64(first), np.uint64(0)
        for place in range(answer_ptr[query_ptr[node]], answer_ptr[query_ptr[node + 1]]):
            total = 0.0
            for l in range(np.uint64(count)):  # noqa: E741
                total += alpha[at + l] * square[to + l]
            answer[place] = total
            to += np.uint64(count)
    root = n_nodes - 1
    if n_nodes == 0 or scale[root] == DEAD:
        return -math.inf
    z = 0.0
    for place in range(node_ptr[root], node_ptr[root + 1]):
        z += alpha[place]
    log_z: float = math.log(z) + scale[root] * math.log(2.0)
    return log_z


@kernel
def outside(
    plan: Plan, parameters: Components, edge_ptr: Any, edge_rule: Any, edge_child: Any, edge_other: Any,
    alpha: Any, scale: Any, answer: Any, overlap_ptr: Any, overlap: Any, beta: Any, omega: Any, edge_post: Any,
) -> None:  # fmt: skip
    """Fill the outside values of coefficients (beta) and queries (omega), and the posteriors of edges.

    Both are kept times their node's scale over Z: beta × alpha and omega × answer are posteriors  [math: gm-outside].
    """
    n_nodes = scale.shape[0]
    ptr, weight = parameters.ptr, parameters.weight
    node_ptr, edge_place = plan.node_ptr, plan.edge_place
    query_ptr, query_rule, answer_ptr = plan.query_ptr, plan.query_rule, plan.answer_ptr
    query_left, query_right = plan.edge_left, plan.edge_right
    beta[:] = 0.0
    omega[:] = 0.0
    root = n_nodes - 1
    z = 0.0
    for place in range(node_ptr[root], node_ptr[root + 1]):
        z += alpha[place]
    for place in range(node_ptr[root], node_ptr[root + 1]):
        beta[place] = 1.0 / z
    for node in range(n_nodes - 1, -1, -1):
        first, last = node_ptr[node], node_ptr[node + 1]
        count = last - first
        for q in range(query_ptr[node], query_ptr[node + 1]):
            rule, row = query_rule[q], overlap_ptr[q]
            for k in range(ptr[rule + 1] - ptr[rule]):
                factor = omega[answer_ptr[q] + k]
                if factor > 0.0:
                    at, to = np.uint64(first), np.uint64(row)
                    for l in range(np.uint64(count)):  # noqa: E741
                        beta[at + l] += factor * overlap[to + l]
                row += count
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            edge_post[edge] = 0.0
            shift = edge_scale(edge_child[edge], edge_other[edge], scale) - scale[node]
            if scale[node] == DEAD or shift < -1000:
                continue
            factor = power_of_two(shift)
            rule, place = edge_rule[edge], edge_place[edge]
            if rule < 0:
                below = node_ptr[edge_child[edge]]
                for k in range(node_ptr[edge_child[edge] + 1] - below):
                    beta[below + k] += factor * beta[place + k]
                    edge_post[edge] += factor * beta[place + k] * alpha[below + k]
                continue
            left, right = query_left[edge], query_right[edge]
            for k in range(ptr[rule + 1] - ptr[rule]):
                value = factor * weight[ptr[rule] + k] * beta[place + k]
                in_left = answer[answer_ptr[left] + k] if left >= 0 else 1.0
                in_right = answer[answer_ptr[right] + k] if right >= 0 else 1.0
                if left >= 0:
                    omega[answer_ptr[left] + k] += value * in_right
                if right >= 0:
                    omega[answer_ptr[right] + k] += value * in_left
                edge_post[edge] += value * in_left * in_right


@kernel
def add_gradient(
    plan: Plan, parameters: Components, edge_ptr: Any, edge_rule: Any, edge_child: Any, edge_other: Any,
    alpha: Any, scale: Any, answer: Any, overlap_ptr: Any, overlap: Any, beta: Any, omega: Any,
    sign: float, grad_weight: Any, grad_mean: Any, grad_std: Any,
) -> None:  # fmt: skip
    """Add sign × the gradient of log Z in log weights, means and log standard deviations  [math: gm-gradient]."""
    n_nodes = scale.shape[0]
    ptr, weight = parameters.ptr, parameters.weight
    node_ptr, edge_place, component = plan.node_ptr, plan.edge_place, plan.component
    query_ptr, query_rule, query_slot, answer_ptr = plan.query_ptr, plan.query_rule, plan.query_slot, plan.answer_ptr
    query_left, query_right = plan.edge_left, plan.edge_right
    all_mean, all_var = parameters.mean, parameters.var
    dim = all_mean.shape[2]
    room = 1
    for node in range(n_nodes):
        room = max(room, node_ptr[node + 1] - node_ptr[node])
    n_var = all_var.shape[2]
    mean, var = np.empty((dim, room)), np.empty((n_var, room))
    to_mean, to_std, inverse = np.zeros((dim, room)), np.zeros((n_var, room)), np.empty(room)
    share = np.empty(room)
    for node in range(n_nodes):
        if scale[node] == DEAD:
            continue
        first = node_ptr[node]
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            shift = edge_scale(edge_child[edge], edge_other[edge], scale) - scale[node]
            rule = edge_rule[edge]
            if rule < 0 or shift < -1000:
                continue
            factor = sign * power_of_two(shift)
            for k in range(ptr[rule + 1] - ptr[rule]):
                value = factor * weight[ptr[rule] + k] * beta[edge_place[edge] + k]
                if query_left[edge] >= 0:
                    value *= answer[answer_ptr[query_left[edge]] + k]
                if query_right[edge] >= 0:
                    value *= answer[answer_ptr[query_right[edge]] + k]
                grad_weight[ptr[rule] + k] += value
        if query_ptr[node] == query_ptr[node + 1]:
            continue
        count = gather(plan, parameters, node, mean, var)
        to_mean[:, :count] = 0.0
        to_std[:, :count] = 0.0
        for q in range(query_ptr[node], query_ptr[node + 1]):
            rule, slot, row = query_rule[q], query_slot[q], overlap_ptr[q]
            for k in range(ptr[rule + 1] - ptr[rule]):
                factor = sign * omega[answer_ptr[q] + k]
                if factor != 0.0:
                    c = ptr[rule] + k
                    at, to = np.uint64(first), np.uint64(row)
                    for l in range(np.uint64(count)):  # noqa: E741
                        share[l] = factor * alpha[at + l] * overlap[to + l]
                    for d in range(dim):
                        of = d if n_var == dim else 0
                        slot_mean, slot_var = all_mean[slot, c, d], all_var[slot, c, of]
                        if d == of:
                            for l in range(count):  # noqa: E741
                                inverse[l] = 1.0 / (var[of, l] + slot_var)
                        own_mean, own_std = 0.0, 0.0
                        for l in range(count):  # noqa: E741
                            pull = (mean[d, l] - slot_mean) * inverse[l]
                            own_mean += share[l] * pull
                            own_std += share[l] * (pull * pull - inverse[l])
                        # Loops of one store each: with more, too many arrays might overlap for a vectoriser's taste.
                        for l in range(count):  # noqa: E741
                            to_mean[d, l] -= share[l] * (mean[d, l] - slot_mean) * inverse[l]
                        for l in range(count):  # noqa: E741
                            pull = (mean[d, l] - slot_mean) * inverse[l]
                            to_std[of, l] += share[l] * (pull * pull - inverse[l])
                        grad_mean[slot, c, d] += own_mean
                        grad_std[slot, c, of] += slot_var * own_std
                row += count
        for l in range(count):  # noqa: E741
            c = component[first + l]
            for d in range(dim):
                grad_mean[LHS, c, d] += to_mean[d, l]
            for d in range(n_var):
                grad_std[LHS, c, d] += var[d, l] * to_std[d, l]


@kernel
def overlap_pointers(plan: Plan, ptr: Any) -> Any:
    """Where the overlaps of each query begin: rule components × coefficients of the node asked, (n_queries + 1,)."""
    pointers = np.zeros(plan.query_rule.shape[0] + 1, np.int64)
    for node in range(plan.node_ptr.shape[0] - 1):
        count = plan.node_ptr[node + 1] - plan.node_ptr[node]
        for q in range(plan.query_ptr[node], plan.query_ptr[node + 1]):
            rule = plan.query_rule[q]
            pointers[q + 1] = pointers[q] + count * (ptr[rule + 1] - ptr[rule])
    return pointers


@kernel
def run(
    plan: Plan, parameters: Components, edge_ptr: Any, edge_rule: Any, edge_child: Any, edge_other: Any,
    sign: float, edge_post: Any, node_post: Any, grad_weight: Any, grad_mean: Any, grad_std: Any,
) -> float:  # fmt: skip
    """log Z of a forest; fills posteriors where `edge_post` has room, adds sign × gradients where sign is not 0."""
    n_nodes = edge_ptr.shape[0] - 1
    alpha = np.empty(plan.component.shape[0])
    scale = np.empty(n_nodes, np.int64)
    answer = np.empty(plan.answer_ptr[plan.answer_ptr.shape[0] - 1])
    overlap_ptr = overlap_pointers(plan, parameters.ptr)
    overlap = np.empty(overlap_ptr[overlap_ptr.shape[0] - 1])
    log_z = inside(
        plan, parameters, edge_ptr, edge_rule, edge_child, edge_other, alpha, scale, answer, overlap_ptr, overlap
    )
    if log_z == -math.inf or (sign == 0.0 and edge_post.shape[0] == 0):
        return log_z
    beta, omega = np.empty(alpha.shape[0]), np.empty(answer.shape[0])
    post = edge_post if edge_post.shape[0] > 0 else np.empty(edge_rule.shape[0])
    outside(
        plan, parameters, edge_ptr, edge_rule, edge_child, edge_other, alpha, scale, answer, overlap_ptr, overlap,
        beta, omega, post,
    )  # fmt: skip
    for node in range(node_post.shape[0]):
        node_post[node] = 0.0
        for place in range(plan.node_ptr[node], plan.node_ptr[node + 1]):
            node_post[node] += alpha[place] * beta[place]
    if sign != 0.0:
        add_gradient(
            plan, parameters, edge_ptr, edge_rule, edge_child, edge_other, alpha, scale, answer, overlap_ptr, overlap,
            beta, omega, sign, grad_weight, grad_mean, grad_std,
        )  # fmt: skip
    return log_z
