"""Which tests share a worker: those of one file; and all that run on the cluster of one API profile."""

import re
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.e2e.support.profiles import PROFILES, WITHOUT_JOB_VALIDATION

if TYPE_CHECKING:
    from xdist.remote import Producer

collect_ignore = ["kind"]
"""Only who names it runs it: it makes clusters of containers."""

_PROFILES = (WITHOUT_JOB_VALIDATION, *PROFILES)  # the longer name first
_ON_A_PROFILE = re.compile(rf"^tests/conformance/profiles/.*\[.*({'|'.join(re.escape(p.name) for p in _PROFILES)})")


class OneWorkerPerCluster(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """A profile's cluster is started once, however many files use it."""

    def _split_scope(self, nodeid: str) -> str:
        profile = _ON_A_PROFILE.match(nodeid)
        return profile[1] if profile else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> OneWorkerPerCluster:
    return OneWorkerPerCluster(config, log)
