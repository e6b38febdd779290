"""Fixtures: the clusters, Muster on them, a namespace of its own for each test.

By default the tests start the local control plane. With MUSTER_E2E_KUBECONFIG they run against that cluster, on which
Muster is installed already, and skip what needs control over the API server or over Muster's process.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.support.api import Api
from tests.e2e.support.clusters import EXTERNAL, Cluster, start_cluster
from tests.e2e.support.muster import Muster
from tests.e2e.support.profiles import somebody_elses


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def native() -> Iterator[Cluster]:
    """The native profile: the built-in API, the gang scheduler, every built-in admission plugin."""
    if EXTERNAL:
        found = somebody_elses(EXTERNAL)
        if not found.profile.native:
            pytest.skip(f"that cluster has another profile: {found.profile.name}")
        yield found.cluster
        return
    cluster = start_cluster("native", "--nodes", "8", "--node-cpu", "16", "--kcm-qps", "500")
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def local(native: Cluster) -> Cluster:
    """The native cluster, for tests that need its processes or logs."""
    if not native.name:
        pytest.skip("needs the local control plane")
    return native


@pytest.fixture(scope="module")
def muster(native: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster | None]:
    """Muster, ready, on the native cluster; None where it is installed already."""
    if EXTERNAL:
        yield None
        return
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    with Muster(native.muster_kubeconfig(), native.api, log) as process:
        yield process
    assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"


@pytest.fixture(scope="session")
def api(native: Cluster) -> Api:
    return native.api


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    yield from own_namespace(api)


def own_namespace(api: Api) -> Iterator[str]:
    """A namespace that goes away afterwards, with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    api.create("namespaces", {"metadata": {"name": name}})
    yield name
    api.delete("namespaces", name)
