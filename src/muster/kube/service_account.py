"""The login of a pod: the files of its ServiceAccount, which the kubelet mounts and renews."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.kube.login import Endpoint, LoginFailed

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN, CA = "token", "ca.crt"
CHECK = "check that the pod mounts its ServiceAccount's token"
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


@dataclass(frozen=True, slots=True)
class ServiceAccountLogin:
    endpoint: Endpoint
    token_path: Path

    @classmethod
    def load(cls, folder: Path, environment: Mapping[str, str]) -> "ServiceAccountLogin":
        login = cls(Endpoint(_server(environment), ca_path=str(folder / CA)), folder / TOKEN)
        login.read_authorization()
        return login

    def read_authorization(self) -> str:
        """Reads the file on every call: the kubelet replaces the token long before it expires."""
        try:
            token = self.token_path.read_text("ascii").strip()
        except OSError as error:
            raise LoginFailed(f"{self.token_path} cannot be read ({error.strerror or error}): {CHECK}") from error
        except ValueError as error:
            raise LoginFailed(f"{self.token_path} does not hold a token: it is not ASCII: {CHECK}") from error
        if not token:
            raise LoginFailed(f"{self.token_path} is empty: {CHECK}")
        return f"Bearer {token}"


def is_in_a_pod(folder: Path) -> bool:
    return any((folder / name).exists() for name in (TOKEN, CA))


def _server(environment: Mapping[str, str]) -> str:
    missing = [name for name in (HOST, PORT) if not environment.get(name)]
    if missing:
        raise LoginFailed(
            f"{' and '.join(missing)} must be set, as the kubelet does in every pod; outside a pod, use --kubeconfig"
        )
    host = environment[HOST]
    return f"https://{f'[{host}]' if ':' in host else host}:{environment[PORT]}"
