"""The pod webhook and the guard answer correctly and in time when the API server is slow and when the watch streams
fail."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.https import ask_guard, ask_pod_webhook, pod_of, readyz
from tests.clusters.muster import Muster
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.waiting import always, eventually
from tests.e2e.support.relay import DeadWatches, Relay, blind_to_jobs, error_in_stream, failure, slow

SHARE_OF_TIMEOUT = 0.8
HEALED_SECONDS = 90
"""kopf and its supervisor back off for up to half a minute each."""

ALL_STREAMS = {"jobs", "workloads", "podgroups"}
TRIED_AGAIN = {
    "HTTP 500": DeadWatches(failure(500)),
    "an error 410 in the stream": DeadWatches(error_in_stream(410)),
}
ENDS_OF_KOPF = {
    "HTTP 404": DeadWatches(failure(404)),
    "an error 500 in the stream": DeadWatches(error_in_stream(500)),
    "HTTP 404 on one stream, while the others are tried again": DeadWatches(failure(500), of_workloads=failure(404)),
}


@pytest.fixture(scope="module")
def relay(local: Cluster) -> Iterator[Relay]:
    relay = Relay(local.muster_kubeconfig()).listen()
    yield relay
    relay.close()


@pytest.fixture(scope="module")
def behind(local: Cluster, relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    """Muster, which sees the cluster through the relay only, and looks every second whether all is well."""
    folder = tmp_path_factory.mktemp("behind")
    settings = folder / "settings.yaml"
    settings.write_text("probeSeconds: 1\n")
    with Muster(relay.kubeconfig(folder), local.api, folder / "muster.log", "--config", str(settings)) as muster:
        yield muster
    assert "Traceback" not in (folder / "muster.log").read_text()


@pytest.mark.parametrize("seconds", [2, 5])
def test_on_a_slow_api_the_pod_webhook_refuses_within_its_share_of_the_timeout(
    api: Api, relay: Relay, behind: Muster, namespace: str, seconds: int
) -> None:
    made = api.create("jobs", gang_job("train", suspend=True), namespace)
    with relay.meddling(slow(seconds + 5, "pods")):
        answer = ask_pod_webhook(api, pod_of(made), namespace, timeout=f"{seconds}s")
    assert not answer.allowed
    share = SHARE_OF_TIMEOUT * seconds
    assert f"could not form the gang of Job 'train' within {share:.1f} s" in answer.message
    assert share - 0.05 <= answer.seconds < seconds, "the rest of the timeout is for the way back"


def test_on_a_slow_api_the_api_server_hears_the_reason_and_the_gang_starts_later(
    api: Api, relay: Relay, behind: Muster, namespace: str
) -> None:
    with relay.meddling(slow(5, "pods")):
        api.create("jobs", gang_job("train"), namespace)
        (refusal, *_) = eventually(lambda: failed_creates(api, namespace), "the Job controller reports the refusal")
    assert "muster: Muster could not form the gang of Job 'train' within 1.6 s" in refusal
    assert starts_as_a_gang(api, namespace)


def test_on_a_slow_api_the_guard_refuses_within_its_share_of_the_timeout(
    api: Api, relay: Relay, behind: Muster, namespace: str
) -> None:
    made = api.create("jobs", gang_job("train"), namespace)
    with relay.meddling(slow(7, "pods")):
        answer = ask_guard(api, made, parallelism=2)
    assert not answer.allowed
    assert "Muster cannot determine now whether Job 'train' is a gang" in answer.message
    assert answer.seconds < 2


@pytest.mark.parametrize("end", TRIED_AGAIN | ENDS_OF_KOPF)
def test_gangs_form_and_are_guarded_although_watching_is_dead(
    api: Api, relay: Relay, behind: Muster, namespace: str, end: str
) -> None:
    """And Muster is ready all the while: without ready replicas, a Service leads nowhere."""
    dead = replace((TRIED_AGAIN | ENDS_OF_KOPF)[end], refused=set(), probed=set())
    heard = len(behind.log())
    with relay.meddling(dead):
        relay.cut_watches()
        if end in ENDS_OF_KOPF:
            eventually(lambda: "the watch streams ended" in behind.log()[heard:], "watching ends")
        else:
            eventually(lambda: dead.refused == ALL_STREAMS, "every stream is dead")
        api.create("jobs", gang_job("train"), namespace)
        starts_as_a_gang(api, namespace)
        refusal = ask_guard(api, api.get("jobs", "train", namespace), parallelism=2)
        assert not refusal.allowed
        assert "cannot change parallelism" in refusal.message
        eventually(lambda: dead.probed == ALL_STREAMS, "Muster has looked whether it could watch")
        always(lambda: readyz(behind) == (200, "ready"), "Muster is ready without watching", 1.5)
    assert "not ready" not in behind.log()[heard:]
    eventually(lambda: len(relay.open_watches) >= len(ALL_STREAMS), "the streams are up again", HEALED_SECONDS)
    assert behind.running


def test_a_dry_run_shows_the_group_of_a_gang_that_is_not_formed_yet_and_writes_nothing(
    local: Cluster, api: Api, relay: Relay, behind: Muster, namespace: str
) -> None:
    """Neither the Job controller nor Muster's own controller sees the Job: only the dry run asks for its gang."""
    with local.frozen("kube-controller-manager"), relay.meddling(blind_to_jobs):
        relay.cut_watches()
        made = api.create("jobs", gang_job("train"), namespace)
        shown = group_of(api.create("pods", pod_of(made), namespace, dryRun="All"))
        always(lambda: pair_of(api, namespace, made) == ([], []), "no Workload and no PodGroup", 2)
        assert pods_of(api, namespace, "train") == []
    assert starts_as_a_gang(api, namespace) == shown


def starts_as_a_gang(api: Api, namespace: str) -> str:
    """The group that the four bound pods of the Job "train" are in."""
    pods = eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "four pods are bound", 60)
    _, (group,) = pair_of(api, namespace, api.get("jobs", "train", namespace))
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    return str(group["metadata"]["name"])


def failed_creates(api: Api, namespace: str) -> list[str]:
    return [e["message"] for e in events_on(api, namespace, "train") if e["reason"] == "FailedCreate"]
