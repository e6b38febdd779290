"""With `elastic`, a gang's Job may change its number of pods where the server itself does not refuse that."""

from collections.abc import Iterator
from functools import partial

import pytest
import yaml

from tests.e2e.support.api import ApiError, Object
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import events_on
from tests.e2e.support.profiles import PROFILES, WITHOUT_JOB_VALIDATION, Site
from tests.e2e.support.retries import SIZE, all_run, group_and_size, living, running_gang
from tests.e2e.support.waiting import eventually

FREE = (*PROFILES[1:], WITHOUT_JOB_VALIDATION)
pytestmark = pytest.mark.parametrize("site", FREE, ids=[profile.name for profile in FREE], indirect=True)


@pytest.fixture(scope="module")
def elastic(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    """Muster with that setting, instead of the one that is there."""
    folder = tmp_path_factory.mktemp("elastic")
    settings = folder / "settings.yaml"
    header = {"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration"}
    settings.write_text(yaml.safe_dump({**header, "elastic": True}))
    with (
        site.muster.away(),
        Muster(site.cluster.muster_kubeconfig(), site.api, folder / "log", "--config", str(settings)) as muster,
    ):
        yield muster


def scale(site: Site, place: str, parallelism: int, completions: int) -> Object:
    spec = {"parallelism": parallelism, "completions": completions}
    return site.api.patch("jobs", "train", {"spec": spec}, place)


def has_size(site: Site, place: str, job: Object, pods: int) -> bool:
    return group_and_size(site.api, place, job)[1] == pods


def test_a_gang_grows_and_shrinks_with_its_job(site: Site, place: str, elastic: Muster) -> None:
    job = running_gang(site.api, place)
    first = {pod["metadata"]["uid"] for pod in living(site.api, place)}
    for pods in (SIZE + 2, SIZE - 2):
        scale(site, place, pods, pods)
        eventually(partial(all_run, site.api, place, set(range(pods))), f"{pods} pods run", 60)
        eventually(partial(has_size, site, place, job, pods), f"its PodGroup holds {pods} pods together")
        running = {pod["metadata"]["uid"] for pod in living(site.api, place)}
        assert len(running & first) == min(pods, SIZE), "pods that the Job still wants were lost"
    told = sorted(
        event["message"].partition("pods: ")[2] for event in events_on(site.api, place, "train", "GangResized")
    )
    assert told == ["the Job asks for a gang of 2 now", "the Job asks for a gang of 6 now"]


@pytest.mark.parametrize(("parallelism", "completions"), [(2, SIZE), (1, 1)], ids=["parallelism alone", "to one"])
def test_a_gang_stays_one(site: Site, place: str, elastic: Muster, parallelism: int, completions: int) -> None:
    running_gang(site.api, place)
    with pytest.raises(ApiError) as refusal:
        scale(site, place, parallelism, completions)
    assert "Change completions together with it, to the same number greater than 1" in refusal.value.message
