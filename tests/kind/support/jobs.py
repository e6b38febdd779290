"""Jobs whose pods are real processes, and what became of them."""

from functools import partial
from typing import Any

from tests.clusters.api import Api, Object
from tests.clusters.objects import all_pods, gang_job, group_of, is_complete, is_running
from tests.clusters.pairs import assert_one_pair
from tests.clusters.waiting import eventually
from tests.clusters.workers import IMAGE
from tests.kind.support.machine import Kind

UNTIL_ENDED = "until [ -s /tmp/exit ]; do sleep 0.2; done; exit $(cat /tmp/exit)"
STARTED_SECONDS = 60


def real_gang(name: str, size: int = 3, command: str = "sleep 1", cpu: str = "10m", **spec: Any) -> Object:
    """An Indexed Job that qualifies; each pod runs the command in a shell."""
    body = gang_job(name, size, cpu=cpu, **spec)
    pod = body["spec"]["template"]["spec"]
    pod |= {"terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False}
    pod["containers"][0] |= {"image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", command]}
    return body


def end(kind: Kind, pod: Object, code: int) -> None:
    """A pod that runs `UNTIL_ENDED` ends with that exit code."""
    metadata = pod["metadata"]
    exit_now = f"echo {code} >/tmp/exit"
    kind.kubectl("exec", "--namespace", metadata["namespace"], metadata["name"], "--", "sh", "-c", exit_now)


def running(api: Api, namespace: str, name: str, size: int, seconds: float = STARTED_SECONDS) -> list[Object]:
    """The Job's pods, once all of them run."""
    return eventually(partial(all_pods, api, namespace, name, size, is_running), f"{size} pods of {name} run", seconds)


def completes(api: Api, namespace: str, name: str, seconds: float = STARTED_SECONDS) -> None:
    eventually(partial(is_complete, api, namespace, name), f"{name} is complete", seconds)


def gang_runs_to_its_end(kind: Kind, namespace: str, name: str = "train", size: int = 3, **spec: Any) -> None:
    """All its pods start, in one group, and the Job completes."""
    job = kind.api.create("jobs", real_gang(name, size, **spec), namespace)
    completes(kind.api, namespace, name)
    assert_one_pair(kind.api, namespace, job, size)
    found = {(group_of(pod), pod["status"]["phase"]) for pod in all_pods(kind.api, namespace, name, size)}
    assert len(found) == 1, found
    assert kind.api.get("jobs", name, namespace)["status"]["succeeded"] == size
