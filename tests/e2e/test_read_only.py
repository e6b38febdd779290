"""A read-only root file system without any volume to write to, as the chart has it: Muster opens no file to write."""

import base64
from pathlib import Path

import pytest
import yaml

from tests.clusters.cluster import Cluster
from tests.clusters.replicas import Replicas

GUARD = """
import os, sys

def refuse(event, arguments):
    if event != "open" or not isinstance(arguments[0], str | bytes):
        return
    path, writes = os.fsdecode(arguments[0]), os.O_WRONLY | os.O_RDWR | os.O_CREAT
    if (arguments[2] or 0) & writes and not path.startswith(("/dev/", "/proc/self/")):
        raise OSError(30, "Read-only file system", path)

sys.addaudithook(refuse)
"""


def as_in_a_pod(kubeconfig: Path, folder: Path) -> Path:
    """The token and the authority in files, as the ServiceAccount's are: the client library writes no copies."""
    content = yaml.safe_load(kubeconfig.read_text())
    user, server = content["users"][0]["user"], content["clusters"][0]["cluster"]
    (folder / "token").write_text(user.pop("token"))
    (folder / "ca.crt").write_bytes(base64.b64decode(server.pop("certificate-authority-data")))
    user["tokenFile"], server["certificate-authority"] = str(folder / "token"), str(folder / "ca.crt")
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def test_muster_gets_ready_and_registers_without_writing_to_a_disk(
    local: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = as_in_a_pod(local.muster_kubeconfig(), tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(GUARD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    with Replicas(local, tmp_path, count=1, kubeconfig=login) as replicas:
        replicas.wait_until_ready()
    assert "Read-only" not in replicas.logs()
    assert "Traceback" not in replicas.logs()
