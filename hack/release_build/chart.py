"""The chart as a package, the manifests that it renders for each API profile, and the CRDs by group."""

import re
from pathlib import Path

from local_cluster.errors import ClusterError
from manifests import without_helm
from release_build.archives import repacked
from release_build.environment import run
from release_build.errors import ReleaseRefused
from tools import HELM, tool

CRDS_OF_PROFILE = {"native": "none", "stock": "scheduling.muster.dev", "crd": "scheduling.k8s.io"}
_USE = {
    "native": "an API server with Workloads and PodGroups built in (--feature-gates=GenericWorkload=true)",
    "stock": "any API server: brings CRDs in the group scheduling.muster.dev",
    "crd": "an API server that does not own scheduling.k8s.io: brings CRDs in that group",
}
_HOW = 'The image has no registry in its name. docs/install.md, "With kubectl", sets the one that your nodes pull from.'


def helm() -> str:
    try:
        return str(tool(HELM))
    except ClusterError as problem:
        raise ReleaseRefused(str(problem)) from None


def package(source: Path, epoch: int, scratch: Path) -> tuple[str, bytes]:
    """Its file name and its bytes. Helm's own package contains the build time."""
    run([helm(), "package", str(source / "charts/muster"), "--destination", str(scratch)], source)
    (path,) = scratch.glob("muster-*.tgz")
    return path.name, repacked(path, epoch)


def install_files(packaged: Path, version: str) -> dict[str, str]:
    return {f"install-{profile}.yaml": _install_file(packaged, profile, version) for profile in CRDS_OF_PROFILE}


def _install_file(packaged: Path, profile: str, version: str) -> str:
    flags = ["--namespace", "muster-system", "--set", "namespace.create=true", "--no-hooks", "--skip-tests"]
    crds = ["--set", f"crds.install={CRDS_OF_PROFILE[profile]}"]
    text = run([helm(), "template", "muster", str(packaged), *flags, *crds], packaged.parent)
    documents = [without_helm(document).strip() for document in re.split(r"^---\n", text, flags=re.MULTILINE)]
    head = f"# Muster {version} for {_USE[profile]}.\n# {_HOW}\n"
    return head + "---\n".join(f"{document}\n" for document in documents if document)


def crd_bundles(source: Path) -> dict[str, str]:
    groups = sorted({path.name.partition("_")[0] for path in (source / "crds").glob("*.yaml")})
    return {
        f"crds-{group}.yaml": "---\n".join(path.read_text() for path in sorted((source / "crds").glob(f"{group}_*")))
        for group in groups
    }
