"""The attacker: an account that may do everything in its own namespaces, and nothing anywhere else."""

import contextlib
import copy
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.cluster import Cluster, hack_cluster
from tests.clusters.objects import asking, gang_job, job
from tests.clusters.waiting import eventually

ACCOUNT = "mallory"
OWNER: Object = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
KILOBYTE = 1_000
LONGEST_REFUSAL = 2_000
"""Characters. The Job controller posts a refusal as an event."""


class Unreachable(AssertionError):
    """The API server called Muster and got no answer."""


def by_muster(refusal: ApiError) -> bool:
    """Muster's webhook refused it, so the input reached Muster."""
    if "failed calling webhook" in refusal.message:
        raise Unreachable(refusal.message)
    if "muster" not in refusal.message or "denied the request" not in refusal.message:
        return False
    assert len(refusal.message) < LONGEST_REFUSAL, f"a refusal of {len(refusal.message)} characters"
    assert refusal.message.isprintable(), f"a refusal that is not printable: {refusal.message!r}"
    return True


@dataclass
class Attacker:
    """Logged in once; each attack has namespaces of its own."""

    cluster: Cluster
    api: Api = field(init=False)

    def __post_init__(self) -> None:
        admin = self.cluster.api
        if admin.find("serviceaccounts", ACCOUNT, "default") is None:
            admin.create("serviceaccounts", {"metadata": {"name": ACCOUNT}}, "default")
        login = hack_cluster("kubeconfig", "--name", self.cluster.name, "--service-account", f"default/{ACCOUNT}")
        self.api = Api(login, self.cluster.scheduling_group)  # type: ignore[arg-type]

    def namespace(self) -> str:
        """A namespace where the attacker is the administrator."""
        name = plain_namespace(self.cluster.api)
        binding = {
            "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}],
        }
        self.cluster.api.create("rolebindings", binding, name)
        eventually(lambda: self._may_list(name), "the attacker has its rights", 10, every=0.02)
        return name

    def _may_list(self, namespace: str) -> bool:
        try:
            self.api.list("jobs", namespace, limit="1")
        except ApiError:
            return False
        return True


def plain_namespace(api: Api) -> str:
    name = f"hostile-{uuid.uuid4().hex[:10]}"
    api.create("namespaces", {"metadata": {"name": name}})
    return name


@dataclass
class Attack:
    """One input under way. `api` is the attacker's, `admin` is for what only an administrator can do to a user."""

    attacker: Attacker
    namespace: str
    neighbour: str
    """A namespace of somebody else."""
    name: str
    """What the objects of this input are called."""
    native: bool
    must_run: list[str] = field(default_factory=list)
    """Jobs whose pods must all get a node, whatever Muster thinks of them."""
    must_hear: list[str] = field(default_factory=list)
    """Jobs of which Muster must say why they wait, or that they do not: the words may be the attacker's."""
    spare: list[str] = field(default_factory=list)

    @property
    def beside(self) -> str:
        """What the gangs are called that somebody else starts beside it."""
        return f"beside-{self.name}"

    @property
    def api(self) -> Api:
        return self.attacker.api

    @property
    def admin(self) -> Api:
        return self.attacker.cluster.api

    def another_namespace(self) -> str:
        """One more namespace of the attacker's, for what would harm its own gangs by itself."""
        self.spare.append(self.attacker.namespace())
        return self.spare[-1]

    def gang(self, suffix: str = "", runs: bool = False, namespace: str = "", **spec: Any) -> Object:
        """A gang of two, but for what `spec` changes; `runs` if it has to start."""
        body = gang_job(f"{self.name}{suffix}", 2, cpu="10m", pod=spec.pop("pod", None))
        body["spec"].update(spec)
        return self.job(body, runs, namespace)

    def plain(self, suffix: str = "", runs: bool = False, **spec: Any) -> Object:
        return self.job(job(f"{self.name}{suffix}", cpu="10m", **spec), runs)

    def job(self, body: Object, runs: bool = False, namespace: str = "", **params: str) -> Object:
        made = self.api.create("jobs", body, namespace or self.namespace, **params)
        if runs:
            self.must_run.append(made["metadata"]["name"])
        return made

    def asking(self, intent: str) -> None:
        """A gang with that annotation, which has to start: bad intent never stops a Job."""
        self.job(asking(gang_job(self.name, 2, cpu="10m"), intent), runs=True)

    def pod(self, owner: Object | None = None, **changes: Any) -> None:
        """A pod as the Job controller makes one. Muster may refuse it."""
        body = pod(f"{self.name}-{uuid.uuid4().hex[:6]}", owner, **changes)
        with self.perhaps_refused():
            self.api.create("pods", body, self.namespace)

    def patch(self, kind: str, name: str, body: Object, **options: Any) -> Object:
        return self.api.patch(kind, name, body, self.namespace, **options)

    @contextlib.contextmanager
    def perhaps_refused(self) -> Iterator[None]:
        """A refusal by Muster is an answer; one by the server means that the input never reached Muster."""
        try:
            yield
        except ApiError as refusal:
            if not by_muster(refusal):
                raise

    def seen(self, kind: str, owner: Object, count: int = 1) -> list[Object]:
        """The objects of that kind that the Job controls, once there are as many."""
        uid = owner["metadata"]["uid"]

        def found() -> list[Object]:
            things = self.api.list(kind, self.namespace)
            mine = [t for t in things if any(o["uid"] == uid for o in t["metadata"].get("ownerReferences", []))]
            return mine if len(mine) >= count else []

        return eventually(found, f"{count} {kind} of {owner['metadata']['name']}", 20)


Input = Callable[[Attack], None]


def pod(name: str, owner: Object | None = None, **changes: Any) -> Object:
    """With the label that sends it to Muster; `spec` and `metadata` are merged in."""
    spec = {"containers": [{"name": "worker", "image": "worker"}], **changes.get("spec", {})}
    metadata: Object = {"name": name, "labels": {INDEX_LABEL: "0"}}
    if owner is not None:
        metadata["ownerReferences"] = [{**OWNER, "name": "nobody", "uid": str(uuid.uuid4()), **owner}]
    return {"metadata": {**metadata, **changes.get("metadata", {})}, "spec": spec}


def with_metadata(body: Object, **metadata: Any) -> Object:
    changed = copy.deepcopy(body)
    changed["metadata"].update(metadata)
    return changed
