"""The API profiles: in which group and version the scheduling API exists, and how a pod names its PodGroup.

`NATIVE` is the API that is built into Kubernetes 1.36. The other two are Muster's CRDs with the same schema: in the
same API group where the API server does not own that group, and in Muster's own group everywhere else.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from muster.api.meta import slim_metadata
from muster.api.pod import GROUPED_LABEL, POD_GROUP_ANNOTATION, PodView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.api.wire import MAX_WORD, Raw, Unreadable, as_object, integer, mapping, mappings, text, words

KUBERNETES_GROUP = "scheduling.k8s.io"
"""The group of the built-in API. An API server that owns this group does not serve CRDs in it."""
OWN_GROUP = "scheduling.muster.dev"
"""Muster's own group. Every API server serves CRDs in it."""
ApiGroupSetting = Literal["auto", "scheduling.k8s.io", "scheduling.muster.dev"]
"""The setting `apiGroup`. A type takes no names, only literals."""
VERSION = "v1alpha2"

Thing = TypeVar("Thing", Workload, PodGroup)
_MAX_BYTES = 64 * 1024
"""The API server allows a third of that for a Workload, and less for a PodGroup."""
_REF = ("apiGroup", "kind", "name")
_CONDITIONS = 16
"""Conditions of a PodGroup that Muster reads. The API has two."""
_KEPT = ("name", "namespace", "labels", "annotations", "ownerReferences")


@dataclass(frozen=True, slots=True)
class ApiProfile:
    """One version of the API in one group: parses and renders its objects, and knows how a pod names its PodGroup.

    A value: it owns nothing, reads only its arguments, and sends no request.
    """

    group: str
    version: str
    native: bool = True
    """Built into the API server, which then validates, protects and defaults what Muster must handle for its CRDs."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def name(self) -> str:
        """The name under which the replicas share their choice."""
        return "native" if self.native else f"crd.{self.group}"

    @property
    def described(self) -> str:
        return f"{self.api_version} ({'built in' if self.native else 'CRDs'})"

    def read_workload(self, raw: object) -> Workload:
        return _read(Workload, raw)

    def read_pod_group(self, raw: object) -> PodGroup:
        return _read(PodGroup, raw)

    def manifest(self, thing: Workload | PodGroup) -> dict[str, Any]:
        """The object as JSON, with only the fields that are set."""
        body = thing.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        return {"apiVersion": self.api_version, "kind": type(thing).__name__, **body}

    def resized(self, pod_group: Raw, size: int) -> dict[str, Any]:
        """A PodGroup to replace this one with another size, since the spec of a PodGroup is immutable in this version.

        It is copied from the stored object, so that labels and annotations of other clients are kept.
        """
        metadata, spec = mapping(pod_group, "metadata"), mapping(pod_group, "spec")
        kept = {field: metadata[field] for field in _KEPT if metadata.get(field) is not None}
        policy = mapping(spec, "schedulingPolicy")
        gang = {**mapping(policy, "gang"), "minCount": size}
        spec = {**spec, "schedulingPolicy": {**policy, "gang": gang}}
        return {"apiVersion": self.api_version, "kind": "PodGroup", "metadata": kept, "spec": spec}

    def group_of(self, pod: PodView) -> str:
        """The PodGroup that the pod is a member of; empty if it has none."""
        return pod.group if self.native else pod.annotated_group

    def join(self, pod_group: str, pod: Raw) -> list[dict[str, Any]]:
        """The JSON patch that makes the pod a member of the PodGroup."""
        if self.native:
            return [{"op": "add", "path": "/spec/schedulingGroup", "value": {"podGroupName": pod_group}}]
        metadata = mapping(pod, "metadata")
        return [
            _add(metadata, "annotations", POD_GROUP_ANNOTATION, pod_group),
            _add(metadata, "labels", GROUPED_LABEL, "true"),
        ]


NATIVE = ApiProfile(KUBERNETES_GROUP, VERSION)
CRD_IN_KUBERNETES_GROUP = ApiProfile(KUBERNETES_GROUP, VERSION, native=False)
CRD_IN_OWN_GROUP = ApiProfile(OWN_GROUP, VERSION, native=False)

ALLOWED = {
    "auto": (NATIVE, CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP),
    KUBERNETES_GROUP: (NATIVE, CRD_IN_KUBERNETES_GROUP),
    OWN_GROUP: (CRD_IN_OWN_GROUP,),
}
"""The profiles that each value of the setting `apiGroup` allows, preferred first."""


def profile_named(name: str) -> ApiProfile | None:
    return next((each for each in ALLOWED["auto"] if each.name == name), None)


def _add(metadata: Raw, field: str, key: str, value: str) -> dict[str, Any]:
    if not mapping(metadata, field):
        return {"op": "add", "path": f"/metadata/{field}", "value": {key: value}}
    return {"op": "add", "path": f"/metadata/{field}/{key.replace('~', '~0').replace('/', '~1')}", "value": value}


def _read(model: type[Thing], raw: object) -> Thing:
    kind = model.__name__
    try:
        read = model.model_validate(_slim(raw, kind))
    except ValidationError as error:
        raise Unreadable(_first_problem(kind, error)) from error
    if len(read.model_dump_json()) > _MAX_BYTES:
        raise Unreadable(f"{kind} is larger than {_MAX_BYTES} bytes, without its metadata")
    return read


def _slim(raw: object, kind: str) -> dict[str, Any]:
    """The fields that Muster uses, with bounded length. Fields that the API server bounds are kept as they are."""
    thing = as_object(raw, kind)
    spec = thing.get("spec")
    if isinstance(spec, dict) and isinstance(ref := spec.get("controllerRef"), dict):
        spec = {**spec, "controllerRef": {field: text(ref, field) for field in _REF if ref.get(field) is not None}}
    slim = {"metadata": slim_metadata(mapping(thing, "metadata")), "spec": spec}
    if status := mapping(thing, "status"):
        slim["status"] = {
            "conditions": [_slim_condition(each) for each in mappings(status, "conditions")[:_CONDITIONS]]
        }
    return slim


def _slim_condition(condition: Raw) -> dict[str, Any]:
    slim: dict[str, Any] = {
        "type": text(condition, "type"),
        "status": text(condition, "status"),
        "reason": text(condition, "reason"),
        "message": words(condition, "message"),
        "lastTransitionTime": text(condition, "lastTransitionTime", MAX_WORD),
    }
    if (generation := integer(condition, "observedGeneration")) is not None:
        slim["observedGeneration"] = generation
    return slim


def _first_problem(kind: str, error: ValidationError) -> str:
    """The path contains only field names and no user input: no validated field is a map with free keys."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{kind} {'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
