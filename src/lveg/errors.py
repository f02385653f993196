"""Errors that a user can act on.

The command line turns these into one line on stderr and exit status 2. Any other exception is a bug.
"""


class LvegError(Exception):
    """Base of all errors that lveg raises on purpose."""


class TreebankError(LvegError):
    """A corpus file is malformed; the message begins with `file:line:`."""


class GrammarError(LvegError):
    """A grammar cannot be built, or does not fit its use."""


class ModelError(LvegError):
    """A file is not a model file, is damaged, or has another kind of model than needed."""


class UsageError(LvegError):
    """Options contradict each other, or a file is missing."""
