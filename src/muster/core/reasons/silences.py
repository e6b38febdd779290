"""Why no event was posted about a gang. Muster logs the Reason at debug, with the Job's key."""

from muster.core.reasons.explained import Explained


class SilenceReason(Explained):
    """Beside these, the Reason of a decision: no event about a gang while the Job has none."""

    # This replica is not the one to speak.
    NOT_LEADING = (
        "NotLeading",
        "another replica leads, and posts the events",
        "read the log of the replica whose metric `muster_leader` is 1",
    )
    STORE_NOT_SYNCED = (
        "StoreNotSynced",
        "this replica has not seen every object yet",
        "wait; if it lasts, `/readyz` and the log say what is wrong",
    )
    POD_GROUP_NOT_OURS = (
        "PodGroupNotOurs",
        "the pod webhook sees only selected pods, and Muster did not form this gang",
        "widen the selectors of the pod webhook to have Muster report on all gangs",
    )

    # There is no gang that could wait.
    RESUMING = "Resuming", "the Job was resumed, and its status does not show it yet", "wait for the Job controller"
    POD_GROUP_UNKNOWN = (
        "PodGroupUnknown",
        "the store does not have the PodGroup that the Job's pods name",
        "wait; if it lasts, `kubectl get podgroups` shows whether it exists",
    )
    BASIC_POLICY = "BasicPolicy", "the PodGroup has the Basic policy, and its pods start one by one"
    WAIT_OVER = "WaitOver", "the Job ended, was suspended or was deleted before its pods were counted"

    # It is too early, or nothing is new.
    TOO_EARLY = (
        "TooEarly",
        "the gang has waited for a few seconds only, and most gangs get their nodes by then",
        "wait; Muster looks again by itself",
    )
    MEMBERS_UNKNOWN = "MembersUnknown", "Muster is still listing the pods", "wait; Muster looks again by itself"
    CHANGED_MEANWHILE = (
        "ChangedMeanwhile",
        "the Job or its PodGroup changed while Muster counted the pods",
        "wait; Muster looks again by itself",
    )
    NOTHING_NEW = (
        "NothingNew",
        "neither the Job nor its PodGroup has changed since Muster last looked at the pods",
        "read the last `GangWaiting` event; the API server keeps events for an hour by default",
    )
    GANG_RUNS = "GangRuns", "the gang has its nodes, and there is nothing new to report"
    OLD_NEWS = "OldNews", "the gang got its nodes long before this replica began to look"
    STARTED_IN_PARTS = (
        "StartedInParts",
        "the gang's pods got their nodes one after the other, so it was never scheduled as a whole",
        "see `GangNotHeld`",
    )

    # There is something to say, and it is not posted.
    ALREADY_POSTED = (
        "AlreadyPosted",
        "the same event was posted before",
        "`kubectl describe job`; the API server keeps events for an hour by default",
    )
    RATE_LIMITED = (
        "RateLimited",
        "the Job got as many events of this kind as Muster posts: one `GangWaiting` in 30 s, 20 refusals in an hour",
        "wait; what is still true is posted later",
    )
    EVENT_QUEUE_FULL = (
        "EventQueueFull",
        "too many events wait to be posted",
        "wait; `muster_events_dropped_total` counts them, and a slow API server is the usual cause",
    )
    NAMESPACE_TERMINATING = "NamespaceTerminating", "the Job's namespace is being deleted and takes no events"
