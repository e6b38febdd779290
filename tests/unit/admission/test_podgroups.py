"""The PodGroup webhook over HTTP: it validates and defaults like the built-in API server. Also the answers to requests
that fail before that."""

import base64
from collections.abc import AsyncIterator, Mapping

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.podgroups import PodGroupReview
from muster.admission.server import WebhookHandlers
from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.controllers.podgroup.defaulting import PodGroupDefaulting
from muster.kube.client import Object
from muster.kube.errors import KubeError, NotFound, Unreachable
from muster.kube.resources import Resource
from muster.runtime.health import API, Health
from tests.builders import PodGroupBuilder, a_gang, a_pod, a_pod_group, a_review, a_workload
from tests.fake_cluster import FakeClient, FakeCluster, patched
from tests.unit.controllers.parts import build
from tests.unit.made import a_server

Http = TestClient[web.Request, web.Application]
JOB = a_gang("train").uid("now")
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
USUAL = {**HIGH, "metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
NO_CLASSES = NotFound("the server could not find the requested resource")


class Server(FakeClient):
    """Fails on one kind on request."""

    errors: Mapping[str, KubeError] = {}

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if resource.plural in self.errors:
            raise self.errors[resource.plural]
        return await super().list(resource, namespace, params)


@pytest.fixture
def client() -> Server:
    cluster = FakeCluster()
    for thing in (JOB, a_workload("train"), a_workload("going").being_deleted(), HIGH):
        cluster.apply(thing)
    return Server(cluster)


def handlers(client: Server, profile: ApiProfile) -> WebhookHandlers:
    parts = build(client, profile)
    guard = parts.guard()
    review_of_groups = (
        None if profile.native else PodGroupReview(PodGroupDefaulting(parts.client, parts.workloads.get), profile)
    )
    return WebhookHandlers(profile, parts.pod_webhook(), guard, review_of_groups)


@pytest.fixture
async def http(client: Server) -> AsyncIterator[Http]:
    server = a_server(Health(), handlers(client, CRD_IN_OWN_GROUP))
    async with TestClient(TestServer(server.application())) as made:
        yield made


async def asked(http: Http, path: str, review: Object) -> Object:
    answer = await http.post(f"{path}?timeout=2s", json=review)
    assert answer.status == 200
    return (await answer.json())["response"]  # type: ignore[no-any-return]


def steps(response: Object) -> list[Object]:
    return orjson.loads(base64.b64decode(response["patch"])) if "patch" in response else []


async def completed(http: Http, group: PodGroupBuilder) -> Object:
    """The PodGroup as it is stored."""
    raw = group.build()
    del raw["metadata"]["namespace"]  # in admission it may not be there yet
    response = await asked(http, "/pod-groups", a_review(raw))
    assert response["allowed"] is True, response
    return patched(raw, steps(response))


@pytest.mark.parametrize(
    ("group", "finalizers"),
    [
        pytest.param(a_pod_group(), [PROTECTION], id="A36-34 the finalizer is added"),
        pytest.param(a_pod_group().protected("a/b"), ["a/b", PROTECTION], id="A36-35 it is there already"),
    ],
)
async def test_the_protection(http: Http, group: PodGroupBuilder, finalizers: list[str]) -> None:
    stored = await completed(http, group)
    assert stored["metadata"]["finalizers"] == finalizers


async def test_the_finalizers_of_others_stay(http: Http) -> None:
    group = a_pod_group()
    group.metadata["finalizers"] = ["a/b"]
    assert (await completed(http, group))["metadata"]["finalizers"] == ["a/b", PROTECTION]


@pytest.mark.parametrize(
    ("group", "default", "name", "value"),
    [
        pytest.param(a_pod_group(), True, "usual", 7, id="A36-37 the default class"),
        pytest.param(a_pod_group().priority("high"), True, "high", 1000, id="A36-38 a class"),
        pytest.param(a_pod_group(), False, None, 0, id="A36-41 neither"),
    ],
)
async def test_the_priority(
    http: Http, client: Server, group: PodGroupBuilder, default: bool, name: str | None, value: int
) -> None:
    if default:
        client.cluster.apply(USUAL)
    spec = (await completed(http, group))["spec"]
    assert (spec.get("priorityClassName"), spec["priority"]) == (name, value)


async def test_a_server_without_priority_classes_has_no_priorities_to_resolve(http: Http, client: Server) -> None:
    client.errors = {"priorityclasses": NO_CLASSES}
    spec = (await completed(http, a_pod_group().priority("any", 5)))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("any", 5)
    assert "priority" not in (await completed(http, a_pod_group()))["spec"]


@pytest.mark.parametrize(
    ("group", "message"),
    [
        pytest.param(a_pod_group().naming_workload("x"), 'PodGroup rejected: Workload "x" not found', id="A36-24"),
        pytest.param(
            a_pod_group().naming_workload("going"), 'PodGroup rejected: Workload "going" is being deleted', id="A36-25"
        ),
        pytest.param(
            a_pod_group().naming_workload("train", "t"),
            'PodGroup rejected: PodGroupTemplate "t" not found in Workload "train"',
            id="A36-26",
        ),
        pytest.param(a_pod_group().priority("no"), "no PriorityClass with name no was found", id="A36-39"),
    ],
)
async def test_refused_in_the_words_of_the_built_in_server(http: Http, group: PodGroupBuilder, message: str) -> None:
    response = await asked(http, "/pod-groups", a_review(group.build()))
    assert response["allowed"] is False
    assert response["status"] == {"code": 403, "message": message}


async def test_a_pod_group_of_a_workload_that_is_there_passes(http: Http) -> None:
    assert (await completed(http, a_pod_group().naming_workload("train")))["metadata"]["finalizers"] == [PROTECTION]


async def test_what_cannot_be_checked_now_has_to_be_tried_again(http: Http, client: Server) -> None:
    client.errors = {"priorityclasses": Unreachable("does not answer")}
    response = await asked(http, "/pod-groups", a_review(a_pod_group().build()))
    assert response["allowed"] is False
    assert response["status"]["message"] == (
        "muster: Muster cannot check the PodGroup now: does not answer. Try again later [PodGroupUnchecked]"
    )


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(a_review(a_pod_group().priority("no").build(), operation="UPDATE"), id="A36-44 an update"),
        pytest.param(a_review({"metadata": {"name": "x"}}), id="no spec: the CRD's schema refuses it"),
    ],
)
async def test_what_is_not_ours_to_judge(http: Http, review: Object) -> None:
    response = await asked(http, "/pod-groups", review)
    assert (response["allowed"], steps(response)) == (True, [])


async def test_the_built_in_server_completes_its_own(client: Server) -> None:
    server = a_server(Health(), handlers(client, NATIVE))
    async with TestClient(TestServer(server.application())) as http:
        response = await asked(http, "/pod-groups", a_review(a_pod_group().naming_workload("x").build()))
    assert (response["allowed"], steps(response)) == (True, [])


async def test_a_member_is_annotated_and_can_be_selected(http: Http, client: Server) -> None:
    pod = a_pod().of(JOB).build()
    response = await asked(http, "/pods", a_review(pod))
    (group,) = client.cluster.find("podgroups")
    metadata = patched(pod, steps(response))["metadata"]
    assert metadata["annotations"] == {"muster.dev/pod-group": group["metadata"]["name"]}
    assert metadata["labels"] == {**pod["metadata"]["labels"], "muster.dev/grouped": "true"}
    again = await asked(http, "/pods", a_review(patched(pod, steps(response))))
    assert (again["allowed"], steps(again)) == (True, []), "who is in a group is left alone"


@pytest.mark.parametrize(
    ("path", "operation"), [("/pods", "CREATE"), ("/parallelism-guard", "UPDATE"), ("/pod-groups", "CREATE")]
)
async def test_until_an_api_was_found_the_answer_is_why_not(path: str, operation: str) -> None:
    health = Health()
    health.announce(API, "Muster has not checked yet which API to use")
    async with TestClient(TestServer(a_server(health).application())) as http:
        response = await asked(http, path, a_review(a_pod().build(), operation=operation))
    assert response["allowed"] is False
    assert response["status"]["message"] == "muster: not ready: Muster has not checked yet which API to use [NotReady]"
