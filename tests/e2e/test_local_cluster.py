"""The local control plane itself: what `hack/cluster` promises to every other test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from tests.clusters.cluster import EXTERNAL
from tests.clusters.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(bool(EXTERNAL), reason="starts clusters of its own")]

CLUSTER = Path(__file__).parents[2] / "hack" / "cluster"
PROFILES = ("native", "stock", "crd")
WORKLOADS = "/apis/scheduling.k8s.io/v1alpha2/workloads"


@pytest.fixture(scope="module", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state directory of our own, so that the user's clusters are neither seen nor touched."""
    directory = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(directory))
        yield directory / "muster" / "clusters"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A shell lets what it starts in the background ignore SIGINT, and that is handed down: to these tests, say."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def profiles(state: Path) -> Iterator[None]:
    """One cluster per profile, side by side, named after it."""
    owner = f"--owner-pid={os.getpid()}"
    starts = [
        subprocess.Popen([CLUSTER, "up", "--name", profile, "--profile", profile, "--audit", "--racks=2", owner])
        for profile in PROFILES
    ]
    assert [start.wait() for start in starts] == [0, 0, 0]
    yield
    for profile in PROFILES:
        run("down", "--name", profile)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CLUSTER, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)


def kubectl(cluster: str, *arguments: str, **options: Any) -> str:
    done = run("kubectl", "--name", cluster, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def apply(cluster: str, manifest: dict[str, Any]) -> None:
    kubectl(cluster, "apply", "-f", "-", input=json.dumps(manifest))


def pod(name: str, **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": {f"hack.muster.dev/{key}": value for key, value in annotations.items()},
        },
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }


def phase(cluster: str, name: str) -> str:
    return kubectl(cluster, "get", "pod", name, "-o", "jsonpath={.status.phase}")


def processes_of(directory: Path) -> list[str]:
    """Command lines of whatever runs for clusters in this directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{directory}" in command:
            found.append(command)
    return found


def nothing_left(state: Path, name: str) -> bool:
    return not processes_of(state / name) and not list(state.glob(f"{name}*"))


@pytest.fixture(scope="module")
def failed_early(profiles: None) -> float:
    """When a pod that would run for twelve seconds was set to Failed, beside one that runs without an end."""
    apply("stock", pod("open-ended"))
    apply("stock", pod("failed-early", **{"run-seconds": "12"}))  # still runs when a slow machine has looked twice
    for name in ("open-ended", "failed-early"):
        kubectl("stock", "wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Running", "--timeout=15s")
    failed = json.dumps({"status": {"phase": "Failed"}})
    kubectl("stock", "patch", "pod", "failed-early", "--subresource=status", "-p", failed)
    return time.monotonic()


@pytest.mark.usefixtures("profiles", "failed_early")
class TestProfiles:
    @pytest.mark.parametrize(
        ("profile", "workloads", "priority_classes"),
        [
            pytest.param("native", True, True, id="native serves Workloads"),
            pytest.param("stock", False, True, id="stock owns the group, and serves no Workloads"),
            pytest.param("crd", False, False, id="crd does not own the group"),
        ],
    )
    def test_each_profile_serves_its_apis(self, profile: str, workloads: bool, priority_classes: bool) -> None:
        def served(path: str) -> bool:
            return run("kubectl", "--name", profile, "get", "--raw", path).returncode == 0

        assert served(WORKLOADS) == workloads
        assert served("/apis/scheduling.k8s.io/v1/priorityclasses") == priority_classes

    def test_the_server_reports_its_version(self) -> None:
        assert json.loads(kubectl("stock", "get", "--raw", "/version"))["gitVersion"] == "v1.36.4"

    def test_nodes_are_ready_and_labelled(self) -> None:
        nodes = json.loads(kubectl("native", "get", "nodes", "-o", "json"))["items"]
        assert [node["metadata"]["labels"]["topology.muster.dev/rack"] for node in nodes] == ["rack-0", "rack-1"] * 2
        assert not any(node["spec"].get("taints") for node in nodes)

    def test_the_same_cluster_is_shared_and_another_is_refused(self) -> None:
        same = run("up", "--name", "stock", "--profile", "stock", "--audit", f"--owner-pid={os.getpid()}")
        assert same.returncode == 0
        assert "already" in same.stderr
        other = run("up", "--name", "stock", "--profile", "native", "--audit")
        assert other.returncode == 1
        assert "--profile 'native' (not 'stock')" in other.stderr

    def test_a_pod_runs_for_as_long_as_its_annotation_says(self) -> None:
        apply("native", pod("timed", **{"run-seconds": "3"}))
        eventually(lambda: phase("native", "timed") == "Running", "the pod runs", 15)
        began = time.monotonic()
        eventually(lambda: phase("native", "timed") == "Succeeded", "the pod succeeds", 15)
        took = time.monotonic() - began
        assert 1.5 < took < 5
        state = kubectl("native", "get", "pod", "timed", "-o", "jsonpath={.status.containerStatuses[0].state}")
        assert json.loads(state)["terminated"]["exitCode"] == 0

    def test_a_job_of_timed_pods_completes(self) -> None:
        template = {"metadata": pod("x", **{"run-seconds": "1"})["metadata"], "spec": pod("x")["spec"]}
        apply(
            "crd",
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "job"},
                "spec": {"parallelism": 3, "completions": 3, "template": template},
            },
        )
        kubectl("crd", "wait", "--for=condition=Complete", "job/job", "--timeout=20s")

    def test_a_service_account_logs_in_with_its_own_rights_and_is_audited(self) -> None:
        kubectl("native", "create", "serviceaccount", "reader")
        done = run("kubeconfig", "--name", "native", "--service-account", "default/reader")
        assert done.returncode == 0, done.stderr

        def can_list() -> bool:
            try:
                api.list_namespaced_pod("default")
            except client.ApiException as error:
                if error.status != 403:
                    raise
                return False
            return True

        api = client.CoreV1Api(config.new_client_from_config(done.stdout.strip()))  # type: ignore[no-untyped-call]
        assert not can_list()
        kubectl("native", "create", "rolebinding", "reader", "--clusterrole=view", "--serviceaccount=default:reader")
        eventually(can_list, "the API server answers", 15)
        assert {"admin", "kwok", "system:serviceaccount:default:reader"} <= audited_users("native")

    def test_a_missing_account_is_one_sentence(self) -> None:
        done = run("kubeconfig", "--name", "native", "--service-account", "default/nobody")
        assert done.returncode == 1
        assert 'serviceaccounts "nobody" not found' in done.stderr

    def test_a_pod_runs_until_a_status_update_ends_it(self, failed_early: float) -> None:
        """Late in the class, so that the wait overlaps with other tests; before the restart of the stock cluster."""
        time.sleep(max(0.0, failed_early + 13.5 - time.monotonic()))
        assert phase("stock", "failed-early") == "Failed"
        assert phase("stock", "open-ended") == "Running"

    def test_a_restart_keeps_data_and_address_and_changes_the_api(self) -> None:
        kubectl("stock", "create", "configmap", "kept")
        before = run("kubeconfig", "--name", "stock").stdout
        done = run("restart", "--name", "stock", "--profile", "native")
        assert done.returncode == 0, done.stderr
        assert run("kubeconfig", "--name", "stock").stdout == before
        kubectl("stock", "get", "configmap", "kept")
        kubectl("stock", "get", "--raw", WORKLOADS)


def audited_users(cluster: str) -> set[str]:
    log = Path(json.loads(run("status", "--name", cluster, "--json").stdout)["audit_log"])
    return {json.loads(line)["user"]["username"] for line in log.read_text().splitlines()}


class TestEnding:
    def test_nothing_outlives_its_owner(self, state: Path) -> None:
        with subprocess.Popen(["sleep", "600"]) as owner:
            assert run("up", "--name", "owned", "--nodes=1", f"--owner-pid={owner.pid}").returncode == 0
            assert processes_of(state / "owned")
            owner.kill()
        eventually(lambda: nothing_left(state, "owned"), "nothing is left", 5)

    def test_status_reports_a_dead_component_and_down_leaves_nothing(self, state: Path) -> None:
        assert run("up", "--name", "broken", "--nodes=1").returncode == 0
        status = json.loads(run("status", "--name", "broken", "--json").stdout)
        os.kill(status["components"]["kube-scheduler"]["pid"], signal.SIGKILL)
        eventually(lambda: run("status", "--name", "broken").returncode == 1, "the status shows it", 5)
        assert "kube-scheduler: pid" in run("status", "--name", "broken").stdout
        os.kill(status["supervisor"], signal.SIGKILL)
        eventually(lambda: not processes_of(state / "broken"), "its processes ended", 5)
        assert run("down", "--name", "broken").returncode == 0
        assert nothing_left(state, "broken")

    def test_down_is_quick_and_leaves_nothing(self, state: Path) -> None:
        assert run("up", "--name", "brief", "--nodes=1").returncode == 0
        began = time.monotonic()
        assert run("down", "--name", "brief").returncode == 0
        assert time.monotonic() - began < 3
        assert nothing_left(state, "brief")
        assert "no cluster brief" in run("down", "--name", "brief").stderr

    @pytest.mark.usefixtures("ctrl_c")
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "a killed parent"])
    def test_a_start_that_is_cut_short_leaves_nothing(self, state: Path, number: int) -> None:
        with subprocess.Popen([CLUSTER, "up", "--name", "cut"], stderr=subprocess.DEVNULL) as start:
            eventually((state / "cut" / "logs" / "kube-apiserver.log").exists, "the API server logs", 15)
            start.send_signal(number)
        eventually(lambda: nothing_left(state, "cut"), "nothing is left", 5)

    def test_a_start_that_fails_shows_why_and_leaves_nothing(self, state: Path) -> None:
        done = run("up", "--name", "wrong", "--apiserver-flag=--no-such-flag=1")
        assert done.returncode == 1
        assert "unknown flag: --no-such-flag" in done.stderr
        assert "Traceback" not in done.stderr
        assert nothing_left(state, "wrong")
