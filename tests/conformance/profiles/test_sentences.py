"""What the documents ask for beyond the in-tree rows: users' own objects, switching off and on, the Job API's answers.

Where a sentence turns the feature off, that means for Muster: it is not running, and took its webhooks along.
"""

from functools import partial

import pytest

from tests.clusters.api import ApiError, Object
from tests.clusters.namespaces import own_namespace
from tests.clusters.nodes import RACK, own_nodes
from tests.clusters.objects import (
    all_pods,
    controlled_by,
    events_on,
    gang_job,
    is_bound,
    is_running,
    job,
    pods_of,
    unfinished_pods,
)
from tests.clusters.pairs import BASIC, GANG_OF_4, PROTECTION, pair_of, pod_group, workload
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually
from tests.clusters.workers import end_pod

pytestmark = pytest.mark.profiles(NATIVE, BUILT_IN_GROUP, full=[OWN_GROUP])
A_WHILE = 3
KINDS = ("workloads", "podgroups")


def test_a_basic_group_starts_as_many_pods_as_fit(site: Site, namespace: str) -> None:
    site.api.create("workloads", workload("mine", "train", BASIC), namespace)
    with own_nodes(site.api, namespace, count=1, room=2) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), namespace)
        eventually(lambda: len(bound_of(site, namespace)) == 2, "two of three fit, and are bound")
        always(lambda: len(bound_of(site, namespace)) == 2, "the third one waits", A_WHILE)
        (group,) = site.api.list("podgroups", namespace)
        assert [site.group_of(pod) for pod in pods_of(site.api, namespace, "train")] == [group["metadata"]["name"]] * 3
        eventually(lambda: scheduled(site, namespace) == ("True", "Scheduled"), "the group counts as scheduled")


def test_the_scheduler_reports_a_gang_that_does_not_fit_in_the_condition(site: Site, namespace: str) -> None:
    if not site.profile.native:
        pytest.skip("no gang scheduler here: pods are bound one by one, and the condition comes with the last of them")
    with own_nodes(site.api, namespace, count=1, room=2) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), namespace)
        eventually(lambda: scheduled(site, namespace) == ("False", "Unschedulable"), "the group is unschedulable")
        always(lambda: not bound_of(site, namespace), "no pod is bound", A_WHILE)


def test_all_that_a_users_template_says_is_in_the_pod_group(site: Site, namespace: str) -> None:
    """Where the in-tree controller copies the policy only."""
    own = workload("mine", "train")
    said = {"schedulingConstraints": {"topology": [{"key": RACK}]}, "disruptionMode": "PodGroup"}
    own["spec"]["podGroupTemplates"][0] |= said
    site.api.create("workloads", own, namespace)
    with own_nodes(site.api, namespace, count=2, room=4, racks=2) as pool:
        site.api.create("jobs", gang_job("train", pod=pool.where), namespace)
        pods = bound(site, namespace, "train")
        (group,) = site.api.list("podgroups", namespace)
        assert {field: group["spec"][field] for field in (*said, "schedulingPolicy")} == {
            **said,
            "schedulingPolicy": GANG_OF_4,
        }
        if site.profile.native:
            racks = {site.api.get("nodes", pod["spec"]["nodeName"])["metadata"]["labels"][RACK] for pod in pods}
            assert len(racks) == 1, "the scheduler has read it"


def test_a_users_own_workload_stays_when_the_job_goes(site: Site, namespace: str) -> None:
    site.wait_for_the_garbage_collector()
    own = site.api.create("workloads", workload("mine", "train"), namespace)
    site.api.create("jobs", gang_job("train"), namespace)
    bound(site, namespace, "train")
    site.api.delete("jobs", "train", namespace)
    eventually(lambda: not site.api.list("podgroups", namespace), "the PodGroup, which Muster made, is gone")
    eventually(lambda: not site.api.list("pods", namespace), "the pods are gone")
    always(lambda: uids(site, namespace, "workloads") == {own["metadata"]["uid"]}, "the Workload stays", A_WHILE)


def test_objects_of_the_same_names_in_another_namespace_do_not_count(site: Site, namespace: str) -> None:
    for elsewhere in own_namespace(site.api):
        site.api.create("workloads", workload("mine", "train"), elsewhere)
        site.api.create("podgroups", pod_group("mine", "mine"), elsewhere)
        site.api.create("workloads", workload("claim", "other"), elsewhere)
        site.api.create("workloads", workload("mine", "train"), namespace)
        train, other = (site.api.create("jobs", gang_job(name), namespace) for name in ("train", "other"))
        for made in (train, other):
            (group,) = {site.group_of(pod) for pod in bound(site, namespace, made["metadata"]["name"])}
            assert [thing["metadata"]["name"] for thing in pair_of(site.api, namespace, made)[1]] == [group]
        assert [len(pair_of(site.api, namespace, made)[0]) for made in (train, other)] == [0, 1]


def test_two_pod_groups_of_one_workload_make_muster_stand_aside(site: Site, namespace: str) -> None:
    site.api.create("workloads", workload("mine", "train"), namespace)
    for name in ("one", "other"):
        site.api.create("podgroups", pod_group(name, "mine"), namespace)
    site.api.create("jobs", gang_job("train"), namespace)
    assert {site.group_of(pod) for pod in bound(site, namespace, "train")} == {None}
    (event,) = eventually(lambda: events_on(site.api, namespace, "train", "StandingAside"), "an event reports it")
    assert "AmbiguousPodGroups" in event["message"]
    always(lambda: len(events_on(site.api, namespace, "train", "StandingAside")) == 1, "the event is posted once", 2)
    assert len(site.api.list("podgroups", namespace)) == 2


def test_another_controller_can_form_groups_of_its_own(site: Site, namespace: str) -> None:
    """Workload, PodGroup, pods, in that order, without any Job."""
    own = workload("training-policy", "nobody")
    del own["spec"]["controllerRef"]
    site.api.create("workloads", own, namespace)
    site.api.create("podgroups", pod_group("training-worker-0", "training-policy"), namespace)
    names = [f"worker-{number}" for number in range(4)]
    for name in names:
        site.api.create("pods", site.member(name, "training-worker-0"), namespace)
    eventually(lambda: all(is_running(site.api.get("pods", name, namespace)) for name in names), "all four run")
    eventually(lambda: scheduled(site, namespace) == ("True", "Scheduled"), "the group is scheduled")


def test_a_gang_survives_switching_muster_off_and_on(site: Site, namespace: str) -> None:
    before = site.api.create("jobs", gang_job("before"), namespace)
    pods = eventually(lambda: all_pods(site.api, namespace, "before", 4, is_running), "a gang runs")
    pair, running = uids(site, namespace, *KINDS), {pod["metadata"]["uid"] for pod in pods}
    with site.muster.away():
        meanwhile = site.api.create("jobs", gang_job("meanwhile"), namespace)
        assert {site.group_of(pod) for pod in bound(site, namespace, "meanwhile")} == {None}
        end_pod(site.api, pods[0], "Failed")
        fresh = partial(new_pods, site, namespace, "before", running)
        assert {site.group_of(pod) for pod in eventually(fresh, "a pod in its place", 60)} == {None}
        left = {pod["metadata"]["uid"] for pod in unfinished_pods(site.api, namespace, "before")}
        assert running - {pods[0]["metadata"]["uid"]} <= left
        assert uids(site, namespace, *KINDS) == pair
    after = site.api.create("jobs", gang_job("after"), namespace)
    groups = {site.group_of(pod) for pod in bound(site, namespace, "after")}
    assert groups == {pair_of(site.api, namespace, after)[1][0]["metadata"]["name"]}
    assert pair_of(site.api, namespace, meanwhile) == ([], [])
    assert {thing["metadata"]["uid"] for part in pair_of(site.api, namespace, before) for thing in part} == pair


def test_a36_20_36_without_muster_only_the_server_completes_pod_groups(site: Site, namespace: str) -> None:
    with site.muster.away():
        free = site.api.create("podgroups", pod_group("free"), namespace)
        assert free["metadata"].get("finalizers") == ([PROTECTION] if site.profile.native else None)
        if site.profile.native:
            with pytest.raises(ApiError, match='Workload "absent" not found'):
                site.api.create("podgroups", pod_group("lost", "absent"), namespace)
        else:
            site.api.create("podgroups", pod_group("lost", "absent"), namespace)


def test_a36_44_an_update_of_a_pod_group_is_not_completed_again(site: Site, namespace: str) -> None:
    """Also where its class is gone by then, with which it could not be made any more."""
    if not site.profile.has_priority_classes:
        pytest.skip("a server that does not own scheduling.k8s.io has no PriorityClass")
    site.api.create("priorityclasses", {"metadata": {"name": "passing"}, "value": 7})
    body = pod_group("kept")
    body["spec"]["priorityClassName"] = "passing"
    made = eventually(lambda: accepted(site, namespace, body), "the class is known", 10)
    site.api.delete("priorityclasses", "passing")
    site.api.patch("podgroups", "kept", {"metadata": {"finalizers": None}}, namespace)
    patched = site.api.patch("podgroups", "kept", {"metadata": {"labels": {"a": "b"}}}, namespace)
    assert (patched["spec"], patched["metadata"].get("finalizers")) == (made["spec"], None)
    assert patched["spec"]["priority"] == 7


def accepted(site: Site, namespace: str, body: Object) -> Object | None:
    """The built-in plugin sees a new class a moment later."""
    try:
        return site.api.create("podgroups", body, namespace)
    except ApiError:
        return None


def test_the_gang_of_a_cron_job_goes_with_its_job(site: Site, namespace: str) -> None:
    """One Job completes and is removed by its CronJob, the other one is deleted while it runs."""
    site.wait_for_the_garbage_collector()
    short = start_cron_job(site, namespace, "short", gang_job("short", run_seconds=1))
    long = start_cron_job(site, namespace, "long", gang_job("long"))
    (made,) = eventually(lambda: controlled_by(site.api.list("jobs", namespace), long), "the CronJob makes a Job")
    name = made["metadata"]["name"]
    (group,) = {site.group_of(pod) for pod in bound(site, namespace, name)}
    assert group == pair_of(site.api, namespace, made)[1][0]["metadata"]["name"]
    eventually(lambda: site.api.get("cronjobs", "short", namespace)["status"].get("lastSuccessfulTime"), "one ended")
    eventually(lambda: not controlled_by(site.api.list("jobs", namespace), short), "and was removed", 60)
    eventually(lambda: uids(site, namespace, *KINDS) == pair_uids(site, namespace, made), "what is left is the other's")
    site.api.delete("jobs", name, namespace)
    eventually(lambda: not uids(site, namespace, "jobs", "pods", *KINDS), "nothing is left", 60)


@pytest.fixture
def states(site: Site, namespace: str) -> None:
    """Gang Jobs that never started, are suspended after running, are being suspended, are being resumed, and run."""
    for name in ("running", "paused"):
        site.api.create("jobs", gang_job(name), namespace)
    for name in ("unstarted", "resumed"):
        site.api.create("jobs", gang_job(name, suspend=True), namespace)
    # No controller performs the suspension: spec.managedBy names another controller.
    site.api.create("jobs", gang_job("suspending", suspend=True, managedBy="example.com/nobody"), namespace)
    started = {"status": {"startTime": "2026-01-01T00:00:00Z", "active": 4}}
    site.api.patch("jobs", "suspending", started, namespace, part="/status")
    for name in ("running", "paused"):
        eventually(partial(all_pods, site.api, namespace, name, 4, is_running), f"the pods of {name} run")
    site.api.patch("jobs", "paused", {"spec": {"suspend": True}}, namespace)

    def rests() -> bool:
        status = site.api.get("jobs", "paused", namespace)["status"]
        suspended = [c["status"] for c in status.get("conditions", []) if c["type"] == "Suspended"]
        return suspended == ["True"] and not status.get("active")

    eventually(rests, "the paused Job has no active pod")
    site.api.patch("jobs", "resumed", {"spec": {"suspend": False}}, namespace)


SELECTOR = {"nodeSelector": {"kubernetes.io/os": "linux"}}
UPDATES: dict[str, tuple[str, Object, str]] = {
    "A36-11 completions alone": ("running", {"completions": 5}, "spec.completions"),
    "A36-14 the nodes of one that never started": ("unstarted", {"template": {"spec": SELECTOR}}, ""),
    "A36-14 the labels of one that never started": ("unstarted", {"template": {"metadata": {"labels": {"a": ""}}}}, ""),
    "A36-15 the nodes of one that is suspended after running": ("paused", {"template": {"spec": SELECTOR}}, ""),
    "A36-16 the nodes of one that runs": ("running", {"template": {"spec": SELECTOR}}, "spec.template"),
    "A36-17 the nodes of one whose pods are still active": (
        "suspending",
        {"template": {"spec": SELECTOR}},
        "spec.template",
    ),
    "A36-18 the nodes of one that is being resumed": ("resumed", {"template": {"spec": SELECTOR}}, "spec.template"),
    "A36-19 the selector": ("unstarted", {"selector": {"matchLabels": {"a": "b"}}}, "spec.selector"),
}


@pytest.mark.usefixtures("states")
def test_a36_11_to_19_muster_does_not_change_the_job_api_s_answers_to_updates(site: Site, namespace: str) -> None:
    """Each as a dry run, which asks validation and all webhooks. The answers are the server's, and never Muster's."""
    answers = {row: answer(site, namespace, name, {"spec": spec}) for row, (name, spec, _) in UPDATES.items()}
    unexpected = {row: answers[row] for row, (*_, wrong) in UPDATES.items() if not fits(answers[row], wrong)}
    assert not unexpected
    assert not [said for said in answers.values() if "muster" in said]
    updated = site.api.patch("jobs", "running", {"spec": {"parallelism": 2}}, namespace, part="/status")
    assert updated["spec"]["parallelism"] == 4, "A36-13: a status update changes no spec, and nobody is asked about it"


def fits(said: str, wrong: str) -> bool:
    return said.startswith("422 ") and wrong in said if wrong else said == ""


def answer(site: Site, namespace: str, name: str, body: Object) -> str:
    """What is wrong with the update; nothing if it is allowed."""
    try:
        site.api.patch("jobs", name, body, namespace, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return f"{error.status} {error.message}"
    return ""


def test_a36_12_a_warning_of_the_server_passes_through(site: Site, namespace: str) -> None:
    wide = job("wide", parallelism=2, completions=200_000, completionMode="Indexed", suspend=True)
    del wide["spec"]["backoffLimit"]
    site.api.create("jobs", wide, namespace)
    (warning,) = site.api.warnings("jobs", "wide", {"spec": {"parallelism": 20_000}}, namespace)
    assert "parallelism" in warning


def bound(site: Site, namespace: str, name: str, size: int = 4) -> list[Object]:
    return eventually(lambda: all_pods(site.api, namespace, name, size, is_bound), f"{size} pods of {name} bound", 60)


def bound_of(site: Site, namespace: str) -> list[Object]:
    return [pod for pod in pods_of(site.api, namespace, "train") if is_bound(pod)]


def new_pods(site: Site, namespace: str, name: str, known: set[str]) -> list[Object]:
    return [pod for pod in pods_of(site.api, namespace, name) if pod["metadata"]["uid"] not in known]


def scheduled(site: Site, namespace: str) -> tuple[str, str]:
    """Status and reason of the condition of the only PodGroup."""
    groups = site.api.list("podgroups", namespace)
    conditions = [c for group in groups for c in group.get("status", {}).get("conditions", [])]
    found = [(c["status"], c["reason"]) for c in conditions if c["type"] == "PodGroupScheduled"]
    return found[0] if found else ("", "")


def uids(site: Site, namespace: str, *kinds: str) -> set[str]:
    return {thing["metadata"]["uid"] for kind in kinds for thing in site.api.list(kind, namespace)}


def pair_uids(site: Site, namespace: str, made: Object) -> set[str]:
    return {thing["metadata"]["uid"] for part in pair_of(site.api, namespace, made) for thing in part}


def start_cron_job(site: Site, namespace: str, name: str, manifest: Object) -> str:
    """Its UID. Its last run, once a year, was missed: the CronJob controller makes that Job at once."""
    spec = {"schedule": "0 0 1 1 *", "successfulJobsHistoryLimit": 0, "jobTemplate": {"spec": manifest["spec"]}}
    made = site.api.create("cronjobs", {"metadata": {"name": name}, "spec": spec}, namespace)
    long_ago = {"status": {"lastScheduleTime": "2020-06-01T00:00:00Z"}}
    site.api.patch("cronjobs", name, long_ago, namespace, part="/status")
    return str(made["metadata"]["uid"])
