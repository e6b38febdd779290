"""TLS of the listener: the certificate and the client CA can change while it listens."""

import logging
import ssl
from pathlib import Path
from typing import Any

from muster.serving.certificates import ServingCertificate

logger = logging.getLogger(__name__)


class ClientCA:
    """A file with the authorities of client certificates. It is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Raises an OSError (also for an SSLError) if the file cannot be read."""
        self._path = path
        self._read_at = self._state()
        self.pem = self._read()

    def changed(self) -> bool:
        """Read the file again. If that fails, the previous authorities stay in use."""
        try:
            if (state := self._state()) == self._read_at:
                return False
            self._read_at = state
            self.pem = self._read()
        except OSError as error:
            if self._read_at is not None:
                logger.warning("keeping the old client CA; %s cannot be used: %s", self._path, error.strerror or error)
            self._read_at = None
            return False
        logger.info("clients now need a certificate of the new authority in %s", self._path)
        return True

    def _state(self) -> tuple[int, int, int] | None:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _read(self) -> str:
        try:
            pem = self._path.read_text()
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=pem)
        except ValueError as error:  # the file is empty or not text
            raise ssl.SSLError("there is no certificate in it") from error
        return pem


class ReloadingTls:
    """New connections get the newest certificate; open connections keep theirs.

    Each certificate has a context of its own, chosen when a connection begins. Loading another one into the same
    context would keep the old one in addition to it where their kinds of key differ.

    Owns the context of the listener and the certificate in use. It reads the client CA file, and writes nothing.
    """

    def __init__(self, certificate: ServingCertificate | None = None, client_ca: ClientCA | None = None) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.sni_callback = self._choose  # also called if the client sends no server name
        # With session tickets, a returning client would not be asked for a certificate again.
        self.context.options |= ssl.OP_NO_TICKET
        self.context.num_tickets = 0
        self._client_ca = client_ca
        if client_ca is not None:  # a connection keeps this setting of its first context
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.certificate = certificate
        self._current = self._made(certificate) if certificate else None

    @property
    def wants_certificates(self) -> bool:
        return self._client_ca is not None

    def use(self, certificate: ServingCertificate) -> None:
        """Serve this certificate. Raises an SSLError, and keeps the current one, if it is invalid."""
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
