"""Detects what an API server supports of the scheduling API, and which of Muster's CRDs it can serve.

It sends LISTs, because discovery is wrong: a CRD in a group that the server owns is Established and listed, and every
request for it returns 404.
"""

from dataclasses import dataclass

from muster.api.profile import KUBERNETES_GROUP, NATIVE, OWN_GROUP
from muster.crds.definitions import GROUPS, KINDS, Object, crd_name
from muster.crds.ownership import is_ours
from muster.kube.api_detection import server_owns_group, serves, unknown_version
from muster.kube.client import KubeClient
from muster.kube.errors import Forbidden, KubeError, NotFound
from muster.kube.resources import Resource

AUTO = "auto"
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class InstallRefused(Exception):
    """Why nothing was changed, as one sentence."""


@dataclass(frozen=True, slots=True)
class ServerSupport:
    served: bool
    """The server serves `scheduling.k8s.io/v1alpha2`, built in or as CRDs."""
    other_version: str
    """A version of the built-in API that the server serves and Muster does not support; empty if there is none."""
    owns_group: bool
    """The server has `scheduling.k8s.io` built in, so that CRDs in that group do not work."""
    definitions: dict[str, Object]
    """The CRDs with the names of Muster's CRDs, including those that Muster did not create."""

    @property
    def native(self) -> bool:
        return self.served and (self.owns_group or not self.has_definitions(KUBERNETES_GROUP))

    @property
    def dead(self) -> bool:
        """Whether there are CRDs that the server does not serve. They block the garbage collector."""
        return self.owns_group and self.has_definitions(KUBERNETES_GROUP)

    def has_definitions(self, group: str) -> bool:
        return any(crd_name(kind, group) in self.definitions for kind in KINDS)


async def find_support(client: KubeClient) -> ServerSupport:
    try:
        served = await serves(client, NATIVE, certain=True)
        other = "" if served else await unknown_version(client, certain=True)
        owns = await server_owns_group(client)  # if unknown, assume yes: the other group works everywhere
        return ServerSupport(served, other, owns, await _definitions(client))
    except Forbidden as error:
        raise InstallRefused(
            f"cannot detect what this API server serves, because this account lacks a permission: {error}"
        ) from error
    except KubeError as error:
        raise InstallRefused(str(error)) from error


def choose(found: ServerSupport, asked: str) -> str:
    """The group to install; empty if the server needs none."""
    if found.other_version:
        raise InstallRefused(
            f"this API server has Workloads of {KUBERNETES_GROUP}/{found.other_version} built in, which this version "
            "of Muster does not support; Muster installs no CRDs next to a built-in API"
        )
    if found.native and asked != OWN_GROUP:
        return ""
    if asked == KUBERNETES_GROUP and found.owns_group:
        raise InstallRefused(
            f"CRDs in {KUBERNETES_GROUP} do not work on this API server, which has that group built in: every request "
            f"for them returns 404, and they delay the garbage collector. Use --group {OWN_GROUP}"
        )
    group = asked if asked in GROUPS else (OWN_GROUP if found.owns_group else KUBERNETES_GROUP)
    for kind in KINDS:
        name = crd_name(kind, group)
        if name in found.definitions and not is_ours(found.definitions[name]):
            raise InstallRefused(
                f"the CustomResourceDefinition {name} exists, and Muster did not create it. Muster does not change it"
            )
    return group


async def _definitions(client: KubeClient) -> dict[str, Object]:
    found: dict[str, Object] = {}
    for name in (crd_name(kind, group) for group in GROUPS for kind in KINDS):
        try:
            found[name] = await client.get(CRDS, "", name)
        except NotFound:
            continue
    return found
