"""Logging in, and the error when it fails."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from kubernetes.config import ConfigException

from muster.kube import credentials as module
from muster.kube.credentials import Credentials, NoCredentials, load_credentials
from muster.kube.errors import Unreachable
from muster.kube.kubeconfig import KubeconfigLogin


def a_kubeconfig(folder: Path, server: object = "https://127.0.0.1:6443", token: str = "t0ken") -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


async def test_a_kubeconfig_gives_the_server_and_the_token(tmp_path: Path) -> None:
    credentials = load_credentials(a_kubeconfig(tmp_path, "https://127.0.0.1:6443/"))
    assert credentials.endpoint.server == "https://127.0.0.1:6443"
    assert credentials.endpoint.verify
    assert await credentials.authorization() == "Bearer t0ken"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="not YAML"),
        pytest.param("just text", id="a text"),
        pytest.param("[1, 2]", id="a list"),
        pytest.param("apiVersion: v1\nkind: Config\n", id="no context"),
        pytest.param("\x00\x01", id="binary"),
    ],
)
def test_an_invalid_kubeconfig_is_an_error_of_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    with pytest.raises(NoCredentials, match="cannot log in with") as raised:
        load_credentials(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_kubeconfig_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match="no such file"):
        load_credentials(tmp_path / "missing")


def test_a_directory_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials):
        load_credentials(tmp_path)


def test_an_unknown_context_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match="elsewhere"):
        load_credentials(a_kubeconfig(tmp_path), context="elsewhere")


@pytest.mark.parametrize("server", ["not a url", "ftp://x", "https://", 7])
def test_an_invalid_server_address_is_an_error(tmp_path: Path, server: object) -> None:
    with pytest.raises(NoCredentials):
        load_credentials(a_kubeconfig(tmp_path, server))


async def test_a_token_is_read_again_after_a_while_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["Bearer one", "Bearer two"])
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    configuration = SimpleNamespace(auth_settings=lambda: {"BearerToken": {"value": next(tokens)}})
    credentials = Credentials(KubeconfigLogin(configuration))
    assert await credentials.authorization() == "Bearer one"
    now[0] += module.TOKEN_AGE_SECONDS - 1
    assert await credentials.authorization() == "Bearer one"
    now[0] += 2
    assert await credentials.authorization() == "Bearer two"


async def test_a_client_certificate_needs_no_header() -> None:
    assert await Credentials(KubeconfigLogin(SimpleNamespace(auth_settings=dict))).authorization() == ""


async def test_a_failed_plugin_is_a_retryable_error() -> None:
    def broken() -> dict[str, object]:
        raise ConfigException("exec: plugin exited\n with 1")

    credentials = Credentials(KubeconfigLogin(SimpleNamespace(auth_settings=broken)))
    with pytest.raises(
        Unreachable, match="cannot log in to the API server: exec: plugin exited with 1; check the token"
    ):
        await credentials.authorization()
