"""The files that a cluster's components read: certificates, kubeconfigs and configurations."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from local_cluster.certificates import CertificateAuthority, KeyPair, write_signing_key
from local_cluster.components import APISERVER, CONTROLLER_MANAGER, KWOK, SCHEDULER
from local_cluster.kubeconfig import certificate_user, rendered_kubeconfig, write_private
from local_cluster.layout import ClusterLayout

_STAGES = Path(__file__).parent.parent / "control-plane" / "kwok" / "stages.yaml"
_ADMINS = "system:masters"
# (kubeconfig, user, group): the users to which the server's built-in roles are bound.
_CLIENTS = (
    ("admin", "admin", _ADMINS),
    (CONTROLLER_MANAGER, "system:kube-controller-manager", None),
    (SCHEDULER, "system:kube-scheduler", None),
    (KWOK, "kwok", _ADMINS),
)
_READS = ["get", "list", "watch"]


def write_configuration(layout: ClusterLayout, server: str) -> None:
    layout.directory.mkdir(parents=True, mode=0o700)
    for directory in (layout.pki, layout.config, layout.logs):
        directory.mkdir()
    authority = CertificateAuthority(layout.pki)
    authority.issue_serving(APISERVER)
    write_signing_key(layout.pki / "service-accounts.key")
    for name, user, group in _CLIENTS:
        authority.issue_client(name, user, group)
        login = certificate_user(KeyPair.at(layout.pki, name))
        write_private(
            layout.kubeconfig_of(name),
            rendered_kubeconfig(layout.name, server, KeyPair.at(layout.pki, "ca").certificate, login),
        )
    (layout.config / "scheduler.yaml").write_text(yaml.safe_dump(scheduler_configuration(layout)))
    (layout.config / "audit-policy.yaml").write_text(yaml.safe_dump(audit_policy()))
    shutil.copyfile(_STAGES, layout.config / "kwok.yaml")


def scheduler_configuration(layout: ClusterLayout) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(layout.kubeconfig_of(SCHEDULER)), "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
    }


def audit_policy() -> dict[str, Any]:
    """Logs every request with its user, except reads of the control plane itself."""
    control_plane = ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "kwok"]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
        "rules": [
            {"level": "None", "users": control_plane, "verbs": _READS},
            {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"], "verbs": _READS},
            {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version"]},
            {"level": "Metadata"},
        ],
    }
