"""The Lease that the replicas share, as its writers see it: the election, the choice of a profile, `muster leave`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muster.api.wire import MAX_UID, MAX_WORD, Raw, as_object, integer, mapping, text, words

UNINSTALL_HOLDER = "muster leave"
"""Holds the Lease while Muster is uninstalled. No pod and no host can have this name."""
TAKEN_FROM, NOTICED = "muster.dev/taken-from", "muster.dev/noticed-by"
"""Annotations of the Lease meanwhile: who held it before, and which replicas have seen that it was taken."""
MAX_NOTICED = 16 * 1024
"""Characters that are read of the list of replicas that have noticed `muster leave`: some hundred names."""


@dataclass(frozen=True, slots=True)
class Lease:
    """As it was read."""

    version: str
    """Its UID and resourceVersion: every write changes it."""
    holder: str
    """Empty: released."""
    duration_seconds: float
    taken_from: str = ""
    """Whom `muster leave` took it from."""
    noticed_by: frozenset[str] = frozenset()


def read_lease(raw: object) -> Lease:
    lease = as_object(raw, "Lease")
    metadata, spec = mapping(lease, "metadata"), mapping(lease, "spec")
    annotations = mapping(metadata, "annotations")
    return Lease(
        version=f"{text(metadata, 'uid', MAX_UID)}/{text(metadata, 'resourceVersion', MAX_WORD)}",
        holder=text(spec, "holderIdentity"),
        duration_seconds=float(max(0, integer(spec, "leaseDurationSeconds") or 0)),
        taken_from=text(annotations, TAKEN_FROM),
        noticed_by=frozenset(name for name in words(annotations, NOTICED, MAX_NOTICED).split(",") if name),
    )


def with_annotations(lease: Raw, changes: Mapping[str, str | None]) -> dict[str, Any]:
    """The Lease with these annotations, and all others as they are. None removes one."""
    metadata = mapping(lease, "metadata")
    changed = {**mapping(metadata, "annotations"), **changes}
    annotations = {key: value for key, value in changed.items() if value is not None}
    return {**lease, "metadata": {**metadata, "annotations": annotations}}


def micro_time(time: datetime) -> str:
    """As the API server writes the times of a Lease. They are for people: nothing here reads them."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
