"""Jobs as users write them, and what became of them."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.clusters.api import Api, Object
from tests.clusters.workers import POD_CPU, worker

RUN_SECONDS = "hack.muster.dev/run-seconds"
POD_GROUP_ANNOTATION, GROUPED_LABEL = "muster.dev/pod-group", "muster.dev/grouped"
SCHEDULING_ANNOTATION = "muster.dev/scheduling"


def gang_job(name: str, size: int = 4, cpu: str = POD_CPU, run_seconds: int | None = None, **spec: Any) -> Object:
    """An Indexed Job of `size` pods, which qualifies; `spec` overrides."""
    return job(
        name, parallelism=size, completions=size, completionMode="Indexed", cpu=cpu, run_seconds=run_seconds, **spec
    )


def job(
    name: str, cpu: str = POD_CPU, run_seconds: int | None = None, pod: Object | None = None, **spec: Any
) -> Object:
    annotations = {RUN_SECONDS: str(run_seconds)} if run_seconds is not None else {}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [worker(cpu, run_seconds)], **(pod or {})},
    }
    return {"metadata": {"name": name}, "spec": {"template": template, "backoffLimit": 100, **spec}}


def asking(body: Object, intent: str) -> Object:
    """The same Job, with what its user wants in the annotation."""
    annotations = {**body["metadata"].get("annotations", {}), SCHEDULING_ANNOTATION: intent}
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


def pods_of(api: Api, namespace: str, job_name: str) -> list[Object]:
    return api.list("pods", namespace, labelSelector=f"batch.kubernetes.io/job-name={job_name}")


def all_pods(
    api: Api, namespace: str, job_name: str, count: int, state: Callable[[Object], bool] = bool
) -> list[Object]:
    """The Job's pods, once there are exactly as many as there should be, each in that state; until then none."""
    pods = pods_of(api, namespace, job_name)
    return pods if len(pods) == count and all(state(pod) for pod in pods) else []


def unfinished_pods(api: Api, namespace: str, job_name: str) -> list[Object]:
    return [p for p in pods_of(api, namespace, job_name) if p["status"].get("phase") not in {"Succeeded", "Failed"}]


def group_of(pod: Object) -> str | None:
    """The group that the pod is in, by its field or by its annotation: each API profile has one of the two."""
    metadata = pod["metadata"]
    named = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    noted = metadata.get("annotations", {}).get(POD_GROUP_ANNOTATION)
    assert not (named and noted), "one of the two says it all"
    assert metadata.get("labels", {}).get(GROUPED_LABEL) == ("true" if noted else None), "annotation and label together"
    found: str | None = named or noted
    return found


def is_bound(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName"))


def is_running(pod: Object) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running")


def controlled_by(things: Iterable[Object], uid: str) -> list[Object]:
    return [
        t for t in things for o in t["metadata"].get("ownerReferences", []) if o.get("controller") and o["uid"] == uid
    ]


def events_on(api: Api, namespace: str, job_name: str, reason: str = "") -> list[Object]:
    """The events on the Job: all of them, or those with that reason."""
    selector = f"involvedObject.kind=Job,involvedObject.name={job_name}{f',reason={reason}' if reason else ''}"
    return api.list("events", namespace, fieldSelector=selector)


def is_complete(api: Api, namespace: str, name: str) -> bool:
    conditions = api.get("jobs", name, namespace).get("status", {}).get("conditions", [])
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)
