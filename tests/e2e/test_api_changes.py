"""A scheduling API appears, disappears or is replaced while Muster runs: Muster reports it, and recovers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.clusters.api import Api, ApiError
from tests.clusters.cluster import Cluster, hack_cluster, start_cluster
from tests.clusters.command import muster as command
from tests.clusters.https import readyz
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import POD_GROUP_ANNOTATION, all_pods, gang_job, is_bound, is_running, job
from tests.clusters.pairs import pair_of
from tests.clusters.site import install_crds
from tests.clusters.waiting import always, eventually
from tests.e2e.support.crd_files import CRDS, apply_crd_files

BUILT_IN, OWN = "scheduling.k8s.io", "scheduling.muster.dev"
PROBE_SECONDS = 1
NOTICED_SECONDS = 20
"""What goes missing is noticed at the next probe. The rest is for a busy machine."""
NOTHING_SERVED = "the API server does not serve workloads of scheduling.k8s.io/v1alpha2"
WHAT_TO_DO = "or run `muster crds install`"


@dataclass(frozen=True)
class Scene:
    cluster: Cluster
    muster: Muster

    @property
    def ours(self) -> Api:
        """The API as it is with Muster's own CRDs."""
        return replace(self.cluster, scheduling_group=OWN).api


@pytest.fixture(scope="module")
def stock() -> Iterator[Cluster]:
    """Plain Kubernetes, as it comes."""
    cluster = start_cluster("api-changes", "--profile", "stock", "--nodes", "2", "--node-cpu", "64")
    yield cluster
    cluster.down()


@pytest.fixture
def plain(stock: Cluster) -> Cluster:
    """The stock cluster without any CRD."""
    remove_crds(stock)
    return stock


@pytest.fixture
def extended(plain: Cluster) -> Cluster:
    """The stock cluster with Muster's CRDs."""
    install_crds(plain)
    return plain


@pytest.fixture
def place(stock: Cluster) -> Iterator[str]:
    yield from own_namespace(stock.api)


def test_muster_waits_for_an_api_and_uses_it_once_it_is_installed(plain: Cluster, place: str, tmp_path: Path) -> None:
    with begun(plain, tmp_path) as scene:
        reports(scene.muster, f"{NOTHING_SERVED}: start it with --runtime-config=", WHAT_TO_DO)
        always(lambda: not_ready(scene.muster), "Muster runs, and is not ready", 3)
        assert plain.api.find("mutatingwebhookconfigurations", "muster-dev") is None
        install_crds(plain)
        scene.muster.wait_until_ready()
        assert readyz(scene.muster) == (200, "ready")
        assert_annotated_gang(scene.ours, place, "train")
        assert scene.muster.log().count("using ") == 1
        assert f"using {OWN}/v1alpha2 (Muster's own CRDs)" in scene.muster.log()


@pytest.mark.full
def test_muster_does_not_choose_a_crd_that_is_listed_and_not_served(plain: Cluster, place: str, tmp_path: Path) -> None:
    """In a group that the server has built in: Established, in discovery, and every request answers 404."""
    with dead_crds(plain), begun(plain, tmp_path) as scene:
        reports(scene.muster, NOTHING_SERVED, WHAT_TO_DO)
        always(lambda: not_ready(scene.muster), "Muster runs, and is not ready", 3)
        install_crds(plain)
        scene.muster.wait_until_ready()
        assert_annotated_gang(scene.ours, place, "train")


def test_muster_reports_deleted_crds_and_uses_them_again(extended: Cluster, place: str, tmp_path: Path) -> None:
    with begun(extended, tmp_path) as scene:
        scene.muster.wait_until_ready()
        assert_annotated_gang(scene.ours, place, "first")
        extended.api.delete("jobs", "first", place)
        heard = len(scene.muster.log())
        remove_crds(extended)
        reports(scene.muster, NOTHING_SERVED, WHAT_TO_DO, since=heard)
        extended.api.create("jobs", job("plain", parallelism=2, completions=2), place)
        eventually(lambda: all_pods(extended.api, place, "plain", 2, is_bound), "a Job that is no gang has pods")
        extended.api.create("jobs", gang_job("waiting"), place)
        always(lambda: not_ready(scene.muster), "Muster runs, and is not ready", 5)
        install_crds(extended)
        eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", NOTICED_SECONDS)
        assert_gang_by_annotation(scene.ours, place, "waiting")
        assert_annotated_gang(scene.ours, place, "second")


@pytest.mark.full
def test_crds_that_are_deleted_under_a_running_gang_go_with_its_last_pod(
    extended: Cluster, place: str, tmp_path: Path
) -> None:
    """The PodGroup is protected as long as pods are in it. Muster, not ready by then, still has to release it."""
    with begun(extended, tmp_path) as scene:
        scene.muster.wait_until_ready()
        assert_annotated_gang(scene.ours, place, "train")
        heard = len(scene.muster.log())
        extended.api.delete(CRDS, f"workloads.{OWN}")
        reports(scene.muster, NOTHING_SERVED, WHAT_TO_DO, since=heard)
        extended.api.delete(CRDS, f"podgroups.{OWN}")
        always(lambda: len(scene.ours.list("podgroups", place)) == 1, "the PodGroup is protected", 3)
        assert len(all_pods(extended.api, place, "train", 4, is_running)) == 4
        extended.api.delete("jobs", "train", place)
        eventually(lambda: extended.api.find(CRDS, f"podgroups.{OWN}") is None, "the CRD is gone", 60)
        install_crds(extended)
        eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", NOTICED_SECONDS)
        assert_annotated_gang(scene.ours, place, "again")


@pytest.mark.full
def test_one_of_the_two_crds_is_not_enough(extended: Cluster, place: str, tmp_path: Path) -> None:
    with begun(extended, tmp_path) as scene:
        scene.muster.wait_until_ready()
        heard = len(scene.muster.log())
        extended.api.delete(CRDS, f"podgroups.{OWN}")
        reports(scene.muster, "run `muster crds install`", since=heard)
        assert "--runtime-config=scheduling.muster.dev" not in scene.muster.log(), "no server has that flag"
        install_crds(extended)
        eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", NOTICED_SECONDS)
        assert_annotated_gang(scene.ours, place, "train")


def test_muster_notices_when_a_server_gets_or_loses_the_built_in_api(
    extended: Cluster, place: str, tmp_path: Path
) -> None:
    """Muster switches to the new API, but not while gangs of the old API exist."""
    with begun(extended, tmp_path) as scene:
        scene.muster.wait_until_ready()
        assert_annotated_gang(scene.ours, place, "before")
        heard = len(scene.muster.log())
        extended.restart("--profile", "native")
        goes_on = f"Muster continues to use {OWN}/v1alpha2 (CRDs), because gangs of that API exist"
        eventually(lambda: goes_on in scene.muster.log()[heard:], "Muster notices the native server", 60)
        assert_annotated_gang(scene.ours, place, "beside")
        assert readyz(scene.muster) == (200, "ready"), "what it uses is still served"
        changed_without(scene, place, ("before", "beside"), f"using {BUILT_IN}/v1alpha2\n")
        assert_native_gang(extended.api, place, "built-in")

        heard = len(scene.muster.log())
        extended.restart("--profile", "stock")
        reports(scene.muster, f"use {BUILT_IN}/v1alpha2 (built in)", "does not serve", "apiGroup", since=heard)
        always(lambda: not_ready(scene.muster), "Muster does not leave the gang that lives", 3)
        changed_without(scene, place, ("built-in",), f"using {OWN}/v1alpha2 (Muster's own CRDs)\n")
        assert_annotated_gang(scene.ours, place, "after")


def changed_without(scene: Scene, place: str, gangs: tuple[str, ...], says: str) -> None:
    """Once these are gone Muster uses the other API, and is ready."""
    heard = len(scene.muster.log())
    for name in gangs:
        scene.cluster.api.delete("jobs", name, place)
    eventually(lambda: says in scene.muster.log()[heard:], "Muster changes once the gangs are gone", 120)
    eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", 60)


@contextmanager
def begun(cluster: Cluster, folder: Path) -> Iterator[Scene]:
    """Muster of the test's own, which need not be ready. It runs to the end, and never logs a traceback."""
    settings = folder / "settings.yaml"
    settings.write_text(f"probeSeconds: {PROBE_SECONDS}\n")
    flags = ("--config", str(settings))
    muster = Muster(cluster.muster_kubeconfig(), cluster.api, folder / "muster.log", *flags).start()
    try:
        eventually(lambda: "admission is served on" in muster.log(), "Muster serves")
        yield Scene(cluster, muster)
        assert muster.running
    finally:
        muster.terminate()
    assert "Traceback" not in muster.log()


def not_ready(muster: Muster) -> bool:
    return muster.running and readyz(muster)[0] == 503


def reports(muster: Muster, *parts: str, since: int = 0) -> None:
    """One line in the log says all of it, and /readyz answers 503 with the same sentence."""

    def both() -> bool:
        lines = [line for line in muster.log()[since:].splitlines() if "not ready: " in line]
        said = [line.split("not ready: ", 1)[1] for line in lines if all(part in line for part in parts)]
        status, body = readyz(muster)
        return bool(said) and status == 503 and said[-1] in body and "\n" not in body

    eventually(both, f"Muster reports {parts}", NOTICED_SECONDS)


@contextmanager
def dead_crds(cluster: Cluster) -> Iterator[None]:
    api = cluster.api
    names = apply_crd_files(api, BUILT_IN)
    try:
        find = ("kubectl", "--name", cluster.name, "api-resources", "--api-group", BUILT_IN, "--cached=false")
        eventually(lambda: "podgroups" in hack_cluster(*find), "discovery lists them", every=1)
        assert [api.raw(api.path(kind))[0] for kind in ("workloads", "podgroups")] == [404, 404]
        yield
    finally:
        for name in names:
            api.delete(CRDS, name)


def remove_crds(cluster: Cluster) -> None:
    """With all objects, also those that a gang still needs."""
    ours = replace(cluster, scheduling_group=OWN).api
    if ours.raw(ours.path("podgroups"))[0] == 200:
        for group in ours.list("podgroups"):
            name, namespace = group["metadata"]["name"], group["metadata"]["namespace"]
            with suppress(ApiError):  # Muster may have released it meanwhile
                ours.patch("podgroups", name, {"metadata": {"finalizers": None}}, namespace)
    answer = command("crds", "uninstall", "--yes", kubeconfig=cluster.kubeconfig)
    assert answer.code == 0, answer.err


def assert_annotated_gang(api: Api, place: str, name: str) -> None:
    api.create("jobs", gang_job(name), place)
    assert_gang_by_annotation(api, place, name)


def assert_gang_by_annotation(api: Api, place: str, name: str) -> None:
    pods = eventually(lambda: all_pods(api, place, name, 4, is_bound), f"four pods of {name} are bound", 90)
    _, (group,) = pair_of(api, place, api.get("jobs", name, place))
    assert {pod["metadata"]["annotations"].get(POD_GROUP_ANNOTATION) for pod in pods} == {group["metadata"]["name"]}


def assert_native_gang(api: Api, place: str, name: str) -> None:
    api.create("jobs", gang_job(name), place)
    pods = eventually(lambda: all_pods(api, place, name, 4, is_bound), f"four pods of {name} are bound", 90)
    _, (group,) = pair_of(api, place, api.get("jobs", name, place))
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods} == {group["metadata"]["name"]}
    assert not any(POD_GROUP_ANNOTATION in pod["metadata"].get("annotations", {}) for pod in pods)
