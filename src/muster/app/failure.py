"""The errors that end a command: one sentence and an exit code."""

FAILED, USAGE = 1, 2
"""Exit codes: the command failed, the command line is wrong."""


class Failure(Exception):
    """A user error or another obstacle, as one sentence."""

    code = FAILED


class Misuse(Failure):
    """The flags are wrong."""

    code = USAGE
