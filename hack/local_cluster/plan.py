"""The supervisor's input (plan.json) and its status (status.json)."""

from __future__ import annotations

import dataclasses
import json
from typing import Literal

from local_cluster.components import Component, Ports
from local_cluster.errors import OtherVersionError
from local_cluster.layout import ClusterLayout, write_atomically
from local_cluster.processes import ProcessIdentity

Phase = Literal["starting", "running", "failed", "stopping"]


@dataclasses.dataclass(frozen=True)
class Plan:
    generation: int
    """Counts the restarts; the status contains the generation that it describes."""
    starter: ProcessIdentity | None
    """The process of a running `up`: the cluster ends with it. None once `up` has finished."""
    ports: Ports
    components: list[Component]

    def write(self, layout: ClusterLayout) -> None:
        write_atomically(layout.plan_file, json.dumps(dataclasses.asdict(self), indent=2))

    @classmethod
    def read(cls, layout: ClusterLayout) -> Plan:
        fields = json.loads(layout.plan_file.read_text())
        try:
            starter = fields["starter"]
            return cls(
                generation=fields["generation"],
                starter=ProcessIdentity(**starter) if starter else None,
                ports=Ports(**fields["ports"]),
                components=[Component(**component) for component in fields["components"]],
            )
        except (KeyError, TypeError):
            raise OtherVersionError(layout.name) from None


@dataclasses.dataclass(frozen=True)
class ComponentStatus:
    process: ProcessIdentity
    exit_code: int | None = None


@dataclasses.dataclass(frozen=True)
class Status:
    supervisor: ProcessIdentity
    generation: int
    phase: Phase
    components: dict[str, ComponentStatus]

    @property
    def exited(self) -> dict[str, int]:
        return {name: state.exit_code for name, state in self.components.items() if state.exit_code is not None}

    def write(self, layout: ClusterLayout) -> None:
        write_atomically(layout.status_file, json.dumps(dataclasses.asdict(self), indent=2))

    @classmethod
    def read(cls, layout: ClusterLayout) -> Status | None:
        """None if the file is missing or unreadable."""
        try:
            fields = json.loads(layout.status_file.read_text())
            return cls(
                supervisor=ProcessIdentity(**fields["supervisor"]),
                generation=fields["generation"],
                phase=fields["phase"],
                components={
                    name: ComponentStatus(ProcessIdentity(**state["process"]), state["exit_code"])
                    for name, state in fields["components"].items()
                },
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
