"""What a Job asks for in its annotation, and what becomes of it: the same whatever API the server has."""

import json
import signal
import textwrap
from dataclasses import dataclass, field
from functools import partial

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.muster import Muster
from tests.clusters.objects import (
    SCHEDULING_ANNOTATION,
    all_pods,
    asking,
    events_on,
    gang_job,
    group_of,
    is_bound,
    job,
    pods_of,
)
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

SIZE = 4
ZONE = "topology.kubernetes.io/zone"
IN_A_ZONE = {"topology": [{"key": ZONE}]}
KEP_EXAMPLE = textwrap.dedent("""\
    policy:
      gang: {} # MinCount is omitted: Job defaults MinCount = parallelism (4)
    constraints:
      topology:
        - level: "topology.kubernetes.io/zone"
    disruption:
      all: {} # DisruptionMode resolves to All (entire group must be disrupted together)
    """)
AS_IN_1_37 = {
    "schedulingPolicy": {"gang": {"minCount": 2}},
    "schedulingConstraints": {"topology": [{"key": ZONE}]},
    "disruptionMode": {"single": {}},
}


@dataclass(frozen=True)
class Asked:
    intent: str
    group: Object
    """What the template and the PodGroup say, beside their names."""
    job: Object = field(default_factory=lambda: gang_job("train", SIZE))


ASKED = {
    "the KEP's example": Asked(
        KEP_EXAMPLE,
        {
            "schedulingPolicy": {"gang": {"minCount": SIZE}},
            "schedulingConstraints": IN_A_ZONE,
            "disruptionMode": "PodGroup",
        },
    ),
    "the words of 1.37, as JSON": Asked(
        json.dumps(AS_IN_1_37),
        {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": IN_A_ZONE, "disruptionMode": "Pod"},
    ),
    "a Basic group": Asked("policy: {basic: {}}", {"schedulingPolicy": {"basic": {}}, "disruptionMode": "Pod"}),
    "a gang of a Job with more completions": Asked(
        "policy: {gang: {minCount: 2}}",
        {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "Pod"},
        job("train", completionMode="Indexed", parallelism=SIZE, completions=6),
    ),
    "only a mode, and the rest is the default": Asked(
        "disruptionMode: PodGroup", {"schedulingPolicy": {"gang": {"minCount": SIZE}}, "disruptionMode": "PodGroup"}
    ),
}
WRONG = {
    "no YAML": ("policy: [", "must be YAML or JSON"),
    "an unknown policy": (
        "policy: {all: {}}",
        "policy.all: {} is an unknown field (the fields are: basic, gang)",
    ),
    "a count that is too large": (
        "policy: {gang: {minCount: 5}}",
        "policy.gang.minCount: 5 must not be greater than parallelism (4)",
    ),
    "control characters": ('"policy\\e[31m": {}', "policy\\x1b[31m: {} is an unknown field"),
    "a bomb": ("a: &a [1]\nb: [*a, *a]", "an alias (*) is not allowed"),
}


def messages(api: Api, namespace: str, name: str, reason: str) -> list[str]:
    return [event["message"] for event in events_on(api, namespace, name, reason)]


def grouped(api: Api, namespace: str, body: Object, size: int = SIZE) -> Object:
    """The Job's PodGroup, once all its pods are there, and in it."""
    name = body["metadata"]["name"]
    pods = eventually(lambda: all_pods(api, namespace, name, size), "all its pods are there")
    (_,), (group,) = pair_of(api, namespace, body)
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    return group


@pytest.mark.parametrize("what", ASKED)
def test_a_job_gets_what_it_asks_for(api: Api, muster: Muster, namespace: str, what: str) -> None:
    asked = ASKED[what]
    made = api.create("jobs", asking(asked.job, asked.intent), namespace)
    group = grouped(api, namespace, made)
    (workload,), _ = pair_of(api, namespace, made)
    (template,) = workload["spec"]["podGroupTemplates"]
    assert {key: group["spec"].get(key) for key in asked.group} == asked.group
    assert group["spec"].get("schedulingConstraints") == asked.group.get("schedulingConstraints")
    said = {key: value for key, value in template.items() if key != "name" and value is not None}
    assert {"disruptionMode": "Pod", **said} == asked.group
    assert not messages(api, namespace, "train", "IntentIgnored")


def test_a_job_that_asks_for_none_stays_plain(api: Api, muster: Muster, namespace: str) -> None:
    made = api.create("jobs", asking(gang_job("train", SIZE), "none"), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "its pods are bound one by one")
    assert [group_of(pod) for pod in pods] == [None] * SIZE
    assert pair_of(api, namespace, made) == ([], [])
    changed = api.patch("jobs", "train", {"spec": {"parallelism": 2, "completions": 2}}, namespace)
    assert changed["spec"]["parallelism"] == 2, "no gang, no guard"
    assert not [event for event in events_on(api, namespace, "train") if event["source"].get("component") == "muster"]


def test_a_job_that_a_controller_owns_is_opted_in(api: Api, muster: Muster, namespace: str) -> None:
    owner = api.create("configmaps", {"metadata": {"name": "owner"}}, namespace)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
    body = asking(gang_job("train", SIZE), "policy: {gang: {}}")
    body["metadata"]["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"]}]
    group = grouped(api, namespace, api.create("jobs", body, namespace))
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": SIZE}}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_intent_is_reported_and_ignored(api: Api, muster: Muster, namespace: str, what: str) -> None:
    intent, sentence = WRONG[what]
    warnings = api.warnings("jobs", "", asking(gang_job("train", SIZE), intent), namespace)
    assert any(unquoted(sentence) in unquoted(warning) for warning in warnings), warnings
    eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "the Job runs")
    group = grouped(api, namespace, api.get("jobs", "train", namespace))
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": SIZE}}
    (event,) = eventually(lambda: events_on(api, namespace, "train", "IntentIgnored"), "one event reports it")
    assert event["type"] == "Warning"
    assert f"{SCHEDULING_ANNOTATION} is ignored, as if it were not there: " in event["message"]
    assert sentence in event["message"]
    assert event["message"].isprintable()


def unquoted(text: str) -> str:
    """A header has its quotes and backslashes escaped."""
    return text.replace("\\", "")


def test_claims_are_copied_or_reported_as_unsupported(site: Site, namespace: str) -> None:
    intent = "resourceClaims: [{name: ring, resourceClaimTemplateName: a-ring}]"
    body = asking(gang_job("train", SIZE), intent)
    warnings = site.api.warnings("jobs", "", body, namespace)
    group = grouped(site.api, namespace, site.api.get("jobs", "train", namespace))
    if site.profile.native:
        assert group["spec"]["resourceClaims"] == [{"name": "ring", "resourceClaimTemplateName": "a-ring"}]
        assert not warnings
        return
    refusal = 'resourceClaims: ["ring"] is not supported with Muster\'s CRDs'
    assert "resourceClaims" not in group["spec"]
    assert any(refusal in unquoted(warning) for warning in warnings)
    (message,) = eventually(partial(messages, site.api, namespace, "train", "IntentIgnored"), "the event names it")
    assert refusal in message


def test_a_job_that_is_not_indexed_needs_a_setting(api: Api, muster: Muster, namespace: str) -> None:
    body = asking(job("train", parallelism=SIZE, completions=SIZE), "policy: {gang: {minCount: 2}}")
    api.create("jobs", body, namespace)
    pods = eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "its pods are bound")
    assert [group_of(pod) for pod in pods] == [None] * SIZE
    (message,) = eventually(partial(messages, api, namespace, "train", "IntentIgnored"), "the event names the setting")
    assert "`scope: all-jobs`" in message


def test_a_change_that_comes_too_late_is_reported(api: Api, muster: Muster, namespace: str) -> None:
    made = api.create("jobs", asking(gang_job("train", SIZE), "policy: {gang: {}}"), namespace)
    group = grouped(api, namespace, made)
    name = group["metadata"]["name"]

    def change(intent: str | None) -> str:
        body = {"metadata": {"annotations": {SCHEDULING_ANNOTATION: intent}}}
        return unquoted(" ".join(api.warnings("jobs", "train", body, namespace)))

    def is_reported_once(part: str) -> bool:
        return sum(part in message for message in messages(api, namespace, "train", "IntentWithoutEffect")) == 1

    about = f"{SCHEDULING_ANNOTATION} has no effect on PodGroup {name}, which already exists: "
    changes = {
        "policy: {basic: {}}": "its policy is gang, not basic",
        f"constraints: {{topology: [{{key: {ZONE}}}]}}": f"its topology is none, not {ZONE}",
        "none": "the pods stay in that group",
    }
    for intent, part in changes.items():
        assert f"{about}{part}" in eventually(partial(change, intent), "there is a warning")
        eventually(
            partial(is_reported_once, part), "one event reports it"
        )  # before the next change, which would replace it
    assert f"does not change PodGroup {name}" in change(None)
    assert len(messages(api, namespace, "train", "IntentWithoutEffect")) == len(changes)
    after = api.get("podgroups", name, namespace)
    assert after["spec"] == group["spec"]
    assert after["metadata"]["uid"] == group["metadata"]["uid"]
    assert len(pods_of(api, namespace, "train")) == SIZE


def test_another_min_count_resizes_the_gang(api: Api, muster: Muster, namespace: str) -> None:
    made = api.create("jobs", asking(gang_job("train", SIZE), "policy: {gang: {}}"), namespace)
    group = grouped(api, namespace, made)
    pods = eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "its pods are bound")

    def holds(count: int) -> bool:
        found = api.find("podgroups", group["metadata"]["name"], namespace)
        return found is not None and found["spec"]["schedulingPolicy"]["gang"]["minCount"] == count

    for wanted in (SIZE - 1, SIZE):
        body = {"metadata": {"annotations": {SCHEDULING_ANNOTATION: f"policy: {{gang: {{minCount: {wanted}}}}}"}}}
        assert api.warnings("jobs", "train", body, namespace) == ()
        eventually(partial(holds, wanted), f"the gang holds {wanted} pods together")
    eventually(lambda: len(messages(api, namespace, "train", "GangResized")) == 2, "an event reports each change")
    assert uids(pods_of(api, namespace, "train")) == uids(pods)


def uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def test_a_stuck_muster_delays_no_job_with_an_intent(site: Site, namespace: str) -> None:
    site.muster.signal(signal.SIGSTOP)
    try:
        made = site.api.create("jobs", asking(gang_job("train", SIZE), "policy: ["), namespace)
    finally:
        site.muster.signal(signal.SIGCONT)
    grouped(site.api, namespace, made)
