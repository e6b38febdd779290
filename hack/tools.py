"""Tools for checks, built from their Go modules: `hack/tool helm lint charts/muster`.

They are not from PyPI: `helm` there is a system monitor for the desktop, and the others publish no wheels.
"""

import os
import sys
from pathlib import Path

from local_cluster.binaries import Module, built
from local_cluster.errors import ClusterError

SOURCES = Path(__file__).parent / "tool-modules"
HELM, PROMTOOL, KIND, ACTIONLINT, KREW = "helm", "promtool", "kind", "actionlint", "krew"
TOOLS = {
    HELM: Module(SOURCES / HELM, "helm.sh/helm/v4", {HELM: "helm.sh/helm/v4/cmd/helm"}),
    # Without the service discovery of Prometheus: it is most of the build, and rule checks do not need it.
    PROMTOOL: Module(
        SOURCES / PROMTOOL,
        "github.com/prometheus/prometheus",
        {PROMTOOL: "github.com/prometheus/prometheus/cmd/promtool"},
        tags="remove_all_sd",
    ),
    KIND: Module(SOURCES / KIND, "sigs.k8s.io/kind", {KIND: "sigs.k8s.io/kind"}),
    ACTIONLINT: Module(
        SOURCES / ACTIONLINT, "github.com/rhysd/actionlint", {ACTIONLINT: "github.com/rhysd/actionlint/cmd/actionlint"}
    ),
    KREW: Module(SOURCES / KREW, "sigs.k8s.io/krew", {KREW: "sigs.k8s.io/krew/cmd/krew"}),
}
EVERYDAY = (HELM, PROMTOOL, ACTIONLINT)
"""The tools that `make tools` builds. kind is only for the kind clusters, krew for `make release-check`."""


def tool(name: str) -> Path:
    return built(TOOLS[name])[name]


def main() -> None:
    match sys.argv[1:]:
        case ["build"]:
            for name in EVERYDAY:
                tool(name)
        case ["path", name] if name in TOOLS:
            print(tool(name))
        case [name, *arguments] if name in TOOLS:
            path = tool(name)
            os.execv(path, [str(path), *arguments])  # noqa: S606 - this is the requested program
        case _:
            sys.exit(f"usage: hack/tool build | path NAME | NAME ARGUMENTS..., where NAME is {' or '.join(TOOLS)}")


if __name__ == "__main__":
    try:
        main()
    except ClusterError as problem:
        sys.exit(f"hack/tool: {problem}")
