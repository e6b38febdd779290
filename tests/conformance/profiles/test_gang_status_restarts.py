"""The events while Muster restarts, and the gangs that it forms while its webhook selects only some pods."""

import json
import time
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.muster import Muster, webhook_is_called
from tests.clusters.namespaces import own_namespace
from tests.clusters.nodes import own_nodes
from tests.clusters.objects import all_pods, events_on, gang_job, is_bound
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually
from tests.conformance.profiles.test_gang_status import A_WHILE, SOON, waits_and_starts

pytestmark = pytest.mark.profiles(NATIVE, full=[BUILT_IN_GROUP, OWN_GROUP])

SETTINGS = {"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration"}


def test_a_restart_repeats_no_event_and_forgets_no_waiting_gang(site: Site, namespace: str) -> None:
    with own_nodes(site.api, namespace, count=1, room=2) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), namespace)
        eventually(lambda: waits_and_starts(site, namespace) == (1, 0), "an event says that it does not fit", SOON)
        with site.muster.away(killed=True):
            pass
        always(lambda: waits_and_starts(site, namespace) == (1, 0), "the event is not posted again", 2 * A_WHILE)
        pool.give_room(3)
        eventually(lambda: waits_and_starts(site, namespace) == (1, 1), "an event says that it starts", SOON)
        with site.muster.away():
            pass
        always(lambda: waits_and_starts(site, namespace) == (1, 1), "that event is not posted again either", A_WHILE)


@pytest.mark.full
def test_with_a_selector_on_the_pod_webhook_only_selected_pods_get_a_gang(
    site: Site, namespace: str, tmp_path: Path
) -> None:
    """Muster reports on the gang only after the webhook was called: until then it is unknown whether the pods join."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    settings = tmp_path / "muster.yaml"
    settings.write_text(json.dumps({**SETTINGS, "webhooks": {"pods": {"namespaceSelector": selector}}}))
    chosen = Muster(site.cluster.muster_kubeconfig(), site.api, tmp_path / "log", "--config", str(settings))
    for elsewhere in own_namespace(site.api):
        with site.muster.away(), chosen.started():
            eventually(lambda: webhook_is_called(site.api, namespace), "the webhook is asked")
            site.api.create("jobs", gang_job("train"), elsewhere)
            made = site.api.create("jobs", gang_job("train"), namespace)
            pods = eventually(partial(all_pods, site.api, namespace, "train", 4, is_bound), "the selected one starts")
            ((_,), (group,)) = pair_of(site.api, namespace, made)
            assert {site.group_of(pod) for pod in pods} == {group["metadata"]["name"]}
            eventually(lambda: waits_and_starts(site, namespace) == (0, 1), "and an event says that it starts")
            others = eventually(partial(all_pods, site.api, elsewhere, "train", 4, is_bound), "so does the other one")
            assert {site.group_of(pod) for pod in others} == {None}
            time.sleep(A_WHILE)
            assert not site.api.list("workloads", elsewhere), "nothing is made for it"
            assert {event["source"].get("component") for event in events_on(site.api, elsewhere, "train")} == {
                "job-controller"
            }
