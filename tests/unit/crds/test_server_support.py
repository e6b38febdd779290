"""Which CRDs go where. The server is a table of what answers."""

from collections.abc import Mapping
from typing import Any

import pytest

from muster.api.profile import KUBERNETES_GROUP, OWN_GROUP
from muster.crds import install as module
from muster.crds.definitions import KINDS, crd_name, definition
from muster.crds.install import find_installed, install
from muster.crds.server_support import AUTO, CRDS, InstallRefused, choose, find_support
from muster.kube.errors import Forbidden, NotFound
from muster.kube.resources import PRIORITY_CLASSES, Resource

Object = dict[str, Any]

NATIVE = (f"{KUBERNETES_GROUP}/v1alpha2", f"{KUBERNETES_GROUP}/v1")
STOCK = (f"{KUBERNETES_GROUP}/v1",)
NEWER = (f"{KUBERNETES_GROUP}/v1beta1", f"{KUBERNETES_GROUP}/v1")
OPEN = ()
"""A server that does not own the group."""


class Server:
    """Serves these groups and versions, and has these CRDs."""

    def __init__(self, *serves: str, crds: tuple[Object, ...] = (), forbidden: tuple[str, ...] = ()) -> None:
        self.serves = set(serves)
        self.forbidden = forbidden
        self.crds = {crd["metadata"]["name"]: {**crd, **established(crd)} for crd in crds}

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if str(resource) in self.forbidden:
            raise Forbidden(f"cannot list resource {resource}")
        version = f"{resource.group}/{resource.version}"
        if version not in self.serves or (resource != PRIORITY_CLASSES and version == f"{KUBERNETES_GROUP}/v1"):
            raise NotFound("the server could not find the requested resource")
        return {"items": []}

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if resource != CRDS or name not in self.crds:
            raise NotFound(name)
        return self.crds[name]

    async def apply(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        vanishing = self.crds.get(name, {}).get("metadata", {}).get("deletionTimestamp")
        self.crds[name] = {**body, **established(body)}
        if vanishing:
            self.crds[name]["metadata"]["deletionTimestamp"] = vanishing
        return self.crds[name]

    async def try_watch(self, resource: Resource) -> None:
        raise NotImplementedError

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        raise NotImplementedError

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        raise NotImplementedError

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        raise NotImplementedError

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
        raise NotImplementedError


def established(crd: Object) -> Object:
    conditions = [{"type": "Established", "status": "True"}]
    return {"metadata": {**crd["metadata"], "uid": "u"}, "status": {"conditions": conditions}}


def ours(group: str) -> tuple[Object, ...]:
    return tuple(definition(kind, group) for kind in KINDS)


def theirs(group: str) -> tuple[Object, ...]:
    return tuple({"metadata": {"name": crd_name(kind, group)}} for kind in KINDS)


CHOSEN: dict[str, tuple[Server, str, str]] = {
    "built in: nothing": (Server(*NATIVE), AUTO, ""),
    "built in, asked for the same group: nothing": (Server(*NATIVE), KUBERNETES_GROUP, ""),
    "built in, asked for ours: ours": (Server(*NATIVE), OWN_GROUP, OWN_GROUP),
    "built in, with dead CRDs of another life: nothing": (Server(*NATIVE, crds=ours(KUBERNETES_GROUP)), AUTO, ""),
    "built in without PriorityClass: nothing": (Server(NATIVE[0]), AUTO, ""),
    "the group is owned: ours": (Server(*STOCK), AUTO, OWN_GROUP),
    "the group is owned, with dead CRDs: ours": (Server(*STOCK, crds=ours(KUBERNETES_GROUP)), AUTO, OWN_GROUP),
    "PriorityClasses are hidden: ours": (Server(*STOCK, forbidden=(str(PRIORITY_CLASSES),)), AUTO, OWN_GROUP),
    "the group is free: the real one": (Server(*OPEN), AUTO, KUBERNETES_GROUP),
    "the group is free, asked for ours: ours": (Server(*OPEN), OWN_GROUP, OWN_GROUP),
    "our CRDs serve it: an upgrade": (Server(NATIVE[0], crds=ours(KUBERNETES_GROUP)), AUTO, KUBERNETES_GROUP),
    "somebody else's CRDs of the other group": (Server(*STOCK, crds=theirs(KUBERNETES_GROUP)), AUTO, OWN_GROUP),
}


@pytest.mark.parametrize("case", CHOSEN)
async def test_muster_installs_the_crds_of_this_group(case: str) -> None:
    server, asked, group = CHOSEN[case]
    assert choose(await find_support(server), asked) == group


REFUSED: dict[str, tuple[Server, str, str]] = {
    "dead": (Server(*STOCK), KUBERNETES_GROUP, "do not work on this API server"),
    "a version that we do not speak": (Server(*NEWER), AUTO, "v1beta1 built in, which this version of Muster does not"),
    "the same, asked for ours": (Server(*NEWER), OWN_GROUP, "v1beta1"),
    "somebody else's CRDs": (Server(*STOCK, crds=theirs(OWN_GROUP)), AUTO, "Muster did not create it"),
    "not allowed to look": (Server(*STOCK, forbidden=("workloads.scheduling.k8s.io",)), AUTO, "lacks a permission"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_muster_refuses_to_install_crds(case: str) -> None:
    server, asked, because = REFUSED[case]
    with pytest.raises(InstallRefused, match=because):
        choose(await find_support(server), asked)


async def test_a_crd_that_the_server_never_serves_is_detected() -> None:
    assert (await find_support(Server(*STOCK, crds=ours(KUBERNETES_GROUP)))).dead
    assert not (await find_support(Server(*STOCK, crds=ours(OWN_GROUP)))).dead
    assert not (await find_support(Server(NATIVE[0], crds=ours(KUBERNETES_GROUP)))).dead


async def test_a_crd_that_is_being_deleted_is_not_called_installed() -> None:
    server = Server(*STOCK, f"{OWN_GROUP}/v1alpha2", crds=ours(OWN_GROUP))
    for crd in server.crds.values():
        crd["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(InstallRefused, match="being deleted"):
        await install(server, OWN_GROUP)


async def test_established_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.3)
    with pytest.raises(InstallRefused, match="still does not serve it"):
        await install(Server(*STOCK), KUBERNETES_GROUP)


async def test_crds_without_muster_s_label_are_not_found() -> None:
    server = Server(f"{OWN_GROUP}/v1alpha2", crds=theirs(KUBERNETES_GROUP) + ours(OWN_GROUP))
    found = await find_installed(server, (KUBERNETES_GROUP, OWN_GROUP))
    assert {(each.group, each.objects) for each in found} == {(OWN_GROUP, 0)}
