"""The options of `hack/cluster`."""

from __future__ import annotations

import argparse
from typing import Any

from local_cluster.settings import PROFILES, ClusterSettings

_DEFAULTS = ClusterSettings()


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/cluster", description="A local Kubernetes control plane with KWOK nodes."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("build", help="build the binaries into the cache (minutes, once) and print their paths")
    up = _command(commands, "up", "start a cluster, or join a running one with the same settings")
    _add_control_plane_options(up)
    _add_node_options(up)
    up.add_argument("--owner-pid", type=int, metavar="PID", help="the cluster stops when this process ends")
    restart = _command(
        commands,
        "restart",
        "restart the control plane on the same data and ports; options that are not given keep their value",
    )
    _add_control_plane_options(restart)
    down = _command(commands, "down", "stop a cluster and remove all its files")
    down.add_argument("--keep-logs", action="store_true", help="leave the log files in the cluster's directory")
    status = _command(commands, "status", "print what runs and where its files are; exit code 0 if all components run")
    status.add_argument("--json", action="store_true")
    _command(commands, "path", "print the cluster's directory: logs/, audit.log, kubeconfigs/")
    kubeconfig = _command(commands, "kubeconfig", "print the path of the administrator's kubeconfig file")
    kubeconfig.add_argument(
        "--service-account", metavar="NAMESPACE/NAME", help="for this account instead, with a token for one day"
    )
    kubectl = _command(commands, "kubectl", "run the kubectl of the cluster's version as its administrator")
    kubectl.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--name", default="muster", help="the cluster's name (default: %(default)s)")
    return parser


def _add_control_plane_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        help="native: Workload and PodGroup built in (default); stock: plain Kubernetes; "
        "crd: a server that does not own scheduling.k8s.io",
    )
    parser.add_argument(
        "--in-tree",
        action=argparse.BooleanOptionalAction,
        help="let the Job controller create Workloads itself (WorkloadWithJob; default: off)",
    )
    parser.add_argument(
        "--audit",
        action=argparse.BooleanOptionalAction,
        help="write <directory>/audit.log: all requests except the control plane's own reads (default: off)",
    )
    parser.add_argument(
        "--kcm-qps",
        type=int,
        metavar="N",
        help=f"requests per second of the controller manager (default: {_DEFAULTS.kcm_qps}; Kubernetes': 20, burst 30)",
    )
    parser.add_argument("--kcm-burst", type=int, metavar="N", help="its burst (default: twice --kcm-qps)")
    for component in ("apiserver", "kcm", "scheduler"):
        parser.add_argument(
            f"--{component}-flag",
            dest=f"{component}_flags",
            action="append",
            metavar="--NAME=VALUE",
            help="one more flag, repeatable; gates and plugin lists are joined with the defaults, others replace them",
        )


def _add_node_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, metavar="N", help=f"KWOK nodes (default: {_DEFAULTS.nodes})")
    parser.add_argument("--node-cpu", metavar="CPU", help=f"CPUs per node (default: {_DEFAULTS.node_cpu})")
    parser.add_argument("--node-memory", metavar="MEM", help=f"memory per node (default: {_DEFAULTS.node_memory})")
    parser.add_argument("--node-pods", type=int, metavar="N", help=f"pods per node (default: {_DEFAULTS.node_pods})")
    parser.add_argument(
        "--racks",
        type=int,
        metavar="N",
        help=f"label nodes round robin with topology.muster.dev/rack (default: {_DEFAULTS.racks}; 0: no label)",
    )
    parser.add_argument(
        "--zones",
        type=int,
        metavar="N",
        help=f"label racks round robin with topology.kubernetes.io/zone (default: {_DEFAULTS.zones}; 0: no label)",
    )
