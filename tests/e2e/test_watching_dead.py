"""An installed Muster whose watching is dead while its admission lives: gangs form, and nobody else is concerned."""

from functools import partial
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound, pods_of
from tests.clusters.pairs import assert_one_pair
from tests.clusters.replicas import Replicas
from tests.clusters.waiting import always, eventually
from tests.e2e.support.outages import assert_nothing_else_is_refused, settings
from tests.e2e.support.relay import DeadWatches, Relay, error_in_stream, failure


@pytest.mark.parametrize(
    ("how", "policy"),
    [
        ("no stream at all", "Fail"),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                ("no stream at all", "Ignore"),
                ("an error in each stream", "Fail"),
                ("an error in each stream", "Ignore"),
            )
        ),
    ],
)
def test_with_watching_dead_gangs_form_all_the_same(
    local: Cluster, api: Api, namespace: str, tmp_path: Path, policy: str, how: str
) -> None:
    dead = DeadWatches(error_in_stream(500) if how.startswith("an error") else failure(404))
    relay = Relay(local.muster_kubeconfig()).listen()
    login = relay.kubeconfig(tmp_path)
    try:
        with Replicas(local, tmp_path, count=1, settings=settings(policy), kubeconfig=login) as replicas:
            replicas.wait_until_ready()
            with relay.meddling(dead):
                relay.cut_watches()
                eventually(lambda: "jobs" in dead.refused, "the streams are dead")
                eventually(lambda: "jobs" in dead.probed, "Muster has looked whether it could watch")
                always(lambda: replicas.relay.ready() != [], "the Service leads to somebody", 1.5)
                replicas.relay.cut_connections()  # the API server has to open new ones
                made = api.create("jobs", gang_job("train"), namespace)
                eventually(partial(starts, api, namespace), "the gang starts", 90)
                assert_one_pair(api, namespace, made, 4)
                assert_nothing_else_is_refused(api, namespace)
    finally:
        relay.close()


def starts(api: Api, namespace: str) -> bool:
    groups = [group_of(pod) for pod in pods_of(api, namespace, "train")]
    messages = [event["message"] for event in events_on(api, namespace, "train", "FailedCreate")]
    assert all_pods(api, namespace, "train", 4, is_bound), f"pods in {groups}; refused: {messages}"
    return True
