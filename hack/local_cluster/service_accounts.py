"""Kubeconfigs of ServiceAccounts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from local_cluster.binaries import KUBECTL, ensure_binaries
from local_cluster.certificates import KeyPair
from local_cluster.components import server_url
from local_cluster.errors import ClusterError
from local_cluster.kubeconfig import rendered_kubeconfig, token_user, write_private
from local_cluster.layout import ClusterLayout
from local_cluster.plan import Plan


def service_account_kubeconfig(layout: ClusterLayout, account: str) -> Path:
    """The path of a kubeconfig with a new token, which is valid for one day."""
    namespace, slash, name = account.partition("/")
    if not (namespace and slash and name):
        raise ClusterError(f"--service-account {account!r} must be written as NAMESPACE/NAME.")
    kubectl = ensure_binaries()[KUBECTL]
    command = [
        str(kubectl),
        f"--kubeconfig={layout.admin_kubeconfig}",
        "create",
        "token",
        name,
        f"--namespace={namespace}",
    ]
    answer = subprocess.run([*command, "--duration=24h"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ClusterError(f"No token for ServiceAccount {account}: {answer.stderr.strip().removeprefix('error: ')}")
    authority = KeyPair.at(layout.pki, "ca").certificate
    server = server_url(Plan.read(layout).ports)
    path = layout.kubeconfig_of(f"{namespace}.{name}")
    write_private(path, rendered_kubeconfig(layout.name, server, authority, token_user(answer.stdout.strip())))
    return path
