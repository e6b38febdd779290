"""Programs that the project is checked with, built from their Go modules: `hack/tool helm lint charts/muster`.

Not from PyPI: `helm` there is a system monitor for the desktop, and the others publish no wheels.
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
    # Without the clouds that Prometheus can discover targets in: they are most of the build, and no rule needs them.
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
"""Those that `make tools` builds. kind is for the kind clusters alone, krew for `make release-check`."""


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
            os.execv(path, [str(path), *arguments])  # noqa: S606 - it is the program that was asked for
        case _:
            sys.exit(f"usage: hack/tool build | path NAME | NAME ARGUMENTS..., where NAME is {' or '.join(TOOLS)}")


if __name__ == "__main__":
    try:
        main()
    except ClusterError as problem:
        sys.exit(f"hack/tool: {problem}")
