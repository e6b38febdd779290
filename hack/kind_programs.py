"""Builds the programs of a kind node from Go modules into the cache, for machines that cannot pull the node image.

`hack/kind/node-image` evaluates what it prints: the folder of each module with its variable name, `KUBERNETES=/…`.
"""

import shlex
import sys
from pathlib import Path

from local_cluster.binaries import Module, built, ensure_binaries
from local_cluster.components import APISERVER, ETCD
from local_cluster.errors import ClusterError
from local_cluster.toolchain import go_command
from tools import TOOLS

_SOURCES = Path(__file__).parent / "kind" / "modules"
_CONTAINERD = "github.com/containerd/containerd/v2"
_PLUGINS = "github.com/containernetworking/plugins"
_LOCAL_PATH = "github.com/rancher/local-path-provisioner"

MODULES = (
    Module(
        _SOURCES / "kubernetes",
        "k8s.io/kubernetes",
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in ("kubeadm", "kubelet", "kube-proxy")},
    ),
    Module(
        _SOURCES / "containerd",
        _CONTAINERD,
        {name: f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "ctr", "containerd-shim-runc-v2")},
        tags="no_aufs,no_zfs,no_btrfs,no_devmapper",
        stamps=(f"{_CONTAINERD}/version.Version=v2.3.4",),
    ),
    Module(
        _SOURCES / "cni",
        _PLUGINS,
        {
            name: f"{_PLUGINS}/plugins/{kind}/{name}"
            for kind, name in (("ipam", "host-local"), ("main", "loopback"), ("main", "ptp"), ("meta", "portmap"))
        },
    ),
    Module(
        _SOURCES / "crictl",
        "sigs.k8s.io/cri-tools",
        {"crictl": "sigs.k8s.io/cri-tools/cmd/crictl"},
        stamps=("sigs.k8s.io/cri-tools/pkg/version.Version=1.36.0",),
    ),
    Module(_SOURCES / "coredns", "github.com/coredns/coredns", {"coredns": "."}),
    Module(
        _SOURCES / "local-path",
        _LOCAL_PATH,
        {"local-path-provisioner": _LOCAL_PATH},
        stamps=("main.VERSION=v0.0.30",),
    ),
)


def main() -> None:
    control_plane = ensure_binaries()
    print(assignment("control-plane", control_plane[APISERVER].parent))
    print(assignment("etcd", control_plane[ETCD].parent))
    print(assignment("kind", built(TOOLS["kind"])["kind"].parent))
    print(assignment("go", go_command()))
    for module in MODULES:
        print(assignment(module.directory.name, next(iter(built(module).values())).parent))


def assignment(name: str, value: object) -> str:
    return f"{name.replace('-', '_').upper()}={shlex.quote(str(value))}"


if __name__ == "__main__":
    try:
        main()
    except ClusterError as problem:
        sys.exit(f"hack/kind/node-image: {problem}")
