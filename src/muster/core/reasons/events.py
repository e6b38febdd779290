"""The reasons of events: what people see in `kubectl describe job`."""

from muster.core.reasons.explained import Explained


class EventReason(Explained):
    WORKLOAD_CREATED = "WorkloadCreated", "Muster created the Job's Workload"
    POD_GROUP_CREATED = "PodGroupCreated", "Muster created the Job's PodGroup; pods are let in from now on"
    GANG_SCHEDULED = "GangScheduled", "the whole gang has its nodes"
    GANG_WAITING = (
        "GangWaiting",
        "the gang has been without nodes for some seconds; the message says why, and a change is posted again",
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
        "the API server did not keep a field of the gang's objects: its gate is off",
        "switch on the gate that the message names and create the Job again, or do without",
    )
    PAIR_RELEASED = "PairReleased", "the Job is suspended, and Muster deleted an object of its pair (releaseOnSuspend)"
    PARALLELISM_REFUSED = (
        "ParallelismRefused",
        "Muster refused a change of the Job's parallelism; the message is that of the refusal",
        "do what the message says",
    )
    NAME_TAKEN = "NameTaken", "somebody else's object has the name that Muster wanted; Muster uses the next one"
    STANDING_ASIDE = (
        "StandingAside",
        "Muster leaves the Job alone, for the reason that follows",
        "look the reason up above; the pods do not wait for Muster",
    )
    INTENT_IGNORED = (
        "IntentIgnored",
        "the annotation muster.dev/scheduling is wrong or not supported here, and Muster ignores it",
        "correct the field that the message names",
    )
    INTENT_WITHOUT_EFFECT = (
        "IntentWithoutEffect",
        "the annotation muster.dev/scheduling asks for something else than the Job's PodGroup was made with",
        "delete the Job and create it again, or set the annotation back",
    )
    GROUP_LOST = (
        "GroupLost",
        "somebody's own PodGroup was deleted while pods were in it; they wait until it is back",
        "create the PodGroup again",
    )
    GANG_RESIZED = "GangResized", "Muster gave the gang another size, so that pods that wait for it can start"
    GANG_NOT_RESIZED = (
        "GangNotResized",
        "a pod waits for a gang that can never be complete again, and Muster may not replace its PodGroup",
        "delete the Job and create it again",
    )
    INTERNAL_ERROR = (
        "InternalError",
        "a bug in Muster: it failed on this Job, which concerns no other Job, and tries again",
        "report it with what the log says about the Job; exclude the namespace to start the Job without a gang",
    )
