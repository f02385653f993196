"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from lveg.errors import UsageError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers that only a write can raise."""

_TEMPORARY = re.compile(r"\.lveg-(.*-)?[0-9a-f]{16}", re.DOTALL)  # as `replacing` names them

_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM})
"""Error numbers of systems on which a directory cannot be synced."""

_MOST_NAME = 200  # bytes of a name that the name of its temporary file repeats


@contextmanager
def replacing(path: str, previous: str | None = None) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file at `path` when the block ends without an error.

    They are written to a temporary file in the same directory, which is synced and renamed; then the directory is
    synced. A crash at any moment leaves the old file or the new one. previous: where the old file is kept; a crash may
    then leave it only there. A link stays a link: its target is replaced. Devices and pipes are written directly.
    """
    is_direct = os.path.exists(path) and not os.path.isfile(path)
    target = path if is_direct else os.path.realpath(path)
    written = target if is_direct else _temporary(target)
    try:
        stream = open(written, "wb" if is_direct else "xb")  # noqa: SIM115 (closed below, before the renaming)
    except OSError as error:
        raise cannot_write(path, error) from None
    is_filled = False
    try:
        with stream:
            yield stream
            is_filled = True
            stream.flush()
            if not is_direct:
                os.fsync(stream.fileno())
        if not is_direct:
            if os.path.exists(target):
                shutil.copymode(target, written)
                if previous is not None:
                    os.replace(target, previous)
            os.replace(written, target)
            _sync_directory(os.path.dirname(target))
    except BaseException as error:
        if not is_direct:
            with suppress(OSError):
                os.unlink(written)
        if isinstance(error, OSError) and (is_filled or error.errno in FULL):
            raise cannot_write(path, error) from None
        raise


def remove_partial(path: str, more: str = "") -> None:
    """Remove the temporary files of processes that were killed while they wrote the file at `path`.

    more: a regular expression; files whose names continue with it are meant as well.
    """
    folder, name = os.path.split(os.path.realpath(path))
    pattern = re.compile(re.escape(f".lveg-{name}") + more + "-[0-9a-f]{16}")
    with suppress(OSError):
        for found in os.listdir(folder):
            if pattern.fullmatch(found):
                os.unlink(os.path.join(folder, found))


def _temporary(target: str) -> str:
    """A new name next to a file; it repeats the file's name, unless that is too long."""
    folder, name = os.path.split(target)
    name = f"{name}-" if len(os.fsencode(name)) <= _MOST_NAME else ""
    return os.path.join(folder, f".lveg-{name}{secrets.token_hex(8)}")


def _sync_directory(path: str) -> None:
    """Make the names in a directory durable, where the system can do that."""
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def cannot_write(path: str, error: OSError) -> UsageError:
    """The error to raise if a file cannot be written."""
    return UsageError(f"{path}: cannot be written: {error.strerror or error}")


def remove_leftovers(folder: str) -> None:
    """Remove the temporary files that a process killed while writing left in a folder; no other may be writing."""
    for name in os.listdir(folder):
        if _TEMPORARY.fullmatch(name):
            os.unlink(os.path.join(folder, name))


def sha256_of(path: str) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror or error}") from None
