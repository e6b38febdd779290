"""Makes the image archive of `docker save` reproducible.

A build writes timestamps into every copied file and into the image's configuration: both are set to the commit's date.
The base layers are not changed and keep their digests. The archive is an OCI layout that also has Docker's
manifest.json, for `docker load`, `kind load image-archive`, `ctr` and `skopeo`.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from release_build.archives import Entry, tar
from release_build.errors import ReleaseRefused

_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_OF_ONE_BUILD = ("container", "container_config", "docker_version", "id", "parent")
"""Keys of the configuration that describe the build container. No runtime reads them."""
OWN_LAYERS = 1
"""Number of layers that the Dockerfile's last stage adds to its base: one COPY."""


@dataclass(frozen=True)
class Blob:
    media_type: str
    data: bytes

    @property
    def digest(self) -> str:
        return _sha256(self.data)

    @property
    def path(self) -> str:
        return f"blobs/sha256/{self.digest.removeprefix('sha256:')}"

    @property
    def descriptor(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data)}


def normalised(archive: Path, name: str, epoch: int) -> bytes:
    """`archive` is the output of old or new versions of `docker save`. `name` is `muster:0.1.0`."""
    with tarfile.open(archive) as saved:
        entry = _image(saved)
        config = json.loads(_read(saved, entry["Config"]))
        layers = [_inflated(_read(saved, path)) for path in entry["Layers"]]
    layers[-OWN_LAYERS:] = [with_time(layer, epoch) for layer in layers[-OWN_LAYERS:]]
    return _layout(configuration(config, layers, epoch), layers, name, epoch)


def layers_of(archive: Path) -> Iterator[IO[bytes]]:
    with tarfile.open(archive) as saved:
        for path in _image(saved)["Layers"]:
            yield io.BytesIO(_inflated(_read(saved, path)))


def architecture(archive: Path) -> str:
    """`amd64`, `arm64`."""
    with tarfile.open(archive) as saved:
        return str(json.loads(_read(saved, _image(saved)["Config"]))["architecture"])


def with_time(layer: bytes, epoch: int) -> bytes:
    """The layer with this time on every file."""
    buffer = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(layer)) as old,
        tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in old:
            member.mtime = epoch
            written_anew = ("path", "linkpath", "mtime", "atime", "ctime", "size")
            member.pax_headers = {key: value for key, value in member.pax_headers.items() if key not in written_anew}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return buffer.getvalue()


def configuration(config: dict[str, Any], layers: list[bytes], epoch: int) -> dict[str, Any]:
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kept = {key: value for key, value in config.items() if key not in _OF_ONE_BUILD}
    history = [{**step, "created": created} for step in config.get("history", [])]
    hostless = {key: value for key, value in config.get("config", {}).items() if key not in {"Hostname", "Image"}}
    rootfs = {"type": "layers", "diff_ids": [_sha256(layer) for layer in layers]}
    return {**kept, "created": created, "history": history, "config": hostless, "rootfs": rootfs}


def _layout(config: dict[str, Any], layers: list[bytes], name: str, epoch: int) -> bytes:
    settings = Blob(_CONFIG, _json(config))
    stored = [Blob(_LAYER, gzip.compress(layer, compresslevel=6, mtime=0)) for layer in layers]
    parts = {"config": settings.descriptor, "layers": [layer.descriptor for layer in stored]}
    manifest = Blob(_MANIFEST, _json({"schemaVersion": 2, "mediaType": _MANIFEST, **parts}))
    repository, _, tag = name.rpartition(":")
    full = name if "/" in repository else f"docker.io/library/{name}"
    annotations = {"io.containerd.image.name": full, "org.opencontainers.image.ref.name": tag}
    platform = {key: config[key] for key in ("architecture", "os") if key in config}
    pointer = {**manifest.descriptor, "platform": platform, "annotations": annotations}
    docker = [{"Config": settings.path, "RepoTags": [name], "Layers": [layer.path for layer in stored]}]
    entries = {blob.path: Entry(blob.data) for blob in (settings, manifest, *stored)}
    entries["oci-layout"] = Entry(_json({"imageLayoutVersion": "1.0.0"}))
    entries["index.json"] = Entry(_json({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [pointer]}))
    entries["manifest.json"] = Entry(_json(docker))
    return tar(entries, epoch)


def _image(saved: tarfile.TarFile) -> dict[str, Any]:
    images: list[dict[str, Any]] = json.loads(_read(saved, "manifest.json"))
    if len(images) != 1:
        raise ReleaseRefused(f"The image archive holds {len(images)} images: exactly one is expected.")
    return images[0]


def _read(saved: tarfile.TarFile, name: str) -> bytes:
    try:
        file = saved.extractfile(name)  # follows links: old archives store equal layers once
    except KeyError:
        file = None
    if file is None:
        raise ReleaseRefused(f"The image archive has no {name}: is it what `docker save` writes?")
    return file.read()


def _inflated(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
