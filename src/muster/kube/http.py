"""The HTTP client: aiohttp, one connection pool per lane. It does not retry writes."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
from aiohttp.http import HttpProcessingError

from muster import __version__
from muster.kube.client import Object
from muster.kube.credentials import Credentials
from muster.kube.errors import NotFound, Rejected, ServerFault, TooLarge, Unreachable, classify, waiting_time
from muster.kube.lanes import Lane, Places, current_work
from muster.kube.resources import Resource, can_be_a_name

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=10, connect=5)
WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=5, sock_read=330)
"""An idle stream still gets a bookmark every minute, and the server ends it after five minutes."""
KEEPALIVE_SECONDS = 30
LONGEST_LINE_BYTES = 8 * 1024 * 1024
MAX_PAGE_BYTES = 16 * 1024 * 1024
"""For a list with a limit. Muster asks for a larger page again with fewer items: any user can create large objects."""
MAX_ANSWER_BYTES = 128 * 1024 * 1024
BROKEN = (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError)
"""What aiohttp raises when there is no valid HTTP answer."""
FIELD_MANAGER = "muster"
READS = {"get": "GET", "list": "GET", "watch": "GET"}
METHODS = READS | {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
BRIEF_WATCH = {"watch": "true", "timeoutSeconds": "1", "fieldSelector": "metadata.name=muster.probe"}
"""A watch that matches no object and that the server ends after one second."""
JSON, MERGE, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"


Count = Callable[[str, str, str], None]
"""Called after every request with its verb, its resource and the class of the status code (2xx, …, or none)."""


def uncounted(verb: str, resource: str, code: str) -> None:
    pass


class HttpClient:
    """The `KubeClient` that talks to a real API server.

    Owns one connection pool per lane. It reads the credentials for each request, reads and writes any object for its
    callers, and counts each call. Every error becomes a `KubeError`.
    """

    def __init__(self, credentials: Credentials, count: Count = uncounted, dry_run: bool = False) -> None:
        self._credentials = credentials
        self._count = count
        self._dry_run = dry_run
        """Whether every write is a dry run: the API server validates it and does not store it."""
        self._sessions: dict[Lane, aiohttp.ClientSession] = {}
        self._places = Places()

    async def __aenter__(self) -> Self:
        endpoint = self._credentials.endpoint
        context = endpoint.ssl_context() if endpoint.server.startswith("https") else False
        for lane in Lane:
            # The connector has no limit: time that a call waits in it would count as time of the API server.
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_SECONDS, ssl=context)
            self._sessions[lane] = aiohttp.ClientSession(
                connector=connector,
                timeout=REQUEST_TIMEOUT,
                read_bufsize=LONGEST_LINE_BYTES,
                headers={"User-Agent": f"muster/{__version__}", "Accept": "application/json"},
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if not can_be_a_name(name):
            raise NotFound(f"no {resource.plural} can have such a name")
        return await self._call("get", resource, resource.path(namespace, name))

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        query = dict(params or {})
        while True:
            try:
                return await self._call("list", resource, resource.path(namespace), params=query)
            except TooLarge:
                items = int(query.get("limit", "1"))
                if items <= 1:
                    raise
                query["limit"] = str(items // 2)

    async def try_watch(self, resource: Resource) -> None:
        await self._call("watch", resource, resource.path(), params=BRIEF_WATCH)

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return await self._call("create", resource, resource.path(namespace), body=body)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return await self._call("update", resource, resource.path(namespace, name), body=body)

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        path = resource.path(namespace, name) + (f"/{part}" if part else "")
        return await self._call("patch", resource, path, body=body, content_type=MERGE)

    async def watch(self, resource: Resource, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The lines of a watch stream, until the server ends it."""
        try:
            lane = current_work().lane  # a stream lasts for minutes, so it does not use a slot of its lane
            async with self._request(lane, "GET", resource.path(), params=params, timeout=WATCH_TIMEOUT) as answer:
                self._count("watch", resource.plural, f"{answer.status // 100}xx")
                if answer.status >= 300:
                    _read(answer, await _content(answer, MAX_PAGE_BYTES))
                async for line in answer.content:
                    yield line
        except BROKEN as error:
            raise self._unreachable(error) from error

    async def apply(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        """Server-side apply with force: creates the object, or sets these fields and becomes their manager."""
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        path = resource.path(namespace, name)
        return await self._call("patch", resource, path, params=params, body=body, content_type=APPLY)

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": dict(preconditions)}
        if self._dry_run:
            body["dryRun"] = ["All"]  # a server that gets options in the body ignores the query
        await self._call("delete", resource, resource.path(namespace, name), body=body)

    async def _call(
        self,
        verb: str,
        resource: Resource,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = JSON,
    ) -> Object:
        """Retries a read once if its connection broke: the server may have closed an idle connection."""
        if self._dry_run and METHODS[verb] != "GET":
            params = {**(params or {}), "dryRun": "All"}
        send = partial(self._send, verb, resource, path, params, body, content_type)
        try:
            return await send()
        except Unreachable:
            if verb not in READS:
                raise
            return await send()

    async def _send(
        self,
        verb: str,
        resource: Resource,
        path: str,
        params: Mapping[str, str] | None,
        body: Object | None,
        content_type: str,
    ) -> Object:
        data = _written(body) if body is not None else None
        headers = {"Content-Type": content_type} if body is not None else {}
        most = MAX_PAGE_BYTES if "limit" in (params or {}) else MAX_ANSWER_BYTES
        code = "none"
        try:
            async with (
                self._places.take(current_work()) as lane,
                self._request(lane, METHODS[verb], path, params=params, data=data, headers=headers) as answer,
            ):
                begun = verb == "watch" and answer.status < 300
                content = b"" if begun else await _content(answer, most)
                code = f"{answer.status // 100}xx"
                return _read(answer, content)
        except BROKEN as error:
            raise self._unreachable(error) from error
        finally:
            self._count(verb, resource.plural, code)

    @asynccontextmanager
    async def _request(
        self, lane: Lane, method: str, path: str, **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        session = self._sessions.get(lane)
        if session is None:
            raise RuntimeError("the client is not open")
        headers: dict[str, str] = options.pop("headers", {})
        if authorization := await self._credentials.authorization():
            headers = {**headers, "Authorization": authorization}
        url = f"{self._credentials.endpoint.server}{path}"
        async with session.request(method, url, headers=headers, allow_redirects=False, **options) as answer:
            yield answer

    def _unreachable(self, error: Exception) -> Unreachable:
        why = str(error) or type(error).__name__
        return Unreachable(f"the API server at {self._credentials.endpoint.server} does not answer: {why}")


def _written(body: Object) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise Rejected(f"this object cannot be written as JSON: {error}") from error


async def _content(answer: aiohttp.ClientResponse, most: int) -> bytes:
    chunks, size = [], 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"the API server's answer has more than {most // 1024 // 1024} MiB")
        chunks.append(chunk)
    return b"".join(chunks)


def _read(answer: aiohttp.ClientResponse, content: bytes) -> Object:
    failed = answer.status >= 300
    try:
        parsed: Any = orjson.loads(content) if content else {}
    except orjson.JSONDecodeError as error:
        parsed = {} if failed else None
        if not failed:
            raise ServerFault("the API server's answer is not JSON") from error
    if failed:
        waiting = waiting_time(answer.headers.get("Retry-After", ""))
        raise classify(answer.status, parsed if isinstance(parsed, dict) else {}, waiting)
    if not isinstance(parsed, dict):
        raise ServerFault("the API server's answer is not an object")
    return parsed
