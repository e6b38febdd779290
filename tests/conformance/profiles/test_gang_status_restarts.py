"""What people are told while Muster is restarted, and what is formed while its webhook is asked of some pods only."""

import json
import time
from functools import partial
from pathlib import Path

import pytest

from tests.conformance.profiles.test_gang_status import A_WHILE, SOON, told_in_all
from tests.e2e.conftest import own_namespace
from tests.e2e.support.muster import Muster, webhook_is_called
from tests.e2e.support.nodes import own_nodes
from tests.e2e.support.objects import all_pods, events_on, gang_job, is_bound
from tests.e2e.support.pairs import pair_of
from tests.e2e.support.profiles import Site
from tests.e2e.support.waiting import always, eventually

SETTINGS = {"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration"}


def test_a_restart_tells_nothing_again_and_forgets_nobody_who_waits(site: Site, place: str) -> None:
    with own_nodes(site.api, place, count=1, room=2) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), place)
        eventually(lambda: told_in_all(site, place) == (1, 0), "that it does not fit is told", SOON)
        with site.muster.away(killed=True):
            pass
        always(lambda: told_in_all(site, place) == (1, 0), "it is not told again", 2 * A_WHILE)
        pool.give_room(3)
        eventually(lambda: told_in_all(site, place) == (1, 1), "that it starts is told", SOON)
        with site.muster.away():
            pass
        always(lambda: told_in_all(site, place) == (1, 1), "that is not told again either", A_WHILE)


@pytest.mark.full
def test_with_a_selector_at_the_pod_webhook_only_what_it_selects_gets_a_gang(
    site: Site, place: str, tmp_path: Path
) -> None:
    """And only when the webhook is asked: until then nobody knows whether the Job's pods would join."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": place}}
    settings = tmp_path / "muster.yaml"
    settings.write_text(json.dumps({**SETTINGS, "webhooks": {"pods": {"namespaceSelector": selector}}}))
    chosen = Muster(site.cluster.muster_kubeconfig(), site.api, tmp_path / "log", "--config", str(settings))
    for elsewhere in own_namespace(site.api):
        with site.muster.away(), chosen.started():
            eventually(lambda: webhook_is_called(site.api, place), "the webhook is asked")
            site.api.create("jobs", gang_job("train"), elsewhere)
            made = site.api.create("jobs", gang_job("train"), place)
            pods = eventually(partial(all_pods, site.api, place, "train", 4, is_bound), "the selected one starts")
            ((_,), (group,)) = pair_of(site.api, place, made)
            assert {site.group_of(pod) for pod in pods} == {group["metadata"]["name"]}
            eventually(lambda: told_in_all(site, place) == (0, 1), "and is told so")
            others = eventually(partial(all_pods, site.api, elsewhere, "train", 4, is_bound), "so does the other one")
            assert {site.group_of(pod) for pod in others} == {None}
            time.sleep(A_WHILE)
            assert not site.api.list("workloads", elsewhere), "nothing is made for it"
            assert {event["source"].get("component") for event in events_on(site.api, elsewhere, "train")} == {
                "job-controller"
            }
