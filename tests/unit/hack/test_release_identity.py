"""A release is refused, in one sentence, unless tag, version and changelog name the same version."""

import subprocess
from pathlib import Path

import pytest

from release_build.changelog import notes, sections
from release_build.errors import ReleaseRefused
from release_build.identity import Identity, released, snapshot
from release_build.source import identified, staged

COMMIT = ("0123456789abcdef0123456789abcdef01234567", 1_700_000_000)
CHANGELOG = """# Changelog

Words before.

## Unreleased

- Not yet.

## 0.2.0 - 2026-12-01

### Before you upgrade

See [the page](docs/install.md#upgrade), [above](#top) and [KEP](https://kep.example/1).

## 0.1.0

- First.
"""


def test_the_sections_of_the_changelog_are_cut_at_their_headings() -> None:
    found = sections(CHANGELOG)
    assert list(found) == ["Unreleased", "0.2.0", "0.1.0"]
    assert found["Unreleased"] == "- Not yet.\n"
    assert found["0.1.0"] == "- First.\n"


def test_links_of_the_notes_work_outside_the_clone() -> None:
    text = notes(sections(CHANGELOG)["0.2.0"], "0.2.0", "https://forge.example/muster/blob/v0.2.0")
    assert text.startswith("# Muster 0.2.0\n\n### Before you upgrade\n")
    assert "[the page](https://forge.example/muster/blob/v0.2.0/docs/install.md#upgrade)" in text
    assert "[above](#top) and [KEP](https://kep.example/1)" in text


def test_tag_version_and_heading_agree() -> None:
    assert released(["v0.2.0"], None, "0.2.0", {"Unreleased", "0.2.0"}, COMMIT) == Identity("0.2.0", "0.2.0", *COMMIT)


@pytest.mark.parametrize(
    ("tags", "asked", "version", "headings", "why"),
    [
        pytest.param([], None, "0.2.0", {"0.2.0"}, "no tag on this commit: run `git tag v0.2.0`", id="no tag"),
        pytest.param(["best"], None, "0.2.0", {"0.2.0"}, "no tag on this commit", id="only a tag of another kind"),
        pytest.param(["v0.3.0"], None, "0.2.0", {"0.2.0"}, "tag is v0.3.0, pyproject.toml has", id="another tag"),
        pytest.param(["v0.2.0"], None, "0.2.0", {"Unreleased"}, "has no heading `## 0.2.0`", id="no heading"),
        pytest.param(["v0.2.0"], "v0.3.0", "0.2.0", {"0.2.0"}, "v0.3.0 is not on this commit", id="asked for another"),
        pytest.param(["v0.2.0", "v0.2"], None, "0.2.0", {"0.2.0"}, "several tags", id="two tags and no choice"),
        pytest.param(["v0.2"], None, "0.2", {"0.2"}, "needs X.Y.Z", id="a version that Helm does not take"),
        pytest.param(["v0.2.0-dev.3"], None, "0.2.0-dev.3", {"0.2.0-dev.3"}, "needs X.Y.Z", id="named like a snapshot"),
    ],
)
def test_a_mismatch_of_tag_version_and_changelog_is_refused(
    tags: list[str], asked: str | None, version: str, headings: set[str], why: str
) -> None:
    with pytest.raises(ReleaseRefused) as refused:
        released(tags, asked, version, headings, COMMIT)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_one_of_two_tags_is_chosen() -> None:
    assert released(["v0.2.0", "v0.2"], "v0.2.0", "0.2.0", {"0.2.0"}, COMMIT).version == "0.2.0"


def test_a_snapshot_has_a_snapshot_version() -> None:
    dry_run = snapshot(405, "0.2.0", {"Unreleased", "0.1.0"}, COMMIT)
    assert (dry_run.version, dry_run.section, dry_run.ref) == ("0.2.0-dev.405", "Unreleased", COMMIT[0])


def test_a_snapshot_needs_notes_too() -> None:
    with pytest.raises(ReleaseRefused, match="neither a heading"):
        snapshot(405, "0.2.0", {"0.1.0"}, COMMIT)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone with what the version stands in, tagged."""
    root = tmp_path / "clone"
    texts = {
        "pyproject.toml": '[project]\nname = "muster-operator"\nversion = "0.2.0"\n',
        "CHANGELOG.md": CHANGELOG,
        "src/muster/__init__.py": '__version__ = "0.2.0"\n',
        "charts/muster/Chart.yaml": "version: 0.2.0\nappVersion: 0.2.0\nkubeVersion: 1.30.0\n",
        "README.md": "`muster-0.2.0.tgz`\n",
        "docs/install.md": "`muster-0.2.0-image.tar` and muster:0.2.0, not 1.36.4\n",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "all"], ["tag", "v0.2.0"]):
        git(root, *command)
    return root


def git(root: Path, *command: str) -> None:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@invalid", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *command], cwd=root, check=True)


def test_a_tagged_clean_clone_is_released_at_the_commits_date(repository: Path) -> None:
    release = identified(repository, asked=None, is_snapshot=False)
    shown = subprocess.run(["git", "show", "-s", "--format=%H %ct"], cwd=repository, capture_output=True, check=True)
    assert f"{release.commit} {release.epoch}" == shown.stdout.decode().strip()
    assert release.version == "0.2.0"


def test_uncommitted_changes_stop_the_release(repository: Path) -> None:
    (repository / "README.md").write_text("`muster-0.2.0.tgz` and more\n")
    with pytest.raises(ReleaseRefused, match="not committed"):
        identified(repository, asked=None, is_snapshot=False)


def test_the_staged_commit_has_the_snapshots_version_and_nothing_uncommitted(repository: Path, tmp_path: Path) -> None:
    (repository / "README.md").write_text("changed\n")
    release = identified(repository, asked=None, is_snapshot=True)
    staging = staged(repository, release, tmp_path / "staging")
    assert release.version == "0.2.0-dev.1"
    assert (staging / "README.md").read_text() == "`muster-0.2.0-dev.1.tgz`\n"
    assert 'version = "0.2.0-dev.1"' in (staging / "pyproject.toml").read_text()
    assert (
        staging / "docs/install.md"
    ).read_text() == "`muster-0.2.0-dev.1-image.tar` and muster:0.2.0-dev.1, not 1.36.4\n"
    chart = "version: 0.2.0-dev.1\nappVersion: 0.2.0-dev.1\nkubeVersion: 1.30.0\n"
    assert (staging / "charts/muster/Chart.yaml").read_text() == chart
    assert (repository / "README.md").read_text() == "changed\n"
