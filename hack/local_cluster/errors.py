"""The errors of `hack/cluster`, each as one sentence."""


class ClusterError(Exception):
    """The text is shown to the user as it is, without a traceback."""


class OtherVersionError(ClusterError):
    """The code has changed since the cluster was started."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Cluster {name} was started by another version of hack/cluster: run `hack/cluster down --name {name}`."
        )
