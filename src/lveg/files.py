"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from lveg.errors import UsageError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers that only a write can raise."""

_TEMPORARY = re.compile(r"\.lveg-[0-9a-f]{16}")  # as `replacing` names them


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file at `path` when the block ends without an error.

    They are written to a temporary file in the same directory, which is synced and renamed: a crash at any moment
    leaves the old file or the new one. A link stays a link: its target is replaced. Devices and pipes are written
    directly.
    """
    is_direct = os.path.exists(path) and not os.path.isfile(path)
    target = path if is_direct else os.path.realpath(path)
    written = target if is_direct else os.path.join(os.path.dirname(target), f".lveg-{secrets.token_hex(8)}")
    try:
        stream = open(written, "wb" if is_direct else "xb")  # noqa: SIM115 (closed below, before the renaming)
    except OSError as error:
        raise _cannot_write(path, error) from None
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
            os.replace(written, target)
    except BaseException as error:
        if not is_direct:
            os.unlink(written)
        if isinstance(error, OSError) and (is_filled or error.errno in FULL):
            raise _cannot_write(path, error) from None
        raise


def _cannot_write(path: str, error: OSError) -> UsageError:
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
