"""List and watch for kinds with too many objects for kopf: only objects that match a selector, kept as small views."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import orjson

from muster.api.wire import MAX_WORD, Unreadable, mapping, text
from muster.kube.client import KubeClient, Object, pages
from muster.kube.errors import Conflict, KubeError, ServerFault
from muster.kube.resources import Resource

logger = logging.getLogger(__name__)

View = TypeVar("View")

WATCH_SECONDS = 300
BETWEEN_STREAMS_SECONDS = 0.5
"""The pause between two streams, for a server or proxy that ends every stream at once."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0


class Watcher(Protocol):
    """A client that can watch."""

    def watch(self, resource: Resource, params: Mapping[str, str]) -> AsyncIterator[bytes]: ...


class Audience(Protocol[View]):
    """The receiver of what the reflector reads."""

    def read(self, item: Object) -> View | None:
        """The view to keep, or None to skip the object. The reflector drops the object itself."""
        ...

    def replaced(self, views: list[View]) -> None:
        """All objects that exist now. An object that is missing here was deleted."""
        ...

    def changed(self, view: View) -> None: ...

    def deleted(self, item: Object) -> None: ...

    def lost(self) -> None:
        """The stream broke. The views may be outdated until the next call of `replaced`."""
        ...


class Expired(Exception):
    """The resourceVersion to continue from is too old: list again."""


@dataclass(slots=True)
class Reflector(Generic[View]):
    """Lists and watches one resource, and reports each change to its audience.

    It keeps no objects. It lists again when the stream breaks.
    """

    client: KubeClient
    streams: Watcher
    resource: Resource
    selector: Mapping[str, str]
    audience: Audience[View]

    async def run(self) -> None:
        """Runs until it is cancelled. It retries after every error."""
        pause = FIRST_RETRY_SECONDS
        while True:
            try:
                revision = await self._list()
                pause = FIRST_RETRY_SECONDS
                while True:
                    revision = await self._follow(revision)
                    await asyncio.sleep(BETWEEN_STREAMS_SECONDS)
            except Expired:
                pass
            except KubeError as error:
                logger.warning("the watch of %s broke and is being restarted: %s", self.resource, error)
            self.audience.lost()
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, LONGEST_RETRY_SECONDS)

    async def _list(self) -> str:
        """List page by page, so that it never holds more than one page of whole objects."""
        views: list[View] = []
        revision = ""
        try:
            async for page in pages(self.client, self.resource, params=self.selector):
                views += (view for item in page.items if (view := self.audience.read(item)) is not None)
                revision = page.revision
        except Conflict as error:  # 410: the snapshot expired before the last page
            raise Expired from error
        self.audience.replaced(views)
        return revision

    async def _follow(self, revision: str) -> str:
        """Read one stream until the server ends it. Returns the resourceVersion to continue from."""
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
            "resourceVersion": revision,
            **self.selector,
        }
        try:
            async for line in self.streams.watch(self.resource, params):
                revision = self.report(line) or revision
        except Conflict as error:
            raise Expired from error
        return revision

    def report(self, line: bytes) -> str:
        """Handle one line of a stream. Returns its resourceVersion, if it has one."""
        kind, item = _read(line)
        if kind == "ERROR":
            if item.get("code") == 410:
                raise Expired
            raise ServerFault(f"the watch ended with {item.get('message') or item.get('code')!s:.400}")
        if kind == "DELETED":
            self.audience.deleted(item)
        elif kind in {"ADDED", "MODIFIED"} and (view := self.audience.read(item)) is not None:
            self.audience.changed(view)
        return _revision(item)


def _revision(item: Object) -> str:
    try:
        return text(mapping(item, "metadata"), "resourceVersion", MAX_WORD)
    except Unreadable:
        return ""  # continue from the previous one


def _read(line: bytes) -> tuple[str, Object]:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ServerFault("a watch event is not JSON") from error
    item = event.get("object") if isinstance(event, dict) else None
    if not isinstance(item, dict):
        raise ServerFault("a watch event has no object")
    return str(event.get("type")), item
