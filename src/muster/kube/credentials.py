"""Muster's credentials: a kubeconfig file, or the ServiceAccount of its pod.

Tokens expire, so Muster reads them again every `TOKEN_AGE_SECONDS`. It does so off the event loop, since a kubeconfig
may run an exec plugin to get a token.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muster.kube.errors import Unreachable
from muster.kube.kubeconfig import KubeconfigLogin
from muster.kube.login import Endpoint, Login, LoginFailed
from muster.kube.service_account import FOLDER, ServiceAccountLogin, is_in_a_pod

TOKEN_AGE_SECONDS = 60.0
FAILED_AGE_SECONDS = 1.0
"""How long a failed login is kept, so that not every call runs the exec plugin again."""


class NoCredentials(Exception):
    """One sentence for the person who started Muster."""


@dataclass(slots=True)
class Credentials:
    """The Authorization header of every request. Owns the last token, and the last failure; reads both from `login`."""

    login: Login
    _authorization: str = ""
    _fetched_at: float = field(default=-TOKEN_AGE_SECONDS)
    _failed: str = ""
    _failed_at: float = 0.0

    @property
    def endpoint(self) -> Endpoint:
        return self.login.endpoint

    async def authorization(self) -> str:
        """The Authorization header; empty with a client certificate. Raises `Unreachable`."""
        if time.monotonic() - self._fetched_at < TOKEN_AGE_SECONDS:
            return self._authorization
        if not self._failed or time.monotonic() - self._failed_at >= FAILED_AGE_SECONDS:
            await self._log_in()
        if self._failed:
            raise Unreachable(self._failed)
        return self._authorization

    async def _log_in(self) -> None:
        try:
            self._authorization = await asyncio.to_thread(self.login.read_authorization)
        except LoginFailed as error:
            self._failed = f"Muster cannot log in to the API server: {error}; check the token or kubeconfig"
            self._failed_at = time.monotonic()
        else:
            self._failed, self._fetched_at = "", time.monotonic()


def load_credentials(
    kubeconfig: Path | None,
    context: str | None = None,
    service_account: Path = FOLDER,
    environment: Mapping[str, str] = os.environ,
) -> Credentials:
    """Credentials from the file, else from the pod's ServiceAccount, else from the default kubeconfig.

    With a context but no file, the default kubeconfig is used, also in a pod.
    """
    login: Login
    try:
        if kubeconfig is None and context is None and is_in_a_pod(service_account):
            place = f"the ServiceAccount in {service_account}"
            login = ServiceAccountLogin.load(service_account, environment)
        else:
            place = str(kubeconfig or "the default kubeconfig")
            login = KubeconfigLogin.load(kubeconfig, context)
        login.endpoint.check()
    except LoginFailed as error:
        raise NoCredentials(f"cannot log in with {place}: {error}") from error
    return Credentials(login)
