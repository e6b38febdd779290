"""A second kube-apiserver on a cluster's etcd, which serves other APIs than the first one."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3
import yaml

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.replicas import free_port
from tests.clusters.waiting import eventually

NOT_FOR_A_STOCK_SERVER = ("--feature-gates", "--runtime-config", "--audit-")
STARTING_SECONDS = 90


@contextmanager
def stock_server(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """Plain Kubernetes beside the cluster's own server; a kubeconfig of Muster's account for it."""
    plan = json.loads((cluster.audit_log.parent / "plan.json").read_text())
    (command,) = [each["argv"] for each in plan["components"] if each["name"] == "kube-apiserver"]
    kept = [flag for flag in command if not flag.startswith((*NOT_FOR_A_STOCK_SERVER, "--secure-port"))]
    port = free_port()
    with (folder / "second-apiserver.log").open("wb") as log:
        process = subprocess.Popen([*kept, f"--secure-port={port}"], stdout=log, stderr=log)
    try:
        admin = Api(_at(cluster.kubeconfig, port, folder / "second-admin.kubeconfig"))
        eventually(lambda: _is_ready(admin), "the second API server is ready", STARTING_SECONDS)
        yield _at(cluster.muster_kubeconfig(), port, folder / "second-muster.kubeconfig")
    finally:
        process.terminate()
        process.wait(30)


def _is_ready(api: Api) -> bool:
    try:
        return api.raw("/readyz")[0] == 200
    except urllib3.exceptions.HTTPError:
        return False


def _at(kubeconfig: Path, port: int, file: Path) -> Path:
    content = yaml.safe_load(kubeconfig.read_text())
    for entry in content["clusters"]:
        entry["cluster"]["server"] = f"https://127.0.0.1:{port}"
    file.write_text(yaml.safe_dump(content))
    return file
