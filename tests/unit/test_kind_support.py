"""What the scenarios on kind look for is found."""

import subprocess
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import urllib3

from tests.clusters import fixtures
from tests.clusters.api import ApiError, Object
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.kind.support.creation import NOT_STARTED, Outcome, is_refusal, wrong_pairs
from tests.kind.support.installed import refused_logins
from tests.kind.support.kept_logs import FOLDER, KEEP, SHOW


def thing(name: str, owner: str = "") -> Object:
    owners = [{"uid": owner, "controller": True}] if owner else []
    return {"metadata": {"name": name, "uid": f"uid-of-{name}", "ownerReferences": owners}}


def pod(group: str | None) -> Object:
    return {"metadata": {"name": "pod"}, "spec": {"schedulingGroup": {"podGroupName": group}} if group else {}}


JOB = "uid-of-job"
WORKLOAD, GROUP = thing("workload", JOB), thing("group", JOB)
PAIRS: dict[str, tuple[list[Object], list[Object], list[Object], list[str]]] = {
    "one pair, and the pods are in it": ([WORKLOAD], [GROUP], [pod("group"), pod("group")], []),
    "no PodGroup": ([WORKLOAD], [], [pod("group")], ["job has 1 Workloads and 0 PodGroups"]),
    "two Workloads": ([WORKLOAD, thing("second", JOB)], [GROUP], [], ["job has 2 Workloads and 1 PodGroups"]),
    "a pod in another group": (
        [WORKLOAD],
        [GROUP],
        [pod("group"), pod("other")],
        ["job has pods in {'other'}, which is not its PodGroup"],
    ),
    "a pod in no group": ([WORKLOAD], [GROUP], [pod(None)], ["job has pods in {None}, which is not its PodGroup"]),
    "a PodGroup of a Job that is gone": (
        [WORKLOAD],
        [GROUP, thing("stray", "uid-of-another")],
        [],
        ["stray belongs to no Job"],
    ),
    "a Workload without an owner": ([WORKLOAD, thing("stray")], [GROUP], [], ["stray belongs to no Job"]),
}


@pytest.mark.parametrize("case", PAIRS)
def test_a_pair_that_is_wrong_is_named(case: str) -> None:
    workloads, groups, pods, wrong = PAIRS[case]
    assert wrong_pairs([thing("job")], workloads, groups, {"job": pods}) == wrong


LINES = {
    "the API server's own word": ('{"message":"cannot renew the Lease: Unauthorized"}', True),
    "an answer without a message": ('{"message":"cannot list jobs: HTTP 401"}', True),
    "an answer that is quoted": ("""{"message":"{'kind': 'Status', 'code': 401}"}""", True),
    "a time": ('{"time":"2026-01-02T03:04:05.401+00:00","message":"created Workload train"}', False),
    "a name": ('{"message":"created Workload train","job":"test-7c401d2e/gang-401"}', False),
}


@pytest.mark.parametrize("case", LINES)
def test_a_refused_token_is_found_in_the_log(case: str) -> None:
    line, refused = LINES[case]
    assert refused_logins(f"{line}\n") == ([line] if refused else [])


REFUSALS = {
    "a Job that is not valid": (ApiError(422, {}), True),
    "a missing right": (ApiError(403, {}), True),
    "one try of many": (ApiError(429, {}), False),
    "an API server that stops": (ApiError(503, {}), False),
    "no connection": (urllib3.exceptions.HTTPError(), False),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_only_an_answer_that_is_final_is_a_refusal(case: str) -> None:
    error, refused = REFUSALS[case]
    assert is_refusal(error) == refused


def test_an_api_server_that_starts_may_know_no_roles_yet() -> None:
    assert not is_refusal(ApiError(403, {}), NOT_STARTED)
    assert is_refusal(ApiError(422, {}), NOT_STARTED)


CALLS = {
    "nobody listens": (
        'failed calling webhook "pods.muster.dev": dial tcp 10.96.0.9:443: connect: connection refused',
        True,
    ),
    "no replica is ready": (
        'failed calling webhook "pods.muster.dev": no endpoints available for service "muster"',
        True,
    ),
    "the Service is gone": ('failed calling webhook "pods.muster.dev": service "muster" not found', True),
    "a busy machine": ('failed calling webhook "pods.muster.dev": context deadline exceeded', False),
    "a namespace that has just come": ('serviceaccount "default" not found', False),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_to_nobody_is_told_from_a_slow_one(case: str) -> None:
    message, nobody = CALLS[case]
    assert Outcome([], [], 0, [message]).called_nobody == ([message] if nobody else [])


def test_the_log_of_a_pod_outlives_it_and_a_traceback_in_it_is_found(tmp_path: Path) -> None:
    """With the commands that the scenarios run on each node."""
    (pods := tmp_path / "pods").mkdir()

    def on_node(command: str) -> str:
        here = command.replace("/var/log/pods", str(pods)).replace(FOLDER, str(tmp_path / "kept"))
        done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout

    assert on_node(KEEP).split() == ["0"]
    assert on_node(f"({KEEP}) >/dev/null; {SHOW}") == ""
    (log := pods / "muster-system_muster-1_uid/muster/0.log").parent.mkdir(parents=True)
    log.write_text("ready\n")
    assert [on_node(KEEP).split() for _ in range(2)] == [["1"], ["1"]]
    with log.open("a") as more:
        more.write("Traceback (most recent call last):\n")
    log.unlink()
    assert on_node(SHOW) == "Traceback (most recent call last):\n"


@pytest.mark.parametrize("external", [None, "/somebody-elses.kubeconfig"])
def test_somebody_elses_cluster_runs_every_case_of_its_profile(
    monkeypatch: pytest.MonkeyPatch, external: str | None
) -> None:
    """`hack/kind-e2e -m "not full"` would otherwise skip most of the suite on crd."""
    monkeypatch.setattr(fixtures, "EXTERNAL", external)
    metafunc = MagicMock(fixturenames=["site"])
    mark = pytest.mark.profiles(NATIVE, full=[BUILT_IN_GROUP, OWN_GROUP]).mark
    metafunc.definition.get_closest_marker.return_value = mark
    fixtures.pytest_generate_tests(metafunc)
    (_, cases), _ = metafunc.parametrize.call_args
    marked = [case.id for case in cases if case.marks]
    assert [case.id for case in cases] == [NATIVE.name, BUILT_IN_GROUP.name, OWN_GROUP.name]
    assert marked == ([] if external else [BUILT_IN_GROUP.name, OWN_GROUP.name])
