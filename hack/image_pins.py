"""`make image-pins`: pins the base images of the project to the current digests of their tags.

It changes the lines of `PLACES` from `tag` or `tag@sha256:…` to `tag@sha256:…`. It uses only digests that the registry
has just returned. If it cannot get all of them, it changes nothing.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = (
    ("Dockerfile", "ARG BUILD_BASE="),
    ("Dockerfile", "ARG BASE="),
    ("hack/kind-settings", "NODE_IMAGE_TAG="),
)
DIGEST = r"sha256:[0-9a-f]{64}"
LOOK_SECONDS, PULL_SECONDS = 60, 900


class Unpinned(Exception):
    """One sentence for the user."""


@dataclass(frozen=True, slots=True)
class Pin:
    file: Path
    start: str
    tag: str

    @classmethod
    def find(cls, file: Path, start: str) -> "Pin":
        found = re.findall(_line(start), file.read_text(), re.MULTILINE)
        if len(found) != 1:
            raise Unpinned(f"{file} must have one line {start}NAME:TAG, and has {len(found)}; nothing was changed.")
        return cls(file, start, found[0][1])

    def write(self, digest: str) -> None:
        text = self.file.read_text()
        self.file.write_text(re.sub(_line(self.start), rf"\g<1>\g<2>@{digest}\g<3>", text, flags=re.MULTILINE))


def _line(start: str) -> str:
    """Three groups: the text before the tag, the tag, and the text after the digest."""
    return rf"""^({re.escape(start)}["']?)([\w./:-]+:[\w.-]+)(?:@{DIGEST})?(["']?[ \t]*)$"""


def resolve(engine: str, tag: str) -> str:
    """The digest of the multi-platform image. Old engines, and podman, must pull the image to get it."""
    looked = _run(LOOK_SECONDS, engine, "buildx", "imagetools", "inspect", tag)
    if looked.returncode == 0 and (found := re.search(rf"^Digest:\s+({DIGEST})$", looked.stdout, re.MULTILINE)):
        return found[1]
    pulled = _run(PULL_SECONDS, engine, "pull", "--quiet", tag)
    if pulled.returncode != 0:
        raise Unpinned(
            f"{engine} cannot get {tag} from its registry ({_last_line(pulled.stderr)}); nothing was changed. "
            "Run `make image-pins` where the registry can be reached."
        )
    inspected = _run(LOOK_SECONDS, engine, "image", "inspect", "--format", "{{json .RepoDigests}}", tag)
    repository = tag.rpartition(":")[0]
    for pair in json.loads(inspected.stdout or "null") or ():
        name, _, digest = pair.partition("@")
        if f"/{name}".endswith(f"/{repository}") and re.fullmatch(DIGEST, digest):
            return str(digest)
    raise Unpinned(f"{engine} has {tag} without a registry digest; nothing was changed. Pull the image again.")


def _run(seconds: int, *command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except FileNotFoundError as error:
        raise Unpinned(f"{command[0]} is needed and not installed; nothing was changed.") from error
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer within {seconds} seconds")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it does not say why"])[-1]


def pin(root: Path, engine: str) -> list[str]:
    pins = [Pin.find(root / file, start) for file, start in PLACES]
    digests = [resolve(engine, each.tag) for each in pins]
    for each, digest in zip(pins, digests, strict=True):
        each.write(digest)
    return [f"{each.file.relative_to(root)}: {each.tag}@{digest}" for each, digest in zip(pins, digests, strict=True)]


def main() -> None:
    try:
        for line in pin(ROOT, os.environ.get("CONTAINER_ENGINE") or "docker"):
            print(line)
    except Unpinned as problem:
        print(f"image-pins: {problem}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
