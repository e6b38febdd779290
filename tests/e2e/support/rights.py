"""Taking a right away from Muster's account, and giving it back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

from tests.e2e.support.api import Api, Object
from tests.e2e.support.clusters import Cluster
from tests.e2e.support.waiting import eventually

ROLE = "muster"


@contextmanager
def without_right(cluster: Cluster, verb: str, resource: str) -> Iterator[Callable[[], None]]:
    """Inside the block Muster may not do that, and the API server knows it. Calling the value gives it back early."""
    api, muster = cluster.api, Api(cluster.muster_kubeconfig())
    role = api.get("clusterroles", ROLE)
    kept = [rule for rule in _single(role["rules"]) if (rule["verbs"], rule["resources"]) != ([verb], [resource])]
    assert len(kept) < len(_single(role["rules"])), f"nothing grants {verb} {resource}"
    api.patch("clusterroles", ROLE, {"rules": kept})

    def restore() -> None:
        api.patch("clusterroles", ROLE, {"rules": role["rules"]})
        eventually(lambda: _may(muster, verb, resource), f"Muster may {verb} {resource} again")

    try:
        eventually(lambda: not _may(muster, verb, resource), f"Muster may no longer {verb} {resource}")
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


def _may(account: Api, verb: str, resource: str) -> bool:
    groups = {"pods": "", "events": "", "jobs": "batch"}
    asked = {"verb": verb, "resource": resource, "group": groups.get(resource, "scheduling.k8s.io")}
    review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    answer = account.create("selfsubjectaccessreviews", {**review, "spec": {"resourceAttributes": asked}})
    return bool(answer["status"]["allowed"])
