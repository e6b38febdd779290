"""The reasons of events, as `kubectl describe job` shows them."""

from muster.core.reasons.explained import Explained


class EventReason(Explained):
    WORKLOAD_CREATED = "WorkloadCreated", "Muster created the Job's Workload"
    POD_GROUP_CREATED = "PodGroupCreated", "Muster created the Job's PodGroup, and now admits the Job's pods"
    GANG_SCHEDULED = "GangScheduled", "all pods of the gang are scheduled"
    GANG_WAITING = (
        "GangWaiting",
        (
            "the gang has not been scheduled for some seconds; the message says why, and Muster posts it again when "
            "the reason changes"
        ),
        "make room, or do what the message says; `GangScheduled` says when the gang starts",
    )
    GANG_NOT_HELD = (
        "GangNotHeld",
        "some of the gang's pods started without the others: no scheduler on this cluster holds the gang",
        "turn on kube-scheduler's feature gate GangScheduling; to free the nodes, suspend the Job",
    )
    GANG_SPLIT = (
        "GangSplit",
        "some of the Job's pods are in its PodGroup and others are in no group",
        "suspend and resume the Job",
    )
    POLICY_DROPPED = (
        "PolicyDropped",
        "the API server did not store a field of the gang's objects: its feature gate is off",
        "turn on the feature gate that the message names and create the Job again, or run without the field",
    )
    PAIR_RELEASED = "PairReleased", "the Job is suspended, and Muster deleted an object of its pair (releaseOnSuspend)"
    PARALLELISM_REFUSED = (
        "ParallelismRefused",
        "Muster refused a change of the Job's parallelism; the message is that of the refusal",
        "do what the message says",
    )
    NAME_TAKEN = "NameTaken", "an object of another owner has the name that Muster needs; Muster uses the next name"
    STANDING_ASIDE = (
        "StandingAside",
        "Muster forms no gang for the Job; the message begins with the reason",
        "find that reason on this page; the pods do not wait for Muster",
    )
    INTENT_IGNORED = (
        "IntentIgnored",
        "the annotation muster.dev/scheduling is invalid or not supported here, and Muster ignores it",
        "correct the field that the message names",
    )
    INTENT_WITHOUT_EFFECT = (
        "IntentWithoutEffect",
        "the annotation muster.dev/scheduling differs from what the Job's PodGroup was created with",
        "delete the Job and create it again, or set the annotation back",
    )
    GROUP_LOST = (
        "GroupLost",
        "a PodGroup was deleted while pods were in it, and Muster cannot create it; they wait until it exists again",
        "do what the reason in the message asks for",
    )
    GANG_RESIZED = "GangResized", "Muster gave the gang another size, so that pods that wait for it can start"
    GANG_NOT_RESIZED = (
        "GangNotResized",
        "a pod waits for a gang that can never be complete again, and Muster may not replace its PodGroup",
        "delete the Job and create it again",
    )
    INTERNAL_ERROR = (
        "InternalError",
        "a bug in Muster: it failed on this Job and retries; other Jobs are not affected",
        "report it with what the log says about the Job; exclude the namespace to start the Job without a gang",
    )
