"""The same clusters and the same Muster as the end-to-end tests have."""

from pathlib import Path

import pytest

from tests.e2e.conftest import api, local, muster, namespace, native
from tests.e2e.support.muster import Muster

__all__ = ["api", "local", "muster", "namespace", "native"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture
def process(muster: Muster | None) -> Muster:
    """Muster, for tests that end and start it."""
    if muster is None:
        pytest.skip("needs Muster as a process of ours")
    return muster
