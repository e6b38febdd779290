"""Why Muster did what it did. Events, logs, metrics, the CLI and the docs all use these words and no others."""

from enum import StrEnum


class EventReason(StrEnum):
    """What people see in `kubectl describe job`."""

    sentence: str

    def __new__(cls, value: str, sentence: str) -> "EventReason":
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    WORKLOAD_CREATED = "WorkloadCreated", "Muster created the Job's Workload"
    POD_GROUP_CREATED = "PodGroupCreated", "Muster created the Job's PodGroup; pods are let in from now on"
    GANG_SCHEDULED = "GangScheduled", "the whole gang has its nodes"
    GANG_WAITING = (
        "GangWaiting",
        "the gang has been without nodes for some seconds, and why; told again if that changes",
    )
    GANG_NOT_HELD = (
        "GangNotHeld",
        "some of the gang's pods started without the others: no scheduler on this cluster holds the gang",
    )
    GANG_SPLIT = (
        "GangSplit",
        "some of the Job's pods are in its PodGroup and others are in no group; suspend and resume the Job",
    )
    POLICY_DROPPED = "PolicyDropped", "the API server did not keep a field of the gang's objects: its gate is off"
    PAIR_RELEASED = "PairReleased", "the Job is suspended, and Muster deleted an object of its pair (releaseOnSuspend)"
    PARALLELISM_REFUSED = (
        "ParallelismRefused",
        "Muster refused a change of the Job's parallelism; the message is that of the refusal",
    )
    NAME_TAKEN = "NameTaken", "an object of somebody else has the name that Muster wanted; it takes the next one"
    STANDING_ASIDE = "StandingAside", "Muster leaves the Job alone, for the reason that follows"
    INTENT_IGNORED = (
        "IntentIgnored",
        "the annotation muster.dev/scheduling is wrong or cannot be had, so that it counts as if it were not there",
    )
    INTENT_WITHOUT_EFFECT = (
        "IntentWithoutEffect",
        "the annotation muster.dev/scheduling asks for something else than the Job's PodGroup was made with",
    )
    GROUP_LOST = "GroupLost", "somebody's own PodGroup was deleted while pods were in it; they wait until it is back"
    GANG_RESIZED = "GangResized", "the gang has another size now, so that pods which wait for it can start"
    GANG_NOT_RESIZED = (
        "GangNotResized",
        "a pod waits for a gang that cannot be whole any more, and Muster may not replace its PodGroup",
    )
    INTERNAL_ERROR = (
        "InternalError",
        "a bug in Muster: it failed on this Job, which concerns no other Job, and tries again",
    )


_ASIDE = EventReason.STANDING_ASIDE
_REFUSED = EventReason.PARALLELISM_REFUSED


class Reason(StrEnum):
    sentence: str
    event: EventReason | None
    """What people are told of it; None if it is only logged."""

    def __new__(cls, value: str, sentence: str, event: EventReason | None = None) -> "Reason":
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        member.event = event
        return member

    # The Job is none of Muster's business: no write, no event.
    JOB_GONE = "JobGone", "the Job does not exist any more"
    JOB_BEING_DELETED = "JobBeingDeleted", "the Job is being deleted"
    JOB_FINISHED = "JobFinished", "the Job has finished"
    NAMESPACE_EXCLUDED = "NamespaceExcluded", "Muster leaves this namespace alone"
    GROUP_PRESET = "GroupPreset", "the pod template already names a scheduling group"
    OWNED_BY_CONTROLLER = "OwnedByController", "another controller owns the Job and groups its pods itself"
    MANAGED_ELSEWHERE = "ManagedElsewhere", "spec.managedBy gives the Job to another controller"
    NOT_INDEXED = "NotIndexed", "completionMode is not Indexed"
    NOT_PARALLEL = "NotParallel", "parallelism is not greater than 1"
    COMPLETIONS_DIFFER = "CompletionsDiffer", "completions is not equal to parallelism"
    OPTED_OUT = "OptedOut", "the annotation muster.dev/scheduling is none"
    NOT_ASKED = "NotAsked", "Muster's defaultPolicy is opt-in, and the Job does not ask to be a gang"
    NOT_SCHEDULED_HERE = "NotScheduledHere", "another scheduler, or none, places the pods: no Basic group for them"
    STARTED_BEFORE = "StartedBefore", "the Job had pods before every Job got a Basic group"

    # The gang is on its way.
    WORKLOAD_MISSING = "WorkloadMissing", "the Workload is being created"
    POD_GROUP_MISSING = "PodGroupMissing", "the PodGroup is being created"
    GANG_FORMED = "GangFormed", "the Workload and the PodGroup exist"
    GROUP_FOLLOWED = "GroupFollowed", "the pods follow the group that the Job's living pods name"
    RELEASED = "Released", "the Job is suspended, and Muster deletes what releaseOnSuspend names of its pair"
    SUSPENDED = "Suspended", "the Job is suspended; its gang is formed when it resumes"
    WORKLOAD_BEING_DELETED = "WorkloadBeingDeleted", "the Workload is being deleted; it is made again once it is gone"
    POD_GROUP_BEING_DELETED = "PodGroupBeingDeleted", "the PodGroup is being deleted; it is made again once it is gone"
    REJECTED_ONCE = (
        "RejectedOnce",
        "the API server rejects the gang's objects; Muster looks once more before the pods start without a gang",
    )

    # Pods wait for something that is not Muster's to mend.
    GROUP_LOST = "GroupLost", "living pods name a PodGroup that is gone and was not Muster's", EventReason.GROUP_LOST

    # Muster stands aside: the pods pass untouched, and a Warning event says why.
    NODE_NAME_PRESET = "NodeNamePreset", "the pod template sets nodeName, so no scheduler sees the pods", _ASIDE
    OTHER_SCHEDULER = "OtherScheduler", "the pod template asks for a scheduler that does not know gangs", _ASIDE
    HAD_PODS_BEFORE = "HadPodsBefore", "the Job had pods before it had a Workload, and cannot become a gang now", _ASIDE
    PLAIN_PODS = "PlainPods", "living pods of the Job belong to no group, so new ones do not join one either", _ASIDE
    AMBIGUOUS_WORKLOADS = "AmbiguousWorkloads", "more than one Workload claims to describe the Job", _ASIDE
    AMBIGUOUS_POD_GROUPS = "AmbiguousPodGroups", "more than one PodGroup refers to the Job's Workload", _ASIDE
    UNSUPPORTED_STRUCTURE = "UnsupportedStructure", "the Job's Workload does not have exactly one template", _ASIDE
    PARENT_UNDESCRIBED = (
        "ParentUndescribed",
        "no Workload of the Job's controller has the template that the Job names",
        _ASIDE,
    )
    NO_LONGER_A_GANG = "NoLongerAGang", "the Job was a gang, and its numbers do not make it one any more", _ASIDE
    REJECTED = "Rejected", "the API server rejects the gang's objects", _ASIDE
    BEING_LEFT = "BeingLeft", "Muster is being removed (`muster leave`) and begins no new gang", _ASIDE

    # The parallelism guard refuses a change, and a Warning event repeats the refusal.
    GANG_SIZE_FIXED = "GangSizeFixed", "the Job's PodGroup is a gang of a fixed size", _REFUSED
    GANG_FORMING = "GangForming", "the gang is being formed, and its PodGroup may get either number", _REFUSED
    GANG_UNKNOWN = "GangUnknown", "Muster cannot read now whether the Job is a gang", _REFUSED
