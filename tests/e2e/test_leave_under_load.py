"""`muster leave` runs while Jobs are created all the time, and some are in the middle of getting pods: none splits."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.command import muster as command
from tests.clusters.leaving import leave_as_the_hook_does, left_behind
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound, pods_of
from tests.clusters.profiles import PROFILES, Profile
from tests.clusters.replicas import WEBHOOKS, Replicas, registered
from tests.clusters.site import install_crds
from tests.clusters.waiting import eventually
from tests.e2e.support.stream import Stream

pytestmark = pytest.mark.full
"""A sample is in every run: test_chart_with_muster.py leaves by the chart's hook, under the same load."""

QUICK_LEADERSHIP = {"leadership": {"durationSeconds": 3, "renewSeconds": 1}}
SIZE, EVERY_SECONDS = 6, 0.4
ROUNDS = {"native": 5, "crd": 1, "stock": 1}
NATIVE = PROFILES[0]


@contextmanager
def begun(profile: Profile) -> Iterator[Cluster]:
    size = ("--nodes", "8", "--node-cpu", "64", "--kcm-qps", "100")
    cluster = start_cluster(f"load-{profile.cluster}", "--profile", profile.cluster, *size)
    try:
        cluster = replace(cluster, scheduling_group=profile.group)
        if not profile.native:
            install_crds(cluster)
        yield cluster
    finally:
        cluster.down()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.timeout(1800)
def test_no_job_is_split_and_no_webhook_stays(profile: Profile, tmp_path: Path) -> None:
    gangs = plain = waited = 0
    with begun(profile) as cluster:
        for number in range(ROUNDS[profile.cluster]):
            place = new_namespace(cluster.api)
            folder = tmp_path / str(number)
            folder.mkdir()
            with (
                Stream(cluster.api, place, SIZE, EVERY_SECONDS) as stream,
                Replicas(cluster, folder, settings=QUICK_LEADERSHIP) as replicas,
            ):
                replicas.wait_until_ready()
                stream.more(20)
                left = leave_as_the_hook_does(cluster, "--wait", "180")
                assert (left.code, left.err) == (0, ""), left.out
                assert registered(cluster.api) == []
                assert left_behind(cluster.api) == {}
                assert "split gangs" not in left.out
                stream.more(10)
                ended = stream.outcome()
            assert "Traceback" not in replicas.logs()
            gangs, plain = gangs + len(ended.gangs), plain + len(ended.plain)
            waited += "waiting up to 180 s" in left.out
            informed = [name for name in ended.plain if has_event_about_leaving(cluster.api, place, name)]
            print(f"round {number}: {ended}, of which {len(informed)} have an event; {left.out.splitlines()[:3]}")
            assert informed, "Jobs that came during `muster leave` have an event"
            cluster.api.delete("namespaces", place)
    print(f"{gangs} whole gangs, {plain} wholly plain, waited in {waited} of {ROUNDS[profile.cluster]} rounds")
    assert gangs
    assert plain


def test_leave_waits_for_unfinished_gangs_until_its_timeout(tmp_path: Path) -> None:
    """A quota lets two of four pods in: the gang is in the middle for as long as that stays."""
    with begun(NATIVE) as cluster, Replicas(cluster, tmp_path, settings=QUICK_LEADERSHIP) as replicas:
        api, place = cluster.api, new_namespace(cluster.api)
        replicas.wait_until_ready()
        set_quota(api, place, 2)
        api.create("jobs", gang_job("train"), place)
        eventually(lambda: all_pods(api, place, "train", 2), "two pods are let in")
        shown = leave_as_the_hook_does(cluster, "--dry-run")
        assert f"would have waited for the pods of {place}/train (2 of 4 pods)" in shown.out

        with leaving(cluster) as process:
            assert process.stdout is not None
            waits = next((line for line in process.stdout if line.startswith("waiting")), "")
            assert waits.strip() == f"waiting up to 60 s for the pods of {place}/train (2 of 4 pods)"
            api.create("jobs", gang_job("later"), place)
            eventually(lambda: events_on(api, place, "later"), "the quota is full")
            assert process.poll() is None, "it waits"
            assert len(registered(api)) == 2
            set_quota(api, place, 100)
            out, err = process.communicate(timeout=90)
        assert (process.returncode, err) == (0, "")
        assert "every gang has its pods" in out
        pods = eventually(lambda: all_pods(api, place, "train", 4, is_bound), "the gang starts", 60)
        assert len({group_of(pod) for pod in pods}) == 1
        assert None not in {group_of(pod) for pod in pods}
        pods = eventually(lambda: all_pods(api, place, "later", 4, is_bound), "the later one starts", 90)
        assert {group_of(pod) for pod in pods} == {None}


def test_leave_names_a_split_gang_and_suspending_its_job_repairs_it(tmp_path: Path) -> None:
    """Webhooks deleted by hand, in the middle of a gang, and Muster killed: nobody can keep that one together."""
    with begun(NATIVE) as cluster, Replicas(cluster, tmp_path, settings=QUICK_LEADERSHIP) as replicas:
        api, place = cluster.api, new_namespace(cluster.api)
        replicas.wait_until_ready()
        set_quota(api, place, 2)
        api.create("jobs", gang_job("train"), place)
        eventually(lambda: all_pods(api, place, "train", 2), "two pods are let in")
        for replica in replicas:
            replica.kill()
        for kind in WEBHOOKS:
            api.delete(kind, "muster")
        set_quota(api, place, 100)
        eventually(lambda: all_pods(api, place, "train", 4), "the others come", 90)
        assert len({group_of(pod) for pod in pods_of(api, place, "train")}) == 2
        answer = command("leave", "--dry-run", kubeconfig=cluster.kubeconfig)
        assert (answer.code, answer.err) == (0, "")
        assert f"split gangs, in which some pods wait forever: {place}/train. Suspend" in answer.out
        api.patch("jobs", "train", {"spec": {"suspend": True}}, place)
        eventually(lambda: not pods_of(api, place, "train"), "its pods go")
        api.patch("jobs", "train", {"spec": {"suspend": False}}, place)
        pods = eventually(lambda: all_pods(api, place, "train", 4, is_bound), "it starts as a whole", 90)
        assert {group_of(pod) for pod in pods} == {None}
        assert not api.get("jobs", "train", place)["status"].get("failed"), "which counts as no failure"
        assert "half in" not in command("leave", "--dry-run", kubeconfig=cluster.kubeconfig).out


def test_without_a_running_replica_leave_does_not_wait(tmp_path: Path) -> None:
    with begun(NATIVE) as cluster, Replicas(cluster, tmp_path, settings=QUICK_LEADERSHIP) as replicas:
        api, place = cluster.api, new_namespace(cluster.api)
        replicas.wait_until_ready()
        set_quota(api, place, 2)
        api.create("jobs", gang_job("train"), place)
        eventually(lambda: all_pods(api, place, "train", 2), "two pods are let in")
        for replica in replicas:
            replica.kill()
        answer = leave_as_the_hook_does(cluster)
        assert (answer.code, answer.err) == (0, "")
        assert "no replica has noticed" in answer.out
        assert "waiting up to" not in answer.out
        assert left_behind(api) == {}


@contextmanager
def leaving(cluster: Cluster) -> Iterator[subprocess.Popen[str]]:
    """`muster leave` by somebody who may do anything."""
    program = str(Path(sys.executable).parent / "muster")
    process = subprocess.Popen(
        [program, "leave", "--kubeconfig", str(cluster.kubeconfig)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


def has_event_about_leaving(api: Api, namespace: str, name: str) -> bool:
    return any("Uninstalling: " in event["message"] for event in events_on(api, namespace, name, "StandingAside"))


def set_quota(api: Api, namespace: str, pods: int) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    body = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": str(pods)}}}
    if api.raw(f"{path}/few")[0] == 200:
        api._call("PUT", f"{path}/few", body=body)
    else:
        api._call("POST", path, body=body)


def new_namespace(api: Api) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    api.create("namespaces", {"metadata": {"name": name}})
    return name
