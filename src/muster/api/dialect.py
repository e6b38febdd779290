"""How one version of the scheduling API spells what Muster means. `NATIVE` is the built-in one of Kubernetes 1.36."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from muster.api.podgroup import PodGroup
from muster.api.wire import Unreadable
from muster.api.workload import Workload


@dataclass(frozen=True, slots=True)
class Dialect:
    group: str
    version: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def read_workload(self, raw: object) -> Workload:
        try:
            return Workload.model_validate(raw)
        except ValidationError as error:
            raise Unreadable(_first_problem("Workload", error)) from error

    def read_pod_group(self, raw: object) -> PodGroup:
        try:
            return PodGroup.model_validate(raw)
        except ValidationError as error:
            raise Unreadable(_first_problem("PodGroup", error)) from error

    def manifest(self, thing: Workload | PodGroup) -> dict[str, Any]:
        """The object as the API server wants it: only what was set."""
        body = thing.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        return {"apiVersion": self.api_version, "kind": type(thing).__name__, **body}

    def join(self, pod_group: str) -> list[dict[str, Any]]:
        """The JSON patch that makes a pod a member of the group."""
        return [{"op": "add", "path": "/spec/schedulingGroup", "value": {"podGroupName": pod_group}}]


NATIVE = Dialect(group="scheduling.k8s.io", version="v1alpha2")


def _first_problem(kind: str, error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{kind} {'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
