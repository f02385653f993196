"""One line that says how a score was measured."""

from __future__ import annotations

from lveg._version import __version__


def signature(**settings: str) -> str:
    """`lveg=0.1.0 gold=... params=...`: scores with the same line are comparable."""
    return " ".join([f"lveg={__version__}", *(f"{name}={value}" for name, value in settings.items())])
