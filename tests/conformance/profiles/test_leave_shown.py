"""`muster leave --dry-run`, as the account of the chart's hook: what would be done on each profile, and nothing is."""

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.leaving import leave_as_the_hook_does, protected
from tests.clusters.objects import all_pods, gang_job, is_bound
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])


def test_a_dry_run_lists_muster_s_finalizers_and_removes_none(
    site: Site, api: Api, local: Cluster, namespace: str
) -> None:
    api.create("jobs", gang_job("train"), namespace)
    eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "the gang runs", 60)
    (group,) = protected(api, namespace)
    shown = leave_as_the_hook_does(local, "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    released = [line for line in shown.out.splitlines() if line.startswith("would have removed the finalizer")]
    if site.profile.native:
        assert released == []
    else:
        (line,) = released
        assert line.endswith(f"PodGroups of {site.profile.group}")
        assert int(line.split()[6]) >= 1
    assert protected(api, namespace) == [group]
