"""serving.clientCA: only an API server that shows its certificate is answered."""

import json
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
import yaml

from local_cluster.certificates import CertificateAuthority, KeyPair
from tests.clusters.api import Object
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import all_pods, gang_job, group_of, is_bound
from tests.clusters.waiting import eventually

PLUGINS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
REVIEW = json.dumps({"request": {"uid": "1", "operation": "CREATE", "namespace": "default", "object": {}}})


def authority(directory: Path) -> KeyPair:
    """A new one, and a client certificate by it, called `client`."""
    directory.mkdir()
    CertificateAuthority(directory).issue_client("client", "webhook-client", None)
    return KeyPair.at(directory, "client")


def admission_configuration(directory: Path, host: str, client: KeyPair) -> Path:
    """What docs/operations.md tells an administrator to give to the API server."""
    user = {"client-certificate": str(client.certificate), "client-key": str(client.key)}
    login: Object = {"apiVersion": "v1", "kind": "Config", "users": [{"name": host, "user": user}]}
    (directory / "kubeconfig.yaml").write_text(yaml.safe_dump(login))
    webhooks = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(directory / "kubeconfig.yaml"),
    }
    made = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": name, "configuration": webhooks} for name in PLUGINS],
    }
    file = directory / "admission.yaml"
    file.write_text(yaml.safe_dump(made))
    return file


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client-ca")


@pytest.fixture(scope="module")
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(directory: Path, port: int) -> Iterator[Cluster]:
    """Its API server shows a certificate to Muster."""
    client = authority(directory / "ours")
    file = admission_configuration(directory, f"127.0.0.1:{port}", client)
    made = start_cluster("client-ca", f"--apiserver-flag=--admission-control-config-file={file}")
    yield made
    made.down()


@pytest.fixture(scope="module")
def muster(cluster: Cluster, directory: Path, port: int) -> Iterator[Muster]:
    file, trusted, log = directory / "muster.yaml", directory / "trusted.pem", directory / "muster.log"
    trusted.write_bytes((directory / "ours" / "ca.crt").read_bytes())
    serving = {"serving": {"clientCA": str(trusted)}}
    file.write_text(yaml.safe_dump({"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration", **serving}))
    flags = ("--config", str(file), "--port", str(port))
    with Muster(cluster.muster_kubeconfig(), cluster.api, log, *flags) as process:
        yield process
    assert "Traceback" not in log.read_text()


def post(port: int, client: KeyPair | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> int:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode, trust.maximum_version = False, ssl.CERT_NONE, version
    if client is not None:
        trust.load_cert_chain(client.certificate, client.key)
    with urllib3.PoolManager(ssl_context=trust, retries=False) as pool:
        return int(pool.request("POST", f"https://127.0.0.1:{port}/pods", body=REVIEW, timeout=5).status)


def test_a_gang_starts_where_the_api_server_shows_its_certificate(cluster: Cluster, muster: Muster) -> None:
    api = cluster.api
    with contextmanager(own_namespace)(api) as namespace:
        api.create("jobs", gang_job("train", size=2, cpu="10m"), namespace)
        pods = eventually(lambda: all_pods(api, namespace, "train", 2, is_bound), "the gang runs", 60)
        assert all(group_of(pod) for pod in pods)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2], ids=["TLS 1.3", "TLS 1.2"])
def test_tls_refuses_a_client_without_a_trusted_certificate(
    muster: Muster, directory: Path, port: int, version: ssl.TLSVersion
) -> None:
    theirs = directory / f"theirs-{version.name}"
    assert post(port, KeyPair.at(directory / "ours", "client"), version) == 200
    for stranger in (None, authority(theirs)):
        with pytest.raises(urllib3.exceptions.HTTPError) as refused:
            post(port, stranger, version)
        assert re.search("(?i)ssl|reset|aborted|eof|closed", str(refused.value))


def test_a_new_authority_is_trusted_without_a_restart(muster: Muster, directory: Path, port: int) -> None:
    later = authority(directory / "later")
    trusted = directory / "trusted.pem"
    trusted.write_bytes(trusted.read_bytes() + (directory / "later" / "ca.crt").read_bytes())
    assert post(port, later) == 200
    assert post(port, KeyPair.at(directory / "ours", "client")) == 200
    trusted.write_text("no certificate")
    assert post(port, later) == 200, "what cannot be read changes nothing"
