"""The command line of `hack/release`."""

import argparse
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from release_build import changelog, chart, image_build, krew, python_packages, requirements, sbom
from release_build.environment import build_environment
from release_build.errors import ReleaseRefused
from release_build.identity import Identity
from release_build.image import architecture
from release_build.image_contents import debian_packages
from release_build.source import ROOT, identified, staged
from version_files import VersionMissing

SUMS = "SHA256SUMS"
_PROJECT = "https://github.com/OWNER/muster"


@dataclass(frozen=True)
class Order:
    release: Identity
    source: Path
    scratch: Path
    target: Path
    project: str
    """URL of the project, for the krew manifest and the notes."""

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.target / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        _say(f"  {name}")
        return path


def main() -> int:
    arguments = _parser().parse_args()
    try:
        _release(arguments)
    except (ReleaseRefused, VersionMissing) as problem:
        print(f"hack/release: {problem}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/release", description="Builds a release from the tag on HEAD.")
    parser.add_argument("--tag", default=os.environ.get("VERSION_TAG") or None, help="needed if HEAD has several tags")
    parser.add_argument("--snapshot", action="store_true", help="a dry run of HEAD, without a tag: X.Y.Z-dev.N")
    parser.add_argument("--skip-image", action="store_true", help="skip what needs a container engine")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="emptied first (default: %(default)s)")
    parser.add_argument("--project", default=os.environ.get("PROJECT_URL") or _PROJECT, help="the project's address")
    return parser


def _release(arguments: argparse.Namespace) -> None:
    release = identified(ROOT, asked=arguments.tag, is_snapshot=arguments.snapshot)
    _say(f"Muster {release.version} of commit {release.commit[:12]}, into {arguments.output}:")
    shutil.rmtree(arguments.output, ignore_errors=True)
    arguments.output.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="muster-release-") as folder:
        scratch = Path(folder)
        source = staged(ROOT, release, scratch / "source")
        order = Order(release, source, scratch, arguments.output.resolve(), arguments.project)
        _packages(order)
        _chart(order)
        _plugin(order)
        archive, bases = (None, []) if arguments.skip_image else _image(order)
        _notes(order, bases)
        _bill(order, archive)
        order.write(SUMS, sums(order.target))
    if arguments.skip_image:
        _say("The image is missing, and a release needs it: run `make release` on a machine with Docker.")


def _packages(order: Order) -> None:
    python_packages.built(order.source, build_environment(ROOT), order.release.epoch, order.target)
    for path in sorted(order.target.iterdir()):
        _say(f"  {path.name}")


def _chart(order: Order) -> None:
    packaged = order.write(*chart.package(order.source, order.release.epoch, order.scratch))
    for name, text in (chart.install_files(packaged, order.release.version) | chart.crd_bundles(order.source)).items():
        order.write(name, text)


def _plugin(order: Order) -> None:
    (wheel,) = order.target.glob("*.whl")
    license_text = (order.source / "LICENSE").read_bytes()
    data = krew.plugin_archive(wheel, requirements.locked(order.source), license_text, order.release.epoch)
    archive = order.write(f"kubectl-muster-{order.release.version}.tar.gz", data)
    digest = hashlib.sha256(data).hexdigest()
    order.write("muster.yaml", krew.plugin_manifest(order.release.version, order.project, archive.name, digest))


def _notes(order: Order, bases: list[image_build.Base]) -> None:
    section = changelog.sections((order.source / "CHANGELOG.md").read_text())[order.release.section]
    source = f"{order.project}/blob/{order.release.ref}"
    text = changelog.notes(section, order.release.version, source)
    order.write("RELEASE_NOTES.md", text + (image_build.notes(bases) if bases else ""))


def _image(order: Order) -> tuple[Path, list[image_build.Base]]:
    data, bases = image_build.built(order.source, order.release, order.scratch)
    archive = order.write(f"muster-{order.release.version}-image.tar", data)
    for base in bases:
        _say(f"    {'from the stand-in' if base.stands_in else 'from'} {base}")
    return archive, bases


def _bill(order: Order, image: Path | None) -> None:
    """Without the image, the packages of its base are unknown."""
    base = debian_packages(image) if image else set()
    machine = requirements.machine(architecture(image) if image else platform.machine())
    packages = requirements.in_image(order.source, machine)
    order.write("sbom.cdx.json", sbom.bill(build_environment(ROOT), order.source, packages, base, order.release))


def sums(folder: Path) -> str:
    """The format of `sha256sum --check`."""
    paths = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def _say(sentence: str) -> None:
    print(sentence, flush=True)
