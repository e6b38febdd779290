"""The seam: everything Muster asks of an API server. Small enough to fake, and where faults are injected."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from muster.kube.resources import Resource

Object = dict[str, Any]
PAGE_SIZE = "500"


class KubeClient(Protocol):
    """Every method raises a `KubeError` and nothing else."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Object: ...

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        """One page, as the server answers it."""
        ...

    async def try_watch(self, resource: Resource) -> None:
        """Does a watch begin? It is ended at once, whatever it would have shown."""
        ...

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object: ...

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object: ...

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        """A JSON merge patch, of the object or of a part of it (`status`)."""
        ...

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None: ...


async def every_item(
    client: KubeClient, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None
) -> AsyncIterator[Object]:
    """All items of a list, page by page."""
    query = {"limit": PAGE_SIZE, **(params or {})}
    while True:
        page = await client.list(resource, namespace, query)
        for item in page.get("items") or ():
            yield item
        token = (page.get("metadata") or {}).get("continue")
        if not token:
            return
        query["continue"] = token
