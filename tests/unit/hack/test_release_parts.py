"""The parts of a release that are made without Helm, uv or Docker."""

import hashlib
import io
import stat
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from release_build.archives import Entry, repacked, tar_gz
from release_build.identity import Identity
from release_build.image_build import notes, read_bases
from release_build.krew import plugin_archive, plugin_manifest
from release_build.main import sums
from release_build.requirements import applicable, machine
from release_build.sbom import DebianPackage, completed, normalised, python_packages

EPOCH = 1_700_000_000
RELEASE = Identity("0.1.0", "0.1.0", "a" * 40, EPOCH)


def test_an_archive_depends_on_its_contents_only() -> None:
    one = tar_gz({"b": Entry(b"2"), "a": Entry(b"1", executable=True)}, EPOCH)
    assert one == tar_gz({"a": Entry(b"1", executable=True), "b": Entry(b"2")}, EPOCH)
    with tarfile.open(fileobj=io.BytesIO(one)) as archive:
        members = archive.getmembers()
    assert [(m.name, m.mode, m.mtime, m.uid, m.uname) for m in members] == [
        ("a", 0o755, EPOCH, 0, ""),
        ("b", 0o644, EPOCH, 0, ""),
    ]


def test_repacking_takes_out_times_users_and_order(tmp_path: Path) -> None:
    def packed(name: str, order: list[str], mtime: int, user: str) -> Path:
        with tarfile.open(tmp_path / name, "w:gz") as archive:
            for member in order:
                info = tarfile.TarInfo(f"muster/{member}")
                info.size, info.mtime, info.uname = 1, mtime, user
                archive.addfile(info, io.BytesIO(b"x"))
        return tmp_path / name

    one, two = packed("1", ["Chart.yaml", "values.yaml"], 1, "me"), packed("2", ["values.yaml", "Chart.yaml"], 2, "you")
    assert repacked(one, EPOCH) == repacked(two, EPOCH)


def test_the_checksums_are_what_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "SHA256SUMS").write_text("of an earlier run")
    (tmp_path / "SHA256SUMS").write_text(sums(tmp_path))
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "a.txt: OK\nb.txt: OK\n"


def test_the_image_has_only_the_packages_of_its_platform() -> None:
    exported = """\
aiohttp==3.14.5
colorama==0.4.6 ; sys_platform == 'win32'
tomli==2.0.1 ; python_full_version < '3.13'
uvloop==0.23.0 ; sys_platform != 'win32'
    # via something
"""
    assert applicable(exported, "3.13", "x86_64") == ["aiohttp==3.14.5", "uvloop==0.23.0"]
    assert "tomli==2.0.1" in applicable(exported, "3.12", "x86_64")


@pytest.mark.parametrize(("architecture", "only"), [("amd64", "a==1"), ("arm64", "b==1"), ("aarch64", "b==1")])
def test_the_image_has_the_packages_of_its_architecture(architecture: str, only: str) -> None:
    exported = "a==1 ; platform_machine == 'x86_64'\nb==1 ; platform_machine == 'aarch64'\n"
    assert applicable(exported, "3.13", machine(architecture)) == [only]


def test_the_notes_name_the_bases_of_the_image_and_its_stand_ins() -> None:
    real = read_bases("python:3.13-slim sha256:0a\ngcr.io/distroless/python3 sha256:0b\n")
    assert notes(real) == (
        "\n## Bases of the image\n\n- `python:3.13-slim`, `sha256:0a`\n- `gcr.io/distroless/python3`, `sha256:0b`\n"
    )
    assert "stand-ins" in notes(read_bases("muster.local/python:3.13-abc sha256:0a\n"))


def bom() -> dict[str, Any]:
    return {
        "metadata": {"component": {"name": "muster-operator", "version": "0.1.0"}},
        "components": [{"name": "aiohttp", "version": "3.14.5", "purl": "pkg:pypi/aiohttp@3.14.5"}],
    }


def test_the_bill_names_the_packages_of_the_base() -> None:
    base = {DebianPackage("openssl", "1:3.5+dfsg~1", "amd64"), DebianPackage("libc6", "2.41", "amd64")}
    done = completed(bom(), base, RELEASE)
    assert [part["name"] for part in done["components"]] == ["aiohttp", "libc6", "openssl"]
    assert done["components"][2]["purl"] == "pkg:deb/debian/openssl@1%3A3.5%2Bdfsg~1?arch=amd64"
    assert python_packages(done) == {"muster-operator": "0.1.0", "aiohttp": "3.14.5"}
    assert {"name": "muster:base-packages", "value": "listed"} in done["properties"]


@pytest.mark.parametrize(("version", "in_the_wheel"), [("0.1.0-rc.1", "0.1.0rc1"), ("0.1.0-dev.405", "0.1.0.dev405")])
def test_the_bill_and_the_wheel_agree_on_a_version(version: str, in_the_wheel: str) -> None:
    bill = bom()
    bill["metadata"]["component"]["version"] = version
    assert python_packages(bill)["muster-operator"] == in_the_wheel
    assert normalised("Muster_Operator", in_the_wheel) == ("muster-operator", in_the_wheel)


def test_the_bill_marks_an_unknown_base() -> None:
    (known,) = completed(bom(), [], RELEASE)["properties"]
    assert known["value"].startswith("unknown")


def test_the_commit_determines_the_bills_serial_number() -> None:
    again, other = completed(bom(), [], RELEASE), completed(bom(), [], Identity("0.1.0", "0.1.0", "b" * 40, EPOCH))
    assert completed(bom(), [], RELEASE)["serialNumber"] == again["serialNumber"] != other["serialNumber"]


def test_the_plugin_is_a_launcher_with_its_wheel_and_pins(tmp_path: Path) -> None:
    wheel = tmp_path / "muster_operator-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    data = plugin_archive(wheel, "aiohttp==3.14.5 --hash=sha256:00\n", b"Apache", EPOCH)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert sorted(archive.getnames()) == ["LICENSE", "kubectl-muster", wheel.name, "requirements.txt"]
        assert archive.getmember("kubectl-muster").mode & stat.S_IXUSR


def test_the_krew_manifest_names_the_archive_for_each_platform() -> None:
    digest = hashlib.sha256(b"").hexdigest()
    manifest = yaml.safe_load(
        plugin_manifest("0.1.0", "https://forge.example/muster", "kubectl-muster-0.1.0.tar.gz", digest)
    )
    spec = manifest["spec"]
    assert (manifest["metadata"]["name"], spec["version"]) == ("muster", "v0.1.0")
    assert "Python 3.11" in spec["caveats"]
    for platform in spec["platforms"]:
        assert platform["uri"] == "https://forge.example/muster/releases/download/v0.1.0/kubectl-muster-0.1.0.tar.gz"
        assert platform["sha256"] == digest


LAUNCHER = Path(__file__).parents[3] / "hack/release_build/kubectl-muster"


def launched(folder: Path, *path: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": ":".join(path), "HOME": str(folder), **more}
    return subprocess.run([str(folder / "link")], env=environment, capture_output=True, text=True, check=False)


def test_the_launcher_says_that_it_needs_a_newer_python(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/kubectl-muster").write_bytes(LAUNCHER.read_bytes())
    (tmp_path / "store/kubectl-muster").chmod(0o755)
    (tmp_path / "link").symlink_to("store/kubectl-muster")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("readlink", "dirname", "sh"):
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        (tools / name).symlink_to(found)
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tools / "python3").chmod(0o755)
    answer = launched(tmp_path, str(tools))
    assert answer.returncode == 1
    assert answer.stderr.startswith("kubectl-muster: Python 3.11 or newer is needed and was not found")
