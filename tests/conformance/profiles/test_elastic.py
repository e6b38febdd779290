"""With `elastic`, a gang's Job may change its number of pods where the server itself does not refuse that."""

from collections.abc import Iterator
from functools import partial

import pytest
import yaml

from tests.clusters.api import ApiError, Object
from tests.clusters.muster import Muster
from tests.clusters.objects import events_on
from tests.clusters.profiles import BUILT_IN_GROUP, OWN_GROUP, WITHOUT_JOB_VALIDATION
from tests.clusters.retries import SIZE, all_run, group_and_size, living, running_gang
from tests.clusters.site import Site
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(OWN_GROUP, WITHOUT_JOB_VALIDATION, full=[BUILT_IN_GROUP])


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


def scale(site: Site, namespace: str, parallelism: int, completions: int) -> Object:
    spec = {"parallelism": parallelism, "completions": completions}
    return site.api.patch("jobs", "train", {"spec": spec}, namespace)


def has_size(site: Site, namespace: str, job: Object, pods: int) -> bool:
    return group_and_size(site.api, namespace, job)[1] == pods


def test_a_gang_grows_and_shrinks_with_its_job(site: Site, namespace: str, elastic: Muster) -> None:
    job = running_gang(site.api, namespace)
    first = {pod["metadata"]["uid"] for pod in living(site.api, namespace)}
    for pods in (SIZE + 2, SIZE - 2):
        scale(site, namespace, pods, pods)
        eventually(partial(all_run, site.api, namespace, set(range(pods))), f"{pods} pods run", 60)
        eventually(partial(has_size, site, namespace, job, pods), f"its PodGroup holds {pods} pods together")
        running = {pod["metadata"]["uid"] for pod in living(site.api, namespace)}
        assert len(running & first) == min(pods, SIZE), "pods that the Job still wants were lost"
    messages = sorted(
        event["message"].partition("pods: ")[2] for event in events_on(site.api, namespace, "train", "GangResized")
    )
    assert messages == ["the Job asks for a gang of 2 now", "the Job asks for a gang of 6 now"]


@pytest.mark.parametrize(("parallelism", "completions"), [(2, SIZE), (1, 1)], ids=["parallelism alone", "to one"])
def test_a_gang_job_cannot_stop_being_a_gang(
    site: Site, namespace: str, elastic: Muster, parallelism: int, completions: int
) -> None:
    running_gang(site.api, namespace)
    with pytest.raises(ApiError) as refusal:
        scale(site, namespace, parallelism, completions)
    assert "Change completions together with it, to the same number greater than 1" in refusal.value.message
