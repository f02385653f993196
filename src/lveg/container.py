"""Arrays on disk: one safetensors file, with everything that is not an array as JSON in its header.

The header has one entry, `lveg`: a SHA-256 digest, a newline, and the JSON text, an object with a field `format`.
The digest is of the JSON and of every tensor's name, type, shape and bytes, so that a truncated or altered file is
detected before anything is used. Nothing in a file can run code.
"""

from __future__ import annotations

import hashlib
from typing import Any, BinaryIO

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from lveg.errors import ModelError
from lveg.files import cannot_write, replacing

FORMAT = 2
_KEY = "lveg"
_ALIGNED = 8
_TYPES = {
    "|b1": "BOOL", "|i1": "I8", "|u1": "U8", "<i2": "I16", "<u2": "U16", "<f2": "F16", "<i4": "I32", "<u4": "U32",
    "<f4": "F32", "<i8": "I64", "<u8": "U64", "<f8": "F64",
}  # fmt: skip


def write(path: str, text: str, tensors: dict[str, Any], previous: str | None = None) -> None:
    """Write a file with this header and these arrays; a crash at any moment leaves the old file or the new one.

    previous: where the old file is kept, if anywhere.
    """
    try:
        with replacing(path, previous) as stream:
            dump(stream, text, tensors)
    except OSError as error:
        raise cannot_write(path, error) from None


def dump(stream: BinaryIO, text: str, tensors: dict[str, Any]) -> None:
    """Write this header and these arrays, which must be contiguous.

    Arrays are written one by one, without a copy of all of them in memory. The largest numbers come first, so that
    every array is aligned.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": {_KEY: f"{digest_of(text, tensors)}\n{text}"}}
    end = 0
    for name in names:
        array = tensors[name]
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _TYPES[array.dtype.str], "shape": array.shape, "data_offsets": (begin, end)}
    encoded = msgspec.json.encode(header)
    encoded += b" " * (-len(encoded) % _ALIGNED)
    stream.write(len(encoded).to_bytes(8, "little") + encoded)
    for name in names:
        stream.write(_bytes_of(tensors[name]))


def _bytes_of(array: Any) -> memoryview:
    """The bytes of a contiguous array, without a copy."""
    return memoryview(array.reshape(-1).view(np.uint8))


def unpack(data: bytes) -> tuple[str, dict[str, Any]]:
    """(header, arrays) of a file's bytes; a ModelError if they are not what was packed."""
    text, digest = _header(data)
    try:
        tensors: dict[str, Any] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"is damaged: {error}") from None
    if digest_of(text, tensors) != digest:
        raise ModelError("is damaged or was altered: its digest does not match")
    return text, tensors


def digest_of(text: str, tensors: dict[str, Any]) -> str:
    """The SHA-256 of the header and of every array's name, type, shape and bytes."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def _header(data: bytes) -> tuple[str, str]:
    """(JSON text, digest) from the safetensors header; the first eight bytes of the file are its length."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise ModelError("is not a model file, or was truncated")
    try:
        metadata = msgspec.json.decode(data[8 : 8 + size], type=dict[str, msgspec.Raw]).get("__metadata__")
        entry = msgspec.json.decode(metadata or b"{}", type=dict[str, str]).get(_KEY)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        entry = None
    if entry is None:
        raise ModelError("is not a model file of lveg")
    digest, _, text = entry.partition("\n")
    try:
        found = msgspec.json.decode(text, type=_Version).format
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ModelError("is damaged: its header cannot be read") from None
    if found != FORMAT:
        raise ModelError(f"has format {found}; this version of lveg reads format {FORMAT}: retrain the model")
    return text, digest


class _Version(msgspec.Struct):
    """The one field that every format has."""

    format: int


def read_whole(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise ModelError(f"{path}: cannot be opened: {error.strerror or error}") from None
