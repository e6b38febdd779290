"""Each file of a release, installed into a fresh environment. `make release-check` runs this.

| variable | is |
|---|---|
| `MUSTER_DIST` | the folder with the files; without it nothing here is collected |
| `MUSTER_KIND_KUBECONFIG` | a fresh kind cluster for the files that need one |
| `MUSTER_KIND_CLUSTER`, `MUSTER_KIND_PROFILE` | its name, and its API profile |
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.release.reader import DIST, KUBECONFIG, Reader

collect_ignore_glob = []
if DIST not in os.environ:
    collect_ignore_glob += ["test_*.py"]
elif KUBECONFIG not in os.environ:
    collect_ignore_glob += ["test_install_page.py"]


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: a reader has downloaded the files, and works beside them."""
    folder = tmp_path_factory.mktemp("downloads") / "release"
    shutil.copytree(os.environ[DIST], folder)
    return folder


@pytest.fixture(scope="session")
def reader(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(dist, tmp_path_factory.mktemp("home"))
