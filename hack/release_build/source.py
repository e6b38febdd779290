"""The commit to release, as a separate clone, so that it contains only what is committed."""

import os
import subprocess
from pathlib import Path

import version_files
from release_build import changelog, identity
from release_build.errors import ReleaseRefused
from release_build.identity import Identity

ROOT = Path(__file__).parents[2]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseRefused(f"`git {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout.strip()


def identified(root: Path, *, asked: str | None, is_snapshot: bool) -> Identity:
    version = version_files.project_version(root)
    headings = set(changelog.sections((root / "CHANGELOG.md").read_text()))
    commit = (git(root, "rev-parse", "HEAD"), int(git(root, "log", "-1", "--format=%ct")))
    if is_snapshot:
        return identity.snapshot(int(git(root, "rev-list", "--count", "HEAD")), version, headings, commit)
    if git(root, "status", "--porcelain"):
        raise ReleaseRefused("The clone has changes that are not committed: commit or stash them.")
    return identity.released(git(root, "tag", "--points-at", "HEAD").split(), asked, version, headings, commit)


def staged(root: Path, release: Identity, folder: Path) -> Path:
    """The commit in `folder`, with the version of the release."""
    os.umask(0o022)  # the archives contain the file modes
    git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(folder))
    git(folder, "checkout", "--quiet", "--detach", release.commit)
    if version_files.project_version(folder) != release.version:
        project = folder / "pyproject.toml"
        old = f'version = "{version_files.project_version(folder)}"'
        project.write_text(project.read_text().replace(old, f'version = "{release.version}"', 1))
        version_files.write(folder, release.version)
    return folder
