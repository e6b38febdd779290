"""Does this API server serve what Muster needs, and may Muster use it? Asked with a LIST: discovery is not trusted."""

import asyncio
from collections.abc import Awaitable

from muster.api.profile import ApiProfile
from muster.kube.client import KubeClient
from muster.kube.errors import Forbidden, KubeError, NotFound
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


async def find_problem(client: KubeClient, profile: ApiProfile, synced: bool = False) -> str:
    """The first thing in the way, as one sentence for the person who runs the cluster; empty if there is none.

    Once everything was seen, admission can do without watching: a watch that fails, other than for a missing right, is
    then left to those who watch. It would take every replica out of the Service at once.
    """
    watched = (workloads(profile), pod_groups(profile), JOBS, *(() if profile.native else (PODS,)))
    for resource in dict.fromkeys((*watched, PODS)):
        if problem := _explain(await _refusal(client.list(resource, params=_ONE)), resource, profile):
            return problem
    refusals = await asyncio.gather(*(_refusal(client.try_watch(each)) for each in watched))
    return next(
        (
            _explain(refusal, resource, profile)
            for refusal, resource in zip(refusals, watched, strict=True)
            if isinstance(refusal, Forbidden if synced else KubeError)
        ),
        "",
    )


async def find_missing_right(client: KubeClient, profile: ApiProfile) -> str:
    """The same for writes, which cannot be tried out: the API server is asked what Muster may do."""
    needed = [("create", resource, "") for resource in (workloads(profile), pod_groups(profile), EVENTS)]
    needed += [(verb, pod_groups(profile), "") for verb in ("delete", "patch")]
    if not profile.native:
        needed.append(("patch", pod_groups(profile), "status"))
        needed.append(("list", PRIORITY_CLASSES, ""))
    for verb, resource, part in needed:
        try:
            if not await _may(client, verb, resource, part):
                return _lacking(f"it may not {verb} {f'the {part} of ' if part else ''}{resource}")
        except KubeError as error:
            return str(error)
    return ""


async def _refusal(asking: Awaitable[object]) -> KubeError | None:
    try:
        await asking
    except KubeError as error:
        return error
    return None


def _explain(refusal: KubeError | None, resource: Resource, profile: ApiProfile) -> str:
    match refusal:
        case None:
            return ""
        case NotFound():
            return f"the API server does not serve {resource.plural} of {profile.api_version}: {_remedy(profile)}"
        case Forbidden():
            return _lacking(str(refusal))
        case _:
            return str(refusal)


def _remedy(profile: ApiProfile) -> str:
    if not profile.native:
        return "run `muster crds install`"
    return (
        f"start it with --runtime-config={profile.api_version}=true and "
        "--feature-gates=GenericWorkload=true,GangScheduling=true"
    )


async def _may(client: KubeClient, verb: str, resource: Resource, part: str) -> bool:
    attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "subresource": part}
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(ACCESS_REVIEWS, "", question)
    return (answer.get("status") or {}).get("allowed") is True


def _lacking(what: str) -> str:
    return f"Muster's account lacks a right that manifests/rbac.yaml grants: {what}"
