"""Short ways to draw the trees of the tests."""

from typing import Any

from muster.api.keys import Uid
from muster.workloadbuilder import (
    V1ALPHA2,
    V1BETA1,
    BuildOptions,
    CompositePodGroupScheduling,
    DisruptionMode,
    FieldError,
    GangPolicy,
    InvalidConfiguration,
    OwnerReference,
    PodGroupScheduling,
    PolicyKind,
    SchedulingConfig,
    Target,
    WorkloadBuilder,
    WorkloadItem,
)

Object = dict[str, Any]
JOB = OwnerReference(
    api_version="batch/v1", kind="Job", name="train", uid=Uid("u-1"), controller=True, block_owner_deletion=True
)
OWNER = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "name": "train",
    "uid": "u-1",
    "controller": True,
    "blockOwnerDeletion": True,
}
ZONE = "topology.kubernetes.io/zone"
EVERY_TARGET = {"v1alpha2": V1ALPHA2, "v1beta1": V1BETA1}


def options(**given: Any) -> BuildOptions:
    said: Object = {
        "name": "wl",
        "namespace": "team",
        "owner": JOB,
        "allowed_policies": PolicyKind,
        "allowed_disruption_modes": DisruptionMode,
    }
    return BuildOptions(**(said | given))


def leaf(**blocks: Any) -> PodGroupScheduling:
    """The blocks of a leaf, by the names of the API."""
    return PodGroupScheduling.model_validate(blocks)


def composite(**blocks: Any) -> CompositePodGroupScheduling:
    return CompositePodGroupScheduling.model_validate(blocks)


def gang(count: int | None = None, **more: Any) -> SchedulingConfig:
    return SchedulingConfig(policy=GangPolicy(count), **more)


def builder(root: WorkloadItem | None, target: Target[Any, Any] = V1BETA1, **given: Any) -> WorkloadBuilder[Any, Any]:
    return WorkloadBuilder(root, options(**given), target)


def built(root: WorkloadItem, target: Target[Any, Any] = V1BETA1) -> Object:
    return target.manifest(builder(root, target).build_workload())


def refused(root: WorkloadItem | None, target: Target[Any, Any] = V1BETA1, **given: Any) -> tuple[FieldError, ...]:
    """What `build_workload` has against it."""
    try:
        builder(root, target, **given).build_workload()
    except InvalidConfiguration as error:
        return error.errors
    raise AssertionError("it was built")


def kinds_and_paths(errors: tuple[FieldError, ...]) -> list[tuple[str, str]]:
    """(kind, path) of each."""
    return [(error.kind.value, str(error.path)) for error in errors]
