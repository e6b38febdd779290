"""Reproducible tar archives: independent of user, clock and file system order."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    data: bytes
    executable: bool = False


def tar(entries: Mapping[str, Entry], epoch: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, entry in sorted(entries.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(entry.data), epoch, 0o755 if entry.executable else 0o644
            archive.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def compressed(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=9, mtime=0)


def tar_gz(entries: Mapping[str, Entry], epoch: int) -> bytes:
    return compressed(tar(entries, epoch))


def repacked(path: Path, epoch: int) -> bytes:
    """Repack an archive of regular files that another tool wrote with its own timestamps."""
    with tarfile.open(path) as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers() if member.isfile()]
        return tar_gz(
            {member.name: Entry(file.read(), bool(member.mode & 0o100)) for member, file in members if file}, epoch
        )
