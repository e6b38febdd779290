"""`muster leave --dry-run`, as the account of the chart's hook: what would be done on each profile, and nothing is."""

from tests.e2e.support.api import Api
from tests.e2e.support.clusters import Cluster
from tests.e2e.support.leaving import leave_as_the_hook_does, protected
from tests.e2e.support.objects import all_pods, gang_job, is_bound
from tests.e2e.support.profiles import Site
from tests.e2e.support.waiting import eventually


def test_a_dry_run_tells_which_finalizers_are_muster_s_and_drops_none(
    site: Site, api: Api, local: Cluster, namespace: str
) -> None:
    api.create("jobs", gang_job("train"), namespace)
    eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "the gang runs", 60)
    (group,) = protected(api, namespace)
    shown = leave_as_the_hook_does(local, "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    released = [line for line in shown.out.splitlines() if line.startswith("would have released")]
    if site.profile.native:
        assert released == []
    else:
        (line,) = released
        assert line.endswith(f"PodGroups of {site.profile.group} from their finalizer")
        assert int(line.split()[3]) >= 1
    assert protected(api, namespace) == [group]
