"""The settings, with their defaults and bounds."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

OWN_NAMESPACE = "muster-system"


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    api_version: Literal["muster.dev/v1alpha1"] = "muster.dev/v1alpha1"
    excluded_namespaces: frozenset[str] = frozenset({"kube-system", OWN_NAMESPACE})
    """Jobs in these are never looked at, and their pods never wait for Muster."""
    scheduler_names: frozenset[str] = frozenset({"default-scheduler"})
    """Schedulers that hold a gang together. Jobs that ask for another one are left alone."""
    api_group: Literal["auto", "scheduling.k8s.io", "scheduling.muster.dev"] = "auto"
    """Where Workloads and PodGroups live. `auto` takes the built-in API, else Muster's CRDs."""
    workers: Annotated[int, Field(ge=1, le=256)] = 64
    """Jobs worked on at the same time."""
    resync_seconds: Annotated[float, Field(ge=1)] = 300.0
    """How long a lost watch event can go unnoticed."""
    probe_seconds: Annotated[float, Field(gt=0)] = 15.0
    """How often the API and Muster's rights are checked."""
    webhook_timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 2
    """Longer is not safer: the Job controller's few workers wait for every call."""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """What happens to pods of Indexed Jobs while Muster is down: they wait, or they run without their gang."""
