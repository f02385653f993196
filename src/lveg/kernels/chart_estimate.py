"""Outside scores estimated from the words on either side of a span, before the chart is filled."""

from __future__ import annotations

from typing import Any, NamedTuple

from lveg.kernels.jit import exponent_of, lean_kernel, power_of_two


class TagChain(NamedTuple):
    """A Markov chain of the T tags, and the tags around symbols; tag T is the end of the sentence, on both sides.

    follows[t, u]: P(tag u comes next | tag t); precedes is its transpose. begins[t, A]: the expected number of symbols
    A that begin after tag t. ends[u, A]: P(tag u comes next | A ends).
    """

    follows: Any
    precedes: Any
    begins: Any
    ends: Any


class Estimate(NamedTuple):
    """Outside scores of symbols from the chain, (n + 1, N) for each side, and P(words) z; each row has a power of two.

    before[i, A]: P(the words before i, A begins at i). after[j, A]: P(the words from j on | A ends at j).
    """

    before: Any
    before_scale: Any
    after: Any
    after_scale: Any
    z: float
    scale: int


@lean_kernel
def add_sparse(row: Any, column: Any, value: Any, dense: Any, into: Any) -> None:
    """Add the product of a sparse matrix, with a value at each (row, column), and a dense one (columns, width)."""
    for place in range(row.shape[0]):
        one = value[place]
        if one != 0.0:
            for at in range(dense.shape[1]):
                into[row[place], at] += one * dense[column[place], at]


@lean_kernel
def estimate_side(
    follows: Any,
    table: Any,
    tag_score: Any,
    word_scale: Any,
    is_backward: bool,
    now: Any,
    then: Any,
    found: Any,
    found_scale: Any,
) -> float:
    """P(all words) under the chain, divided by the power of two of the last row; fills one side of an `Estimate`.

    Forward, it takes `follows` and `begins` and fills before; backward, `precedes` and `ends` and fills after. now,
    then: (T + 1,), scratch arrays.
    """
    n, n_tags = tag_score.shape
    for t in range(n_tags + 1):
        now[t] = 1.0 if t == n_tags else 0.0
    for step in range(n + 1):
        place = n - step if is_backward else step
        for t in range(n_tags + 1):
            if now[t] > 0.0:
                for a in range(table.shape[1]):
                    found[place, a] += now[t] * table[t, a]
        if step == n:
            break
        word, place_after = (place - 1, place - 1) if is_backward else (place, place + 1)
        most = 0.0
        for u in range(n_tags):
            then[u] = 0.0
            if tag_score[word, u] > 0.0:
                for t in range(n_tags + 1):
                    then[u] += now[t] * follows[t, u]
                then[u] *= tag_score[word, u]
                most = max(most, then[u])
        if most <= 0.0:
            return 0.0
        exponent = exponent_of(most)
        found_scale[place_after] = found_scale[place] + exponent + word_scale[word]
        for u in range(n_tags):
            now[u] = then[u] * power_of_two(-exponent)
        now[n_tags] = 0.0
    total = 0.0
    for t in range(n_tags + 1):
        total += now[t] * follows[t, n_tags]
    return total
