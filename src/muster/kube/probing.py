"""Does this API server serve what Muster needs, and may Muster use it? Asked with a LIST: discovery is not trusted."""

import asyncio
from collections.abc import Mapping

from muster.api.dialect import Dialect
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
_BRIEF_WATCH = {"watch": "true", "timeoutSeconds": "1", "fieldSelector": "metadata.name=muster.probe"}
"""A watch that shows nothing and ends by itself: only whether it is allowed matters."""


async def find_problem(client: KubeClient, dialect: Dialect) -> str:
    """The first thing in the way, as one sentence for the person who runs the cluster; empty if there is none."""
    watched = (workloads(dialect), pod_groups(dialect), JOBS, *(() if dialect.native else (PODS,)))
    for resource in dict.fromkeys((*watched, PODS)):
        if problem := await _reading_problem(client, resource, dialect, _ONE):
            return problem
    problems = await asyncio.gather(*(_reading_problem(client, each, dialect, _BRIEF_WATCH) for each in watched))
    return next(filter(None, problems), "")


async def find_missing_right(client: KubeClient, dialect: Dialect) -> str:
    """The same for writes, which cannot be tried out: the API server is asked what Muster may do."""
    needed = [("create", resource, "") for resource in (workloads(dialect), pod_groups(dialect), EVENTS)]
    needed += [(verb, pod_groups(dialect), "") for verb in ("delete", "patch")]
    if not dialect.native:
        needed.append(("patch", pod_groups(dialect), "status"))
        needed.append(("list", PRIORITY_CLASSES, ""))
    for verb, resource, part in needed:
        try:
            if not await _may(client, verb, resource, part):
                return _lacking(f"it may not {verb} {f'the {part} of ' if part else ''}{resource}")
        except KubeError as error:
            return str(error)
    return ""


async def _reading_problem(client: KubeClient, resource: Resource, dialect: Dialect, how: Mapping[str, str]) -> str:
    try:
        await client.list(resource, params=how)
    except NotFound:
        return f"the API server does not serve {resource.plural} of {dialect.api_version}: {_remedy(dialect)}"
    except Forbidden as error:
        return _lacking(str(error))
    except KubeError as error:
        return str(error)
    return ""


def _remedy(dialect: Dialect) -> str:
    if not dialect.native:
        return "run `muster crds install`"
    return (
        f"start it with --runtime-config={dialect.api_version}=true and "
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
