"""What a user of `hack/cluster` can run into, each told in a sentence."""


class ClusterError(Exception):
    """Its text is shown to the user as it is; there is no traceback."""


class OtherVersionError(ClusterError):
    """The code has changed under a running cluster."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Cluster {name} was started by another version of hack/cluster: run `hack/cluster down --name {name}`."
        )
