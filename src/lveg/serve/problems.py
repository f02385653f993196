"""Problems that a client is told about, each with its HTTP status."""

from __future__ import annotations

LONGEST = 200
"""Longer messages are cut: they may quote a part of the request."""


class ApiError(Exception):
    """A request that gets no answer: an HTTP status, a code for programs and a message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        short = message if len(message) <= LONGEST else message[: LONGEST - 3] + "..."
        super().__init__(status, code, short)
        self.status, self.code, self.message = status, code, short


def busy() -> ApiError:
    """More requests than the server takes."""
    return ApiError(503, "busy", "the server is busy: try again in a moment")
