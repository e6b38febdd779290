from pathlib import Path

import pytest

from version_files import PLACES, ROOT, VersionMissing, files, project_version, with_version


def test_every_place_has_the_version_of_the_project() -> None:
    for path, text in files(ROOT, project_version()).items():
        assert path.read_text() == text, path


@pytest.mark.parametrize("place", PLACES)
def test_a_new_version_gets_into_every_place(place: str) -> None:
    old = (ROOT / place).read_text()
    new = files(ROOT, "9.8.7")[ROOT / place]
    assert "9.8.7" in new
    assert project_version() not in new
    assert with_version(new, PLACES[place], project_version()) == old


def test_names_behind_the_version_stay() -> None:
    pattern = PLACES["docs/install.md"]
    assert with_version("muster-0.1.0-image.tar", pattern, "0.2.0-rc.1") == "muster-0.2.0-rc.1-image.tar"
    assert with_version("muster-0.2.0-rc.1-image.tar", pattern, "0.2.0") == "muster-0.2.0-image.tar"


def test_a_place_that_lost_the_version_is_named(tmp_path: Path) -> None:
    for name in PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "charts/muster/Chart.yaml").write_text("name: muster\nversion: 0.1.0\n")
    with pytest.raises(VersionMissing, match=r"charts/muster/Chart\.yaml does not name the version"):
        files(tmp_path, "9.8.7")
