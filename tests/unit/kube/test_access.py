"""Reports in one sentence whether the API is served and Muster may use it."""

from collections.abc import Mapping

import pytest

from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.controllers.profile.problem_sentence import problem_sentence
from muster.kube.access import find_missing_permission, find_problem
from muster.kube.client import KubeClient, Object
from muster.kube.errors import Forbidden, KubeError, NotFound, ServerFault, Unreachable
from muster.kube.resources import Resource
from tests.fake_cluster import FakeClient, FakeCluster


class Server(FakeClient):
    """Refuses one resource, for reading, watching or a write."""

    def __init__(
        self, plural: str = "", error: KubeError | None = None, watch_only: bool = False, write: str = "create"
    ) -> None:
        super().__init__(FakeCluster())
        self.plural, self.error, self.watch_only, self.write = plural, error, watch_only, write

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        watching = "watch" in (params or {})
        if self.error and resource.plural == self.plural and (watching or not self.watch_only):
            raise self.error
        return {"items": []}

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if isinstance(self.error, Unreachable):
            raise self.error
        asked = body["spec"]["resourceAttributes"]
        assert asked["verb"] in {"create", "delete", "patch"}
        return {"status": {"allowed": (asked["resource"], asked["verb"]) != (self.plural, self.write)}}


async def problem_of(client: KubeClient, profile: ApiProfile, synced: bool = False) -> str:
    """The sentence that people see."""
    found = await find_problem(client, profile, synced)
    return problem_sentence(found) if found else ""


@pytest.mark.parametrize(
    ("server", "says"),
    [
        pytest.param(Server(), "", id="all is well"),
        pytest.param(Server("workloads", NotFound("x")), "--runtime-config=scheduling.k8s.io/v1alpha2=true", id="gate"),
        pytest.param(Server("podgroups", NotFound("x")), "does not serve podgroups", id="PodGroups are not served"),
        pytest.param(Server("jobs", Forbidden("cannot list jobs")), "its roles must grant: cannot list", id="403"),
        pytest.param(Server("pods", Forbidden("cannot list pods")), "cannot list pods", id="pods are forbidden"),
        pytest.param(
            Server("jobs", Forbidden("cannot watch jobs"), watch_only=True), "cannot watch", id="may list, not watch"
        ),
        pytest.param(Server("jobs", Unreachable("does not answer")), "does not answer", id="nobody answers"),
    ],
)
async def test_muster_reports_the_first_problem(server: Server, says: str) -> None:
    problem = await problem_of(server, NATIVE)
    assert (says in problem) if says else (problem == "")
    assert "\n" not in problem


@pytest.mark.parametrize("profile", [NATIVE, CRD_IN_OWN_GROUP], ids=lambda profile: profile.group)
@pytest.mark.parametrize(
    "error", [NotFound("x"), ServerFault("x"), Unreachable("x")], ids=lambda error: type(error).__name__
)
@pytest.mark.parametrize("plural", ["jobs", "workloads", "podgroups"])
async def test_after_the_first_sync_a_failed_watch_is_no_problem(
    profile: ApiProfile, error: KubeError, plural: str
) -> None:
    server = Server(plural, error, watch_only=True)
    assert await problem_of(server, profile) != ""
    assert await problem_of(server, profile, synced=True) == ""


async def test_a_lost_right_to_watch_is_a_problem_also_after_the_first_sync() -> None:
    server = Server("podgroups", Forbidden("cannot watch podgroups"), watch_only=True)
    assert "must grant: cannot watch podgroups" in await problem_of(server, NATIVE, synced=True)


@pytest.mark.parametrize("plural", ["jobs", "pods", "workloads", "podgroups"])
async def test_a_list_that_fails_is_always_a_problem(plural: str) -> None:
    assert await problem_of(Server(plural, ServerFault("etcd is away")), NATIVE, synced=True) == "etcd is away"


@pytest.mark.parametrize("profile", [CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP], ids=lambda profile: profile.group)
async def test_for_missing_crds_the_problem_names_the_install_command(profile: ApiProfile) -> None:
    problem = await problem_of(Server("podgroups", NotFound("x")), profile)
    assert problem == f"the API server does not serve podgroups of {profile.api_version}: run `muster crds install`"


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (Server(), ""),
        (Server("workloads"), "it may not create workloads.scheduling.k8s.io"),
        (Server("podgroups"), "it may not create podgroups.scheduling.k8s.io"),
        (Server("podgroups", write="delete"), "it may not delete podgroups.scheduling.k8s.io"),
        (Server("podgroups", write="patch"), "it may not patch podgroups.scheduling.k8s.io"),
        (Server("events"), "it may not create events"),
        (Server("", Unreachable("does not answer")), "does not answer"),
    ],
)
async def test_muster_reports_a_missing_right(server: Server, says: str) -> None:
    found = await find_missing_permission(server, NATIVE)
    problem = problem_sentence(found) if found else ""
    assert (says in problem) if says else (problem == "")
