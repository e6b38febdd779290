"""One cluster per profile, started once, with Muster on it; a namespace for each test."""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import EXTERNAL, own_namespace
from tests.e2e.support.profiles import PROFILES, Site, begun


@pytest.fixture(scope="package", params=PROFILES, ids=lambda profile: profile.name)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if EXTERNAL:
        pytest.skip("starts clusters of its own")
    with begun(request.param, tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def place(site: Site) -> Iterator[str]:
    yield from own_namespace(site.api)
