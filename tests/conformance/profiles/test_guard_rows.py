"""The parallelism guard: J36-60..65, A36-01..09, and what Muster promises beyond them.

Besides the profiles there is one more cluster: the built-in API with the JobValidation plugin disabled, so that the
refusal is Muster's own. With the plugin, the first to answer refuses. Where a row turns the feature gates off, that
means for Muster: it is not running.
"""

from collections.abc import Iterator

import pytest

from tests.clusters.api import APPLY, MERGE, STRATEGIC, ApiError, Object
from tests.clusters.https import ask_guard
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import (
    all_pods,
    events_on,
    gang_job,
    group_of,
    is_bound,
    job,
    pods_of,
    unfinished_pods,
)
from tests.clusters.pairs import BASIC, own_pair, owned_by, pair_of, pod_group, workload
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP, WITHOUT_JOB_VALIDATION
from tests.clusters.retries import group_and_size
from tests.clusters.rights import without_right
from tests.clusters.site import Site
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, WITHOUT_JOB_VALIDATION, full=[BUILT_IN_GROUP])


def refuses(site: Site, namespace: str, name: str, body: Object, how: str = MERGE, **params: str) -> str:
    before = site.api.get("jobs", name, namespace)["spec"]
    with pytest.raises(ApiError) as refusal:
        site.api.patch("jobs", name, body, namespace, how=how, **params)
    message = refusal.value.message
    assert refusal.value.status == 403, message
    assert "cannot change parallelism" in message
    assert site.profile.built_in_guard or "muster:" in message
    assert site.api.get("jobs", name, namespace)["spec"] == before
    return message


def allows(site: Site, namespace: str, name: str, **spec: int) -> None:
    changed = site.api.patch("jobs", name, {"spec": spec}, namespace)["spec"]
    assert {field: changed[field] for field in spec} == spec


@pytest.fixture
def gang(site: Site, namespace: str) -> Object:
    return running_gang(site, namespace)


@pytest.fixture(scope="module")
def refusing(site: Site) -> Iterator[str]:
    """The namespace of such a gang, for all tests in which every change of it is refused: it stays as it is."""
    for namespace in own_namespace(site.api):
        running_gang(site, namespace)
        yield namespace


def running_gang(site: Site, namespace: str) -> Object:
    """A gang of four, called "gang"."""
    made = site.api.create("jobs", gang_job("gang"), namespace)
    eventually(lambda: all_pods(site.api, namespace, "gang", 4), "four pods")
    return made


def test_j36_60_the_parallelism_of_a_gang_cannot_go_down(site: Site, refusing: str) -> None:
    refuses(site, refusing, "gang", {"spec": {"parallelism": 2}})


def test_j36_61_a_change_is_refused_as_soon_as_the_pod_group_exists(site: Site, namespace: str) -> None:
    made = site.api.create("jobs", gang_job("fresh"), namespace)
    eventually(lambda: pair_of(site.api, namespace, made)[1], "the PodGroup exists", every=0.01)
    refuses(site, namespace, "fresh", {"spec": {"parallelism": 2}})


def test_j36_62_a_job_that_is_not_indexed_scales(site: Site, namespace: str) -> None:
    site.api.create("jobs", job("queue", parallelism=3, completions=9), namespace)
    allows(site, namespace, "queue", parallelism=2)
    allows(site, namespace, "queue", parallelism=5)


def test_j36_63_an_indexed_job_of_one_scales(site: Site, namespace: str) -> None:
    """Also to a shape that qualifies: its pod runs plain already, and stays so."""
    site.api.create("jobs", job("one", parallelism=1, completions=1, completionMode="Indexed"), namespace)
    eventually(lambda: pods_of(site.api, namespace, "one"), "its pod")
    allows(site, namespace, "one", parallelism=2)
    allows(site, namespace, "one", parallelism=2, completions=2)


def test_j36_64_with_the_gates_off_a_gang_shaped_job_scales(site: Site, namespace: str) -> None:
    """Off means: Muster is not running, so there is no PodGroup and nobody who would make one."""
    with site.muster.away():
        site.api.create("jobs", gang_job("free"), namespace)
        allows(site, namespace, "free", parallelism=2)


def test_j36_65_without_a_pod_group_a_job_that_runs_plain_scales(site: Site, namespace: str) -> None:
    """Only GenericWorkload on means: the API is served, and Muster was away when the Job's pods were made. It knows
    that the Job stays plain, so it refuses no change."""
    with site.muster.away():
        site.api.create("jobs", gang_job("plain"), namespace)
        eventually(lambda: all_pods(site.api, namespace, "plain", 4), "four pods")
    allows(site, namespace, "plain", parallelism=2)
    allows(site, namespace, "plain", parallelism=6, completions=6)
    eventually(lambda: len(unfinished_pods(site.api, namespace, "plain")) == 6, "six pods")
    assert {group_of(pod) for pod in pods_of(site.api, namespace, "plain")} == {None}
    assert site.api.list("podgroups", namespace) == []


def test_a36_01_with_the_gates_off_a_preset_gang_does_not_matter(site: Site, namespace: str) -> None:
    if site.profile.built_in_guard:
        pytest.skip("here the built-in plugin is on, and its gate cannot be off while the API is served")
    preset(site, namespace, pod_group("mine"))
    with site.muster.away():
        allows(site, namespace, "preset", parallelism=2)


def test_a36_02_without_any_pod_group_other_jobs_scale(site: Site, namespace: str) -> None:
    """The row's Job would be refused here if it qualifies and its gang is on its way: see the test of a gang that is
    still forming. Muster skips one that does not qualify."""
    site.api.create("jobs", job("wide", parallelism=4, completions=8, completionMode="Indexed"), namespace)
    allows(site, namespace, "wide", parallelism=2)


def test_a36_03_an_update_that_keeps_parallelism_is_allowed(site: Site, namespace: str, gang: Object) -> None:
    changed = {"metadata": {"labels": {"team": "blue"}}, "spec": {"parallelism": 4, "activeDeadlineSeconds": 3600}}
    assert site.api.patch("jobs", "gang", changed, namespace)["spec"]["activeDeadlineSeconds"] == 3600


def test_a36_04_a_preset_gang_locks_the_job(site: Site, namespace: str) -> None:
    preset(site, namespace, pod_group("mine"))
    assert "mine" in refuses(site, namespace, "preset", {"spec": {"parallelism": 2}})


def test_a36_05_a_preset_basic_group_does_not_lock_the_job(site: Site, namespace: str) -> None:
    preset(site, namespace, pod_group("mine", policy=BASIC))
    allows(site, namespace, "preset", parallelism=2)


def test_a36_06_a_preset_group_that_does_not_exist_does_not_lock_the_job(site: Site, namespace: str) -> None:
    preset(site, namespace, None)
    allows(site, namespace, "preset", parallelism=2)


def test_a36_07_a_gang_that_the_job_controls_locks_it(site: Site, namespace: str) -> None:
    """A pair made by hand: the PodGroup is found through its Workload and its owner, not through a name of ours."""
    made = site.api.create("jobs", gang_job("given", suspend=True), namespace)
    _, group = own_pair(site.api, namespace, made)
    eventually(lambda: pair_of(site.api, namespace, made)[1], "the PodGroup is there")
    message = refuses(site, namespace, "given", {"spec": {"parallelism": 2}})
    assert group["metadata"]["name"] in message


def test_a36_07_a_gang_without_any_workload_locks_its_job(site: Site, namespace: str) -> None:
    """The Job itself is no gang of Muster's: only that PodGroup locks it."""
    made = site.api.create("jobs", job("alone", parallelism=2, completions=4, completionMode="Indexed"), namespace)
    site.api.create("podgroups", owned_by(pod_group("alone-g"), made), namespace)
    eventually(lambda: pair_of(site.api, namespace, made)[1], "the PodGroup is there")
    assert "alone-g" in refuses(site, namespace, "alone", {"spec": {"parallelism": 3}})


def test_a36_08_a_basic_group_that_the_job_controls_does_not_lock_it(site: Site, namespace: str) -> None:
    made = site.api.create("jobs", gang_job("loose", suspend=True), namespace)
    own_pair(site.api, namespace, made, BASIC)
    site.api.patch("jobs", "loose", {"spec": {"suspend": False}}, namespace)
    eventually(lambda: all_pods(site.api, namespace, "loose", 4), "four pods")
    allows(site, namespace, "loose", parallelism=2)


def test_a36_09_another_jobs_gang_does_not_matter(site: Site, namespace: str, gang: Object) -> None:
    """Also not one whose Workload claims to describe this Job: a name is no proof (deviation: a Job that qualifies and
    has no PodGroup of its own yet is refused, since it may be forming)."""
    site.api.create("jobs", job("other", parallelism=2, completions=4, completionMode="Indexed"), namespace)
    site.api.create("workloads", owned_by(workload("claim", "other"), gang), namespace)
    site.api.create("podgroups", owned_by(pod_group("claim", "claim"), gang), namespace)
    allows(site, namespace, "other", parallelism=3)


CHANGES: dict[str, tuple[Object, str]] = {
    "down": ({"parallelism": 3}, MERGE),
    "up": ({"parallelism": 5}, MERGE),
    "to zero": ({"parallelism": 0}, MERGE),
    "to one": ({"parallelism": 1}, MERGE),
    "to what it is without a value": ({"parallelism": None}, MERGE),
    "down in tandem with completions": ({"parallelism": 3, "completions": 3}, MERGE),
    "up in tandem with completions": ({"parallelism": 5, "completions": 5}, MERGE),
    "by strategic merge patch": ({"parallelism": 2}, STRATEGIC),
    "while it suspends": ({"parallelism": 2, "suspend": True}, MERGE),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_of_a_gangs_parallelism_passes(site: Site, refusing: str, change: str) -> None:
    spec, how = CHANGES[change]
    refuses(site, refusing, "gang", {"spec": spec}, how)


def test_server_side_apply_does_not_pass_either(site: Site, refusing: str) -> None:
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "gang"}, "spec": {"parallelism": 2}}
    refuses(site, refusing, "gang", body, APPLY, fieldManager="somebody", force="true")


def test_a_full_replacement_does_not_pass_either(site: Site, refusing: str) -> None:
    body = site.api.get("jobs", "gang", refusing)
    body["spec"]["parallelism"] = 2
    del body["metadata"]["resourceVersion"]
    with pytest.raises(ApiError, match="cannot change parallelism"):
        site.api.replace("jobs", body, refusing)


def test_only_the_built_in_plugin_locks_a_suspended_gang(site: Site, namespace: str, gang: Object) -> None:
    """Without pods Muster can give its PodGroup any size. The plugin refuses as long as there is a PodGroup."""
    site.api.patch("jobs", "gang", {"spec": {"suspend": True}}, namespace)
    eventually(lambda: not unfinished_pods(site.api, namespace, "gang"), "its pods are gone")
    changes = ({"parallelism": 2}, {"parallelism": 3, "completions": 3}, {"parallelism": 2, "completions": 2})
    for spec in changes:
        if site.profile.built_in_guard:
            refuses(site, namespace, "gang", {"spec": spec})
        else:
            allows(site, namespace, "gang", **spec)
    size = 4 if site.profile.built_in_guard else 2
    site.api.patch("jobs", "gang", {"spec": {"suspend": False}}, namespace)
    eventually(lambda: all_pods(site.api, namespace, "gang", size, is_bound), f"{size} pods are bound", 60)
    eventually(lambda: group_and_size(site.api, namespace, gang)[1] == size, f"its PodGroup is a gang of {size}")


def test_a_refusal_is_posted_on_the_job_once(site: Site, namespace: str, gang: Object) -> None:
    """Asked directly: where the built-in plugin comes first, Muster does not hear of the change."""
    job = site.api.get("jobs", "gang", namespace)
    with pytest.raises(ApiError):
        site.api.patch("jobs", "gang", {"spec": {"parallelism": 3}}, namespace, dryRun="All")
    messages = {ask_guard(site.api, job, parallelism=2).message for _ in range(3)}
    (event,) = eventually(lambda: events_on(site.api, namespace, "gang", "ParallelismRefused"), "it is posted")
    assert ({event["message"]}, event["type"], event["count"]) == (messages, "Warning", 1)
    assert event["message"].endswith("[GangSizeFixed]")


def test_the_guard_answers_alike_for_a_made_up_job_and_a_plain_one(site: Site, namespace: str, gang: Object) -> None:
    """Anybody on the network can ask. Neither the gang's UID, name nor PodGroup shows in the answer."""
    stored = site.api.get("jobs", "gang", namespace)
    for change in ({"uid": "00000000-0000-0000-0000-000000000000"}, {"name": "nobody"}):
        answer = ask_guard(site.api, {**stored, "metadata": {**stored["metadata"], **change}}, parallelism=2)
        assert (answer.allowed, answer.message) == (True, "")
    assert events_on(site.api, namespace, "nobody") == []


def test_a_planted_pod_group_gets_no_pods(site: Site, namespace: str) -> None:
    """It has Muster's label and the Job as its controller, and its name comes before any of Muster's."""
    made = site.api.create("jobs", gang_job("victim", suspend=True), namespace)
    site.api.create("workloads", owned_by(workload("aaa", "somebody-else"), made), namespace)
    planted = owned_by(pod_group("aaa", "aaa", {"gang": {"minCount": 1000}}), made)
    planted["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "muster"}
    site.api.create("podgroups", planted, namespace)
    site.api.patch("jobs", "victim", {"spec": {"suspend": False}}, namespace)
    pods = eventually(lambda: all_pods(site.api, namespace, "victim", 4, is_bound), "the gang runs", 60)
    (group,) = {group_of(pod) for pod in pods}
    assert group is not None
    assert group.startswith("victim-")


def test_a_job_that_never_started_may_change_its_size_and_gets_a_gang_of_it(site: Site, namespace: str) -> None:
    made = site.api.create("jobs", gang_job("kueue", suspend=True), namespace)
    allows(site, namespace, "kueue", parallelism=3, completions=3)
    allows(site, namespace, "kueue", parallelism=2)
    allows(site, namespace, "kueue", parallelism=5, completions=5)
    site.api.patch("jobs", "kueue", {"spec": {"suspend": False}}, namespace)
    pods = eventually(lambda: all_pods(site.api, namespace, "kueue", 5, is_bound), "five pods are bound")
    _, (group,) = pair_of(site.api, namespace, made)
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    refuses(site, namespace, "kueue", {"spec": {"parallelism": 4}})


def test_a_change_of_a_gang_that_is_still_forming_is_refused(site: Site, namespace: str) -> None:
    """No PodGroup, no pods, but both may appear at any moment: the built-in plugin lets the change pass here (A36-02),
    and the gang would then have the wrong size forever."""
    with without_right(site.cluster, "create", "podgroups"):
        made = site.api.create("jobs", gang_job("forming"), namespace)
        eventually(lambda: pair_of(site.api, namespace, made)[0], "the Workload exists")
        message = refuses(site, namespace, "forming", {"spec": {"parallelism": 2}})
        assert "muster:" in message
        assert "being formed" in message
        assert (pair_of(site.api, namespace, made)[1], pods_of(site.api, namespace, "forming")) == ([], [])
    eventually(lambda: all_pods(site.api, namespace, "forming", 4), "it starts as a gang of four", 60)


def preset(site: Site, namespace: str, group: Object | None) -> None:
    """A Job called "preset" whose template names the group "mine"."""
    if group is not None:
        site.api.create("podgroups", group, namespace)
    site.api.create("jobs", site.preset_job("preset", "mine"), namespace)
    eventually(lambda: all_pods(site.api, namespace, "preset", 4), "four pods")
