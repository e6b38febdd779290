"""The rows about feature gates: what the built-in server does while a gate is off.

CRDs have no gates, so these rows cannot agree: our CRDs are the built-in API with every gate on (`docs/crds.md`). These
tests prove the other half of that sentence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.muster import Muster
from tests.clusters.objects import all_pods, events_on, gang_job, is_bound
from tests.clusters.profiles import NATIVE
from tests.clusters.site import started_site
from tests.clusters.waiting import eventually
from tests.conformance.test_validation_rows import POD, refusal
from tests.conformance.validation.rows import (
    HIGH,
    Object,
    claim,
    claims,
    condition,
    group,
    template,
    topology,
    workload,
)
from tests.conformance.validation.servers import Server, prepared

PARTS = ("TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption", "DRAWorkloadResourceClaims")
ALL = (*PARTS, "GangScheduling", "GenericWorkload", "WorkloadWithJob")

GATED: dict[str, Object] = {
    "V36-15 V36-71 constraints": topology("foo"),
    "V36-52 two topology keys": topology("foo", "bar"),
    "V36-26 disruptionMode": {"disruptionMode": "PodGroup"},
    "V36-27 unknown disruptionMode": {"disruptionMode": "Invalid"},
    "V36-29 class": {"priorityClassName": HIGH},
    "V36-30 bad class": {"priorityClassName": "high/priority"},
    "V36-31 priority": {"priority": 1000},
    "V36-32 priority too high": {"priority": 10**9 + 1},
    "V36-55 V36-73 claims": claims(claim()),
}
TRAIN = {"apiGroup": "batch", "kind": "Job", "name": "train"}
EVERYTHING = {**topology("foo"), "disruptionMode": "PodGroup", "priorityClassName": HIGH, **claims(claim())}
CHANGES: dict[str, Object] = {
    "V36-42 constraints": {"schedulingConstraints": {}},
    "V36-42 topology key": topology("bar"),
    "V36-43 claims": claims(claim("other")),
    "V36-44 disruptionMode": {"disruptionMode": "Pod"},
    "V36-44 class": {"priorityClassName": "low-priority"},
    "V36-44 priority": {"priority": 2000},
}


@dataclass
class Gated:
    """A server whose gates were on when these were made, and are off now."""

    server: Server
    group: Object
    workload: Object
    pod: Object
    described: Object
    """A Workload that a user wrote for a Job, with everything in it."""

    def restart(self, *gates: str, on: bool) -> None:
        switched = ",".join(f"{gate}={str(on).lower()}" for gate in gates)
        self.server.site.cluster.restart(f"--apiserver-flag=--feature-gates={switched}")


@pytest.fixture(scope="module")
def gated() -> Iterator[Gated]:
    with started_site(NATIVE, "gates", "--nodes", "1") as site, prepared(site) as server:
        pod = {"metadata": {"name": "grouped"}, "spec": {**POD, "schedulingGroup": {"podGroupName": "some"}}}
        made = Gated(
            server,
            server.create("podgroups", group(**EVERYTHING)),
            server.create("workloads", workload(template(**EVERYTHING))),
            server.api.create("pods", pod, server.namespace),
            server.create("workloads", workload(template(**EVERYTHING), controllerRef=TRAIN)),
        )
        made.restart(*PARTS, on=False)
        yield made


@pytest.mark.parametrize("row", GATED)
def test_a_gated_field_is_dropped_on_create_valid_or_not(gated: Gated, row: str) -> None:
    """The default comes back after the drop: a PodGroup that asked for disruptionMode PodGroup reads as Pod."""
    spec = gated.server.create("podgroups", group(**GATED[row]))["spec"]
    assert spec.pop("disruptionMode") == "Pod"
    assert not spec.keys() & (EVERYTHING.keys() | {"priority"})
    (only,) = gated.server.create("workloads", workload(template(**GATED[row])))["spec"]["podGroupTemplates"]
    assert not {field for field, value in only.items() if value} & (EVERYTHING.keys() | {"priority"})


@pytest.mark.parametrize("row", CHANGES)
def test_a_stored_gated_field_may_stay_and_may_not_change(gated: Gated, row: str) -> None:
    assert gated.server.update("podgroups", {**gated.group})["spec"] == gated.group["spec"]
    (field,) = CHANGES[row]
    body = {**gated.group, "spec": {**gated.group["spec"], **CHANGES[row]}}
    assert f"spec.{field}" in refusal(lambda: gated.server.update("podgroups", body))


def test_v36_55_the_status_of_claims_that_were_there_is_kept(gated: Gated) -> None:
    status = {"conditions": [condition()], "resourceClaimStatuses": [{"name": "claim"}]}
    updated = gated.server.update("podgroups", {**gated.group, "status": status}, "/status")
    assert updated["status"]["resourceClaimStatuses"] == status["resourceClaimStatuses"]
    without = gated.server.create("podgroups", group())
    updated = gated.server.update("podgroups", {**without, "status": status}, "/status")
    assert "resourceClaimStatuses" not in updated["status"]


def test_v36_72_a_gated_field_that_an_update_adds_is_dropped(gated: Gated) -> None:
    made = gated.server.create("workloads", workload())
    for changes in (topology("foo"), claims(claim()), {"disruptionMode": "Pod"}):
        updated = gated.server.update("workloads", {**made, "spec": workload(template(**changes))})
        assert updated["spec"] == made["spec"]


def test_muster_posts_which_fields_were_dropped_and_why(gated: Gated, tmp_path: Path) -> None:
    api, namespace = gated.server.api, gated.server.namespace
    size = gated.described["spec"]["podGroupTemplates"][0]["schedulingPolicy"]["gang"]["minCount"]
    with Muster(gated.server.site.cluster.muster_kubeconfig(), api, tmp_path / "muster.log"):
        api.create("jobs", gang_job("train", size), namespace)
        api.create("jobs", gang_job("urgent", size, pod={"priorityClassName": HIGH}), namespace)
        (event,) = eventually(lambda: events_on(api, namespace, "train", "PolicyDropped"), "the event is posted")
        assert event["type"] == "Warning"
        assert "of PodGroup " in event["message"]
        for field, gate in zip(EVERYTHING, (PARTS[0], PARTS[1], PARTS[1], PARTS[2]), strict=True):
            assert f"{field} (feature gate {gate} is off)" in event["message"]
        (event,) = eventually(lambda: events_on(api, namespace, "urgent", "PolicyDropped"), "the event is posted")
        assert event["message"].startswith("The API server did not store these fields of Workload urgent-")
        assert f": priorityClassName (feature gate {PARTS[1]} is off). " in event["message"]
        for name in ("train", "urgent"):
            eventually(partial(all_pods, api, namespace, name, size, is_bound), f"{name} starts nevertheless")


def test_v36_76_77_the_group_of_a_pod(gated: Gated) -> None:
    """Last, since the whole API is off for a while."""
    api, namespace = gated.server.api, gated.server.namespace
    gated.restart(*ALL, on=False)
    new = {"metadata": {"name": "new"}, "spec": {**POD, "schedulingGroup": {"podGroupName": "some"}}}
    assert "schedulingGroup" not in api.create("pods", new, namespace)["spec"]
    for on in (False, True):
        if on:
            gated.restart(*PARTS, "GangScheduling", "GenericWorkload", on=True)
        kept = api.patch("pods", "grouped", {"metadata": {"labels": {"on": str(on)}}}, namespace)
        assert kept["spec"]["schedulingGroup"] == gated.pod["spec"]["schedulingGroup"]
