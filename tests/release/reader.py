"""Somebody who has the files of a release and types what the pages say."""

import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from documented_commands import script
from local_cluster.binaries import KUBECTL, ensure_binaries
from tools import HELM, KIND, KREW, tool
from version_files import PLACES, project_version, with_version

ROOT = Path(__file__).parents[2]
DIST, KUBECONFIG = "MUSTER_DIST", "MUSTER_KIND_KUBECONFIG"
REGISTRY = "registry.example"
CLUSTER = os.environ.get("MUSTER_KIND_CLUSTER", "kind")
PROFILE = os.environ.get("MUSTER_KIND_PROFILE", "native")
PLACEHOLDERS = {
    "REGISTRY": REGISTRY,
    "CLUSTER": CLUSTER,
    "install-native.yaml": f"install-{PROFILE}.yaml",
}
"""All that is changed in the commands of a page, besides the version in the names of files."""


@dataclass(frozen=True)
class Reader:
    dist: Path
    home: Path
    """An empty home directory: no configuration, no cache, no plugin."""

    @property
    def version(self) -> str:
        (chart,) = self.dist.glob("muster-*.tgz")
        return chart.name.removeprefix("muster-").removesuffix(".tgz")

    def follow(self, page: str, test: str, folder: Path | None = None, flags: str = "") -> str:
        """Run the page's commands of that name as one script, in the folder with the files or in another one. `flags`
        are added to the first command, where the page says to add them."""
        text = script((ROOT / page).read_text(), test, PLACEHOLDERS)
        if flags:
            text = text.replace("\n", f" {flags}\n", 1)
        if project_version() in text:
            text = with_version(text, PLACES["docs/install.md"], self.version)
        return self.run(text, folder)

    def run(self, text: str, folder: Path | None = None, seconds: float = 300) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder or self.dist,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        assert done.returncode == 0, f"{text}exit code {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    @cached_property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(("PIP_", "UV_"))}
        path = [str(self._programs()), str(self.home / ".krew/bin"), os.environ["PATH"]]
        kubeconfig = os.environ.get(KUBECONFIG, str(self.home / "no-kubeconfig"))
        return {**kept, "HOME": str(self.home), "PATH": ":".join(path), "KUBECONFIG": kubeconfig}

    def _programs(self) -> Path:
        """kubectl, helm, kind and krew, as the reader has installed them."""
        folder = self.home / "programs"
        folder.mkdir(exist_ok=True)
        programs = {
            "kubectl": ensure_binaries()[KUBECTL],
            "helm": tool(HELM),
            "kind": tool(KIND),
            "kubectl-krew": tool(KREW),
        }
        for name, path in programs.items():
            (folder / name).symlink_to(path)
        # Installing krew clones krew's index, and `krew list` fails without an index. This one has no plugins.
        subprocess.run(["git", "init", "--quiet", str(self.home / ".krew/index/default")], check=True)
        return folder


_KEPT = {
    "LANG",
    "DOCKER_HOST",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
}
