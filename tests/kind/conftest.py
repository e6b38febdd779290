"""Muster in its image, on real nodes. `make kind-test` runs this; `pytest` alone does not collect it.

The scenarios run in the order of `ORDER`, and within a module in the order of the file: they share one cluster per
profile. The last scenarios on a cluster wait a lot, so the next one is made meanwhile. Those of `native` share one
installation, from an upgrade of an earlier chart to an uninstall in the middle of work.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kind.support.installed import install_if_missing, wait_until_ready
from tests.kind.support.kept_logs import tracebacks
from tests.kind.support.machine import Kind, Kinds

ORDER = ("test_upgrade", "test_running", "test_outages", "test_leaving", "test_profiles")
AHEAD = 3
"""Scenarios before the first one of a profile: its cluster is made during these."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.kind)
        item.add_marker(pytest.mark.timeout(1800))  # the first on a cluster makes it, and perhaps the node image
    ordered = sorted(ours, key=lambda item: ORDER.index(item.path.stem))
    items[:] = [item for item in items if item not in ours] + ordered


@pytest.fixture(scope="session")
def kinds() -> Iterator[Kinds]:
    held = Kinds()
    yield held
    held.down()


@pytest.fixture(autouse=True)
def next_cluster(kinds: Kinds, request: pytest.FixtureRequest) -> None:
    """The cluster of the next profile is made during the last scenarios of this one."""
    items = request.session.items
    now = items.index(request.node)
    coming = [profile for item in items[now : now + AHEAD + 1] if (profile := _profile(item)) != _profile(items[now])]
    if coming:
        kinds.at(_profile(items[now]))
        kinds.prepare(coming[0])


@pytest.fixture(autouse=True)
def no_traceback(kinds: Kinds, next_cluster: None) -> Iterator[None]:
    """In the log of any replica that there was on this cluster, also of those that an upgrade or uninstall removed."""
    yield
    if kinds.current:
        found = tracebacks(kinds.current)
        assert not found, f"Muster logged a traceback:\n{found}"


def _profile(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("profile", "native")) if callspec else "native"


@pytest.fixture
def native(kinds: Kinds) -> Kind:
    """The native cluster, with or without Muster."""
    return kinds.at("native")


@pytest.fixture
def installed(native: Kind) -> Kind:
    """The native cluster with the chart on it, both replicas ready."""
    install_if_missing(native)
    assert len(native.workers()) == 2, "an earlier scenario has left a node that takes no pods"
    wait_until_ready(native)
    return native


@pytest.fixture
def namespace(native: Kind) -> Iterator[str]:
    """It is deleted afterwards. That it goes is looked at once, at the end: it takes some seconds."""
    name = native.new_namespace()
    yield name
    native.api.delete("namespaces", name)
