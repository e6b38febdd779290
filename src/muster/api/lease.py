"""The Lease that the replicas share. It is written by leader election, the choice of a profile and `muster leave`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muster.api.wire import MAX_UID, MAX_WORD, Raw, as_object, integer, mapping, text, words

UNINSTALL_HOLDER = "muster leave"
"""The holder of the Lease while Muster is being uninstalled. No pod and no host can have this name."""
TAKEN_FROM, NOTICED = "muster.dev/taken-from", "muster.dev/noticed-by"
"""Annotations that `muster leave` adds: the previous holder, and the replicas that have noticed it."""
PROFILE = "muster.dev/api-profile"
"""Annotation that names the API profile on which the replicas agree."""
MAX_TRANSITIONS = 2**31 - 1
MAX_NOTICED = 16 * 1024
"""Maximum length that is read of the list of replicas that noticed `muster leave`: some hundred names."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The fields of the Lease that Muster uses."""

    version: str
    """UID and resourceVersion; every write changes it."""
    holder: str
    """Empty if the Lease is released."""
    duration_seconds: float
    taken_from: str = ""
    """The holder before `muster leave`."""
    noticed_by: tuple[str, ...] = ()
    profile: str = ""
    """The name of the API profile that all replicas use."""


def read_lease(raw: object) -> Lease:
    lease = as_object(raw, "Lease")
    metadata, spec = mapping(lease, "metadata"), mapping(lease, "spec")
    annotations = mapping(metadata, "annotations")
    return Lease(
        version=f"{text(metadata, 'uid', MAX_UID)}/{text(metadata, 'resourceVersion', MAX_WORD)}",
        holder=text(spec, "holderIdentity"),
        duration_seconds=float(max(0, integer(spec, "leaseDurationSeconds") or 0)),
        taken_from=text(annotations, TAKEN_FROM),
        noticed_by=tuple(name for name in words(annotations, NOTICED, MAX_NOTICED).split(",") if name),
        profile=text(annotations, PROFILE),
    )


def held_by(lease: Raw, holder: str, seconds: int, now: datetime, acquired: bool, taken: bool) -> dict[str, Any]:
    """The Lease with this holder. `acquired`: it had another holder, or none; `taken`: it existed before."""
    spec, stamp = mapping(lease, "spec"), micro_time(now)
    transitions = max(0, integer(spec, "leaseTransitions") or 0)
    held = {
        "holderIdentity": holder,
        "leaseDurationSeconds": seconds,
        "acquireTime": stamp if acquired else text(spec, "acquireTime") or stamp,
        "renewTime": stamp,
        "leaseTransitions": min(transitions + taken, MAX_TRANSITIONS),
    }
    return {**lease, "spec": held}


def signed_by(lease: Raw, replica: str) -> dict[str, Any]:
    """The Lease with this replica among those that have noticed `muster leave`."""
    return _with_annotations(lease, {NOTICED: ",".join((*read_lease(lease).noticed_by, replica))})


def agreed_on(lease: Raw, profile: str) -> dict[str, Any]:
    return _with_annotations(lease, {PROFILE: profile})


def taken_for_uninstall(lease: Raw, now: datetime) -> dict[str, Any]:
    """The Lease held by `muster leave`. Replicas that signed an earlier `muster leave` may not exist any longer."""
    holder = read_lease(lease).holder
    if holder != UNINSTALL_HOLDER:
        lease = _with_annotations(lease, {NOTICED: None, TAKEN_FROM: holder})
    held = {"holderIdentity": UNINSTALL_HOLDER, "renewTime": micro_time(now)}
    return {**lease, "spec": {**mapping(lease, "spec"), **held}}


def _with_annotations(lease: Raw, changes: Mapping[str, str | None]) -> dict[str, Any]:
    """The Lease with these annotations set and all others kept. None removes an annotation."""
    metadata = mapping(lease, "metadata")
    changed = {**mapping(metadata, "annotations"), **changes}
    annotations = {key: value for key, value in changed.items() if value is not None}
    return {**lease, "metadata": {**metadata, "annotations": annotations}}


def micro_time(time: datetime) -> str:
    """A time in the format of a Lease. It is for people: Muster does not read it back."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
