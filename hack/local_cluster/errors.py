"""What a user of `hack/cluster` can run into, each told in a sentence."""


class ClusterError(Exception):
    """Its text is shown to the user as it is; there is no traceback."""
