"""The TLS side of the listener: its certificate can be exchanged while it listens."""

import ssl
from typing import Any

from muster.admission.certificates import ServingCertificate


class Door:
    """New connections get the newest certificate; those that are open go on with the one that they began with.

    Each certificate has a context of its own, chosen when a connection begins. Loading another one into the same
    context would leave the old one in place beside it where their kinds of key differ.
    """

    def __init__(self, certificate: ServingCertificate | None = None) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.sni_callback = self._choose  # called without a name, too
        self.certificate = certificate
        self._current = certificate.ssl_context() if certificate else None

    def use(self, certificate: ServingCertificate) -> None:
        """Raises an SSLError, and keeps what it has, if this is none."""
        self._current = certificate.ssl_context()
        self.certificate = certificate

    def _choose(self, connection: Any, _name: str | None, _context: ssl.SSLContext) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None
