"""The command lines of all components."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from local_cluster.certificates import KeyPair
from local_cluster.flags import merged_flags
from local_cluster.layout import ClusterLayout
from local_cluster.profiles import apiserver_profile, controller_manager_profile, scheduler_profile
from local_cluster.settings import ClusterSettings

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"


@dataclasses.dataclass(frozen=True)
class Ports:
    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int


@dataclasses.dataclass(frozen=True)
class Component:
    """One process of the cluster. It is ready once this URL answers."""

    name: str
    argv: list[str]
    ready_url: str


def server_url(ports: Ports) -> str:
    return f"https://127.0.0.1:{ports.apiserver}"


def components_in_start_order(
    layout: ClusterLayout, settings: ClusterSettings, ports: Ports, binaries: Mapping[str, Path]
) -> list[Component]:
    def component(name: str, flags: list[str], ready_url: str) -> Component:
        return Component(name, [str(binaries[name]), *flags], ready_url)

    def health(scheme: str, port: int) -> str:
        return f"{scheme}://127.0.0.1:{port}/healthz"

    return [
        component(ETCD, _etcd_flags(layout, ports), f"http://127.0.0.1:{ports.etcd}/health"),
        component(APISERVER, _apiserver_flags(layout, settings, ports), f"{server_url(ports)}/readyz"),
        component(
            CONTROLLER_MANAGER,
            _controller_manager_flags(layout, settings, ports),
            health("https", ports.controller_manager),
        ),
        component(SCHEDULER, _scheduler_flags(layout, settings, ports), health("https", ports.scheduler)),
        component(KWOK, _kwok_flags(layout, ports), health("http", ports.kwok)),
    ]


def _etcd_flags(layout: ClusterLayout, ports: Ports) -> list[str]:
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    return [
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # the data need not survive a power cut
        "--log-level=warn",
        "--quota-backend-bytes=8589934592",
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=10m",
    ]


def _apiserver_flags(layout: ClusterLayout, settings: ClusterSettings, ports: Ports) -> list[str]:
    serving = KeyPair.at(layout.pki, APISERVER)
    signing_key = str(layout.pki / "service-accounts.key")
    flags = {
        "--etcd-servers": f"http://127.0.0.1:{ports.etcd}",
        "--bind-address": "127.0.0.1",
        "--advertise-address": "127.0.0.1",
        "--endpoint-reconciler-type": "none",  # a Service cannot have a loopback address as endpoint
        "--secure-port": str(ports.apiserver),
        "--tls-cert-file": str(serving.certificate),
        "--tls-private-key-file": str(serving.key),
        "--client-ca-file": str(KeyPair.at(layout.pki, "ca").certificate),
        "--authorization-mode": "RBAC",
        "--service-account-issuer": "https://kubernetes.default.svc",
        "--service-account-key-file": signing_key,
        "--service-account-signing-key-file": signing_key,
        "--service-cluster-ip-range": "10.96.0.0/16",
        "--allow-privileged": "true",
        "--max-requests-inflight": "3000",
        "--max-mutating-requests-inflight": "1500",
        "--profiling": "false",
        **apiserver_profile(settings),
    }
    if settings.audit:
        flags["--audit-policy-file"] = str(layout.config / "audit-policy.yaml")
        flags["--audit-log-path"] = str(layout.audit_log)
        flags["--audit-log-maxsize"] = "4096"  # megabytes; a smaller log would be split
        flags["--audit-log-mode"] = "blocking"  # the entry must exist when the request returns
    return merged_flags(flags, settings.apiserver_flags)


def _serving_flags(layout: ClusterLayout, component: str, port: int) -> dict[str, str]:
    """Health without authentication, metrics with the API server's authorization."""
    serving = KeyPair.at(layout.pki, APISERVER)
    return {
        "--bind-address": "127.0.0.1",
        "--secure-port": str(port),
        "--tls-cert-file": str(serving.certificate),
        "--tls-private-key-file": str(serving.key),
        "--authentication-kubeconfig": str(layout.kubeconfig_of(component)),
        "--authorization-kubeconfig": str(layout.kubeconfig_of(component)),
    }


def _controller_manager_flags(layout: ClusterLayout, settings: ClusterSettings, ports: Ports) -> list[str]:
    authority = KeyPair.at(layout.pki, "ca")
    flags = {
        "--kubeconfig": str(layout.kubeconfig_of(CONTROLLER_MANAGER)),
        "--controllers": "*,-nodeipam",
        "--leader-elect": "false",
        **_serving_flags(layout, CONTROLLER_MANAGER, ports.controller_manager),
        "--use-service-account-credentials": "true",  # the audit log then names each controller
        "--service-account-private-key-file": str(layout.pki / "service-accounts.key"),
        "--root-ca-file": str(authority.certificate),
        "--cluster-signing-cert-file": str(authority.certificate),
        "--cluster-signing-key-file": str(authority.key),
        "--kube-api-qps": str(settings.kcm_qps),
        "--kube-api-burst": str(settings.kcm_burst),
        "--node-monitor-grace-period": "5m",  # a busy machine must not make nodes look dead
        **controller_manager_profile(settings),
    }
    return merged_flags(flags, settings.kcm_flags)


def _scheduler_flags(layout: ClusterLayout, settings: ClusterSettings, ports: Ports) -> list[str]:
    flags = {
        "--config": str(layout.config / "scheduler.yaml"),
        **_serving_flags(layout, SCHEDULER, ports.scheduler),
        **scheduler_profile(settings),
    }
    return merged_flags(flags, settings.scheduler_flags)


def _kwok_flags(layout: ClusterLayout, ports: Ports) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig_of(KWOK)}",
        f"--config={layout.config / 'kwok.yaml'}",
        "--manage-all-nodes=true",
        f"--server-address=127.0.0.1:{ports.kwok}",
        "--cidr=10.128.0.0/9",
    ]
