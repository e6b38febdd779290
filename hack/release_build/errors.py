"""Why a release cannot be built, as one sentence."""


class ReleaseRefused(Exception):
    """The clone cannot be released in its current state, or the build lacks something."""
