"""What makes a release impossible, in one sentence each."""


class ReleaseRefused(Exception):
    """The clone is not in a state that can be released, or something that the build needs is missing."""
