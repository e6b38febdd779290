"""The fixtures of all tests on a cluster: the site, Muster on it, a namespace for each test.

A module chooses its profiles by a mark:

    pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

Each of its tests then runs once per profile. All modules with this mark share one cluster per profile and the Muster on
it. Those in `full` run with `make test-full` and on somebody else's cluster only. A test may carry the mark as well;
then it counts for that test.

Without the mark a test runs on the native cluster, and `muster` is a process of its module alone.

By default the tests start the local control plane. With MUSTER_E2E_KUBECONFIG they run against that cluster, on which
Muster is installed already, and skip what needs control over the API server or over Muster's process.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import EXTERNAL, Cluster
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.profiles import EVERY_PROFILE, NATIVE, Profile
from tests.clusters.site import Site, muster_on, site_of


@pytest.hookimpl(tryfirst=True)  # the profile is the first part of the test's id: tests/conftest.py looks for it there
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("profiles")
    if mark is None or "site" not in metafunc.fixturenames:
        return
    always, full = mark.args, mark.kwargs.get("full", ())
    # Somebody else's cluster has one profile, whichever it is: the cases of the others are skipped there.
    in_every_run = (*always, *full) if EXTERNAL else always
    cases = [
        pytest.param(profile, id=profile.name, marks=() if profile in in_every_run else pytest.mark.full)
        for profile in EVERY_PROFILE
        if profile in (*always, *full)
    ]
    metafunc.parametrize("site", cases, indirect=True)


@pytest.fixture(scope="session")
def native() -> Iterator[Site]:
    """The built-in API, the gang scheduler, every built-in admission plugin. It has no Muster of its own."""
    with site_of(NATIVE, "native", "--nodes", "8", "--node-cpu", "16", "--kcm-qps", "500") as site:
        yield site


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Where the test runs: on the shared site of its profile, or on the native cluster."""
    if not hasattr(request, "param"):
        yield request.getfixturevalue("native")
        return
    profile: Profile = request.param
    purpose = "guard" if profile.flags else f"profile-{profile.cluster}"
    folder = tmp_path_factory.mktemp("profile")
    with (
        site_of(profile, purpose, "--nodes", "8", "--node-cpu", "64", "--kcm-qps", "500") as shared,
        muster_on(shared, folder) as process,
    ):
        yield replace(shared, process=process)


@pytest.fixture(scope="session")
def api(site: Site) -> Api:
    return site.api


@pytest.fixture(scope="session")
def local(site: Site) -> Cluster:
    """The site's cluster, for tests that need its processes or logs."""
    if site.external:
        pytest.skip("needs the local control plane")
    return site.cluster


@pytest.fixture(scope="module")
def muster(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster | None]:
    """Muster, ready: that of the shared site, or this module's own. None where it is installed already."""
    if site.process is not None:
        yield site.process
        return
    with muster_on(site, tmp_path_factory.mktemp("muster")) as process:
        yield process


@pytest.fixture
def process(muster: Muster | None) -> Muster:
    """Muster, for tests that end and start it."""
    if muster is None:
        pytest.skip("needs Muster as a process of ours")
    return muster


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    yield from own_namespace(api)
