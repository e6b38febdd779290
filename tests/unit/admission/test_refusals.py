"""Every refusal over HTTP: one sentence, and the Reason that docs/reasons.md explains."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.podgroups import PodGroupReview
from muster.admission.server import AdmissionServer, WebhookHandlers
from muster.api.profile import CRD_IN_OWN_GROUP
from muster.controllers.podgroup.defaulting import PodGroupDefaulting
from muster.core import messages
from muster.core.reasons import Reason, ReasonKind
from muster.kube.client import Object
from muster.kube.errors import Unreachable
from muster.runtime.health import API, Health
from tests.builders import a_gang, a_pod, a_pod_group, a_review, a_workload
from tests.fake_cluster import FakeCluster
from tests.unit.admission.test_server import Http, Unsteady
from tests.unit.controllers.parts import Parts, build
from tests.unit.made import a_server

JOB = a_gang("train").uid("now")
POD, GONE = a_pod().of(JOB).build(), a_pod().of(a_gang("gone").uid("gone")).build()
CREATED, POD_GROUP = a_review(POD), a_review(a_pod_group().build())
SCALED = a_review(JOB.build() | {"spec": JOB.build()["spec"] | {"parallelism": 2}}, old=JOB.build(), operation="UPDATE")


@dataclass
class Stage:
    cluster: FakeCluster
    client: Unsteady
    parts: Parts
    server: AdmissionServer
    http: Http


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    cluster = FakeCluster()
    cluster.apply(JOB)
    client = Unsteady(cluster)
    parts = build(client, CRD_IN_OWN_GROUP)
    guard = parts.guard()
    pod_groups = PodGroupReview(PodGroupDefaulting(parts.client, parts.workloads.get), CRD_IN_OWN_GROUP)
    webhook = parts.pod_webhook()
    server = a_server(Health(), WebhookHandlers(CRD_IN_OWN_GROUP, webhook, guard, pod_groups))
    async with TestClient(TestServer(server.application())) as http:
        yield Stage(cluster, client, parts, server, http)


def nothing(_: Stage, __: pytest.MonkeyPatch) -> None:
    pass


def away(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.client.error = Unreachable("does not answer")


def slow(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.client.hangs = True


def unready(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.server.health.announce(API, "no API yet")
    stage.server.handlers = None


def fail(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("bug")


def bug_in_pods(_: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("muster.controllers.job.gang_former.GangFormer.ensure", fail)


def bug_in_guard(_: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("muster.admission.parallelism_guard.admit_parallelism", fail)


def bug_in_pod_groups(_: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PodGroupDefaulting, "review", fail)


def going(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.cluster.apply(a_workload("mine").describing(JOB).being_deleted())


Prepare = Callable[[Stage, pytest.MonkeyPatch], None]
BUG = "with ZeroDivisionError, which is a bug in Muster; its log says where"

Refusal = tuple[Prepare, str, Object, str, Reason]
REFUSALS: dict[str, Refusal] = {
    "the pod's Job is gone": (nothing, "pods", a_review(GONE), "the Job does not exist any more", Reason.JOB_GONE),
    "the pod's Workload goes": (
        going,
        "pods",
        CREATED,
        "the Workload is being deleted; Muster recreates it afterwards (mine)",
        Reason.WORKLOAD_BEING_DELETED,
    ),
    "the API server is away when a pod comes": (
        away,
        "pods",
        CREATED,
        "Muster could not form the gang of Job 'train' yet: does not answer; the Job controller retries",
        Reason.NOT_FORMED_YET,
    ),
    "the API server hangs when a pod comes": (
        slow,
        "pods",
        CREATED,
        "Muster could not form the gang of Job 'train' within 0.2 s; the Job controller retries",
        Reason.NOT_FORMED_IN_TIME,
    ),
    "the pod cannot be read": (
        nothing,
        "pods",
        a_review({"metadata": {"ownerReferences": "x"}}),
        "Muster cannot read the pod: Expected `array | null`, got `str`",
        Reason.POD_UNREADABLE,
    ),
    "a pod meets a bug": (
        bug_in_pods,
        "pods",
        CREATED,
        f"failed on Job 'train' {BUG}; the Job controller retries",
        Reason.MUSTER_FAILED,
    ),
    "no API was found when a pod comes": (unready, "pods", CREATED, "not ready: no API yet", Reason.NOT_READY),
    "a gang may be forming": (
        nothing,
        "parallelism-guard",
        SCALED,
        f"cannot change parallelism of Job 'train' while its gang is being formed. {messages.TRY_AGAIN_OR_DELETE}",
        Reason.GANG_FORMING,
    ),
    "the API server is away when a Job is scaled": (
        away,
        "parallelism-guard",
        SCALED,
        "Muster cannot determine now whether Job 'train' is a gang: does not answer. Try again later",
        Reason.GANG_UNKNOWN,
    ),
    "the API server hangs when a Job is scaled": (
        slow,
        "parallelism-guard",
        SCALED,
        "Muster cannot determine now whether Job 'train' is a gang: the API server is slow. Try again later",
        Reason.GANG_UNKNOWN,
    ),
    "a change of parallelism meets a bug": (
        bug_in_guard,
        "parallelism-guard",
        SCALED,
        f"failed on Job 'train' {BUG}. Try again later",
        Reason.MUSTER_FAILED,
    ),
    "the API server is away when a PodGroup comes": (
        away,
        "pod-groups",
        POD_GROUP,
        "Muster cannot check the PodGroup now: does not answer. Try again later",
        Reason.POD_GROUP_UNCHECKED,
    ),
    "a PodGroup meets a bug": (
        bug_in_pod_groups,
        "pod-groups",
        POD_GROUP,
        f"failed on this object {BUG}",
        Reason.MUSTER_FAILED,
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_one_sentence_and_its_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    prepare, path, review, sentence, reason = refusal
    prepare(stage, monkeypatch)
    answer = await stage.http.post(f"/{path}?timeout=250ms", json=review)
    response = (await answer.json())["response"]
    assert response["allowed"] is False
    assert response["status"]["message"] == f"muster: {sentence} [{reason}]"


def test_every_refusal_of_a_webhook_is_in_the_table() -> None:
    """A gang of a fixed size has a table of its own (test_admit), the words of the built-in server too."""
    shown = {reason for *_, reason in REFUSALS.values()}
    refusals = {reason for reason in Reason if reason.kind in (ReasonKind.REFUSED, ReasonKind.CHANGE_REFUSED)}
    assert refusals - shown == {Reason.GANG_SIZE_FIXED, Reason.POD_GROUP_INVALID}
