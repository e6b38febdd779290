"""What all login methods have in common: the address of the API server, and the Authorization header."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit


class LoginFailed(Exception):
    """The cause, and where possible what to do. The text is the second half of a sentence."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    server: str
    """The URL of the API server, without a slash at the end."""
    ca_path: str | None = None
    """None: use the certificate authorities of the machine."""
    certificate_path: str | None = None
    private_key_path: str | None = None
    verify: bool = True

    def ssl_context(self) -> ssl.SSLContext:
        with _naming("certificate authority", self.ca_path):
            context = ssl.create_default_context(cafile=self.ca_path)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_path:
            with _naming("client certificate", self.certificate_path):
                context.load_cert_chain(self.certificate_path, self.private_key_path)
        return context

    def check(self) -> None:
        """Raise `LoginFailed` at start for an error that would otherwise fail the first request."""
        if not _is_address(self.server):
            raise LoginFailed(f"the server {self.server!r} is not an http or https URL")
        self.ssl_context()


class Login(Protocol):
    @property
    def endpoint(self) -> Endpoint: ...

    def read_authorization(self) -> str:
        """The Authorization header; empty if there is none. May block. Raises `LoginFailed`."""
        ...


@contextmanager
def _naming(what: str, path: str | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # an SSLError is an OSError, too
        why = getattr(error, "reason", None) or error.strerror or error
        raise LoginFailed(f"the {what} cannot be read ({why}): check {path}") from error


def _is_address(server: str) -> bool:
    try:
        url = urlsplit(server)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:  # the port is not a number, or the IPv6 address is malformed
        return False
