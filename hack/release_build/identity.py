"""The release to build: its version, and the check that tag, version and changelog agree."""

import re
from dataclasses import dataclass

from release_build.changelog import UNRELEASED
from release_build.errors import ReleaseRefused

_VERSION = re.compile(r"\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?")
"""A version that is valid for the chart (SemVer) and for the wheel (PEP 440)."""


@dataclass(frozen=True)
class Identity:
    version: str
    """The version in pyproject.toml, the chart and the image tag: `0.1.0`, `0.2.0-rc.1`."""
    section: str
    """Heading of the changelog section for the release notes."""
    commit: str
    epoch: int
    """Date of the commit: the only timestamp in the release."""

    @property
    def is_snapshot(self) -> bool:
        return "-dev." in self.version

    @property
    def ref(self) -> str:
        """The git ref of the sources: a snapshot has no tag."""
        return self.commit if self.is_snapshot else f"v{self.version}"


def released(tags: list[str], asked: str | None, version: str, headings: set[str], commit: tuple[str, int]) -> Identity:
    """The release of a tag on the commit; `asked` selects one of several."""
    if not _VERSION.fullmatch(version):
        raise ReleaseRefused(f"pyproject.toml has the version {version}: a release needs X.Y.Z or X.Y.Z-rc.N.")
    ours = [tag for tag in tags if re.match(r"v\d", tag)]
    if asked and asked not in ours:
        raise ReleaseRefused(f"The tag {asked} is not on this commit: check out the commit that it names.")
    if not ours:
        raise ReleaseRefused(
            f"There is no tag on this commit: run `git tag v{version}`, or `make release SNAPSHOT=1` for a dry run."
        )
    tag = asked or (ours[0] if len(ours) == 1 else "")
    if not tag:
        raise ReleaseRefused(f"There are several tags on this commit ({', '.join(ours)}): name one with VERSION_TAG=.")
    if tag != f"v{version}" or version not in headings:
        known = f"a heading for {version}" if version in headings else f"no heading `## {version}`"
        raise ReleaseRefused(
            f"The tag is {tag}, pyproject.toml has the version {version}, and CHANGELOG.md has {known}: "
            "all three must name one version."
        )
    return Identity(version, version, *commit)


def snapshot(commits: int, version: str, headings: set[str], commit: tuple[str, int]) -> Identity:
    """A dry run of a commit without a tag. Its version contains `-dev` and sorts before the next release."""
    base = version.partition("-")[0]
    section = next((name for name in (UNRELEASED, version) if name in headings), None)
    if section is None:
        raise ReleaseRefused(f"CHANGELOG.md has neither a heading `## {UNRELEASED}` nor `## {version}`.")
    return Identity(f"{base}-dev.{commits}", section, *commit)
