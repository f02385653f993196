"""What the words on either side of a span tell of it: outside scores estimated before the chart is filled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import exponent_of, kernel, power_of_two


class Ahead(NamedTuple):
    """A Markov chain of the T tags, and how symbols stand in it; tag number T is the end of the sentence on both sides.

    follows[t, u]: P(tag u comes next | tag t); precedes is its transpose. begins[t, A]: how many symbols A, on average,
    begin after tag t. ends[u, A]: P(tag u comes next | A ends).
    """

    follows: Any
    precedes: Any
    begins: Any
    ends: Any


@kernel
def look_ahead(
    follows: Any, table: Any, tag_score: Any, scale: Any, is_backward: bool, found: Any, found_scale: Any
) -> float:
    """Fill found (n + 1, N) and its powers of two: a row for each place between words, from the words on one side.

    Forward, with `follows` and `begins`, found[i, A] is P(the words before i, A begins at i). Backward, with
    `precedes` and `ends`, found[j, A] is P(the words from j on | A ends at j). The result is P(all words) by the
    chain, over the power of two of the last row.
    """
    n, n_tags = tag_score.shape
    now, then = np.zeros(n_tags + 1), np.zeros(n_tags + 1)
    now[n_tags] = 1.0
    for step in range(n + 1):
        place = n - step if is_backward else step
        for t in range(n_tags + 1):
            if now[t] > 0.0:
                for a in range(table.shape[1]):
                    found[place, a] += now[t] * table[t, a]
        if step == n:
            break
        word = place - 1 if is_backward else place
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
        found_scale[place - 1 if is_backward else place + 1] = found_scale[place] + exponent + scale[word, word + 1]
        for u in range(n_tags):
            now[u] = then[u] * power_of_two(-exponent)
        now[n_tags] = 0.0
    total = 0.0
    for t in range(n_tags + 1):
        total += now[t] * follows[t, n_tags]
    return total
