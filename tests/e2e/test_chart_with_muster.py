"""Muster with the rights and the settings of an installed chart, and what happens to it and to Jobs when that goes.

Its process runs beside the cluster, since KWOK's nodes run none; everything else is what Helm made.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
import yaml

from tests.clusters.api import Api, Object
from tests.clusters.chart import CHART, NAMESPACE, helm
from tests.clusters.chart_cluster import kubelet_for, older_chart
from tests.clusters.cluster import Cluster, bare_cluster
from tests.clusters.command import Answer, muster
from tests.clusters.leaving import account_of_the_hook
from tests.clusters.objects import all_pods, gang_job, is_bound, pods_of
from tests.clusters.pairs import assert_one_pair
from tests.clusters.replicas import QUICK, WEBHOOKS, Replicas, merged, put_service, registered
from tests.clusters.waiting import eventually
from tests.e2e.support.stream import Stream

WAIT = ("--wait", "--timeout", "120s")


@dataclass(frozen=True)
class Load:
    jobs: int
    """Between two steps."""
    size: int
    every_seconds: float


@pytest.fixture(scope="module")
def native() -> Iterator[Cluster]:
    cluster = bare_cluster("chart-live", "--nodes", "8", "--node-cpu", "64", "--kcm-qps", "100")
    yield cluster
    cluster.down()


def test_an_uninstall_without_hooks_takes_the_webhooks_along_and_disturbs_no_job(
    native: Cluster, tmp_path: Path
) -> None:
    api = native.api
    before = api.create("jobs", gang_job("before"), "default")
    eventually(lambda: all_pods(api, "default", "before", 4, is_bound), "it runs without Muster")
    helm("install", "muster", str(CHART), *WAIT, "--create-namespace", kubeconfig=native.kubeconfig)
    assert registered(api) == [], "an install alone stands in nobody's way"
    api.delete("services", "muster", NAMESPACE)  # there is no kube-proxy: the one of the tests leads to loopback
    with Replicas(native, tmp_path, count=1, settings=settings_of_the_release(api)) as replicas:
        replicas.wait_until_ready()
        job = api.create("jobs", gang_job("train"), "default")
        eventually(lambda: all_pods(api, "default", "train", 4, is_bound), "the gang runs", 60)
        assert_one_pair(api, "default", job, 4)
        running = identities(api, "train") | identities(api, "before")
        helm("uninstall", "muster", "--no-hooks", *WAIT, kubeconfig=native.kubeconfig)
        eventually(lambda: registered(api) == [], "the webhooks went with the release", 60)
        assert not [kind for kind in WEBHOOKS if api.find(kind, "muster")]
        api.create("jobs", gang_job("after"), "default")
        eventually(
            lambda: all_pods(api, "default", "after", 4, is_bound), "a Job starts as if Muster had never been", 60
        )
        assert not [pod for pod in pods_of(api, "default", "after") if "schedulingGroup" in pod["spec"]]
        assert registered(api) == []
        assert identities(api, "train") | identities(api, "before") == running
        assert api.get("jobs", "before", "default")["metadata"]["uid"] == before["metadata"]["uid"]
    assert "Traceback" not in replicas.logs()


A_FEW, MANY = Load(jobs=6, size=4, every_seconds=0.5), Load(jobs=40, size=8, every_seconds=0.3)


@pytest.mark.parametrize("load", [A_FEW, pytest.param(MANY, marks=[pytest.mark.full, pytest.mark.timeout(900)])])
def test_jobs_get_their_pods_while_muster_is_installed_and_uninstalled(
    native: Cluster, load: Load, tmp_path: Path
) -> None:
    """The uninstall runs `muster leave` with the rights of its hook, beside replicas that live."""
    with Story(native, tmp_path, load) as story:
        story.install(CHART)
        story.uninstall()
    assert story.stream.names[0] in story.ended.plain, "Muster was not there yet"
    assert story.ended.gangs, "Muster was there"
    assert story.stream.names[-1] in story.ended.plain, "Muster was not there any more"


@pytest.mark.full
@pytest.mark.timeout(900)
def test_jobs_get_their_pods_while_muster_is_upgraded(native: Cluster, tmp_path: Path) -> None:
    """There is no release yet: the earlier chart is this one as it might have been (support/chart_cluster.py)."""
    with Story(native, tmp_path, MANY) as story:
        story.install(older_chart(tmp_path / "older"), "--set", "workers=8")
        before = len(story.stream.names)
        story.upgrade(CHART, "--reset-then-reuse-values", "--set", "workers=16")
        after = len(story.stream.names)
        story.uninstall()
    meanwhile = set(story.stream.names[before:after])
    assert len(meanwhile) >= MANY.jobs
    assert meanwhile <= set(story.ended.gangs), "no Job lost its gang"


class Story:
    """An installation, from before it is there until it is gone, while somebody creates Jobs."""

    def __init__(self, cluster: Cluster, folder: Path, load: Load) -> None:
        self._cluster, self._folder, self._jobs, self.api = cluster, folder, load.jobs, cluster.api
        self._place = self.api.create("namespaces", {"metadata": {"generateName": "test-"}})["metadata"]["name"]
        self.stream = Stream(self.api, self._place, load.size, load.every_seconds)
        self._processes = ExitStack()
        self.answers: list[Answer] = []

    def __enter__(self) -> Self:
        self.stream.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        with self._processes:
            self.stream.__exit__()
            if failure[0] is None:
                self.ended = self.stream.outcome()
                print(f"{len(self.stream.names)} Jobs: {self.ended}")
                assert "Traceback" not in self._replicas.logs()
        self.api.delete("namespaces", self._place)

    def install(self, chart: Path, *flags: str) -> None:
        self.stream.more()
        quick = ("--set", "leadership.durationSeconds=4", "--set", "leadership.renewSeconds=1")
        helm("install", "muster", str(chart), *WAIT, "--create-namespace", *quick, *flags, kubeconfig=self._login)
        self.api.delete(
            "services", "muster", NAMESPACE
        )  # there is no kube-proxy: the one of the tests leads to loopback
        replicas = Replicas(self._cluster, self._folder, settings=settings_of_the_release(self.api))
        self._replicas = self._processes.enter_context(replicas)
        self._replicas.wait_until_ready()
        self.stream.more(self._jobs)

    def upgrade(self, chart: Path, *flags: str) -> None:
        """And the Deployment replaces one after the other."""
        helm("upgrade", "muster", str(chart), *WAIT, *flags, kubeconfig=self._login)
        self.api.delete("services", "muster", NAMESPACE)
        put_service(self.api)
        settings = merged(settings_of_the_release(self.api), {"service": self._replicas.settings["service"]})
        for replica in self._replicas:
            assert replica.terminate() == 0
            replica.configure(settings)
            replica.start().wait_until_ready()
        self.stream.more(self._jobs)

    def uninstall(self) -> None:
        """Under load from the beginning to the end: nobody waits until no Job is in the middle of getting its pods."""

        def container(pod: Object) -> int:
            arguments = pod["spec"]["containers"][0]["args"]
            self.answers.append(muster(*arguments, kubeconfig=account_of_the_hook(self._cluster)))
            return self.answers[-1].code

        with kubelet_for(self.api, "leave", container):
            helm("uninstall", "muster", *WAIT, kubeconfig=self._login)
        assert [(answer.code, answer.err) for answer in self.answers] == [(0, "")], self.answers
        assert registered(self.api) == []
        for kind in ("clusterroles", "clusterrolebindings"):
            assert self.api.find(kind, "muster-leave") is None
        for kind in ("serviceaccounts", "roles", "rolebindings"):
            assert self.api.find(kind, "muster-leave", NAMESPACE) is None
        self.stream.more(self._jobs // 2)
        assert registered(self.api) == []

    @property
    def _login(self) -> Path:
        return self._cluster.kubeconfig


def settings_of_the_release(api: Api) -> Object:
    settings = yaml.safe_load(api.get("configmaps", "muster", NAMESPACE)["data"]["config.yaml"])
    return merged(settings, QUICK)


def identities(api: Api, job: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods_of(api, "default", job)}
