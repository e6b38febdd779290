"""In a pod, the files of the ServiceAccount are all that a login requires."""

import ssl
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiohttp import web

from muster.kube import credentials as module
from muster.kube.credentials import Credentials, NoCredentials, load_credentials
from muster.kube.errors import Unreachable
from muster.kube.http import HttpClient
from muster.kube.resources import JOBS
from muster.serving.certificates import self_signed

SERVING = self_signed("127.0.0.1")
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@dataclass(frozen=True)
class Pod:
    """What the kubelet gives it."""

    token: bytes | None = b"first"
    ca: bytes | None = SERVING.authority
    environment: dict[str, str] = field(default_factory=lambda: IN_A_POD)

    def mount(self, folder: Path) -> Path:
        for name, content in (("token", self.token), ("ca.crt", self.ca)):
            if content is not None:
                (folder / name).write_bytes(content)
        return folder

    def log_in(self, folder: Path) -> Credentials:
        return load_credentials(None, service_account=self.mount(folder), environment=self.environment)


def at(host: str, port: str = "443") -> dict[str, str]:
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


LOGINS: dict[str, tuple[Pod, str, str]] = {
    "an address and a port make the server": (Pod(), "https://10.96.0.1:443", "Bearer first"),
    "an IPv6 address gets brackets": (
        Pod(environment=at("fd00:10:96::1")),
        "https://[fd00:10:96::1]:443",
        "Bearer first",
    ),
    "a name and another port do, too": (
        Pod(environment=at("api.local", "6443")),
        "https://api.local:6443",
        "Bearer first",
    ),
    "the token's line end is no part of it": (Pod(token=b" first\r\n"), "https://10.96.0.1:443", "Bearer first"),
}


@pytest.mark.parametrize(("pod", "server", "header"), LOGINS.values(), ids=LOGINS)
async def test_a_pod_logs_in(tmp_path: Path, pod: Pod, server: str, header: str) -> None:
    credentials = pod.log_in(tmp_path)
    assert credentials.endpoint.server == server
    assert credentials.endpoint.ca_path == str(tmp_path / "ca.crt")
    assert credentials.endpoint.verify
    assert credentials.endpoint.certificate_path is None
    assert await credentials.authorization() == header


FAILURES: dict[str, tuple[Pod, str]] = {
    "the token is missing": (
        Pod(token=None),
        r"/token cannot be read \(No such file or directory\): check that the pod",
    ),
    "the token is empty": (Pod(token=b""), "/token is empty: check that the pod mounts its ServiceAccount's token"),
    "the token is white space": (Pod(token=b" \n"), "/token is empty: check that the pod mounts"),
    "the token is binary": (Pod(token=b"\xff\x00"), "/token does not hold a token: it is not ASCII: check"),
    "the host is not set": (
        Pod(environment={"KUBERNETES_SERVICE_PORT": "443"}),
        "KUBERNETES_SERVICE_HOST must be set, as the kubelet does in every pod; outside a pod, use --kubeconfig",
    ),
    "the port is empty": (Pod(environment=at("10.96.0.1", "")), "KUBERNETES_SERVICE_PORT must be set"),
    "neither is set": (Pod(environment={}), "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set"),
    "the port is no number": (Pod(environment=at("10.96.0.1", "web")), "'https://10.96.0.1:web' is not an http"),
    "the host is no IPv6 address": (Pod(environment=at("fd00::zz")), "is not an http or https URL"),
    "the CA is missing": (
        Pod(ca=None),
        r"the certificate authority cannot be read \(No such file or directory\): check \S+/ca.crt$",
    ),
    "the CA is empty": (Pod(ca=b""), r"the certificate authority cannot be read \(\S+\): check \S+/ca.crt$"),
    "the CA is no certificate": (Pod(ca=b"-----BEGIN CERTIFICATE-----\nx\n"), r"cannot be read .*/ca.crt$"),
}


@pytest.mark.parametrize(("pod", "sentence"), FAILURES.values(), ids=FAILURES)
def test_a_pod_that_cannot_log_in_says_why_in_one_line(tmp_path: Path, pod: Pod, sentence: str) -> None:
    with pytest.raises(NoCredentials, match=sentence) as raised:
        pod.log_in(tmp_path)
    assert str(raised.value).startswith(f"cannot log in with the ServiceAccount in {tmp_path}: ")
    assert "\n" not in str(raised.value)


def test_a_ca_that_is_a_folder_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").mkdir()
    with pytest.raises(NoCredentials, match=r"the certificate authority cannot be read .*/ca\.crt$"):
        Pod(ca=None).log_in(tmp_path)


def test_without_the_files_muster_uses_the_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match="cannot log in with the default kubeconfig: "):
        load_credentials(None, "a-context", service_account=tmp_path, environment=IN_A_POD)


@pytest.mark.parametrize("asked", [(Path("/nowhere"), None), (None, "a-context")], ids=["a file", "a context"])
def test_a_given_kubeconfig_wins_in_a_pod_too(tmp_path: Path, asked: tuple[Path | None, str | None]) -> None:
    with pytest.raises(NoCredentials, match=r"cannot log in with (/nowhere|the default kubeconfig): "):
        load_credentials(*asked, service_account=Pod().mount(tmp_path), environment=IN_A_POD)


async def test_a_token_that_the_kubelet_replaced_is_read_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kubelet does it: a new folder, and a link that is moved over the old one."""
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        Pod(token=name.encode()).mount(tmp_path / name)
    (tmp_path / "..data").symlink_to("first")
    for name in ("token", "ca.crt"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    credentials = Pod(token=None, ca=None).log_in(tmp_path)
    assert await credentials.authorization() == "Bearer first"
    (tmp_path / "new").symlink_to("second")
    (tmp_path / "new").rename(tmp_path / "..data")
    now[0] += module.TOKEN_AGE_SECONDS - 1
    assert await credentials.authorization() == "Bearer first"
    now[0] += 2
    assert await credentials.authorization() == "Bearer second"


async def test_a_missing_token_is_an_error_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    credentials = Pod().log_in(tmp_path)
    (tmp_path / "token").unlink()
    with pytest.raises(Unreachable, match=r"cannot log in to the API server: .*/token cannot be read"):
        await credentials.authorization()
    Pod(token=b"second").mount(tmp_path)
    now[0] += module.FAILED_AGE_SECONDS
    assert await credentials.authorization() == "Bearer second"


async def test_the_api_server_gets_the_token_and_is_checked_with_the_ca(tmp_path: Path, unused_tcp_port: int) -> None:
    headers: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        headers.append(request.headers["Authorization"])
        return web.json_response({})

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    context: ssl.SSLContext = SERVING.ssl_context()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port, ssl_context=context).start()
    environment = at("127.0.0.1", str(unused_tcp_port))
    try:
        async with HttpClient(Pod(environment=environment).log_in(tmp_path)) as client:
            assert await client.get(JOBS, "default", "x") == {}
        stranger = Pod(ca=self_signed("127.0.0.1").authority, environment=environment)
        async with HttpClient(stranger.log_in(tmp_path)) as client:
            with pytest.raises(Unreachable, match=r"(?i)certificate"):
                await client.get(JOBS, "default", "x")
    finally:
        await runner.cleanup()
    assert headers == ["Bearer first"]


WITHOUT_THE_PACKAGE = "import sys; sys.modules['kubernetes'] = None  # importing it raises ModuleNotFoundError\n"


def run_without_the_package(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_THE_PACKAGE + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_pod_logs_in_without_the_kubernetes_package(tmp_path: Path) -> None:
    script = (
        "import asyncio; from pathlib import Path; from muster.kube.credentials import load_credentials\n"
        f"made = load_credentials(None, service_account=Path(sys.argv[1]), environment={IN_A_POD})\n"
        "print(made.endpoint.server, asyncio.run(made.authorization()))\n"
        "assert not [name for name in sys.modules if name.startswith('kubernetes.')]"
    )
    done = run_without_the_package(script, str(Pod().mount(tmp_path)))
    assert (done.stdout, done.stderr) == ("https://10.96.0.1:443 Bearer first\n", "")


@pytest.mark.parametrize("command", ["run", "leave", "crds install"])
def test_without_the_package_a_kubeconfig_is_an_error_of_one_line(tmp_path: Path, command: str) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("apiVersion: v1\nkind: Config\n")
    done = run_without_the_package(
        "from muster.cli.main import main; main()", *command.split(), "--kubeconfig", str(kubeconfig)
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"muster: cannot log in with {kubeconfig}: reading a kubeconfig needs the Python package kubernetes, which is "
        "not installed (Muster's image leaves it out); in a pod, use its ServiceAccount, and elsewhere, run "
        "`pip install kubernetes`\n"
    )
