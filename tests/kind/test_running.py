"""What users do every day, and what happens to every long-lived installation: none of it restarts Muster.

The kubelet gives the leader another token when the module begins. Muster reads the file once a minute, so that the last
test looks whether it does.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.clusters.api import Api, Object, Recording
from tests.clusters.binding import PARTLY_BOUND_SECONDS, bound_in, seconds_partly_bound
from tests.clusters.chart import helm
from tests.clusters.objects import all_pods, events_on, group_of, is_bound
from tests.clusters.retries import REPLACED_AT_ONCE, all_live, group_and_size, index_of
from tests.clusters.vault import DAY, aged, bundle, put
from tests.clusters.waiting import always, eventually
from tests.kind.support.creation import NO_ANSWER, NOT_STARTED, Creation
from tests.kind.support.installed import (
    certificate_ends,
    install_if_missing,
    leader,
    lease_writer,
    logs,
    refused_logins,
    restarts,
    token_in,
    wait_until_ready,
    writer_on_the_lease,
)
from tests.kind.support.jobs import UNTIL_ENDED, completes, end, gang_runs_to_its_end, real_gang, running
from tests.kind.support.machine import IMAGE, Kind, Kinds, run
from tests.unit.dockerfile import MAX_BYTES, PYTHON

logger = logging.getLogger("kind")

UNPACKED = "import pathlib; print(sum(each.lstat().st_size for each in pathlib.Path('/opt/muster').rglob('*')))"
WAITS_SECONDS = 5
RENEWED_SECONDS = 90
REREAD_SECONDS = 90
"""Muster reads its token once a minute, and renews the Lease every 5 s."""


@dataclass(frozen=True)
class Rotation:
    restarts: dict[str, int]
    old: set[str]
    """The tokens that the replicas had before."""


@pytest.fixture(scope="module", autouse=True)
def rotation(kinds: Kinds) -> Iterator[Rotation]:
    """A kubelet that starts asks for new tokens: it keeps them in memory only. The old ones stay valid for a while, as
    they do when the kubelet renews them after 80 % of their life."""
    kind = kinds.at("native")
    install_if_missing(kind)
    with writer_on_the_lease(kind.api):
        pods, counted = wait_until_ready(kind), restarts(kind.api)
        old = {token_in(kind, pod) for pod in pods}
        eventually(lambda: lease_writer(kind.api) in old, "the Lease is renewed with one of the tokens", 60, every=0.5)
        for node in kind.workers():
            kind.on_node(node, "systemctl", "restart", "kubelet")
        eventually(
            lambda: old.isdisjoint(token_in(kind, pod) for pod in pods), "the kubelets give other tokens", 90, every=1
        )
        yield Rotation(counted, old)


def test_the_image_has_at_most_110_mb_unpacked(installed: Kind) -> None:
    """As tests/unit/test_image_content.py has it of a copy. The image has no shell."""
    docker = ("docker", "run", "--rm", "--network=none", "--entrypoint", PYTHON, IMAGE)
    size = int(run(*docker, "-c", UNPACKED))
    logger.info("%s has %.1f MB in /opt/muster", IMAGE, size / 1e6)
    assert 0 < size <= MAX_BYTES


def test_helm_test(installed: Kind) -> None:
    assert "Phase:          Succeeded" in helm("test", "muster", "--timeout", "60s", kubeconfig=installed.kubeconfig)


def test_a_gang_completes(installed: Kind, namespace: str) -> None:
    gang_runs_to_its_end(installed, namespace)


def test_a_gang_that_does_not_fit_waits_as_a_whole_and_starts_once_there_is_room(
    installed: Kind, namespace: str
) -> None:
    """A pod takes most of a node, so that each node has room for one."""
    api, nodes = installed.api, installed.workers()
    size = len(nodes)
    cpu = f"{min(_millicores(api, node) for node in nodes) * 6 // 10}m"
    api.create("jobs", real_gang("blocking", 1, "sleep 3600", cpu), namespace)
    running(api, namespace, "blocking", 1)
    api.create("jobs", real_gang("train", size, "sleep 2", cpu), namespace)
    pods = eventually(partial(all_pods, api, namespace, "train", size), "the gang has its pods", 30)
    assert None not in {group_of(pod) for pod in pods}
    waits = partial(all_pods, api, namespace, "train", size, lambda pod: not is_bound(pod))
    always(lambda: bool(waits()), "the gang waits as a whole", WAITS_SECONDS)
    with Recording(api, "pods", namespace) as recorded:
        api.delete("jobs", "blocking", namespace)
        completes(api, namespace, "train")
        names = {pod["metadata"]["name"] for pod in pods}
        eventually(lambda: names <= bound_in(recorded).keys(), "the watch shows that every pod was bound")
    assert seconds_partly_bound(recorded, "train", size) <= PARTLY_BOUND_SECONDS


def test_a_worker_that_fails_is_retried_and_the_gang_is_resized(installed: Kind, namespace: str) -> None:
    """One index has ended when another fails: the new pod must not wait for four others."""
    api, size = installed.api, 4
    job = api.create(
        "jobs", real_gang("train", size, UNTIL_ENDED, podFailurePolicy=REPLACED_AT_ONCE["podFailurePolicy"]), namespace
    )
    pods = {index_of(pod): pod for pod in running(api, namespace, "train", size)}
    group, before = group_and_size(api, namespace, job)
    end(installed, pods[0], 0)
    eventually(lambda: api.get("jobs", "train", namespace)["status"].get("completedIndexes") == "0", "index 0 is done")
    end(installed, pods[1], 1)

    def retried() -> list[Object]:
        alive = all_live(api, namespace, {1, 2, 3})
        new = [pod["metadata"]["name"] for pod in alive if index_of(pod) == 1]
        assert new != [pods[1]["metadata"]["name"]], "the failed pod is not replaced yet"
        assert {pod["status"]["phase"] for pod in alive} == {"Running"}
        return alive

    alive = eventually(retried, "the worker runs again", 60)
    assert {group_of(pod) for pod in alive} == {group["metadata"]["name"]}
    assert (before, group_and_size(api, namespace, job)[1]) == (4, 3)
    assert len(events_on(api, namespace, "train", "GangResized")) == 1
    for pod in alive:
        end(installed, pod, 0)
    completes(api, namespace, "train")


def test_the_certificate_is_renewed_under_job_creation(installed: Kind, namespace: str) -> None:
    """Somebody has put back a leaf in the last third of its life: Muster makes another, and each replica serves it."""
    api = installed.api
    old = bundle(api).leaf.certificate
    with Creation(api, namespace) as creation:
        put(api, aged(bundle(api)).data())

        def renewed() -> bool:
            leaf = bundle(api).leaf.certificate
            young = datetime.now(UTC) - leaf.not_valid_before_utc < DAY
            return leaf != old and young and certificate_ends(api) == {leaf.not_valid_after_utc.timestamp()}

        eventually(renewed, "every replica serves a new certificate", RENEWED_SECONDS, every=0.5)
        creation.more()
        ended = creation.whole_gangs()
    assert ended.unanswered == []


def test_the_api_server_restarts_under_job_creation(installed: Kind, namespace: str) -> None:
    node = f"{installed.name}-control-plane"
    before, counted = _api_server(installed, node), restarts(installed.api)
    with Creation(installed.api, namespace, expected=NOT_STARTED) as creation:
        installed.on_node(node, "crictl", "stop", "--timeout", "0", before)
        eventually(lambda: _api_server(installed, node) not in {"", before}, "another container runs", 90, every=1)
        eventually(lambda: _answers(installed.api), "the API server answers", 90, every=0.5)
        creation.more()
        creation.whole_gangs()
    assert restarts(installed.api) == counted, "Muster restarted"


def test_muster_uses_the_token_that_the_kubelet_has_renewed(
    installed: Kind, namespace: str, rotation: Rotation
) -> None:
    api = installed.api
    with Creation(api, namespace) as creation:
        what = "Muster shows the API server a new token"
        eventually(lambda: lease_writer(api) not in rotation.old, what, REREAD_SECONDS, every=1)
        creation.whole_gangs()
    assert lease_writer(api) == token_in(installed, leader(api))
    assert restarts(api) == rotation.restarts, "Muster restarted"
    assert refused_logins(logs(installed)) == []


def _api_server(kind: Kind, node: str) -> str:
    listed = kind.on_node(node, "crictl", "ps", "--name", "kube-apiserver", "--state", "running", "--output", "json")
    return next((str(each["id"]) for each in json.loads(listed).get("containers") or ()), "")


def _answers(api: Api) -> bool:
    try:
        return api.raw("/readyz")[0] == 200
    except NO_ANSWER:
        return False


def _millicores(api: Api, node: str) -> int:
    """What the node can give, in thousandths of a CPU."""
    cpu = str(api.get("nodes", node)["status"]["allocatable"]["cpu"])
    return int(cpu.removesuffix("m")) if cpu.endswith("m") else int(cpu) * 1000
