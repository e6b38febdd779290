"""Muster as it is installed: replicas behind a Service, which share a certificate and keep their webhooks right."""

from collections.abc import Iterator

import pytest

from tests.e2e.support.api import Api
from tests.e2e.support.clusters import Cluster
from tests.e2e.support.objects import all_pods, gang_job, is_bound
from tests.e2e.support.pairs import assert_one_pair
from tests.e2e.support.replicas import Replicas
from tests.e2e.support.waiting import eventually


@pytest.fixture(scope="module")
def replicas(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with Replicas(local, tmp_path_factory.mktemp("replicas")) as running:
        running.wait_until_ready()
        yield running
    assert "Traceback" not in running.logs()


def test_a_gang_starts(api: Api, replicas: Replicas, namespace: str) -> None:
    job = api.create("jobs", gang_job("train"), namespace)
    eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "four pods are bound", 60)
    assert_one_pair(api, namespace, job, 4)
