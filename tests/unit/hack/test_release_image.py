"""The image's archive: the same bytes whenever it was built, and an archive that Docker and containerd both read."""

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from release_build.errors import ReleaseRefused
from release_build.identity import Identity
from release_build.image import OWN_LAYERS, architecture, layers_of, normalised, with_time
from release_build.image_build import built
from release_build.image_contents import debian_packages, python_packages
from release_build.sbom import DebianPackage

EPOCH = 1_700_000_000
NAME = "muster:0.1.0"
BASE_TIME = EPOCH + 3
DPKG = b"""\
Package: libc6
Status: install ok installed
Version: 2.41-12
Architecture: amd64

Package: gone
Status: deinstall ok config-files
Version: 1
Architecture: all
"""
METADATA = b"Metadata-Version: 2.4\nName: Muster_Operator\nVersion: 0.1.0\n\nWords.\n"


def layer(files: dict[str, bytes], mtime: float, links: dict[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.uid, info.gid, info.mode = len(data), mtime, 65532, 65532, 0o640
            info.pax_headers = {"SCHILY.xattr.user.kept": "yes", "atime": str(mtime)}
            archive.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mtime = tarfile.LNKTYPE, target, mtime
            archive.addfile(info)
    return buffer.getvalue()


BASE = layer({"var/lib/dpkg/status": DPKG}, BASE_TIME)


def saved(path: Path, when: str, mtime: float, *, compress: bool = False) -> Path:
    """As `docker save` of version 20 writes it; `compress` as newer ones may."""
    own = layer(
        {"opt/muster/m.dist-info/METADATA": METADATA, "opt/muster/é.py": b"x"}, mtime, {"opt/l": "opt/muster/é.py"}
    )
    layers = {"a/layer.tar": BASE, "b/layer.tar": gzip.compress(own) if compress else own}
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": when,
        "container": f"container-of-{when}",
        "container_config": {"Hostname": when},
        "config": {"User": "65532:65532", "Hostname": when, "Image": when, "Cmd": ["run"]},
        "history": [{"created": "1970-01-01T00:00:00Z"}, {"created": when, "created_by": "COPY"}],
        "rootfs": {"type": "layers", "diff_ids": ["sha256:old", "sha256:old"]},
    }
    manifest = [{"Config": "c.json", "RepoTags": [NAME], "Layers": list(layers)}]
    files = {"c.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode(), **layers}
    path.write_bytes(layer(files, mtime))
    return path


def unpacked(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    algorithm, _, digest = descriptor["digest"].partition(":")
    data = files[f"blobs/{algorithm}/{digest}"]
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest, descriptor["size"])
    return data


@pytest.fixture
def archive(tmp_path: Path) -> dict[str, bytes]:
    return unpacked(normalised(saved(tmp_path / "s.tar", "2026-11-18T10:00:00.5Z", EPOCH + 5.5), NAME, EPOCH))


def test_two_builds_at_different_times_give_the_same_bytes(tmp_path: Path) -> None:
    first = normalised(saved(tmp_path / "1.tar", "2023-11-01T10:00:00Z", EPOCH - 999), NAME, EPOCH)
    later = saved(tmp_path / "2.tar", "2026-11-19T12:34:56.789Z", EPOCH + 99_999.25, compress=True)
    assert normalised(later, NAME, EPOCH) == first


def test_another_content_gives_other_bytes(tmp_path: Path) -> None:
    path = saved(tmp_path / "1.tar", "2026-11-18T10:00:00Z", EPOCH + 1)
    assert normalised(path, NAME, EPOCH) != normalised(path, NAME, EPOCH - 1)


def test_the_archive_is_an_oci_layout_with_correct_digests(archive: dict[str, bytes]) -> None:
    assert json.loads(archive["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (pointer,) = json.loads(archive["index.json"])["manifests"]
    assert pointer["annotations"]["io.containerd.image.name"] == "docker.io/library/muster:0.1.0"
    manifest = json.loads(blob(archive, pointer))
    config = json.loads(blob(archive, manifest["config"]))
    inflated = [gzip.decompress(blob(archive, part)) for part in manifest["layers"]]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in inflated]
    assert inflated[0] == BASE, "a layer of the base keeps its digest"


def test_docker_finds_the_same_image_in_it(archive: dict[str, bytes]) -> None:
    (image,) = json.loads(archive["manifest.json"])
    (pointer,) = json.loads(archive["index.json"])["manifests"]
    manifest = json.loads(blob(archive, pointer))
    assert image["RepoTags"] == [NAME]
    assert image["Config"].endswith(manifest["config"]["digest"].removeprefix("sha256:"))
    assert len(image["Layers"]) == 2
    assert all(name in archive for name in image["Layers"])


def test_the_configuration_loses_only_the_fields_of_one_build(archive: dict[str, bytes]) -> None:
    (image,) = json.loads(archive["manifest.json"])
    config = json.loads(archive[image["Config"]])
    assert config["created"] == "2023-11-14T22:13:20Z"
    assert [step["created"] for step in config["history"]] == ["2023-11-14T22:13:20Z"] * 2
    assert config["config"] == {"User": "65532:65532", "Cmd": ["run"]}
    assert not {"container", "container_config"} & config.keys()


def test_a_layer_keeps_all_but_its_times() -> None:
    new = with_time(layer({"a/é": b"content"}, EPOCH + 7.5, {"b": "a/é"}), EPOCH)
    with tarfile.open(fileobj=io.BytesIO(new)) as archive:
        file, link = archive.getmembers()
        assert archive.extractfile(file).read() == b"content"  # type: ignore[union-attr]
    assert (file.name, file.mtime, file.uid, file.gid, file.mode) == ("a/é", EPOCH, 65532, 65532, 0o640)
    assert file.pax_headers["SCHILY.xattr.user.kept"] == "yes"
    assert "atime" not in file.pax_headers
    assert (link.type, link.linkname, link.mtime) == (tarfile.LNKTYPE, "a/é", EPOCH)


def test_what_is_installed_is_read_from_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "n.tar"
    path.write_bytes(normalised(saved(tmp_path / "s.tar", "2026-11-18T10:00:00Z", EPOCH + 1), NAME, EPOCH))
    assert len(list(layers_of(path))) == 2
    assert architecture(path) == "amd64"
    assert python_packages(path) == {"muster-operator": "0.1.0"}
    assert debian_packages(path) == {DebianPackage("libc6", "2.41-12", "amd64")}


def test_the_dockerfile_adds_as_many_layers_as_are_changed() -> None:
    last_stage = (Path(__file__).parents[3] / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    adding = [line for line in last_stage.splitlines() if line.startswith(("COPY ", "ADD ", "RUN ", "WORKDIR "))]
    assert len(adding) == OWN_LAYERS


def test_an_archive_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.tar"
    path.write_bytes(layer({"readme": b""}, 0))
    with pytest.raises(ReleaseRefused, match=r"no manifest\.json: is it what `docker save` writes"):
        normalised(path, NAME, EPOCH)


@pytest.mark.parametrize(("version", "own"), [("0.1.0", "yes"), ("0.1.0-rc.1", "yes"), ("0.1.0-dev.405", None)])
def test_only_a_snapshot_may_have_stand_ins_for_its_bases(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, own: str | None
) -> None:
    seen: list[str | None] = []

    def refuse(command: list[str], env: dict[str, str], **_: object) -> subprocess.CompletedProcess[bytes]:
        seen.append(env.get("MUSTER_OWN_BASES"))
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.raises(ReleaseRefused, match="The image was not built"):
        built(tmp_path, Identity(version, version, "a" * 40, EPOCH), tmp_path)
    assert seen == [own]
