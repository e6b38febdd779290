"""The settings of a cluster. Two `up`s with equal settings share a cluster."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Literal, get_args

from local_cluster.errors import ClusterError

Profile = Literal["native", "stock", "crd"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

_QUANTITY = re.compile(r"\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    profile: Profile = "native"
    in_tree: bool = False
    audit: bool = False
    nodes: int = 4
    node_cpu: str = "8"
    node_memory: str = "32Gi"
    node_pods: int = 500
    racks: int = 2
    zones: int = 1
    # Kubernetes' default is 20/30, with which every test with more than a few Jobs waits for the client's rate limiter.
    kcm_qps: int = 500
    kcm_burst: int = 1000
    apiserver_flags: tuple[str, ...] = ()
    kcm_flags: tuple[str, ...] = ()
    scheduler_flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ClusterError(f"There is no profile {self.profile!r}: choose one of {', '.join(PROFILES)}.")
        if self.in_tree and self.profile != "native":
            raise ClusterError(f"--in-tree needs --profile native: a {self.profile} server has no Workload API.")
        for option in ("nodes", "node_pods", "racks", "zones", "kcm_qps", "kcm_burst"):
            if getattr(self, option) < 0:
                raise ClusterError(f"--{option.replace('_', '-')} cannot be negative.")
        for option in ("node_cpu", "node_memory"):
            if not _QUANTITY.fullmatch(getattr(self, option)):
                raise ClusterError(
                    f"--{option.replace('_', '-')} {getattr(self, option)!r} is not a quantity such as 8, 500m or 32Gi."
                )
        for flag in (*self.apiserver_flags, *self.kcm_flags, *self.scheduler_flags):
            if not re.fullmatch(r"--[a-z0-9-]+=.*", flag):
                raise ClusterError(f"The flag {flag!r} must be written as --name=value.")

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> ClusterSettings:
        """Raises TypeError for settings of another version."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(text).items()
        }
        return cls(**fields)

    def differences(self, other: ClusterSettings) -> list[str]:
        """Options that differ, as `--option here (there)`."""
        return [
            f"--{field.name.replace('_', '-')} {getattr(self, field.name)!r} (not {getattr(other, field.name)!r})"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != getattr(other, field.name)
        ]
