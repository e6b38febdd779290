"""What a command says when the cluster is not there, refuses, or is no cluster: one sentence, and never a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

NO_SENSE = (AttributeError, KeyError, TypeError, ValueError)
"""How code trips over an answer that no API server gives."""


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
    except NO_SENSE as problem:
        why = plain_text(repr(problem))
        raise Failure(f"the server's answer is JSON, but not that of a Kubernetes API server: {why}") from problem
