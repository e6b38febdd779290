"""A namespace for one test."""

import uuid
from collections.abc import Iterator

from tests.clusters.api import Api


def own_namespace(api: Api) -> Iterator[str]:
    """A namespace that goes away afterwards, with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    api.create("namespaces", {"metadata": {"name": name}})
    yield name
    api.delete("namespaces", name)
