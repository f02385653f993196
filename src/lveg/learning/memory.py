"""Checks in advance that a model fits into memory."""

from __future__ import annotations

import os

from lveg.errors import UsageError


def check_memory(what: str, parameters: int, copies: int) -> None:
    """Raise an error if this many copies of the parameters need more memory than the machine has.

    what: the options that determine the number of parameters, for the message.
    """
    need, have = 8 * parameters * copies, physical_memory()
    if have is not None and need > have:
        raise UsageError(f"{what} would need about {_size(need)} of memory; this machine has {_size(have)}")


def physical_memory() -> int | None:
    """The machine's memory in bytes; None if unknown.

    Currently free memory would be a worse measure: most systems fill free memory with file caches, which they release
    on demand.
    """
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    return found if found > 0 else None


def _size(count: int) -> str:
    return f"{count / 2**30:,.0f} GiB" if count >= 10 * 2**30 else f"{count / 2**30:.1f} GiB"
