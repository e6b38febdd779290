"""Hostile users do no harm: input from one namespace stops no other Job, and leaves no trace in log or metrics.

Each input is applied by an account that has rights in its own namespaces only. Beside it a gang in the same namespace
and one in another must start as always. The inputs are tables: tests/e2e/hostile.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.clusters.api import ApiError
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.namespaces import own_namespace
from tests.clusters.site import install_crds
from tests.e2e.hostile import refused
from tests.e2e.hostile.attack import Attack, by_muster
from tests.e2e.hostile.table import EVERY_THIRD, INPUTS, SAMPLE, in_batches
from tests.e2e.hostile.trial import Trial, trial_on

AT_LEAST = 85


@pytest.fixture(scope="module")
def trial(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with trial_on(local, tmp_path_factory.mktemp("hostile"), native=True, log_format="json") as made:
        yield made


@pytest.fixture(scope="module")
def stock_trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """A stock API server with Muster's CRDs in Muster's own group."""
    cluster = start_cluster("hostile", "--profile", "stock", "--nodes", "8", "--node-cpu", "64", "--kcm-qps", "500")
    try:
        cluster = replace(cluster, scheduling_group="scheduling.muster.dev")
        install_crds(cluster)
        with trial_on(cluster, tmp_path_factory.mktemp("hostile"), native=False, log_format="text") as made:
            yield made
    finally:
        cluster.down()


def test_there_are_enough_inputs() -> None:
    assert len(INPUTS) >= AT_LEAST
    assert set(SAMPLE) <= set(INPUTS)


@pytest.mark.parametrize("sentences", in_batches(SAMPLE), ids=itertools.count())
def test_gangs_start_beside_a_sample_of_hostile_inputs(trial: Trial, sentences: tuple[str, ...]) -> None:
    trial.run(*sentences)


@pytest.mark.full
@pytest.mark.parametrize("sentences", in_batches(tuple(INPUTS)), ids=itertools.count())
def test_gangs_start_beside_all_hostile_inputs(trial: Trial, sentences: tuple[str, ...]) -> None:
    trial.run(*sentences)


@pytest.mark.full
@pytest.mark.parametrize("sentences", in_batches(EVERY_THIRD), ids=itertools.count())
def test_gangs_start_beside_a_third_of_the_hostile_inputs_on_a_stock_server(
    stock_trial: Trial, sentences: tuple[str, ...]
) -> None:
    stock_trial.run(*sentences)


@pytest.mark.full
def test_the_api_server_itself_refuses_the_rest(trial: Trial) -> None:
    """Recorded so that nobody takes them for inputs that Muster stands."""
    for number, (sentence, apply) in enumerate(refused.INPUTS.items()):
        for place in own_namespace(trial.api):
            trial_place = trial.attacker.namespace()
            attack = Attack(trial.attacker, trial_place, place, f"r{number}", native=True)
            with pytest.raises(ApiError) as refusal:
                apply(attack)
            trial.api.delete("namespaces", trial_place)
            assert not by_muster(refusal.value), f"{sentence}: {refusal.value}"
            assert 400 <= refusal.value.status < 500, sentence
