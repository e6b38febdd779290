"""A gang that was split behind Muster's back: the resync finds it, says what to do, and that cures it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.https import metric
from tests.clusters.muster import Muster, webhook_is_called
from tests.clusters.nodes import own_nodes
from tests.clusters.objects import all_pods, events_on, gang_job, is_bound, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually
from tests.conformance.profiles.test_gang_status_restarts import SETTINGS

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

RESYNC_SECONDS = 2
SIZE, MEMBERS = 4, 2
LONG = 60
"""The Job controller waits longer after each pod that is refused."""


@pytest.fixture
def checking(site: Site, local: Cluster, tmp_path: Path) -> Iterator[Muster]:
    """Muster with a resync every other second."""
    settings = tmp_path / "muster.yaml"
    settings.write_text(json.dumps({**SETTINGS, "resyncSeconds": RESYNC_SECONDS}))
    chosen = Muster(local.muster_kubeconfig(), site.api, tmp_path / "log", "--config", str(settings))
    with site.muster.away(), chosen:
        yield chosen
    assert "Traceback" not in chosen.log()


@contextmanager
def webhooks_deleted(api: Api) -> Iterator[None]:
    """By hand inside the block, and put back after it: with `--dev` Muster registers them only when it starts."""
    kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    found = {kind: api.get(kind, "muster-dev") for kind in kinds}
    for kind in kinds:
        api.delete(kind, "muster-dev")
    eventually(lambda: not webhook_is_called(api), "no pod is reviewed any more")
    try:
        yield
    finally:
        for kind, body in found.items():
            api.create(kind, {"metadata": {"name": "muster-dev"}, "webhooks": body["webhooks"]})
        eventually(lambda: webhook_is_called(api), "pods are reviewed again")


def test_a_split_gang_is_found_at_the_resync_and_cured_by_suspending_it(
    site: Site, namespace: str, checking: Muster
) -> None:
    api = site.api
    room = SIZE if site.profile.native else 1  # where nobody holds the gang, members wait only for room
    limits = {"metadata": {"name": "some-pods"}, "spec": {"hard": {"pods": str(MEMBERS)}}}
    api.create("resourcequotas", limits, namespace)
    eventually(lambda: api.get("resourcequotas", "some-pods", namespace).get("status", {}).get("hard"), "it counts")
    with own_nodes(api, namespace, count=1, room=room) as pool:
        made = api.create("jobs", gang_job("train", SIZE, pod=pool.where), namespace)
        eventually(lambda: all_pods(api, namespace, "train", MEMBERS), "the first pods are there")
        always(lambda: metric(checking, "muster_split_gangs") == 0, "half of its pods is no split", 3 * RESYNC_SECONDS)
        with webhooks_deleted(api):
            api.delete("resourcequotas", "some-pods", namespace)
            pods = eventually(
                lambda: all_pods(api, namespace, "train", SIZE), "the others come without the webhook", LONG
            )
        assert sorted(bool(site.group_of(pod)) for pod in pods) == [False, False, True, True]
        (event,) = eventually(lambda: events_on(api, namespace, "train", "GangSplit"), "it is found", LONG)
        (group,) = pair_of(api, namespace, made)[1]
        beginning = (
            f"The gang is split: 2 of the Job's pods are in PodGroup {group['metadata']['name']}, which needs 4, and 2 "
        )
        assert event["type"] == "Warning"
        assert event["message"].startswith(beginning)
        assert metric(checking, "muster_split_gangs") == 1
        api.patch("jobs", "train", {"spec": {"suspend": True}}, namespace)
        eventually(lambda: not pods_of(api, namespace, "train"), "its pods are gone", LONG)
        api.patch("jobs", "train", {"spec": {"suspend": False}}, namespace)
        bound = is_bound if site.profile.native else lambda _: True
        again = eventually(lambda: all_pods(api, namespace, "train", SIZE, bound), "its pods are recreated", LONG)
        assert {site.group_of(pod) for pod in again} == {group["metadata"]["name"]}
        eventually(lambda: metric(checking, "muster_split_gangs") == 0, "it is whole", LONG)
        assert len(events_on(api, namespace, "train", "GangSplit")) == 1
