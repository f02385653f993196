"""How kernels are compiled, and small helpers that they share."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.compiler import Flags

Function = TypeVar("Function", bound=Callable[..., Any])

DEAD = -(2**30)
"""Scale of a cell or node without any derivation."""

int64 = cast(Callable[[Any], int], np.int64)
"""Makes an int64 of an int32 or a literal that a kernel passes to another kernel. Otherwise Numba may compile the other
kernel several times: once for each type of integer and for each literal."""

ZERO = int64(0)

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "no_cfunc_wrapper": True,
    "forceinline": True,  # see `kernel`
    "_nrt": True,  # explicit, since a kernel called by a lean one would otherwise inherit its setting
}

known: list[str] = []
"""Kernels that were imported. A command uses some of them, and compiles those that are not cached on disk."""

uncached: list[str] = []
"""Kernels whose compiled code cannot be cached on disk: they are compiled again in every process."""


def kernel(function: Function) -> Function:
    """Compile without the GIL, cached on disk. Sums may be reordered; infinities and NaN keep their meaning.

    A kernel is inlined into those that call it. Numba links each kernel with copies of those that it calls, which can
    be optimised differently and so add numbers in another order; calls would go to the originals in the process that
    compiled them, and to the copies in one that loads them from the cache.

    Without a writable cache directory, such as in a read-only install without a home directory, the code is not cached.
    """
    return _compiled(function, _OPTIONS)


def lean_kernel(function: Function) -> Function:
    """Like `kernel`, for a function that neither creates nor returns arrays: it needs no reference counting.

    Compilation takes a fifth less time. Numba refuses a function that creates or returns an array.
    """
    return _compiled(function, _OPTIONS | {"_nrt": False})


def inner_kernel(function: Function) -> Function:
    """Like `lean_kernel`, for a function that only kernels call: it cannot be called from Python."""
    return _compiled(function, _OPTIONS | {"_nrt": False, "no_cpython_wrapper": True})


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    known.append(function.__name__)
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no writable directory
        uncached.append(function.__name__)
        return cast(Function, numba.njit(**options)(function))
    file = compiled._cache._cache_file
    file._load_index = partial(_load_index, file._load_index)
    return cast(Function, compiled)


def _load_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """The cached code of a kernel; none if the file is damaged or refers to a class of another version of lveg."""
    try:
        return load()
    except Exception:
        return {}


class _Collections(event.Listener):
    """Suspends garbage collection while kernels compile: it takes a quarter of that time and frees little."""

    def __init__(self) -> None:
        self.depth = 0
        self.was_enabled = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.was_enabled = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.was_enabled:
            gc.enable()


event.register("numba:compile", _Collections())  # type: ignore[no-untyped-call]


def _quicken_comparisons() -> None:
    """Let Numba read its compiler options faster: it compares all of them at every operator of a kernel."""
    defaults = {name: option.default for name, option in Flags.options.items()}

    def values(flags: Any) -> dict[str, Any]:
        return {**defaults, **flags._values}

    if hasattr(Flags(), "_values") and values(Flags()) == Flags().values():  # type: ignore[no-untyped-call]
        Flags.values = values  # type: ignore[method-assign]


_quicken_comparisons()


class _Compilations(event.Listener):
    """Calls a watcher with the number of kernels compiled so far, each time one is about to be compiled.

    done: called when nothing is being compiled any more, for now.
    """

    def __init__(self, watcher: Callable[[int], None], done: Callable[[], None]) -> None:
        self.watcher, self.done = watcher, done
        self.count = self.depth = 0

    def on_start(self, event: Any) -> None:
        self.count += 1
        self.depth += 1
        self.watcher(self.count)

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.done()


@contextmanager
def watch_compilation(watcher: Callable[[int], None], done: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call the watcher with the number of kernels so far, whenever one is compiled that was not cached on disk.

    done: called when nothing is being compiled any more, for now.
    """
    listener = _Compilations(watcher, done)
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]


@inner_kernel
def power_of_two(exponent: int) -> float:
    """2 ** exponent, or 0 if that is below the smallest normal number."""
    if exponent < -1022:
        return 0.0
    if exponent > 1023:
        return math.inf
    return math.ldexp(1.0, exponent)


@inner_kernel
def exponent_of(value: float) -> int:
    """The exponent of the power of two that scales a positive value to [0.5, 1), or up to there if it is subnormal."""
    return max(math.frexp(value)[1], -1022)
