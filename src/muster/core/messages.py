"""Every sentence that Muster writes for people: in events, in refusals, and in the warnings of `kubectl apply`.

The words of the Reasons are in `core.reasons`. The arguments here are plain values, so that all of Muster can use them.
"""

from collections.abc import Mapping, Sequence

from muster.core.reasons import Reason, SilenceReason


def silence(reason: Reason | SilenceReason, detail: str = "") -> str:
    """For the log: why no event was posted."""
    return f"no event: {reason}: {reason.sentence}{_about(detail)}"


# What Muster did to the Job's objects.


def workload_created(name: str) -> str:
    return f"Created Workload {name}"


def pod_group_created(name: str) -> str:
    return f"Created PodGroup {name}"


def name_taken(name: str) -> str:
    return f"{name} belongs to somebody else; taking the next name"


def pair_released(deleted: str) -> str:
    return f"Deleted {deleted} of the suspended Job"


def decided(reason: Reason, detail: str, plain: bool) -> str:
    """Why Muster stands aside, or what the pods wait for."""
    outcome = "; the pods are scheduled one by one" if plain else ""
    return f"{reason}: {reason.sentence}{_about(detail)}{outcome}"


def fields_dropped(kind: str, name: str, gates: Mapping[str, str], native: bool) -> str:
    """`gates`: the feature gate of each field that the server did not keep."""
    if native:
        fields = ", ".join(f"{field} (feature gate {gate} is off)" for field, gate in gates.items())
    else:
        fields = f"{', '.join(gates)} (the installed CRD is too old: `muster crds install`)"
    return f"The API server did not keep {fields} of {kind} {name}; the gang is scheduled without"


# What becomes of a gang.


def gang_scheduled(needed: int, group: str) -> str:
    return f"The gang of {needed} has its nodes (PodGroup {group})"


def pods_missing(exist: int, needed: int, succeeded: int) -> str:
    if succeeded:
        why = f"{succeeded} succeeded, and the scheduler counts only pods that have not ended"
    else:
        why = "if it stays so, the Job's own events say why the others are not created"
    return f"{exist} of the gang's {needed} pods exist; {why}"


def no_scheduler_spoke(exist: int) -> str:
    return f"All {exist} pods exist, and no scheduler has said anything about them yet"


def no_room(bound: int, needed: int, words: Sequence[str]) -> str:
    """`words`: what the scheduler says about a pod, and about the PodGroup."""
    return f"{bound} of the gang's {needed} pods have a node: {' | '.join(words)}"


def gang_not_held(bound: int, needed: int, native: bool) -> str:
    if native:
        cause = (
            "kube-scheduler does not hold gangs here: its feature gate GangScheduling is off, or another scheduler "
            "places the pods. Turn on the gates GenericWorkload and GangScheduling in kube-scheduler"
        )
    else:
        cause = (
            "this cluster's scheduler does not wait for gangs. To free the nodes, suspend or delete the Job; gangs are "
            "held only on clusters with the built-in scheduling API"
        )
    return f"{bound} of the gang's {needed} pods started without the others; {cause}"


def gang_split(group: str, needed: int, inside: int, waiting: int, outside: int) -> str:
    return (
        f"The gang is split: {inside} of the Job's pods are in PodGroup {group}, which needs "
        f"{needed}, and {outside} are in no group. {waiting} pods wait for members that do not come. "
        "Suspend the Job and resume it: its pods are then created anew as one gang"
    )


# A PodGroup of the wrong size, and what keeps Muster from replacing it.

WORKLOAD_IS_GONE = "its Workload is gone"
HAS_RESOURCE_CLAIMS = "it has resource claims"
IS_NOT_OURS = "it is not Muster's"
NEW_ONE_REFUSED = "the API server rejects the new one"
SIZE_NOT_STORED = "the API server does not store the size that it is given"


def size_asked_for(size: int) -> str:
    return f"the Job asks for a gang of {size} now"


def indexes_ended(ended: int, completions: int) -> str:
    return f"{ended} of {completions} indexes ended, and a pod of the others waits"


def gang_resized(group: str, was: int, size: int, why: str) -> str:
    return f"Resized PodGroup {group} from {was} to {size} pods: {why}"


def gang_not_resized(group: str, was: int, why: str, obstacle: str) -> str:
    return (
        f"PodGroup {group} needs {was} pods, but {why}. "
        f"Muster cannot replace it, since {obstacle}: delete the Job and create it again"
    )


# The annotation on a Job: events, and warnings for the person who applies it.


def intent_ignored(annotation: str) -> str:
    """Followed by what is wrong."""
    return f"{annotation} is ignored, as if it were not there: "


def intent_without_effect(annotation: str, group: str) -> str:
    """Followed by the differences."""
    return f"{annotation} has no effect on PodGroup {group}, which was made already: "


def and_more(number: int) -> str:
    return f"and {number} more"


def stays_a_member(asked: str) -> str:
    return f"its pods stay in it, although the Job asks for {asked!r}"


def differs(what: str, made: object, asked: object) -> str:
    return f"its {what} is {made or 'none'}, not {asked or 'none'}"


def differs_or_dropped(what: str, made: object, asked: object) -> str:
    """A server with a gate off makes the group without the field. The group does not show which of both it was."""
    return f"{differs(what, made, asked)} (if that was asked for from the start, see PolicyDropped)"


def intent_removed(annotation: str, group: str) -> str:
    return f"{annotation} can be removed, but PodGroup {group} stays as it was made, apart from its size"


def warning(text: str) -> str:
    return f"muster: {text}"


# Refusals: what the API server tells those who sent the object.


def refusal(reason: Reason, text: str) -> str:
    """Every refusal ends with its Reason, which docs/reasons.md explains."""
    return f"muster: {text} [{reason}]"


def not_yet(reason: Reason, detail: str) -> str:
    return f"{reason.sentence}{_about(detail)}"


def not_formed_in_time(job: str, seconds: float) -> str:
    return f"the gang of Job {job!r} could not be formed within {seconds:.1f} s; the Job controller tries again"


def not_formed_yet(job: str, why: str) -> str:
    return f"the gang of Job {job!r} could not be formed yet: {why}; the Job controller tries again"


def pod_unreadable(problem: str) -> str:
    return f"Muster cannot read the pod: {problem}"


def failed_on(what: str, kind: str) -> str:
    """`kind`: the type of an unexpected error."""
    return f"failed on {what} with {kind}, which is a bug in Muster; its log says where"


def failed_on_pod(job: str, kind: str) -> str:
    return f"{failed_on(f'Job {job!r}', kind)}; the Job controller tries again"


def failed_on_change(job: str, kind: str) -> str:
    return f"{failed_on(f'Job {job!r}', kind)}. Try again later"


def internal_error(kind: str) -> str:
    return (
        f"Muster failed on this Job with {kind}, which is a bug in Muster. It tries again, and the Job's pods may "
        "wait. Please report it with what Muster's log says about this Job. To start the Job without a gang, ask an "
        "administrator to exclude its namespace (excludedNamespaces)"
    )


def pod_group_unchecked(why: str) -> str:
    return f"the PodGroup cannot be checked now, try again: {why or SLOW}"


# The parallelism guard's refusals.

SLOW = "the API server is slow"
CHANGE_BOTH = "Change completions together with it, to the same number greater than 1"
DELETE = "Delete the Job and create it with the new parallelism"
SUSPEND_OR_DELETE = (
    "Suspend the Job and change it once its pods are gone. Or: delete the Job and create it with the new parallelism"
)
TRY_AGAIN_OR_DELETE = "Try again in a moment, or delete the Job and create it with the new parallelism"
PODS_STILL_THERE = "Its pods are still there: try again once they are gone"
REPLACE_WORKLOAD = "Replace it by one of fewer pods, or delete it"


def parallelism_kept(job: str, why: str, remedy: str) -> str:
    return f"cannot change parallelism of Job {job!r}{why}. {remedy}"


WHILE_FORMING = " while its gang is being formed"


def since_gang(group: str, size: int) -> str:
    return f": its PodGroup {group!r} is a gang of {size} pods"


def since_workload(workload: str, size: int) -> str:
    return f": its Workload {workload!r}, which Muster did not make, asks for {size} pods"


def gang_unknown(job: str, why: str) -> str:
    return f"cannot tell now whether Job {job!r} is a gang, try again: {why or SLOW}"


def _about(detail: str) -> str:
    return f" ({detail})" if detail else ""
