"""`muster run` without --dev: a certificate that somebody else made, webhooks that somebody else registers."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.serving.certificates import self_signed
from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.command import muster as command
from tests.clusters.objects import gang_job
from tests.clusters.pairs import pair_of
from tests.clusters.waiting import eventually

LOOPBACK = "127.0.0.1"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    made = self_signed(LOOPBACK)
    (tmp_path / "tls.crt").write_bytes(made.certificate)
    (tmp_path / "tls.key").write_bytes(made.private_key)
    return ["--tls-certificate", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")]


def test_muster_serves_with_the_given_certificate_and_registers_nothing(
    local: Cluster, api: Api, namespace: str, files: list[str], tmp_path: Path
) -> None:
    log = tmp_path / "muster.log"
    serve = ["run", "--kubeconfig", str(local.muster_kubeconfig()), "--address", LOOPBACK, "--port", "0", *files]
    with log.open("wb") as output:
        process = subprocess.Popen([Path(sys.executable).parent / "muster", *serve], stdout=output, stderr=output)
    try:
        eventually(lambda: "health: ready" in log.read_text(), "Muster is ready", 60)
        assert not api.find("mutatingwebhookconfigurations", "muster-dev")
        made = api.create("jobs", gang_job("train"), namespace)
        eventually(lambda: all(pair_of(api, namespace, made)) or _stood_aside(log), "the controller works")
    finally:
        process.terminate()
        assert process.wait(15) == 0
    assert "Traceback" not in log.read_text()


def _stood_aside(log: Path) -> bool:
    """Nobody holds the pods back here: they may have come first."""
    return "StandingAside" in log.read_text()


def test_a_certificate_without_its_key_is_an_error(files: list[str]) -> None:
    answer = command("run", *files[:2])
    assert answer.code != 0
    assert answer.err == "muster: --tls-certificate and --tls-key must be set together\n"


def test_an_invalid_certificate_is_an_error_of_one_line(files: list[str]) -> None:
    Path(files[1]).write_text("no certificate")
    answer = command("run", *files)
    assert answer.code != 0
    assert answer.err.startswith("muster: cannot serve with ")
    assert len(answer.err.splitlines()) == 1
