"""The files that need no nodes: checksums, package, plugin, bill of materials."""

import json
import subprocess
from pathlib import Path

import pytest

from release_build import image_contents, sbom
from release_build.environment import build_environment
from tests.release.reader import ROOT, Reader

PAGE = "docs/install.md"
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(None if error is None else str(error))
"""


def test_the_checksums_hold(reader: Reader) -> None:
    lines = reader.follow(PAGE, "files").splitlines()
    assert len(lines) == len(list(reader.dist.iterdir())) - 1
    assert all(line.endswith(": OK") for line in lines)


def test_the_sdist_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("muster_operator-*.tar.gz")
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(tmp_path)], check=True)
    (source,) = tmp_path.iterdir()
    python = build_environment(ROOT) / "bin/python"
    epoch = str(json.loads((dist / "sbom.cdx.json").read_text())["metadata"]["timestamp"])
    seconds = subprocess.run(["date", "-d", epoch, "+%s"], capture_output=True, text=True, check=True).stdout.strip()
    command = [str(python), "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "built")]
    subprocess.run(command, cwd=source, env={"SOURCE_DATE_EPOCH": seconds}, check=True, capture_output=True)
    assert (tmp_path / "built" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.fixture(scope="session")
def from_wheel(reader: Reader) -> str:
    return reader.follow(PAGE, "wheel")


def test_the_wheel_brings_the_command(from_wheel: str, reader: Reader) -> None:
    assert from_wheel.splitlines()[-1] == f"muster {reader.version}"
    assert "leave" in reader.run("muster-cli/bin/muster --help")
    assert "kind: CustomResourceDefinition" in reader.run("muster-cli/bin/muster crds print")


def test_the_demo_gang_starts_with_the_muster_of_the_wheel(from_wheel: str, reader: Reader) -> None:
    muster = reader.dist / "muster-cli/bin/muster"
    command = [str(ROOT / "hack/demo"), "--name", "release-check", "--muster", str(muster)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "promises were kept" in done.stdout


def test_krew_installs_the_plugin(reader: Reader) -> None:
    assert reader.follow(PAGE, "krew").splitlines()[-1] == f"muster {reader.version}"
    assert "leave" in reader.run("kubectl muster --help")
    # krew says `detached` for a plugin that comes from a manifest and not from an index.
    assert reader.run("kubectl krew list").split() == ["detached/muster"]
    reader.follow(PAGE, "krew uninstall")
    assert reader.run("kubectl krew list").split() == []
    reader.run("! kubectl muster version")


def validated(bill: str) -> subprocess.CompletedProcess[str]:
    python = build_environment(ROOT) / "bin/python"
    return subprocess.run([str(python), "-c", VALIDATE], input=bill, capture_output=True, text=True, check=False)


def test_the_bill_of_materials_is_valid(dist: Path) -> None:
    done = validated((dist / "sbom.cdx.json").read_text())
    assert done.returncode == 0, done.stderr


def test_an_invalid_bill_of_materials_is_found(dist: Path) -> None:
    bill = json.loads((dist / "sbom.cdx.json").read_text())
    done = validated(json.dumps({**bill, "serialNumber": "urn:none"}))
    assert done.returncode == 1
    assert done.stderr.startswith("'urn:none' does not match")


def test_the_bill_of_materials_is_what_the_image_contains(dist: Path) -> None:
    (image,) = dist.glob("*-image.tar")
    bill = json.loads((dist / "sbom.cdx.json").read_text())
    assert sbom.python_packages(bill) == image_contents.python_packages(image)
    debian = {part["purl"] for part in bill["components"] if part.get("purl", "").startswith("pkg:deb/")}
    assert debian
    assert debian == {package.url for package in image_contents.debian_packages(image)}
