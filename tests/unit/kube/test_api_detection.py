"""Which API a server has. The server is a table of what answers; it is asked by LIST and by nothing else."""

from collections.abc import Mapping

import pytest

from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.controllers.profile.problem_sentence import problem_sentence
from muster.kube.api_detection import find_profile
from muster.kube.client import Object
from muster.kube.errors import Forbidden, NotFound, Unreachable
from muster.kube.resources import Resource
from tests.fake_cluster import FakeClient, FakeCluster

PRIORITIES = "scheduling.k8s.io/v1 priorityclasses"
BUILT_IN = ("scheduling.k8s.io/v1alpha2 workloads", "scheduling.k8s.io/v1alpha2 podgroups")
OWN = ("scheduling.muster.dev/v1alpha2 workloads", "scheduling.muster.dev/v1alpha2 podgroups")
NEWER = ("scheduling.k8s.io/v1beta1 workloads", "scheduling.k8s.io/v1beta1 podgroups")


class Server(FakeClient):
    def __init__(self, *serves: str, forbidden: tuple[str, ...] = ()) -> None:
        super().__init__(FakeCluster())
        self.serves, self.forbidden = serves, forbidden

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        asked = f"{resource.group}/{resource.version} {resource.plural}"
        assert params == {"limit": "1"}, "a probe must not read a large cluster"
        if asked in self.forbidden:
            raise Forbidden(f"cannot list resource {resource}")
        if asked not in self.serves:
            raise NotFound("the server could not find the requested resource")
        return {"items": []}


@pytest.mark.parametrize(
    ("server", "choice", "found"),
    [
        pytest.param(Server(PRIORITIES, *BUILT_IN), "auto", NATIVE, id="built in"),
        pytest.param(Server(PRIORITIES, *BUILT_IN, *OWN), "auto", NATIVE, id="built in goes before our own group"),
        pytest.param(
            Server(*BUILT_IN), "auto", CRD_IN_KUBERNETES_GROUP, id="the group without PriorityClass is our CRDs'"
        ),
        pytest.param(Server(*BUILT_IN, *OWN), "auto", CRD_IN_KUBERNETES_GROUP, id="both of our groups: the real one"),
        pytest.param(Server(PRIORITIES, *OWN), "auto", CRD_IN_OWN_GROUP, id="a stock server with our CRDs"),
        pytest.param(Server(*OWN), "auto", CRD_IN_OWN_GROUP, id="our own group on a server without PriorityClass"),
        pytest.param(Server(PRIORITIES, *BUILT_IN, *OWN), "scheduling.muster.dev", CRD_IN_OWN_GROUP, id="asked for"),
        pytest.param(Server(PRIORITIES, *NEWER, *OWN), "scheduling.muster.dev", CRD_IN_OWN_GROUP, id="and only that"),
        pytest.param(Server(PRIORITIES, *BUILT_IN, *OWN), "scheduling.k8s.io", NATIVE, id="asked for the built-in"),
        pytest.param(
            Server(*BUILT_IN),
            "scheduling.k8s.io",
            CRD_IN_KUBERNETES_GROUP,
            id="asked for the group, not for who has it",
        ),
        pytest.param(
            Server(PRIORITIES, forbidden=BUILT_IN),
            "auto",
            NATIVE,
            id="forbidden means served; the missing right is reported elsewhere",
        ),
        pytest.param(Server(*BUILT_IN, forbidden=(PRIORITIES,)), "auto", NATIVE, id="hidden PriorityClasses exist"),
    ],
)
async def test_muster_finds_the_api_that_a_server_serves(server: Server, choice: str, found: ApiProfile) -> None:
    assert await find_profile(server, choice) == found


@pytest.mark.parametrize(
    ("server", "choice", "says"),
    [
        pytest.param(
            Server(PRIORITIES, *NEWER),
            "auto",
            [
                "Workloads as scheduling.k8s.io/v1beta1, which this version of Muster does not support",
                "it supports v1alpha2",
            ],
            id="a version that we do not speak",
        ),
        pytest.param(
            Server(PRIORITIES, *NEWER, *OWN), "auto", ["v1beta1"], id="never a reason to use our CRDs beside it"
        ),
        pytest.param(
            Server(PRIORITIES),
            "auto",
            ["--runtime-config=scheduling.k8s.io/v1alpha2=true", "GangScheduling=true", "run `muster crds install`"],
            id="nothing: what to do",
        ),
        pytest.param(
            Server(PRIORITIES, *BUILT_IN),
            "scheduling.muster.dev",
            ["does not serve workloads of scheduling.muster.dev/v1alpha2: run `muster crds install`"],
            id="asked for ours, which is not there",
        ),
        pytest.param(
            Server(PRIORITIES, *OWN),
            "scheduling.k8s.io",
            ["does not serve workloads of scheduling.k8s.io/v1alpha2"],
            id="asked for the built-in, which is not there",
        ),
        pytest.param(Server(PRIORITIES, BUILT_IN[0]), "auto", ["does not serve"], id="built in, half of it"),
        pytest.param(Server(PRIORITIES, OWN[0]), "auto", ["run `muster crds install`"], id="our CRDs, half of them"),
    ],
)
async def test_a_missing_api_is_one_sentence(server: Server, choice: str, says: list[str]) -> None:
    found = await find_profile(server, choice)
    assert not isinstance(found, ApiProfile)
    sentence = problem_sentence(found)
    for words in says:
        assert words in sentence
    assert "\n" not in sentence


async def test_an_unreachable_server_is_an_error_and_not_a_missing_api() -> None:
    class Away(FakeClient):
        async def list(
            self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None
        ) -> Object:
            raise Unreachable("does not answer")

    with pytest.raises(Unreachable):
        await find_profile(Away(FakeCluster()))
