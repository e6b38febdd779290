"""`make release` without the image: from the same commit, the same bytes."""

import hashlib
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from release_build.sbom import python_packages
from tests.clusters.cluster import ROOT
from version_files import project_version

EXPECTED = {
    "RELEASE_NOTES.md",
    "SHA256SUMS",
    "crds-scheduling.k8s.io.yaml",
    "crds-scheduling.muster.dev.yaml",
    "install-crd.yaml",
    "install-native.yaml",
    "install-stock.yaml",
    "kubectl-muster-{version}.tar.gz",
    "muster-{version}.tgz",
    "muster.yaml",
    "muster_operator-{python}-py3-none-any.whl",
    "muster_operator-{python}.tar.gz",
    "sbom.cdx.json",
}
COUNT = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)


def release(folder: Path, umask: int = 0o022, **environment: str) -> None:
    command = [str(ROOT / "hack/release"), "--snapshot", "--skip-image", "--output", str(folder)]
    env = {**os.environ, **environment}
    done = subprocess.run(command, env=env, umask=umask, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "dist"
    release(folder)
    return folder


def test_the_same_commit_gives_the_same_bytes(released: Path, tmp_path: Path) -> None:
    """In another folder, another time zone and with another umask."""
    release(tmp_path / "again", 0o077, TZ="Asia/Kathmandu", TMPDIR=str(tmp_path))
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in (released, tmp_path / "again")
    )
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []


def test_everything_is_there_and_named_a_snapshot(released: Path) -> None:
    base = yaml.safe_load((ROOT / "charts/muster/Chart.yaml").read_text())["version"]
    version, python = f"{base}-dev.{COUNT.stdout.strip()}", f"{base}.dev{COUNT.stdout.strip()}"
    assert {path.name for path in released.iterdir()} == {
        name.format(version=version, python=python) for name in EXPECTED
    }
    with tarfile.open(released / f"muster-{version}.tgz") as chart:
        packed = yaml.safe_load(chart.extractfile("muster/Chart.yaml").read())  # type: ignore[union-attr]
    assert packed["version"] == packed["appVersion"] == version


def test_the_checksums_cover_everything(released: Path) -> None:
    lines = [line.partition("  ") for line in (released / "SHA256SUMS").read_text().splitlines()]
    listed = {name: digest for digest, _, name in lines}
    rest = [path for path in released.iterdir() if path.name != "SHA256SUMS"]
    assert listed == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in rest}


@pytest.mark.parametrize(
    ("profile", "group"), [("native", None), ("stock", "scheduling.muster.dev"), ("crd", "scheduling.k8s.io")]
)
def test_an_install_file_is_the_whole_chart_without_hooks(released: Path, profile: str, group: str | None) -> None:
    documents = list(yaml.safe_load_all((released / f"install-{profile}.yaml").read_text()))
    kinds = [document["kind"] for document in documents]
    assert kinds[0] == "Namespace", "kubectl applies in the order of the file"
    assert {"Deployment", "Service", "ClusterRole", "MutatingWebhookConfiguration"} <= set(kinds)
    crds = [document["spec"]["group"] for document in documents if document["kind"] == "CustomResourceDefinition"]
    assert crds == ([group, group] if group else [])
    assert "helm.sh/" not in (released / f"install-{profile}.yaml").read_text()


def test_the_bundles_are_the_crds_of_the_clone(released: Path) -> None:
    for group in ("scheduling.muster.dev", "scheduling.k8s.io"):
        bundle = list(yaml.safe_load_all((released / f"crds-{group}.yaml").read_text()))
        files = sorted((ROOT / "crds").glob(f"{group}_*.yaml"))
        assert len(bundle) == 2
        assert bundle == [yaml.safe_load(path.read_text()) for path in files]


def test_the_plugins_manifest_has_the_checksum_of_its_archive(released: Path) -> None:
    (archive,) = released.glob("kubectl-muster-*.tar.gz")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    platforms = yaml.safe_load((released / "muster.yaml").read_text())["spec"]["platforms"]
    assert {platform["sha256"] for platform in platforms} == {digest}


def test_the_bill_of_materials_names_muster_and_its_packages(released: Path) -> None:
    packages = python_packages(json.loads((released / "sbom.cdx.json").read_text()))
    assert {"muster-operator", "aiohttp", "kopf", "pydantic"} <= packages.keys()
    assert not {"pytest", "hatchling", "cyclonedx-bom"} & packages.keys()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Without tags."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-tags", "--shared", str(ROOT), str(folder)], check=True)
    return folder


def release_of(clone: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MUSTER_PYTHON": str(ROOT / ".venv/bin/python")}
    command = [str(clone / "hack/release"), "--output", str(folder), *flags]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def tagged(clone: Path, version: str) -> None:
    """As a maintainer releases it: the heading in the changelog, a commit, a tag."""
    changelog = clone / "CHANGELOG.md"
    heading = f"## {version} - 2026-12-01"
    changed = re.sub(
        rf"^## (?:Unreleased|{re.escape(version)}\b.*)$", heading, changelog.read_text(), flags=re.MULTILINE
    )
    assert changed.count(heading) == 1
    changelog.write_text(changed)
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    for command in (("commit", "--quiet", "--allow-empty", "--all", "--message", "release"), ("tag", f"v{version}")):
        subprocess.run(["git", "-C", str(clone), *who, *command], check=True)


@pytest.mark.full
def test_a_tag_gives_the_same_bytes_under_its_own_version(clone: Path, tmp_path: Path) -> None:
    version = project_version(clone)
    tagged(clone, version)
    built = []
    for number in range(2):
        folder = tmp_path / f"dist-{number}"
        done = release_of(clone, folder, "--skip-image")
        assert done.returncode == 0, done.stderr
        built.append({path.name: path.read_bytes() for path in folder.iterdir()})
    first, second = built
    assert first.keys() == {name.format(version=version, python=version) for name in EXPECTED}
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []
    notes = first["RELEASE_NOTES.md"].decode()
    assert notes.startswith(f"# Muster {version}\n")
    assert "-dev." not in "".join(first)


def test_without_a_tag_there_is_one_sentence(clone: Path, tmp_path: Path) -> None:
    done = release_of(clone, tmp_path / "dist")
    assert done.returncode == 1
    assert done.stderr.startswith("hack/release: There is no tag on this commit: run `git tag v")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "dist").exists()
