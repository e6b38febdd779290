"""The reasons for Muster's decisions about a Job, and for its refusals."""

from enum import Enum, auto

from muster.core.reasons.events import EventReason
from muster.core.reasons.explained import NOTHING, Explained


class ReasonKind(Enum):
    """What a Reason explains. Each kind is a section of docs/reasons.md."""

    NOT_CONCERNED = auto()
    """The Job does not concern Muster: no write, no event."""
    ON_ITS_WAY = auto()
    """The gang exists or is being formed. Until then its pods are refused, and the Job controller retries."""
    GROUP_LOST = auto()
    """The pods wait for an object that Muster cannot create."""
    ASIDE = auto()
    """Muster does not form a gang: it admits the pods unchanged, and a Warning event says why."""
    NOT_RESIZED = auto()
    """The PodGroup has the wrong size, and Muster may not replace it: a Warning event says why."""
    CHANGE_REFUSED = auto()
    """The parallelism guard refuses a change, and a Warning event repeats the refusal."""
    REFUSED = auto()
    """A webhook refuses an object, temporarily or permanently."""
    ALLOWED = auto()
    """A webhook allows an object without a decision; only the log has the Reason."""


_EVENTS = {
    ReasonKind.GROUP_LOST: EventReason.GROUP_LOST,
    ReasonKind.ASIDE: EventReason.STANDING_ASIDE,
    ReasonKind.NOT_RESIZED: EventReason.GANG_NOT_RESIZED,
    ReasonKind.CHANGE_REFUSED: EventReason.PARALLELISM_REFUSED,
}
_NOT_CONCERNED, _ON_ITS_WAY, _ASIDE = ReasonKind.NOT_CONCERNED, ReasonKind.ON_ITS_WAY, ReasonKind.ASIDE
_REMAKE = "delete the Job and create it again"
_WAIT = "wait; the Job controller retries"


class Reason(Explained):
    kind: ReasonKind
    event: EventReason | None
    """The event that reports it; None if it is only logged or part of a refusal."""

    def __new__(cls, value: str, kind: ReasonKind, sentence: str, remedy: str = NOTHING) -> "Reason":
        member = str.__new__(cls, value)
        member._value_ = value
        member.kind = kind
        member.event = _EVENTS.get(kind)
        member.sentence = sentence
        member.remedy = remedy
        return member

    JOB_GONE = "JobGone", _NOT_CONCERNED, "the Job does not exist any more"
    JOB_BEING_DELETED = "JobBeingDeleted", _NOT_CONCERNED, "the Job is being deleted"
    JOB_FINISHED = "JobFinished", _NOT_CONCERNED, "the Job has finished"
    NAMESPACE_EXCLUDED = (
        "NamespaceExcluded",
        _NOT_CONCERNED,
        "Muster ignores this namespace",
        "use another namespace, or remove it from `excludedNamespaces`",
    )
    GROUP_PRESET = "GroupPreset", _NOT_CONCERNED, "the pod template already names a scheduling group"
    OWNED_BY_CONTROLLER = (
        "OwnedByController",
        _NOT_CONCERNED,
        "another controller owns the Job and groups its pods itself",
        "for a gang, request one with the annotation muster.dev/scheduling",
    )
    MANAGED_ELSEWHERE = "ManagedElsewhere", _NOT_CONCERNED, "spec.managedBy gives the Job to another controller"
    NOT_INDEXED = "NotIndexed", _NOT_CONCERNED, "completionMode is not Indexed", "for a gang, set it to Indexed"
    NOT_PARALLEL = "NotParallel", _NOT_CONCERNED, "parallelism is not greater than 1", "for a gang, set it to 2 or more"
    COMPLETIONS_DIFFER = (
        "CompletionsDiffer",
        _NOT_CONCERNED,
        "completions is not equal to parallelism",
        "for a gang, set both to the same number",
    )
    OPTED_OUT = (
        "OptedOut",
        _NOT_CONCERNED,
        "the annotation muster.dev/scheduling is none",
        "for a gang, remove the annotation",
    )
    NOT_ASKED = (
        "NotAsked",
        _NOT_CONCERNED,
        "Muster's defaultPolicy is opt-in, and the Job does not request a gang",
        "for a gang, request one with the annotation muster.dev/scheduling",
    )
    NOT_SCHEDULED_HERE = (
        "NotScheduledHere",
        _NOT_CONCERNED,
        "the pods use another scheduler or a preset nodeName, so Muster creates no Basic group for them",
    )
    STARTED_BEFORE = (
        "StartedBefore",
        _NOT_CONCERNED,
        "the Job had pods before Muster could create a Basic group for it (basicForOthers)",
    )
    LEFT_TO_WEBHOOK = (
        "LeftToWebhook",
        _NOT_CONCERNED,
        "the pod webhook has selectors, so Muster forms the gang only when it is called for the Job's first pod",
        "wait for the Job's first pod; if it is not selected, widen the selectors of the pod webhook",
    )

    WORKLOAD_MISSING = "WorkloadMissing", _ON_ITS_WAY, "the Workload is being created"
    POD_GROUP_MISSING = "PodGroupMissing", _ON_ITS_WAY, "the PodGroup is being created"
    GANG_FORMED = "GangFormed", _ON_ITS_WAY, "the Workload and the PodGroup exist"
    GROUP_FOLLOWED = (
        "GroupFollowed",
        _ON_ITS_WAY,
        "the pods join the group that the Job's running or pending pods name",
    )
    RELEASED = (
        "Released",
        _ON_ITS_WAY,
        "the Job is suspended, and Muster deletes its PodGroup, or its PodGroup and Workload (releaseOnSuspend)",
    )
    SUSPENDED = "Suspended", _ON_ITS_WAY, "the Job is suspended; its gang is formed when it resumes"
    WORKLOAD_BEING_DELETED = (
        "WorkloadBeingDeleted",
        _ON_ITS_WAY,
        "the Workload is being deleted; Muster recreates it afterwards",
        "if the deletion does not finish, remove the finalizer that blocks it",
    )
    POD_GROUP_BEING_DELETED = (
        "PodGroupBeingDeleted",
        _ON_ITS_WAY,
        "the PodGroup is being deleted; Muster recreates it afterwards",
        "if the deletion does not finish, end the pods or remove the finalizer that blocks it",
    )
    POD_GROUP_HELD = (
        "PodGroupHeld",
        _ON_ITS_WAY,
        "a finalizer of another client keeps the deleted PodGroup; Muster recreates it afterwards",
        "if the deletion does not finish, remove the finalizer that blocks it",
    )
    REJECTED_ONCE = (
        "RejectedOnce",
        _ON_ITS_WAY,
        "the API server rejects the gang's objects; Muster checks once more before it admits the pods without a gang",
    )

    GROUP_LOST = (
        "GroupLost",
        ReasonKind.GROUP_LOST,
        "running or pending pods name a PodGroup that no longer exists and that Muster did not create",
        "create the PodGroup again; the pods wait for it",
    )
    GROUP_REJECTED = (
        "GroupRejected",
        ReasonKind.GROUP_LOST,
        "running or pending pods name a PodGroup that no longer exists, and the API server rejects a new one",
        "correct what the message names; Muster tries again at each resync (`resyncSeconds`), and the pods wait for it",
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
        "the pod template names a scheduler that does not support gangs",
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
        "running or pending pods of the Job are in no group, so new pods get none either",
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
        "give the Workload one template, or delete it, and Muster creates one",
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
        "the Job was a gang, but its parallelism and completions no longer qualify",
        "set completions and parallelism to the same number greater than 1",
    )
    REJECTED = (
        "Rejected",
        _ASIDE,
        "the API server rejects the gang's objects",
        f"correct what the message names, then {_REMAKE}",
    )
    UNINSTALLING = (
        "Uninstalling",
        _ASIDE,
        "Muster is being uninstalled (`muster leave`) and forms no new gangs",
        "install Muster again before you create the Job",
    )

    WORKLOAD_GONE = "WorkloadGone", ReasonKind.NOT_RESIZED, "its Workload is gone", _REMAKE
    HAS_RESOURCE_CLAIMS = "HasResourceClaims", ReasonKind.NOT_RESIZED, "it has resource claims", _REMAKE
    POD_GROUP_OF_ANOTHER = "PodGroupOfAnother", ReasonKind.NOT_RESIZED, "it is not Muster's", _REMAKE
    NEW_ONE_REFUSED = "NewOneRefused", ReasonKind.NOT_RESIZED, "the API server rejects the new one", _REMAKE
    SIZE_NOT_STORED = (
        "SizeNotStored",
        ReasonKind.NOT_RESIZED,
        "the API server stored another size than Muster requested (check other admission webhooks)",
        f"correct the webhook that changes minCount, then {_REMAKE}",
    )

    GANG_SIZE_FIXED = (
        "GangSizeFixed",
        ReasonKind.CHANGE_REFUSED,
        "the Job's PodGroup is a gang of a fixed size",
        "do what the refusal says: change completions too, suspend the Job first, or create it again",
    )
    GANG_FORMING = (
        "GangForming",
        ReasonKind.CHANGE_REFUSED,
        "the gang is being formed, and its PodGroup may be created for the old or the new parallelism",
        "try again in a moment",
    )
    GANG_UNKNOWN = (
        "GangUnknown",
        ReasonKind.CHANGE_REFUSED,
        "Muster cannot determine now whether the Job is a gang",
        "try again; if this persists, the API server is slow or unreachable",
    )

    NOT_FORMED_IN_TIME = (
        "NotFormedInTime",
        ReasonKind.REFUSED,
        "the gang was not formed within the time that the API server gives the pod webhook",
        _WAIT,
    )
    NOT_FORMED_YET = "NotFormedYet", ReasonKind.REFUSED, "the API server did not let Muster form the gang yet", _WAIT
    POD_UNREADABLE = (
        "PodUnreadable",
        ReasonKind.REFUSED,
        "Muster cannot read the pod",
        "correct the field that the refusal names",
    )
    NOT_READY = (
        "NotReady",
        ReasonKind.REFUSED,
        "this replica does not know yet which scheduling API to use, or cannot use it",
        "follow the message; `/readyz` shows the same message",
    )
    MUSTER_FAILED = (
        "MusterFailed",
        ReasonKind.REFUSED,
        "a bug in Muster, which affects only this object",
        "report it with what the log says about the object",
    )
    POD_GROUP_UNCHECKED = (
        "PodGroupUnchecked",
        ReasonKind.REFUSED,
        "Muster cannot determine now whether the PodGroup's Workload exists",
        "try again",
    )
    POD_GROUP_INVALID = (
        "PodGroupInvalid",
        ReasonKind.REFUSED,
        "the PodGroup breaks a rule of the built-in API; the refusal has the message of the built-in API server",
        "correct what the refusal names",
    )

    OBJECT_UNREADABLE = (
        "ObjectUnreadable",
        ReasonKind.ALLOWED,
        "Muster cannot read the object, or an object that its decision depends on",
        "correct the field that the log names",
    )
