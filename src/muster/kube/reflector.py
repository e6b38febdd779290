"""List and watch of our own, for kinds that are too many for kopf: only what a selector lets through, as slim views."""

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
"""A server, or a proxy before it, that ends every stream at once must not be asked without end."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0


class Watcher(Protocol):
    """A client that can also stream."""

    def watch(self, resource: Resource, params: Mapping[str, str]) -> AsyncIterator[bytes]: ...


class Audience(Protocol[View]):
    """What the reflector reports to."""

    def read(self, item: Object) -> View | None:
        """The little of an object that is kept; None to pass it over. The object itself is dropped at once."""
        ...

    def replaced(self, views: list[View]) -> None:
        """All there is: what is not in it is gone."""
        ...

    def changed(self, view: View) -> None: ...

    def deleted(self, item: Object) -> None: ...

    def lost(self) -> None:
        """The stream broke: what was told may be old until everything is told anew."""
        ...


class Expired(Exception):
    """The revision to go on from is too old: list again."""


@dataclass(slots=True)
class Reflector(Generic[View]):
    """Lists and watches one resource, and reports each change to its audience.

    Keeps no object itself. It lists again when the stream breaks.
    """

    client: KubeClient
    streams: Watcher
    resource: Resource
    selector: Mapping[str, str]
    audience: Audience[View]

    async def run(self) -> None:
        """Until cancelled; whatever goes wrong is tried again."""
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
                logger.warning("watching %s broke and starts again: %s", self.resource, error)
            self.audience.lost()
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, LONGEST_RETRY_SECONDS)

    async def _list(self) -> str:
        """Page by page, so that no more than one page of whole objects is ever held."""
        views: list[View] = []
        revision = ""
        try:
            async for page in pages(self.client, self.resource, params=self.selector):
                views += (view for item in page.items if (view := self.audience.read(item)) is not None)
                revision = page.revision
        except Conflict as error:  # 410: the pages outlived their snapshot
            raise Expired from error
        self.audience.replaced(views)
        return revision

    async def _follow(self, revision: str) -> str:
        """One stream, to its regular end; the revision to go on from."""
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
        """One line of a stream; its revision, if it has one."""
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
        return ""  # the one before it is still good


def _read(line: bytes) -> tuple[str, Object]:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ServerFault("a watch event is not JSON") from error
    item = event.get("object") if isinstance(event, dict) else None
    if not isinstance(item, dict):
        raise ServerFault("a watch event has no object")
    return str(event.get("type")), item
