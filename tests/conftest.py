"""Which tests need a cluster, and which share a worker: those of one file, or of one profile's shared site."""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.clusters.profiles import EVERY_PROFILE

if TYPE_CHECKING:
    from xdist.remote import Producer

pytest_plugins = ["tests.clusters.fixtures"]
collect_ignore = ["kind"]
"""Only who names it runs it: it makes clusters of containers."""

FOLDER = Path(__file__).parent
ON_A_CLUSTER = (FOLDER / "e2e", FOLDER / "conformance")
_LONGEST_FIRST = sorted((re.escape(profile.name) for profile in EVERY_PROFILE), key=len, reverse=True)
_ON_A_PROFILE = re.compile(rf"^([^:]+)::[^\[]+\[({'|'.join(_LONGEST_FIRST)})[-\]]")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in ON_A_CLUSTER):
            item.add_marker(pytest.mark.e2e)


class OneWorkerPerCluster(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """The cluster of a shared site is started once, however many files use it."""

    def _split_scope(self, nodeid: str) -> str:
        on_a_profile = _ON_A_PROFILE.match(nodeid)
        if on_a_profile and _is_marked(FOLDER.parent / on_a_profile[1]):
            return on_a_profile[2]
        file: str = super()._split_scope(nodeid)
        return file


@cache
def _is_marked(path: Path) -> bool:
    """By the text of the file: the process that schedules the tests knows their ids, and has not imported them."""
    return "pytest.mark.profiles(" in path.read_text()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> OneWorkerPerCluster:
    return OneWorkerPerCluster(config, log)
