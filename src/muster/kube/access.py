"""Checks that the API server serves what Muster needs and that Muster has the RBAC permissions to use it.

Each check sends a LIST. Discovery is not enough: it also lists CRDs that do not work.
"""

import asyncio
from collections.abc import Awaitable

from muster.api.profile import ApiProfile
from muster.kube.client import KubeClient
from muster.kube.errors import Forbidden, KubeError, NotFound
from muster.kube.problems import AccessProblem, CallFailed, NotServed, ReadForbidden, WriteForbidden
from muster.kube.resources import (
    ACCESS_REVIEWS,
    EVENTS,
    JOBS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
    pod_groups,
    workloads,
)

_ONE = {"limit": "1"}


async def find_problem(client: KubeClient, profile: ApiProfile, synced: bool = False) -> AccessProblem | None:
    """The first problem found.

    Admission works without watches once the caches have synced (`synced`). From then on, a watch that fails for
    another reason than a missing permission is not a problem here: it would make every replica unready at the same
    time. The watching code retries it.
    """
    watched = (workloads(profile), pod_groups(profile), JOBS, *(() if profile.native else (PODS,)))
    for resource in dict.fromkeys((*watched, PODS)):
        if (refusal := await _refusal(client.list(resource, params=_ONE))) is not None:
            return _problem(refusal, resource, profile)
    refusals = await asyncio.gather(*(_refusal(client.try_watch(each)) for each in watched))
    return next(
        (
            _problem(refusal, resource, profile)
            for refusal, resource in zip(refusals, watched, strict=True)
            if isinstance(refusal, Forbidden if synced else KubeError)
        ),
        None,
    )


async def find_missing_permission(client: KubeClient, profile: ApiProfile) -> AccessProblem | None:
    """The first missing permission to write. A write cannot be tried: this asks for a SelfSubjectAccessReview."""
    needed = [("create", resource, "") for resource in (workloads(profile), pod_groups(profile), EVENTS)]
    needed += [(verb, pod_groups(profile), "") for verb in ("delete", "patch")]
    if not profile.native:
        needed.append(("patch", pod_groups(profile), "status"))
        needed.append(("list", PRIORITY_CLASSES, ""))
    for verb, resource, part in needed:
        try:
            if not await _may(client, verb, resource, part):
                return WriteForbidden(verb, str(resource), part)
        except KubeError as error:
            return CallFailed(str(error))
    return None


async def _refusal(asking: Awaitable[object]) -> KubeError | None:
    try:
        await asking
    except KubeError as error:
        return error
    return None


def _problem(refusal: KubeError, resource: Resource, profile: ApiProfile) -> AccessProblem:
    match refusal:
        case NotFound():
            return NotServed(resource.plural, profile)
        case Forbidden():
            return ReadForbidden(str(refusal))
        case _:
            return CallFailed(str(refusal))


async def _may(client: KubeClient, verb: str, resource: Resource, part: str) -> bool:
    attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "subresource": part}
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(ACCESS_REVIEWS, "", question)
    return (answer.get("status") or {}).get("allowed") is True
