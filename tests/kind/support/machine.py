"""A kind cluster, made and removed by the same scripts that people use, and the nodes that are its containers."""

import logging
import os
import subprocess
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.clusters.api import Api, Object
from tests.clusters.chart_cluster import everything_in
from tests.clusters.chart_cluster import kubectl as call_kubectl
from tests.clusters.cluster import ROOT, Cluster
from tests.clusters.waiting import eventually

logger = logging.getLogger("kind")

IMAGE = os.environ.get("IMAGE", "muster:dev")
PREFIX = os.environ.get("KIND_TEST_CLUSTER", "muster-test")
GROUPS = {"native": "scheduling.k8s.io", "crd": "scheduling.k8s.io", "stock": "scheduling.muster.dev"}
OURS = "test-"
"""How the names of the tests' own namespaces begin."""
GONE_SECONDS = 90
COLLECTED_SECONDS = 30


def run(*command: str | Path, env: dict[str, str] | None = None, seconds: float = 300) -> str:
    """What it printed. It must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )
    text = " ".join(str(part) for part in command)
    assert done.returncode == 0, f"{text}: exit code {done.returncode}: {done.stderr[-3000:]}{done.stdout[-1000:]}"
    return done.stdout


@dataclass
class Kind:
    profile: str
    fresh: set[str] = field(default_factory=set)
    """What was in the cluster before Muster came."""

    @property
    def name(self) -> str:
        return f"{PREFIX}-{self.profile}"

    @property
    def kubeconfig(self) -> Path:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
        return state / f"muster/kind/{self.name}.kubeconfig"

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.kubeconfig, scheduling_group=GROUPS[self.profile])

    @cached_property
    def api(self) -> Api:
        return self.cluster.api

    def script(self, name: str) -> str:
        """One of `hack/kind-up`, `kind-load`, `kind-install`, `kind-down`, for this cluster."""
        settings = {"PROFILE": self.profile, "KIND_CLUSTER": self.name, "IMAGE": IMAGE}
        return run(ROOT / "hack" / name, env=settings, seconds=1800)

    def up(self) -> None:
        self.script("kind-down")  # of a run that was killed
        self.script("kind-up")
        self.script("kind-load")
        eventually(lambda: len(self.workers()) == 2, "both workers are ready", 120)
        self.fresh = everything_in(self.cluster)

    def down(self) -> None:
        """The cluster goes; whatever kept a namespace from going is named first."""
        try:
            self.assert_no_namespace_hangs()
        finally:
            self.script("kind-down")
        assert self.containers() == [], "kind-down left containers"
        assert not self.kubeconfig.exists(), "kind-down left its kubeconfig"

    def containers(self) -> list[str]:
        return self._listed("--all")

    def running_workers(self) -> list[str]:
        """Their containers, also of those that take no pods now."""
        return self._listed("--filter", "label=io.x-k8s.kind.role=worker")

    def _listed(self, *flags: str) -> list[str]:
        label = f"label=io.x-k8s.kind.cluster={self.name}"
        return run("docker", "ps", "--quiet", "--filter", label, *flags).split()

    def on_node(self, node: str, *command: str) -> str:
        return run("docker", "exec", node, *command)

    def kubectl(self, *arguments: str) -> str:
        answer = call_kubectl(self.cluster, *arguments)
        assert answer.code == 0, f"kubectl {' '.join(arguments)}: {answer.err}{answer.out}"
        return answer.out + answer.err

    def workers(self) -> list[str]:
        """The nodes that take pods now."""
        return sorted(node["metadata"]["name"] for node in self.api.list("nodes") if _takes_pods(node))

    def new_namespace(self) -> str:
        name = f"{OURS}{uuid.uuid4().hex[:8]}"
        self.api.create("namespaces", {"metadata": {"name": name}})
        return name

    def assert_no_namespace_hangs(self) -> None:
        """Of those that the tests made, and deleted."""

        def none_left() -> bool:
            left = [each for each in self.api.list("namespaces") if each["metadata"]["name"].startswith(OURS)]
            why = {each["metadata"]["name"]: _why_it_stays(each) for each in left}
            assert not why, f"{why}"
            return True

        eventually(none_left, "every namespace of the tests is gone", GONE_SECONDS, every=0.5)

    def assert_nothing_left_behind(self, expected: Sequence[str] = ()) -> None:
        """What the garbage collector removes goes a moment later."""

        def nothing() -> bool:
            left = self.left_behind(expected)
            assert not left, f"{left}"
            return True

        eventually(nothing, "nothing is left behind", COLLECTED_SECONDS)

    def left_behind(self, expected: Sequence[str] = ()) -> list[str]:
        """What is there now and was not before Muster came: `Kind/namespace/name`. Namespaces of the tests do not
        count, nor what begins as one of `expected`."""
        more = sorted(everything_in(self.cluster) - self.fresh)
        of_tests = (f"/{OURS}", f"Namespace//{OURS}")
        return [
            each for each in more if not any(part in each for part in of_tests) and not each.startswith(tuple(expected))
        ]


class Kinds:
    """The cluster in use, and the next one, which is made meanwhile. Never more: the machine has few cores."""

    def __init__(self) -> None:
        self._current: Kind | None = None
        self._next: Future[Kind] | None = None
        self._background = ThreadPoolExecutor(1)

    def at(self, profile: str) -> Kind:
        if self._current is None or self._current.profile != profile:
            self._remove()
            self.prepare(profile)
            self._current = self._made()
            assert self._current.profile == profile, "the cluster of another profile was made ahead"
        return self._current

    @property
    def current(self) -> Kind | None:
        return self._current

    def prepare(self, profile: str) -> None:
        """Begin to make the cluster that comes next."""
        if self._next is None and (self._current is None or self._current.profile != profile):
            self._next = self._background.submit(_made, profile)

    def down(self) -> None:
        try:
            self._remove()
        finally:
            if self._next is not None:
                self._made().down()
            self._background.shutdown()

    def _made(self) -> Kind:
        assert self._next is not None
        coming, self._next = self._next, None
        return coming.result()

    def _remove(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            logger.info("removing the %s cluster", current.profile)
            current.down()


def _made(profile: str) -> Kind:
    logger.info("making the %s cluster", profile)
    kind = Kind(profile)
    kind.up()
    return kind


def _takes_pods(node: Object) -> bool:
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
    return ready and not node["spec"].get("taints") and not node["spec"].get("unschedulable")


def _why_it_stays(namespace: Object) -> list[str]:
    conditions = namespace.get("status", {}).get("conditions", [])
    return [c["message"] for c in conditions if c["status"] == "True"]
