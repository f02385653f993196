"""Arrays on disk: one safetensors file, with everything that is not an array as JSON in its header.

The header has one entry, `lveg`: a SHA-256 digest, a newline, and the JSON text, an object with a field `format`.
The digest is of the JSON and of every tensor's name, type, shape and bytes, so that a truncated or altered file is
detected before anything is used. Nothing in a file can run code.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from safetensors import SafetensorError
from safetensors.numpy import load, save

from lveg.errors import ModelError
from lveg.files import replacing

FORMAT = 2
_KEY = "lveg"


def pack(text: str, tensors: dict[str, Any]) -> bytes:
    """The bytes of a file with this header and these arrays."""
    return save(tensors, {_KEY: f"{digest_of(text, tensors)}\n{text}"})


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
        digest.update(array.tobytes())
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


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that a crash at any moment leaves the old one or the new one."""
    with replacing(path) as stream:
        stream.write(data)
