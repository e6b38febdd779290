"""Why Muster decided as it did about a Job, and why it refused something."""

from enum import Enum, auto

from muster.core.reasons.events import EventReason
from muster.core.reasons.explained import NOTHING, Explained


class Kind(Enum):
    """What a Reason is the reason of. The sections of docs/reasons.md."""

    LEFT_ALONE = auto()
    """The Job is none of Muster's business: no write, no event."""
    ON_ITS_WAY = auto()
    """The gang is there, or is being formed; until then its pods are refused, and the Job controller tries again."""
    GROUP_LOST = auto()
    """The pods wait for something that Muster may not make."""
    ASIDE = auto()
    """Muster stands aside: the pods pass untouched, and a Warning event says why."""
    CHANGE_REFUSED = auto()
    """The parallelism guard refuses a change, and a Warning event repeats the refusal."""
    REFUSED = auto()
    """A webhook refuses an object for now, or for good."""


_EVENTS = {
    Kind.GROUP_LOST: EventReason.GROUP_LOST,
    Kind.ASIDE: EventReason.STANDING_ASIDE,
    Kind.CHANGE_REFUSED: EventReason.PARALLELISM_REFUSED,
}
_ALONE, _ON_ITS_WAY, _ASIDE = Kind.LEFT_ALONE, Kind.ON_ITS_WAY, Kind.ASIDE
_REMAKE = "delete the Job and create it again"
_WAIT = "wait; the Job controller tries again"


class Reason(Explained):
    kind: Kind
    event: EventReason | None
    """The event that carries it; None if it is only logged, or part of a refusal."""

    def __new__(cls, value: str, kind: Kind, sentence: str, remedy: str = NOTHING) -> "Reason":
        member = str.__new__(cls, value)
        member._value_ = value
        member.kind = kind
        member.event = _EVENTS.get(kind)
        member.sentence = sentence
        member.remedy = remedy
        return member

    JOB_GONE = "JobGone", _ALONE, "the Job does not exist any more"
    JOB_BEING_DELETED = "JobBeingDeleted", _ALONE, "the Job is being deleted"
    JOB_FINISHED = "JobFinished", _ALONE, "the Job has finished"
    NAMESPACE_EXCLUDED = (
        "NamespaceExcluded",
        _ALONE,
        "Muster leaves this namespace alone",
        "use another namespace, or take it off `excludedNamespaces`",
    )
    GROUP_PRESET = "GroupPreset", _ALONE, "the pod template already names a scheduling group"
    OWNED_BY_CONTROLLER = (
        "OwnedByController",
        _ALONE,
        "another controller owns the Job and groups its pods itself",
        "to have a gang all the same, ask for it with the annotation muster.dev/scheduling",
    )
    MANAGED_ELSEWHERE = "ManagedElsewhere", _ALONE, "spec.managedBy gives the Job to another controller"
    NOT_INDEXED = "NotIndexed", _ALONE, "completionMode is not Indexed", "for a gang, set it to Indexed"
    NOT_PARALLEL = "NotParallel", _ALONE, "parallelism is not greater than 1", "for a gang, set it to 2 or more"
    COMPLETIONS_DIFFER = (
        "CompletionsDiffer",
        _ALONE,
        "completions is not equal to parallelism",
        "for a gang, set both to the same number",
    )
    OPTED_OUT = "OptedOut", _ALONE, "the annotation muster.dev/scheduling is none", "for a gang, remove the annotation"
    NOT_ASKED = (
        "NotAsked",
        _ALONE,
        "Muster's defaultPolicy is opt-in, and the Job does not ask to be a gang",
        "for a gang, ask for it with the annotation muster.dev/scheduling",
    )
    NOT_SCHEDULED_HERE = (
        "NotScheduledHere",
        _ALONE,
        "another scheduler, or none, places the pods: no Basic group for them",
    )
    STARTED_BEFORE = "StartedBefore", _ALONE, "the Job had pods before every Job got a Basic group"

    WORKLOAD_MISSING = "WorkloadMissing", _ON_ITS_WAY, "the Workload is being created"
    POD_GROUP_MISSING = "PodGroupMissing", _ON_ITS_WAY, "the PodGroup is being created"
    GANG_FORMED = "GangFormed", _ON_ITS_WAY, "the Workload and the PodGroup exist"
    GROUP_FOLLOWED = "GroupFollowed", _ON_ITS_WAY, "the pods follow the group that the Job's living pods name"
    RELEASED = (
        "Released",
        _ON_ITS_WAY,
        "the Job is suspended, and Muster deletes what releaseOnSuspend names of its pair",
    )
    SUSPENDED = "Suspended", _ON_ITS_WAY, "the Job is suspended; its gang is formed when it resumes"
    WORKLOAD_BEING_DELETED = (
        "WorkloadBeingDeleted",
        _ON_ITS_WAY,
        "the Workload is being deleted; it is made again once it is gone",
        "if it stays, remove the finalizer that holds it",
    )
    POD_GROUP_BEING_DELETED = (
        "PodGroupBeingDeleted",
        _ON_ITS_WAY,
        "the PodGroup is being deleted; it is made again once it is gone",
        "if it stays, end the pods or remove the finalizer that holds it",
    )
    REJECTED_ONCE = (
        "RejectedOnce",
        _ON_ITS_WAY,
        "the API server rejects the gang's objects; Muster looks once more before the pods start without a gang",
    )

    GROUP_LOST = (
        "GroupLost",
        Kind.GROUP_LOST,
        "living pods name a PodGroup that is gone and was not Muster's",
        "create the PodGroup again; the pods wait for it",
    )

    NODE_NAME_PRESET = (
        "NodeNamePreset",
        _ASIDE,
        "the pod template sets nodeName, so no scheduler sees the pods",
        "for a gang, remove nodeName from the pod template",
    )
    OTHER_SCHEDULER = (
        "OtherScheduler",
        _ASIDE,
        "the pod template asks for a scheduler that does not know gangs",
        "for a gang, remove schedulerName, or add the scheduler to Muster's `schedulerNames`",
    )
    HAD_PODS_BEFORE = (
        "HadPodsBefore",
        _ASIDE,
        "the Job had pods before it had a Workload, and cannot become a gang now",
        _REMAKE,
    )
    PLAIN_PODS = (
        "PlainPods",
        _ASIDE,
        "living pods of the Job belong to no group, so new ones do not join one either",
        _REMAKE,
    )
    AMBIGUOUS_WORKLOADS = (
        "AmbiguousWorkloads",
        _ASIDE,
        "more than one Workload claims to describe the Job",
        f"delete all but one of them, then {_REMAKE}",
    )
    AMBIGUOUS_POD_GROUPS = (
        "AmbiguousPodGroups",
        _ASIDE,
        "more than one PodGroup refers to the Job's Workload",
        f"delete all but one of them, then {_REMAKE}",
    )
    UNSUPPORTED_STRUCTURE = (
        "UnsupportedStructure",
        _ASIDE,
        "the Job's Workload does not have exactly one template",
        "give the Workload one template, or delete it and let Muster make one",
    )
    PARENT_UNDESCRIBED = (
        "ParentUndescribed",
        _ASIDE,
        "no Workload of the Job's controller has the template that the Job names",
        "correct `scheduling.k8s.io/group-template-name`, or create the Workload first",
    )
    NO_LONGER_A_GANG = (
        "NoLongerAGang",
        _ASIDE,
        "the Job was a gang, and its numbers do not make it one any more",
        "set completions and parallelism to the same number greater than 1",
    )
    REJECTED = (
        "Rejected",
        _ASIDE,
        "the API server rejects the gang's objects",
        f"correct what the message names, then {_REMAKE}",
    )
    BEING_LEFT = (
        "BeingLeft",
        _ASIDE,
        "Muster is being removed (`muster leave`) and begins no new gang",
        "install Muster again before you create the Job",
    )

    GANG_SIZE_FIXED = (
        "GangSizeFixed",
        Kind.CHANGE_REFUSED,
        "the Job's PodGroup is a gang of a fixed size",
        "do what the refusal says: change completions too, suspend the Job first, or create it again",
    )
    GANG_FORMING = (
        "GangForming",
        Kind.CHANGE_REFUSED,
        "the gang is being formed, and its PodGroup may get either number",
        "try again in a moment",
    )
    GANG_UNKNOWN = (
        "GangUnknown",
        Kind.CHANGE_REFUSED,
        "Muster cannot read now whether the Job is a gang",
        "try again; if it lasts, the API server is slow or away",
    )

    NOT_FORMED_IN_TIME = (
        "NotFormedInTime",
        Kind.REFUSED,
        "the gang was not formed within the time that the API server gives the pod webhook",
        _WAIT,
    )
    NOT_FORMED_YET = "NotFormedYet", Kind.REFUSED, "the API server did not let Muster form the gang yet", _WAIT
    POD_UNREADABLE = "PodUnreadable", Kind.REFUSED, "Muster cannot read the pod", "correct the field that is named"
    NOT_READY = (
        "NotReady",
        Kind.REFUSED,
        "this replica does not know yet which scheduling API to use, or cannot use it",
        "do what the sentence says; `/readyz` repeats it",
    )
    MUSTER_FAILED = (
        "MusterFailed",
        Kind.REFUSED,
        "a bug in Muster, which concerns this object alone",
        "report it with what the log says about the object",
    )
    POD_GROUP_UNCHECKED = (
        "PodGroupUnchecked",
        Kind.REFUSED,
        "Muster cannot read now whether the PodGroup's Workload exists",
        "try again",
    )
    POD_GROUP_INVALID = (
        "PodGroupInvalid",
        Kind.REFUSED,
        "the PodGroup breaks a rule of the built-in API; the refusal has the words of the built-in server",
        "correct what the refusal names",
    )
