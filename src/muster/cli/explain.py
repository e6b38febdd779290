"""Explains in one sentence, without a traceback, that the cluster does not answer, refuses, or is not a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

NOT_KUBERNETES = (AttributeError, KeyError, TypeError, ValueError)
"""What the code raises on an answer that does not come from a Kubernetes API server."""


@contextmanager
def explained() -> Iterator[None]:
    from muster.app.failure import Failure
    from muster.crds.server_support import InstallRefused
    from muster.kube.credentials import NoCredentials
    from muster.kube.errors import KubeError, plain_text

    try:
        yield
    except (NoCredentials, InstallRefused, KubeError) as problem:
        raise Failure(str(problem)) from problem
    except NOT_KUBERNETES as problem:
        why = plain_text(repr(problem))
        raise Failure(f"the server's answer is JSON, but not that of a Kubernetes API server: {why}") from problem
