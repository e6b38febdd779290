"""The TLS side of the listener: its certificate, and the authority of its clients, can change while it listens."""

import logging
import ssl
from pathlib import Path
from typing import Any

from muster.serving.certificates import ServingCertificate

logger = logging.getLogger(__name__)


class ClientCA:
    """A file with the authorities whose clients may connect. It is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Raises an OSError (an SSLError is one, too) if there is none."""
        self._path = path
        self._read_at = self._state()
        self.pem = self._read()

    def changed(self) -> bool:
        """What cannot be read changes nothing: who was trusted stays trusted."""
        try:
            if (state := self._state()) == self._read_at:
                return False
            self._read_at = state
            self.pem = self._read()
        except OSError as error:
            if self._read_at is not None:
                logger.warning("the old client CA stays, %s cannot be used: %s", self._path, error.strerror or error)
            self._read_at = None
            return False
        logger.info("clients need a certificate by the new authority in %s", self._path)
        return True

    def _state(self) -> tuple[int, int, int] | None:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _read(self) -> str:
        try:
            pem = self._path.read_text()
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=pem)
        except ValueError as error:  # it is not text, or empty
            raise ssl.SSLError("there is no certificate in it") from error
        return pem


class ReloadingTls:
    """New connections get the newest certificate; those that are open go on with the one that they began with.

    Each certificate has a context of its own, chosen when a connection begins. Loading another one into the same
    context would leave the old one in place beside it where their kinds of key differ.
    """

    def __init__(self, certificate: ServingCertificate | None = None, client_ca: ClientCA | None = None) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.sni_callback = self._choose  # called without a name, too
        # Who comes back with a ticket would not be asked for a certificate again.
        self.context.options |= ssl.OP_NO_TICKET
        self.context.num_tickets = 0
        self._client_ca = client_ca
        if client_ca is not None:  # a connection keeps this from the context that it began with
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.certificate = certificate
        self._current = self._made(certificate) if certificate else None

    @property
    def wants_certificates(self) -> bool:
        return self._client_ca is not None

    def use(self, certificate: ServingCertificate) -> None:
        """Raises an SSLError, and keeps what it has, if this is none."""
        self._current = self._made(certificate)
        self.certificate = certificate

    def _made(self, certificate: ServingCertificate) -> ssl.SSLContext:
        context = certificate.ssl_context()
        if self._client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self._client_ca.pem)
        return context

    def _choose(self, connection: Any, _name: str | None, _context: ssl.SSLContext) -> int | None:
        if self._client_ca is not None and self._client_ca.changed() and self.certificate is not None:
            self._current = self._made(self.certificate)
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None
