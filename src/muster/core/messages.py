"""All text that Muster writes for people in events, refusals and warnings of `kubectl apply`.

The text of the Reasons is in `core.reasons`. The arguments are plain values, so that every package can use this module.
"""

from collections.abc import Mapping, Sequence

from muster.core.reasons import Reason, SilenceReason


def silence(reason: Reason | SilenceReason, detail: str = "") -> str:
    """For the log: why no event was posted."""
    return f"no event: {reason}: {reason.sentence}{_about(detail)}"


def not_queued(reason: SilenceReason) -> str:
    """For the log: why a change of an object causes no work."""
    return f"not queued: {reason}: {reason.sentence}"


def not_handled(reason: SilenceReason) -> str:
    """For the log: why Muster does nothing for the Job."""
    return f"nothing to do: {reason}: {reason.sentence}"


# What Muster did to the Job's objects.


def workload_created(name: str) -> str:
    return f"Created Workload {name}"


def pod_group_created(name: str) -> str:
    return f"Created PodGroup {name}"


def name_taken(name: str) -> str:
    return f"{name} belongs to another owner; Muster uses the next name"


def pair_released(deleted: str) -> str:
    return f"Deleted {deleted} of the suspended Job"


def decided(reason: Reason, detail: str, plain: bool) -> str:
    """Why Muster skips the Job, or what the pods wait for."""
    outcome = "; the pods are scheduled one by one" if plain else ""
    return f"{reason}: {reason.sentence}{_about(detail)}{outcome}"


def fields_dropped(kind: str, name: str, gates: Mapping[str, str], native: bool) -> str:
    """`gates`: the feature gate of each field that the server did not store."""
    if native:
        fields = ", ".join(f"{field} (feature gate {gate} is off)" for field, gate in gates.items())
    else:
        fields = f"{', '.join(gates)} (the installed CRD is too old: `muster crds install`)"
    return f"The API server did not store these fields of {kind} {name}: {fields}. The gang is scheduled without them"


# The state of a gang.


def gang_scheduled(needed: int, group: str) -> str:
    return f"The gang of {needed} is scheduled (PodGroup {group})"


def pods_missing(exist: int, needed: int, succeeded: int) -> str:
    if succeeded:
        why = f"{succeeded} succeeded, and the scheduler counts only pods that have not ended"
    else:
        why = "if this lasts, the Job's other events say why the remaining pods are not created"
    return f"{exist} of the gang's {needed} pods exist; {why}"


def no_scheduler_spoke(exist: int) -> str:
    return f"All {exist} pods exist, and no scheduler has reported on them yet"


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
        f"{needed}, and {outside} are in no group. {waiting} pods wait for members that do not exist. "
        f"{split_remedy('the Job', 'as one gang')}"
    )


def split_remedy(which: str, how: str) -> str:
    """What repairs a split gang. `how`: what the Job controller then makes of its pods."""
    return f"Suspend {which} and resume it: the Job controller then recreates its pods {how}"


# A PodGroup of the wrong size.


def size_asked_for(size: int) -> str:
    return f"the Job asks for a gang of {size} now"


def indexes_ended(ended: int, completions: int) -> str:
    return f"{ended} of {completions} indexes have ended, and a pod of a remaining index waits for a node"


def gang_resized(group: str, was: int, size: int, why: str) -> str:
    return f"Resized PodGroup {group} from {was} to {size} pods: {why}"


def gang_not_resized(group: str, was: int, why: str, obstacle: str) -> str:
    """`obstacle`: the sentence of the Reason why Muster cannot replace the PodGroup."""
    return (
        f"PodGroup {group} needs {was} pods, but {why}. "
        f"Muster cannot replace it, since {obstacle}: delete the Job and create it again"
    )


# The annotation on a Job: events, and warnings for the person who applies it.


def intent_ignored(annotation: str) -> str:
    """The caller appends the errors."""
    return f"{annotation} is ignored, as if it were not there: "


def intent_without_effect(annotation: str, group: str) -> str:
    """The caller appends the differences."""
    return f"{annotation} has no effect on PodGroup {group}, which already exists: "


def and_more(number: int) -> str:
    return f"and {number} more"


def listed(things: Sequence[object], most: int) -> str:
    """The first ones by name, and the number of the others."""
    names = ", ".join(str(thing) for thing in things[:most])
    return f"{names} {and_more(len(things) - most)}" if len(things) > most else names


def stays_a_member(asked: str) -> str:
    return f"the pods stay in that group, although the Job now requests {asked!r}"


def differs(what: str, made: object, asked: object) -> str:
    return f"its {what} is {made or 'none'}, not {asked or 'none'}"


def differs_or_dropped(what: str, made: object, asked: object) -> str:
    """With the feature gate off, the server creates the group without the field. The group does not show why."""
    return (
        f"{differs(what, made, asked)} (if the annotation had this value when the Job was created, see the event "
        "PolicyDropped)"
    )


def intent_removed(annotation: str, group: str) -> str:
    return f"removing {annotation} does not change PodGroup {group}, except for its size"


def warning(text: str) -> str:
    return f"muster: {text}"


# Refusals: the API server returns them to the client.


def refusal(reason: Reason, text: str) -> str:
    """Every refusal ends with its Reason, which docs/reasons.md explains."""
    return f"muster: {text} [{reason}]"


def not_yet(reason: Reason, detail: str) -> str:
    return f"{reason.sentence}{_about(detail)}"


def not_formed_in_time(job: str, seconds: float) -> str:
    return f"Muster could not form the gang of Job {job!r} within {seconds:.1f} s; the Job controller retries"


def not_formed_yet(job: str, why: str) -> str:
    return f"Muster could not form the gang of Job {job!r} yet: {why}; the Job controller retries"


TOO_MANY_UNKNOWN_JOBS = (
    "Muster is busy: it receives requests for too many Jobs that are not in its cache. Try again later"
)


def keeps_changing(what: str = "it") -> str:
    return f"{what} keeps changing"


def pod_group_not_deleted(name: str) -> str:
    return f"the API server did not delete PodGroup {name}"


def pod_group_came_and_went(name: str) -> str:
    return f"another client created and deleted PodGroup {name}"


def kept_changing(steps: int) -> str:
    return f"the Job or its objects kept changing during {steps} steps"


PODS_NOT_LISTED = "Muster cannot read one of its objects, and could not list its pods"


def pod_unreadable(problem: str) -> str:
    return f"Muster cannot read the pod: {problem}"


def failed_on(what: str, kind: str) -> str:
    """`kind`: the type of an unexpected error."""
    return f"failed on {what} with {kind}, which is a bug in Muster; its log says where"


def failed_on_pod(job: str, kind: str) -> str:
    return f"{failed_on(f'Job {job!r}', kind)}; the Job controller retries"


def failed_on_change(job: str, kind: str) -> str:
    return f"{failed_on(f'Job {job!r}', kind)}. Try again later"


def internal_error(kind: str) -> str:
    return (
        f"Muster failed on this Job with {kind}, which is a bug in Muster. It tries again, and the Job's pods may "
        "wait. Please report it with what Muster's log says about this Job. To start the Job without a gang, ask an "
        "administrator to exclude its namespace (excludedNamespaces)"
    )


def pod_group_unchecked(why: str) -> str:
    return f"Muster cannot check the PodGroup now: {why or SLOW}. Try again later"


# The parallelism guard's refusals.

SLOW = "the API server is slow"
CHANGE_BOTH = "Change completions together with it, to the same number greater than 1"
DELETE = "Delete the Job and create it with the new parallelism"
SUSPEND_OR_DELETE = (
    "Suspend the Job and change it once its pods are gone. Or: delete the Job and create it with the new parallelism"
)
TRY_AGAIN_OR_DELETE = "Try again in a moment, or delete the Job and create it with the new parallelism"
PODS_STILL_THERE = "Its pods still exist. Try again after they have been deleted"
REPLACE_WORKLOAD = "Replace the Workload with one that requires fewer pods, or delete it"


def parallelism_kept(job: str, why: str, remedy: str) -> str:
    return f"cannot change parallelism of Job {job!r}{why}. {remedy}"


WHILE_FORMING = " while its gang is being formed"


def since_gang(group: str, size: int) -> str:
    return f": its PodGroup {group!r} is a gang of {size} pods"


def since_workload(workload: str, size: int) -> str:
    return f": its Workload {workload!r}, which Muster did not create, requires {size} pods"


def gang_unknown(job: str, why: str) -> str:
    return f"Muster cannot determine now whether Job {job!r} is a gang: {why or SLOW}. Try again later"


def _about(detail: str) -> str:
    return f" ({detail})" if detail else ""
