"""Collecting the keys of features."""

from __future__ import annotations

from typing import Any

from lveg.kernels.features import EMPTY, Table
from lveg.kernels.jit import lean_kernel


@lean_kernel
def insert_keys(table: Table, keys: Any, size: int) -> int:
    """Give the next numbers, from `size`, to the keys that are not in the table; returns the new number of keys."""
    mask = table.key.shape[0] - 1
    for key in keys:
        slot = key & mask
        while table.key[slot] != EMPTY and table.key[slot] != key:
            slot = (slot + 1) & mask
        if table.key[slot] == EMPTY:
            table.key[slot] = key
            table.number[slot] = size
            size += 1
    return size
