"""What ends a command: one sentence, and an exit code."""

FAILED, USAGE = 1, 2
"""Exit codes: something was not done, the call was not understood."""


class Failure(Exception):
    """What a person did wrong, or what is in the way, in one sentence."""

    code = FAILED


class Misuse(Failure):
    """Flags that make no sense."""

    code = USAGE
