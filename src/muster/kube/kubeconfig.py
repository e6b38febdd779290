"""The login with a kubeconfig, with every method it supports (tokens, certificates, exec plugins).

The official client reads the kubeconfig. Only this module imports that package: it is larger than all other
dependencies together, and Muster's image does not contain it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.kube.login import Endpoint, LoginFailed


@dataclass(frozen=True, slots=True)
class KubeconfigLogin:
    configuration: Any
    """A `kubernetes.client.Configuration`; the library has no types."""

    @classmethod
    def load(cls, file: Path | None, context: str | None) -> "KubeconfigLogin":
        """From the file, else from where kubectl looks. Raises `LoginFailed`."""
        try:
            from kubernetes import client, config
        except ModuleNotFoundError as error:
            raise LoginFailed(
                f"reading a kubeconfig needs the Python package {error.name}, which is not installed (Muster's image "
                "leaves it out); in a pod, use its ServiceAccount, and elsewhere, run `pip install kubernetes`"
            ) from error
        if file is not None and not file.exists():
            raise LoginFailed("there is no such file")
        configuration = client.Configuration()
        try:
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=str(file) if file else None, context=context, client_configuration=configuration
            )
        except Exception as error:
            raise LoginFailed(_explain(error)) from error
        return cls(configuration)

    @property
    def endpoint(self) -> Endpoint:
        """The current endpoint: an exec plugin may replace the client certificate together with the token."""
        now = self.configuration
        return Endpoint(
            server=str(now.host).rstrip("/"),
            ca_path=now.ssl_ca_cert or None,
            certificate_path=now.cert_file or None,
            private_key_path=now.key_file or None,
            verify=bool(now.verify_ssl),
        )

    def read_authorization(self) -> str:
        try:
            settings = self.configuration.auth_settings()
            return str((settings.get("BearerToken") or {}).get("value") or "")
        except Exception as error:  # the library passes on what its plugins raise
            raise LoginFailed(_explain(error)) from error


def _explain(error: Exception) -> str:
    if isinstance(error, TypeError | AttributeError | KeyError):  # the library raises these for a malformed file
        return "it is not a kubeconfig"
    return " ".join(str(error).split()) or type(error).__name__
