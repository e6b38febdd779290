"""Taking a right away from Muster's account, and giving it back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.waiting import eventually

ROLES = ("muster", "muster-crd")


@contextmanager
def without_right(cluster: Cluster, verb: str, resource: str) -> Iterator[Callable[[], None]]:
    """Inside the block Muster may not do that, and the API server knows it. Calling the value gives it back early."""
    api, muster, group = cluster.api, Api(cluster.muster_kubeconfig()), _group(cluster, resource)
    granted = {role: api.get("clusterroles", role)["rules"] for role in ROLES}
    kept = {role: [r for r in _single(rules) if not _is(r, verb, resource)] for role, rules in granted.items()}
    assert any(len(kept[role]) < len(_single(granted[role])) for role in ROLES), f"nothing grants {verb} {resource}"
    for role in ROLES:
        api.patch("clusterroles", role, {"rules": kept[role]})

    def restore() -> None:
        for role in ROLES:
            api.patch("clusterroles", role, {"rules": granted[role]})
        eventually(lambda: _may(muster, verb, resource, group), f"Muster may {verb} {resource} again")

    try:
        eventually(lambda: not _may(muster, verb, resource, group), f"Muster may no longer {verb} {resource}")
        yield restore
    finally:
        restore()


def _single(rules: list[Object]) -> list[Object]:
    """One rule for each verb on each resource."""
    return [
        {**rule, "apiGroups": [group], "resources": [resource], "verbs": [verb]}
        for rule in rules
        for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"])
    ]


def _is(rule: Object, verb: str, resource: str) -> bool:
    return (rule["verbs"], rule["resources"]) == ([verb], [resource])


def _group(cluster: Cluster, resource: str) -> str:
    return {"pods": "", "events": "", "jobs": "batch"}.get(resource, cluster.scheduling_group)


def _may(account: Api, verb: str, resource: str, group: str) -> bool:
    asked = {"verb": verb, "resource": resource, "group": group}
    review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    answer = account.create("selfsubjectaccessreviews", {**review, "spec": {"resourceAttributes": asked}})
    return bool(answer["status"]["allowed"])
