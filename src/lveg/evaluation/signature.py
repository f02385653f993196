"""What a score was measured with, in one line."""

from __future__ import annotations

from lveg._version import __version__


def signature(**settings: str) -> str:
    """`lveg=0.1.0 gold=... params=...`: the same line means that scores may be compared."""
    return " ".join([f"lveg={__version__}", *(f"{name}={value}" for name, value in settings.items())])
