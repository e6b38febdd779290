"""One cluster per profile, started once, with Muster on it; a namespace for each test.

Tests here are written as the end-to-end tests are: `api`, `muster`, `namespace` and the rest are those of the profile.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import own_namespace
from tests.e2e.support.api import Api
from tests.e2e.support.clusters import EXTERNAL, Cluster
from tests.e2e.support.muster import Muster
from tests.e2e.support.profiles import PROFILES, Site, begun, somebody_elses

ONLY_IN_FULL = {
    "crds-in-scheduling.k8s.io": {
        "test_beside_kueue.py",
        "test_elastic.py",
        "test_pod_webhook.py",
        "test_guard_rows.py",
        "test_intent.py",
        "test_leave_shown.py",
        "test_skipped.py",
        "test_recreated.py",
        "test_release.py",
        "test_retries.py",
        "test_rules.py",
        "test_split.py",
        "test_gang_status.py",
        "test_gang_status_restarts.py",
        "test_the_end.py",
    },
    "crds-in-scheduling.muster.dev": {
        "test_delegation.py",
        "test_job_rows.py",
        "test_sentences.py",
        "test_gang_status_restarts.py",
        "test_a_gang_that_loses_a_pod_is_told_each_time_that_it_finds_no_node",
        "test_a_gang_whose_pods_are_refused_is_told_how_many_there_are",
    },
}
"""The two CRD profiles differ in the name of the group and in what priority is: each file always runs on one of them.
A few tests that mostly wait, and are the same on all, are left out by name.

Those that restart Muster for what is the same on all profiles always run on the built-in API only.
"""


@pytest.hookimpl(tryfirst=True)  # before it is looked for marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        here = item.path.parent == Path(__file__).parent
        names = {item.path.name, getattr(item, "originalname", "")}
        if here and any(profile in item.name and names & these for profile, these in ONLY_IN_FULL.items()):
            item.add_marker(pytest.mark.full)


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
