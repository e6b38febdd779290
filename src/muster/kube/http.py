"""The real client: aiohttp, one connection pool, no blind retry of writes."""

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
from muster.kube.errors import KubeError, NotFound, ServerFault, Unreachable, classify
from muster.kube.resources import Resource, can_be_a_name

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=10, connect=5)
WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=5, sock_read=330)
"""A quiet stream still brings a bookmark every minute, and ends by itself after five."""
CONNECTIONS = 64
KEEPALIVE_SECONDS = 30
LONGEST_LINE_BYTES = 8 * 1024 * 1024
FIELD_MANAGER = "muster"
READS = {"get": "GET", "list": "GET", "watch": "GET"}
METHODS = READS | {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
BRIEF_WATCH = {"watch": "true", "timeoutSeconds": "1", "fieldSelector": "metadata.name=muster.probe"}
"""A watch that shows nothing, and that the server ends if we do not."""
JSON, MERGE, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"


Count = Callable[[str, str, str], None]
"""Told of every call: its verb, its resource, and the class of the answer's code (2xx, …; none if there was none)."""


def uncounted(verb: str, resource: str, code: str) -> None:
    pass


class HttpClient:
    def __init__(self, credentials: Credentials, count: Count = uncounted, dry_run: bool = False) -> None:
        self._credentials = credentials
        self._count = count
        self._dry_run = dry_run
        """The API server checks every write, and stores none."""
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        secure = self._credentials.server.startswith("https")
        connector = aiohttp.TCPConnector(
            limit=CONNECTIONS,
            keepalive_timeout=KEEPALIVE_SECONDS,
            ssl=self._credentials.ssl_context() if secure else False,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=REQUEST_TIMEOUT,
            read_bufsize=LONGEST_LINE_BYTES,
            headers={"User-Agent": f"muster/{__version__}", "Accept": "application/json"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if not can_be_a_name(name):
            raise NotFound(f"no {resource.plural} can have such a name")
        return await self._call("get", resource, resource.path(namespace, name))

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        return await self._call("list", resource, resource.path(namespace), params=params)

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
            async with self._request("GET", resource.path(), params=params, timeout=WATCH_TIMEOUT) as answer:
                self._count("watch", resource.plural, f"{answer.status // 100}xx")
                if answer.status >= 400:
                    _read(answer, await answer.read())
                async for line in answer.content:
                    yield line
        except (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError) as error:
            raise self._unreachable(error) from error

    async def apply(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        """Server-side apply: made if it is missing, else changed to this where we, or nobody, said otherwise."""
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        path = resource.path(namespace, name)
        return await self._call("patch", resource, path, params=params, body=body, content_type=APPLY)

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": dict(preconditions)}
        if self._dry_run:
            body["dryRun"] = ["All"]  # a server that gets options in the body does not look at the query
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
        """A read is tried once more if its connection broke: an idle one may have been closed under it."""
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
        data = orjson.dumps(body) if body is not None else None
        headers = {"Content-Type": content_type} if body is not None else {}
        code = "none"
        try:
            async with self._request(METHODS[verb], path, params=params, data=data, headers=headers) as answer:
                begun = verb == "watch" and answer.ok
                content = b"" if begun else await answer.read()
                code = f"{answer.status // 100}xx"
                return _read(answer, content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from error
        finally:
            self._count(verb, resource.plural, code)

    @asynccontextmanager
    async def _request(self, method: str, path: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("the client is not open")
        headers: dict[str, str] = options.pop("headers", {})
        if authorization := await self._credentials.authorization():
            headers = {**headers, "Authorization": authorization}
        url = f"{self._credentials.server}{path}"
        async with self._session.request(method, url, headers=headers, **options) as answer:
            yield answer

    def _unreachable(self, error: Exception) -> Unreachable:
        why = str(error) or type(error).__name__
        return Unreachable(f"the API server at {self._credentials.server} does not answer: {why}")


def _read(answer: aiohttp.ClientResponse, content: bytes) -> Object:
    failed = answer.status >= 400
    try:
        parsed: Any = orjson.loads(content) if content else {}
    except orjson.JSONDecodeError as error:
        parsed = {} if failed else None
        if not failed:
            raise ServerFault("the API server's answer is not JSON") from error
    if failed:
        raise _error(answer, parsed if isinstance(parsed, dict) else {})
    if not isinstance(parsed, dict):
        raise ServerFault("the API server's answer is not an object")
    return parsed


def _error(answer: aiohttp.ClientResponse, body: Object) -> KubeError:
    waiting = answer.headers.get("Retry-After", "")
    return classify(answer.status, body, float(waiting[:9]) if waiting.isdecimal() else 0.0)
