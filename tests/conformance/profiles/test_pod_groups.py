"""reference/in-tree.md 6.6 on each profile: what the server does to a PodGroup by code, Muster does for its CRDs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.clusters.api import ApiError, Object
from tests.clusters.objects import is_bound, is_running
from tests.clusters.pairs import BASIC, PROTECTION, pod_group, workload
from tests.clusters.profiles import PROFILES
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually
from tests.clusters.workers import end_pod

pytestmark = pytest.mark.profiles(*PROFILES)

HOLD = "test.muster.dev/hold"
A_WHILE = 3


@pytest.fixture
def classes(site: Site) -> Iterator[None]:
    """The PriorityClass "high" of 1000."""
    if not site.profile.has_priority_classes:
        pytest.skip("a server that does not own scheduling.k8s.io has no PriorityClass, so there is nothing to resolve")
    with priority_class(site, "high", 1000):
        yield


def test_a36_29_a_pod_group_of_a_workload_that_does_not_exist_is_refused(site: Site, namespace: str) -> None:
    assert 'PodGroup rejected: Workload "absent" not found' in refusal(site, namespace, pod_group("group", "absent"))


def test_a_pod_group_with_a_path_as_its_workload_name_is_refused_as_wrong(site: Site, namespace: str) -> None:
    """Not for a right that Muster lacks, as if it were not the user's mistake."""
    with pytest.raises(ApiError) as refused:
        site.api.create("podgroups", pod_group("group", "work/status"), namespace)
    by_schema, by_muster = "spec.podGroupTemplateRef.workload.workloadName", 'Workload "work/status" not found'
    expected = (422, by_schema) if site.profile.native else (403, by_muster)
    assert refused.value.status == expected[0]
    assert expected[1] in refused.value.message


def test_a36_30_a_pod_group_of_a_template_that_does_not_exist_is_refused(site: Site, namespace: str) -> None:
    site.api.create("workloads", {**workload("work", "train"), "spec": templates("another")}, namespace)
    message = refusal(site, namespace, pod_group("group", "work"))
    assert 'PodGroup rejected: PodGroupTemplate "workers-0" not found in Workload "work"' in message


def test_a36_31_32_34_35_others_are_accepted_and_get_the_finalizer_once(site: Site, namespace: str) -> None:
    site.api.create("workloads", workload("work", "train"), namespace)
    of_template = site.api.create("podgroups", pod_group("of-template", "work"), namespace)
    free = site.api.create("podgroups", pod_group("free"), namespace)
    has_it = pod_group("has-it")
    has_it["metadata"]["finalizers"] = [HOLD, PROTECTION]
    kept = site.api.create("podgroups", has_it, namespace)
    has_another = pod_group("has-another")
    has_another["metadata"]["finalizers"] = [HOLD]
    added = site.api.create("podgroups", has_another, namespace)
    assert [each["metadata"]["finalizers"] for each in (of_template, free)] == [[PROTECTION]] * 2
    assert [each["metadata"]["finalizers"] for each in (kept, added)] == [[HOLD, PROTECTION]] * 2
    for each in (kept, added):
        site.api.patch("podgroups", each["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace)


def test_a36_33_a_pod_group_of_a_workload_that_is_being_deleted_is_refused(site: Site, namespace: str) -> None:
    held = workload("work", "train")
    held["metadata"]["finalizers"] = [HOLD]
    site.api.create("workloads", held, namespace)
    site.api.delete("workloads", "work", namespace)

    body = pod_group("group", "work")
    # The built-in plugin sees the deletion a moment later.
    seen = eventually(lambda: refused(site, namespace, body, dryRun="All"), "it is refused", 5)
    assert (seen.status, seen.message.partition("PodGroup rejected: ")[2]) == (403, 'Workload "work" is being deleted')
    refusal(site, namespace, body)
    site.api.patch("workloads", "work", {"metadata": {"finalizers": None}}, namespace)


@pytest.mark.usefixtures("classes")
def test_a36_38_to_42_the_priority_is_that_of_the_class(site: Site, namespace: str) -> None:
    explicit = eventually_resolved(site, namespace, "explicit", priorityClassName="high")
    assert priority_of(explicit) == ("high", 1000)
    matching = site.api.create("podgroups", with_spec("same", priorityClassName="high", priority=1000), namespace)
    assert priority_of(matching) == ("high", 1000)
    assert priority_of(site.api.create("podgroups", pod_group("none"), namespace)) == (None, 0)
    assert priority_of(site.api.create("podgroups", with_spec("zero", priority=0), namespace)) == (None, 0)
    message = refusal(site, namespace, with_spec("unknown", priorityClassName="missing"))
    assert "no PriorityClass with name missing was found" in message


@pytest.mark.usefixtures("classes")
def test_a36_43_a_priority_that_is_not_the_classs_is_refused(site: Site, namespace: str) -> None:
    eventually_resolved(site, namespace, "explicit", priorityClassName="high")
    said = "priority set in the pod group (7) must match the priority computed ({}) based on the priority class"
    assert said.format(1000) in refusal(site, namespace, with_spec("other", priorityClassName="high", priority=7))
    assert said.format(0) in refusal(site, namespace, with_spec("bare", priority=7))


@pytest.mark.usefixtures("classes")
def test_a36_37_without_a_class_the_default_one_counts(site: Site, namespace: str) -> None:
    with priority_class(site, "usual", 50, globalDefault=True):
        names = iter(range(1000))

        def resolved() -> bool:  # the built-in plugin sees the new default a moment later
            made = site.api.create("podgroups", pod_group(f"default-{next(names)}"), namespace)
            return priority_of(made) == ("usual", 50)

        eventually(resolved, "the default class is used", 10)


def test_a36_46_to_54_the_finalizer_goes_with_the_last_member_that_can_still_run(site: Site, namespace: str) -> None:
    pods = {
        "a36-47-none": 0,
        "a36-48-active": 1,
        "a36-49-ended": 2,
        "a36-50-mixed": 2,
        "a36-52-deleted": 1,
        "a36-53-succeeded": 1,
        "a36-54-failed": 1,
    }
    members = {group: with_members(site, namespace, group, count) for group, count in pods.items()}
    end_pod(site.api, members["a36-49-ended"][0])
    end_pod(site.api, members["a36-49-ended"][1], "Failed")
    end_pod(site.api, members["a36-50-mixed"][0])
    always(
        lambda: all(finalizers(site, namespace, group) == [PROTECTION] for group in pods), "A36-46: all protected", 2
    )
    for group in pods:
        site.api.delete("podgroups", group, namespace)
    held = set(pods) - {"a36-47-none", "a36-49-ended"}
    eventually(lambda: left(site, namespace) == held, "those without a living member are gone")
    always(lambda: left(site, namespace) == held, "the others wait", A_WHILE)
    site.api.delete("pods", "a36-52-deleted-0", namespace)
    end_pod(site.api, members["a36-53-succeeded"][0])
    end_pod(site.api, members["a36-54-failed"][0], "Failed")
    held -= {"a36-52-deleted", "a36-53-succeeded", "a36-54-failed"}
    eventually(lambda: left(site, namespace) == held, "those whose last member ended are gone")
    always(lambda: left(site, namespace) == held, "the others wait", A_WHILE)


def test_a36_51_muster_ignores_a_deletion_that_its_finalizer_does_not_block(site: Site, namespace: str) -> None:
    with_members(site, namespace, "active", 1)
    with_members(site, namespace, "empty", 0)
    for group in ("active", "empty"):
        site.api.patch("podgroups", group, {"metadata": {"finalizers": [HOLD]}}, namespace)
        site.api.delete("podgroups", group, namespace)
    versions = [
        site.api.get("podgroups", group, namespace)["metadata"]["resourceVersion"] for group in ("active", "empty")
    ]

    def untouched() -> bool:
        found = [site.api.get("podgroups", group, namespace)["metadata"] for group in ("active", "empty")]
        return [each["resourceVersion"] for each in found] == versions

    always(untouched, "nobody writes to them", A_WHILE)
    for group in ("active", "empty"):
        site.api.patch("podgroups", group, {"metadata": {"finalizers": None}}, namespace)


def test_the_condition_turns_true_once_enough_pods_are_bound_and_stays_true(site: Site, namespace: str) -> None:
    made = site.api.create("podgroups", pod_group("pair", policy={"gang": {"minCount": 2}}), namespace)
    site.api.create("pods", site.member("pair-0", "pair"), namespace)
    if not site.profile.native:  # nobody holds that pod back
        eventually(lambda: is_bound(site.api.get("pods", "pair-0", namespace)), "the first pod is bound")
    always(lambda: scheduled(site, namespace)[0] != "True", "one of two is not enough", A_WHILE)
    site.api.create("pods", site.member("pair-1", "pair"), namespace)
    eventually(lambda: scheduled(site, namespace) == ("True", "Scheduled"), "both are bound")
    if not site.profile.native:
        assert made["metadata"]["generation"] == condition(site, namespace)["observedGeneration"] == 1
    before = condition(site, namespace)
    for name in ("pair-0", "pair-1"):
        site.api.delete("pods", name, namespace)
    eventually(lambda: not site.api.list("pods", namespace), "the pods are gone")
    always(lambda: condition(site, namespace) == before, "the condition stays", A_WHILE)


def with_members(site: Site, namespace: str, group: str, count: int) -> list[Object]:
    """A PodGroup, and so many pods that nobody's Job made, all running in it."""
    site.api.create("podgroups", pod_group(group, policy=BASIC), namespace)
    names = [f"{group}-{number}" for number in range(count)]
    for name in names:
        site.api.create("pods", site.member(name, group), namespace)
    eventually(
        lambda: all(is_running(site.api.get("pods", name, namespace)) for name in names), f"the pods of {group} run"
    )
    return [site.api.get("pods", name, namespace) for name in names]


def templates(name: str) -> Object:
    return {"podGroupTemplates": [{"name": name, "schedulingPolicy": BASIC}]}


def with_spec(name: str, **spec: object) -> Object:
    body = pod_group(name)
    return {**body, "spec": {**body["spec"], **spec}}


def refused(site: Site, namespace: str, body: Object, **params: str) -> ApiError | None:
    try:
        site.api.create("podgroups", body, namespace, **params)
    except ApiError as error:
        return error
    return None


def refusal(site: Site, namespace: str, body: Object) -> str:
    """The message; and nothing was created."""
    error = refused(site, namespace, body)
    assert error is not None
    assert error.status == 403
    assert site.api.find("podgroups", body["metadata"]["name"], namespace) is None
    return error.message


def eventually_resolved(site: Site, namespace: str, name: str, **spec: object) -> Object:
    """The built-in plugin sees a new class a moment later."""
    eventually(lambda: refused(site, namespace, with_spec(name, **spec)) is None, "the class is known", 10)
    return site.api.get("podgroups", name, namespace)


@contextmanager
def priority_class(site: Site, name: str, value: int, **more: bool) -> Iterator[None]:
    site.api.create("priorityclasses", {"metadata": {"name": name}, "value": value, **more})
    try:
        yield
    finally:
        site.api.delete("priorityclasses", name)


def priority_of(group: Object) -> tuple[str | None, int | None]:
    return group["spec"].get("priorityClassName"), group["spec"].get("priority")


def finalizers(site: Site, namespace: str, group: str) -> list[str]:
    found: list[str] = site.api.get("podgroups", group, namespace)["metadata"].get("finalizers", [])
    return found


def left(site: Site, namespace: str) -> set[str]:
    return {group["metadata"]["name"] for group in site.api.list("podgroups", namespace)}


def condition(site: Site, namespace: str) -> Object:
    conditions = site.api.get("podgroups", "pair", namespace).get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodGroupScheduled"), {})


def scheduled(site: Site, namespace: str) -> tuple[str, str]:
    found = condition(site, namespace)
    return found.get("status", ""), found.get("reason", "")
