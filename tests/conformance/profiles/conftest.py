"""One cluster per profile, started once, with Muster on it; a namespace for each test.

Tests here are written as the end-to-end tests are: `api`, `muster`, `namespace` and the rest are those of the profile.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import EXTERNAL, own_namespace
from tests.e2e.support.api import Api
from tests.e2e.support.clusters import Cluster
from tests.e2e.support.muster import Muster
from tests.e2e.support.profiles import PROFILES, Site, begun, somebody_elses


@pytest.fixture(scope="package", params=PROFILES, ids=lambda profile: profile.name)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if EXTERNAL:
        found = somebody_elses(EXTERNAL)
        if found.profile != request.param:
            pytest.skip(f"that cluster has another profile: {found.profile.name}")
        yield found
        return
    with begun(request.param, tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def place(site: Site) -> Iterator[str]:
    yield from own_namespace(site.api)


@pytest.fixture
def namespace(place: str) -> str:
    return place


@pytest.fixture(scope="package")
def api(site: Site) -> Api:
    return site.api


@pytest.fixture(scope="package")
def muster(site: Site) -> Muster | None:
    return site.process


@pytest.fixture(scope="package")
def local(site: Site) -> Cluster:
    if not site.cluster.name:
        pytest.skip("needs the local control plane")
    return site.cluster
