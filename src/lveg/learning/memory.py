"""Refusing to learn what memory cannot hold, before it is taken."""

from __future__ import annotations

import os

from lveg.errors import UsageError


def check_memory(what: str, parameters: int, copies: int) -> None:
    """Refuse so many parameters if the copies that learning holds of them are more than the machine's memory.

    what: the options that make them so many, to begin the message with.
    """
    need, have = 8 * parameters * copies, physical_memory()
    if have is not None and need > have:
        raise UsageError(f"{what} would need about {_size(need)} of memory; this machine has {_size(have)}")


def physical_memory() -> int | None:
    """The machine's memory in bytes; None where the system does not tell.

    What is free at the moment says less: most systems fill free memory with files, which they give up when asked to.
    """
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    return found if found > 0 else None


def _size(count: int) -> str:
    return f"{count / 2**30:,.0f} GiB" if count >= 10 * 2**30 else f"{count / 2**30:.1f} GiB"
