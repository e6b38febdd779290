"""The interface to the API server: every call that Muster makes. Tests fake it and inject faults here."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, cast

from muster.api.wire import MAX_WORD, Unreadable, mapping, mappings, text, words
from muster.kube.errors import ServerFault
from muster.kube.resources import Resource

Object = dict[str, Any]
PAGE_SIZE = "100"
"""Objects per page. A typical pod has 27 KB: parsing 500 of them at once blocks the event loop for 100 ms."""
MAX_TOKEN = 64 * 1024
"""Maximum length of a `continue` token, which contains an etcd key."""


class KubeClient(Protocol):
    """Every method raises a `KubeError` and nothing else."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Object: ...

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        """One page, as the server answers it."""
        ...

    async def try_watch(self, resource: Resource) -> None:
        """Start a watch and end it at once, to learn whether the server allows it."""
        ...

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object: ...

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object: ...

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        """A JSON merge patch of the object, or of a subresource (`status`)."""
        ...

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: Sequence[Object]
    revision: str
    token: str
    """The `continue` token for the next page; empty on the last page."""

    @classmethod
    def parse(cls, raw: Object) -> Self:
        try:
            metadata = mapping(raw, "metadata")
            return cls(
                cast("Sequence[Object]", mappings(raw, "items")),
                text(metadata, "resourceVersion", MAX_WORD),
                words(metadata, "continue", MAX_TOKEN),
            )
        except Unreadable as error:
            raise ServerFault(f"the API server answered with a list that cannot be read: {error}") from error


async def pages(
    client: KubeClient, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None
) -> AsyncIterator[Page]:
    query = {"limit": PAGE_SIZE, **(params or {})}
    while True:
        page = Page.parse(await client.list(resource, namespace, query))
        yield page
        if not page.token:
            return
        query["continue"] = page.token


async def every_item(
    client: KubeClient, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None
) -> AsyncIterator[Object]:
    """All items of a list, page by page."""
    async for page in pages(client, resource, namespace, params):
        for item in page.items:
            yield item
