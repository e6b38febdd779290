"""The API requests that are needed to start a cluster."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.request
from typing import Any

from local_cluster.certificates import KeyPair
from local_cluster.layout import ClusterLayout


def answers(layout: ClusterLayout, url: str) -> bool:
    """Whether a component reports that it is healthy."""
    context = admin_context(layout) if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(url, timeout=2, context=context) as response:  # noqa: S310 - our own component
            return bool(response.status == 200)
    except (OSError, http.client.HTTPException):
        return False


class AdminClient:
    """One persistent connection to the API server as its administrator."""

    def __init__(self, layout: ClusterLayout, port: int) -> None:
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=admin_context(layout))

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Status and decoded answer. Raises OSError if there is no answer."""
        try:
            self._connection.request(
                method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"}
            )
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise ConnectionError(str(error)) from error
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text.decode(errors="replace")


def admin_context(layout: ClusterLayout) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(KeyPair.at(layout.pki, "ca").certificate))
    admin = KeyPair.at(layout.pki, "admin")
    context.load_cert_chain(admin.certificate, admin.key)
    return context
