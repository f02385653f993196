"""Sums, means and regroupings of the blocks of weights that rules between subtypes have."""

from __future__ import annotations

from typing import Any, NamedTuple

from lveg.kernels.jit import kernel


class Blocks(NamedTuple):
    """Offsets. Subtypes of all symbols are numbered consecutively, followed by the one of ROOT.

    The block of rule r is at ptr[r] : ptr[r + 1], with n_lhs rows of n_left × n_right numbers; lhs, left and right are
    the numbers of the first subtypes of its symbols, -1 for a missing symbol, for which n_left or n_right is 1.
    """

    ptr: Any
    lhs: Any
    left: Any
    right: Any
    n_lhs: Any
    n_left: Any
    n_right: Any


@kernel
def sum_rows(blocks: Blocks, begin: int, end: int, values: Any, into: Any) -> None:
    """Add, for rules begin to end, the sum of each row to the subtype of the left-hand side."""
    ptr, lhs, _, _, n_lhs, n_left, n_right = blocks
    for rule in range(begin, end):
        at = ptr[rule]
        for a in range(n_lhs[rule]):
            total = 0.0
            for _ in range(n_left[rule] * n_right[rule]):
                total += values[at]
                at += 1
            into[lhs[rule] + a] += total


@kernel
def sum_children(blocks: Blocks, begin: int, end: int, values: Any, into: Any) -> None:
    """Add, for rules begin to end with one child, each number to the subtype of the child."""
    ptr, _, left, _, n_lhs, n_left, _ = blocks
    for rule in range(begin, end):
        at = ptr[rule]
        for _ in range(n_lhs[rule]):
            for b in range(n_left[rule]):
                into[left[rule] + b] += values[at]
                at += 1


@kernel
def scale_rows(blocks: Blocks, begin: int, end: int, values: Any, factor: Any) -> None:
    """Multiply each row of rules begin to end by the factor of its left-hand side's subtype."""
    ptr, lhs, _, _, n_lhs, n_left, n_right = blocks
    for rule in range(begin, end):
        at = ptr[rule]
        for a in range(n_lhs[rule]):
            x = factor[lhs[rule] + a]
            for _ in range(n_left[rule] * n_right[rule]):
                values[at] *= x
                at += 1


@kernel
def scale_children(blocks: Blocks, begin: int, end: int, values: Any, factor: Any) -> None:
    """Multiply each number of rules begin to end, which have one child, by the factor of the child's subtype."""
    ptr, _, left, _, n_lhs, n_left, _ = blocks
    for rule in range(begin, end):
        at = ptr[rule]
        for _ in range(n_lhs[rule]):
            for b in range(n_left[rule]):
                values[at] *= factor[left[rule] + b]
                at += 1


@kernel
def draw_together(blocks: Blocks, begin: int, end: int, values: Any, share: float) -> None:
    """Smooth each number of rules begin to end with this share of the mean over the subtypes of the left-hand side."""
    ptr, _, _, _, n_lhs, n_left, n_right = blocks
    for rule in range(begin, end):
        width, rows = n_left[rule] * n_right[rule], n_lhs[rule]
        for j in range(width):
            mean = 0.0
            for a in range(rows):
                mean += values[ptr[rule] + a * width + j]
            mean *= share / rows
            for a in range(rows):
                at = ptr[rule] + a * width + j
                values[at] = (1.0 - share) * values[at] + mean


@kernel
def regroup(old: Blocks, new: Blocks, group: Any, share: Any, values: Any, into: Any) -> None:
    """Sum rows, each times its subtype's share, and columns over groups of subtypes.

    group: the number, within its symbol, of the group of each subtype.
    """
    for rule in range(old.ptr.shape[0] - 1):
        at, left, right = old.ptr[rule], old.left[rule], old.right[rule]
        n_left, n_right = new.n_left[rule], new.n_right[rule]
        for a in range(old.n_lhs[rule]):
            place = old.lhs[rule] + a
            row = new.ptr[rule] + group[place] * n_left * n_right
            for b in range(old.n_left[rule]):
                column = row + (group[left + b] * n_right if left >= 0 else 0)
                for c in range(old.n_right[rule]):
                    into[column + (group[right + c] if right >= 0 else 0)] += share[place] * values[at]
                    at += 1


@kernel
def double(old: Blocks, new: Blocks, values: Any, dice: Any, noise: float, into: Any) -> None:
    """Split every subtype in two, 2 i and 2 i + 1: numbers are divided almost evenly among children, rows are repeated.

    dice: random numbers from -1 to 1, of the size of `into`. The sum of a row is preserved.
    """
    for rule in range(old.ptr.shape[0] - 1):
        at, n_left, n_right = new.ptr[rule], new.n_left[rule], new.n_right[rule]
        is_left, is_right = new.left[rule] >= 0, new.right[rule] >= 0
        share = (0.5 if is_left else 1.0) * (0.5 if is_right else 1.0)
        for a in range(new.n_lhs[rule]):
            row = old.ptr[rule] + (a // 2 if new.n_lhs[rule] > 1 else 0) * old.n_left[rule] * old.n_right[rule]
            first = new.ptr[rule] + a * n_left * n_right
            for b in range(n_left):
                for c in range(n_right):
                    value = values[row + (b // 2) * old.n_right[rule] + c // 2]
                    # The same random numbers for the four, or two, parts of a number, with signs that cancel.
                    corner = first + (b - b % 2) * n_right + c - c % 2
                    move = 0.0
                    if is_left:
                        move += dice[corner] * (1.0 - 2.0 * (b % 2))
                    if is_right:
                        move += dice[corner + 1] * (1.0 - 2.0 * (c % 2))
                    into[at] = value * share * (1.0 + noise * move)
                    at += 1


@kernel
def trace_halves(old: Blocks, new: Blocks, origin: Any, half: Any) -> None:
    """For each number of blocks whose subtypes are split in two: the index of its origin, and which half it is.

    half: 4 × the half of the left-hand side, 2 × that of the left child, and that of the right child; 0 for none.
    """
    for rule in range(old.ptr.shape[0] - 1):
        at, n_right = new.ptr[rule], old.n_right[rule]
        has_lhs = new.n_lhs[rule] > old.n_lhs[rule]
        for a in range(new.n_lhs[rule]):
            for b in range(new.n_left[rule]):
                for c in range(new.n_right[rule]):
                    row = (a // 2 if has_lhs else a) * old.n_left[rule] + b // 2
                    origin[at] = old.ptr[rule] + row * n_right + c // 2
                    half[at] = 4 * (a % 2 if has_lhs else 0) + 2 * (b % 2) + c % 2
                    at += 1
