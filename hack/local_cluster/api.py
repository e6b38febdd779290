"""The few requests that starting a cluster takes."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from local_cluster.certificates import KeyPair
from local_cluster.layout import ClusterLayout


class AdminClient:
    """One kept connection to the API server as its administrator."""

    def __init__(self, layout: ClusterLayout, port: int) -> None:
        context = ssl.create_default_context(cafile=str(KeyPair.at(layout.pki, "ca").certificate))
        admin = KeyPair.at(layout.pki, "admin")
        context.load_cert_chain(admin.certificate, admin.key)
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Status and decoded answer. Raises OSError when nobody answers."""
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
