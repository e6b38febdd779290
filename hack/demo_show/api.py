"""The requests of the demo, as the cluster's administrator. It shares no code with Muster."""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
import yaml

from demo_show.errors import DemoError

Body = dict[str, Any]

FIELD_MANAGER = "demo-user"
_LONGEST_LINE = 2**20
_MERGE_PATCH = "application/merge-patch+json"


class Api:
    """Owns one HTTP session. It reads and writes any object of the demo's cluster, and keeps nothing."""

    def __init__(self, kubeconfig: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        self._server = content["clusters"][0]["cluster"]["server"]
        self._tls = _tls_context(content["clusters"][0]["cluster"], content["users"][0]["user"])

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            base_url=self._server,
            connector=aiohttp.TCPConnector(ssl=self._tls, limit=0),
            read_bufsize=_LONGEST_LINE,
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        await self._session.close()

    async def get(self, path: str) -> Body:
        return await self._request("GET", path)

    async def text(self, path: str) -> str:
        async with self._session.get(path) as response:
            return await response.text()

    async def create(self, path: str, body: Body, *, dry_run: bool = False) -> Body:
        query = {"fieldManager": FIELD_MANAGER} | ({"dryRun": "All"} if dry_run else {})
        return await self._request("POST", path, query, body)

    async def patch_status(self, path: str, status: Body) -> Body:
        return await self._request("PATCH", f"{path}/status", {}, {"status": status}, _MERGE_PATCH)

    async def delete(self, path: str) -> Body:
        return await self._request("DELETE", path, {"propagationPolicy": "Background"})

    async def watch(self, path: str, revision: str) -> AsyncIterator[tuple[str, Body]]:
        """All changes after the revision. The demo is shorter than the server's watch timeout."""
        query = {"watch": "true", "resourceVersion": revision, "timeoutSeconds": "1800"}
        endless = aiohttp.ClientTimeout(total=None)
        try:
            async with self._session.get(path, params=query, timeout=endless) as response:
                async for line in response.content:
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        raise DemoError(f"The watch of {path} ended: {event['object'].get('message')}.")
                    yield event["type"], event["object"]
        except aiohttp.ClientError as error:
            raise DemoError(f"The watch of {path} broke: {error}.") from error
        raise DemoError(f"The API server ended the watch of {path}.")

    async def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: Body | None = None,
        content_type: str = "application/json",
    ) -> Body:
        data = orjson.dumps(body) if body is not None else None
        headers = {"Content-Type": content_type} if data else {}
        try:
            async with self._session.request(method, path, params=query, data=data, headers=headers) as response:
                answer: Body = orjson.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise DemoError(f"{method} {path} failed: {error or type(error).__name__}.") from error
        if response.status >= 400:
            raise DemoError(f"{method} {path} was refused: {answer.get('message')}.")
        return answer


def _tls_context(cluster: Body, user: Body) -> ssl.SSLContext:
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile(suffix=".pem") as pair:  # Python reads client certificates only from files
        for part in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[part]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
    return context
