"""Namespaces that refuse, end or pretend: what surrounds a gang, and is its user's to change."""

from functools import partial

from tests.clusters.api import Object
from tests.clusters.objects import gang_job
from tests.clusters.pairs import pod_group, workload
from tests.e2e.hostile.attack import Attack, Input, pod

QUOTAS: dict[str, Object] = {
    "no pods": {"pods": "0"},
    "one pod of two": {"pods": "1"},
    "no events, and no Jobs beyond one": {"count/events": "0", "count/jobs.batch": "1"},
    "no PodGroups": {"count/podgroups.scheduling.k8s.io": "0", "count/podgroups.scheduling.muster.dev": "0"},
    "no Workloads": {"count/workloads.scheduling.k8s.io": "0", "count/workloads.scheduling.muster.dev": "0"},
}


def _quota(hard: Object, attack: Attack) -> None:
    place = attack.another_namespace()
    attack.api.create("resourcequotas", {"metadata": {"name": "none"}, "spec": {"hard": hard}}, place)
    attack.gang(namespace=place)


def _limits(attack: Attack) -> None:
    place = attack.another_namespace()
    limits = [{"type": "Container", "max": {"cpu": "1m"}, "default": {"cpu": "1m"}, "defaultRequest": {"cpu": "1m"}}]
    attack.api.create("limitranges", {"metadata": {"name": "tiny"}, "spec": {"limits": limits}}, place)
    attack.gang(namespace=place)


def _restricted(attack: Attack) -> None:
    """Pod Security refuses every pod."""
    place = attack.another_namespace()
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    attack.admin.patch("namespaces", place, {"metadata": {"labels": labels}})
    attack.gang(namespace=place)


def _ended(attack: Attack) -> None:
    """The namespace goes while its gangs begin."""
    place = attack.another_namespace()
    for number in range(5):
        attack.gang(f"-{number}", namespace=place)
    attack.admin.delete("namespaces", place)


def _stuck(attack: Attack) -> None:
    """The namespace cannot go: what is in it has a finalizer."""
    place = attack.another_namespace()
    body = {"metadata": {"name": "held", "finalizers": ["example.com/never"]}}
    attack.api.create("configmaps", body, place)
    attack.gang(namespace=place)
    attack.admin.delete("namespaces", place)


def _namesakes(attack: Attack) -> None:
    """What Muster keeps in its own namespace, in another one."""
    there = attack.namespace
    attack.api.create("leases", {"metadata": {"name": "muster"}, "spec": {"holderIdentity": "mallory"}}, there)
    attack.api.create("secrets", {"metadata": {"name": "muster-certificates"}, "data": {"tls.key": "eA=="}}, there)
    attack.api.create("serviceaccounts", {"metadata": {"name": "muster"}}, there)
    attack.api.create("configmaps", {"metadata": {"name": "muster"}, "data": {"config.yaml": ": : ["}}, there)
    attack.gang(runs=True)


def _dry_runs(attack: Attack) -> None:
    """Each kind, ten times: nothing is stored, and Muster stores nothing."""
    for number in range(10):
        name = f"{attack.name}-{number}"
        bodies = {
            "jobs": gang_job(name, 2),
            "workloads": workload(name, name),
            "podgroups": pod_group(name),
            "pods": pod(name, {}),
        }
        for kind, body in bodies.items():
            with attack.perhaps_refused():
                attack.api.create(kind, body, attack.namespace, dryRun="All")
    kinds = ("jobs", "workloads", "podgroups", "pods")
    stored = [thing["metadata"]["name"] for kind in kinds for thing in attack.api.list(kind, attack.namespace)]
    assert not [name for name in stored if name.startswith(f"{attack.name}-")], "a dry run stored something"


def _burst(attack: Attack) -> None:
    for number in range(30):
        attack.gang(f"-{number}")


INPUTS: dict[str, Input] = {
    **{f"a quota of {what}": partial(_quota, hard) for what, hard in QUOTAS.items()},
    "limits that no pod meets": _limits,
    "a namespace whose pods are all refused": _restricted,
    "a namespace that ends while gangs begin": _ended,
    "a namespace that cannot end": _stuck,
    "namesakes of Muster's own objects": _namesakes,
    "dry runs of everything": _dry_runs,
    "thirty gangs at once": _burst,
}
