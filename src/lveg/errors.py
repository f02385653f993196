"""Everything that can go wrong for a reason a user can act on.

The command line turns these into one line on stderr and exit status 2. Any other exception is a bug.
"""


class LvegError(Exception):
    """Base of all errors that lveg raises on purpose."""


class TreebankError(LvegError):
    """A corpus file is malformed; the message begins with `file:line:`."""


class GrammarError(LvegError):
    """A grammar cannot be built or does not fit what it is asked to do."""


class ModelError(LvegError):
    """A model file is foreign, damaged, or of another kind than needed."""


class UsageError(LvegError):
    """Options that contradict each other or a file that is not there."""
