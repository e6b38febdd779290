"""Who Muster is on the cluster: a kubeconfig file, or the ServiceAccount of its pod.

The official client reads both, with every way to log in that a kubeconfig can name (tokens, certificates, exec
plugins). Tokens expire: they are asked for again every `TOKEN_AGE_SECONDS`, off the event loop, since an exec plugin
is a program that has to be run.
"""

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from muster.kube.errors import Unreachable

TOKEN_AGE_SECONDS = 60.0
FAILED_AGE_SECONDS = 1.0
"""A login that failed is not tried again by every call at once: it may be a program that has to be run."""


class NoCredentials(Exception):
    """One sentence for the person who started Muster."""


@dataclass(slots=True)
class Credentials:
    configuration: Any
    """A `kubernetes.client.Configuration`: the library has no types."""
    _authorization: str = ""
    _fetched_at: float = field(default=-TOKEN_AGE_SECONDS)
    _failed: str = ""
    _failed_at: float = 0.0

    @property
    def server(self) -> str:
        return str(self.configuration.host).rstrip("/")

    @property
    def ca_path(self) -> str | None:
        return self.configuration.ssl_ca_cert or None

    @property
    def certificate_path(self) -> str | None:
        return self.configuration.cert_file or None

    @property
    def private_key_path(self) -> str | None:
        return self.configuration.key_file or None

    @property
    def verify(self) -> bool:
        return bool(self.configuration.verify_ssl)

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_path)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_path:
            context.load_cert_chain(self.certificate_path, self.private_key_path)
        return context

    def check(self) -> None:
        """Raise now, while somebody looks, what would otherwise break the first request."""
        url = urlsplit(self.server)
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise ValueError(f"the server {self.server!r} is not an http or https URL")
        try:
            self.ssl_context()
        except ssl.SSLError as error:
            why = error.reason or error
            raise ValueError(f"the certificate authority or the client certificate cannot be read ({why})") from error

    async def authorization(self) -> str:
        """The Authorization header; empty when a client certificate says it all. Raises `Unreachable`."""
        if time.monotonic() - self._fetched_at < TOKEN_AGE_SECONDS:
            return self._authorization
        if not self._failed or time.monotonic() - self._failed_at >= FAILED_AGE_SECONDS:
            await self._log_in()
        if self._failed:
            raise Unreachable(self._failed)
        return self._authorization

    async def _log_in(self) -> None:
        try:
            self._authorization = await asyncio.to_thread(self.read_authorization)
        except Exception as error:  # noqa: BLE001 - the library raises what its plugins raise
            self._failed = f"Muster cannot log in to the API server: {_explain(error)}; check the token or kubeconfig"
            self._failed_at = time.monotonic()
        else:
            self._failed, self._fetched_at = "", time.monotonic()

    def read_authorization(self) -> str:
        settings = self.configuration.auth_settings()
        return str((settings.get("BearerToken") or {}).get("value") or "")


def load_credentials(kubeconfig: Path | None, context: str | None = None) -> Credentials:
    """From the file, else from the pod's ServiceAccount, else from the default kubeconfig."""
    try:
        credentials = Credentials(_read(kubeconfig, context))
        credentials.check()
    except Exception as error:
        place = kubeconfig or "the default kubeconfig"
        raise NoCredentials(f"cannot log in with {place}: {_explain(error)}") from error
    return credentials


def _read(kubeconfig: Path | None, context: str | None) -> Any:
    from kubernetes import client, config

    configuration = client.Configuration()
    if kubeconfig is None and Path("/var/run/secrets/kubernetes.io/serviceaccount/token").exists():
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        return configuration
    if kubeconfig is not None and not kubeconfig.exists():
        raise FileNotFoundError("there is no such file")
    file = str(kubeconfig) if kubeconfig else None
    config.load_kube_config(config_file=file, context=context, client_configuration=configuration)  # type: ignore[no-untyped-call]
    return configuration


def _explain(error: Exception) -> str:
    if isinstance(error, TypeError | AttributeError | KeyError):  # the library tripped over the shape of the file
        return "it is not a kubeconfig"
    return " ".join(str(error).split()) or type(error).__name__
