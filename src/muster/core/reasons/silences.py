"""Why no event was posted about a gang. Muster logs the Reason at debug, with the Job's key."""

from muster.core.reasons.explained import Explained


class SilenceReason(Explained):
    """In addition to these, the Reason of a decision explains why a Job without a gang gets no event about one."""

    # This replica does not post events.
    NOT_LEADING = (
        "NotLeading",
        "another replica leads, and posts the events",
        "read the log of the replica whose metric `muster_leader` is 1",
    )
    CACHE_NOT_SYNCED = (
        "CacheNotSynced",
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
        "the cache does not have the PodGroup that the Job's pods name",
        "wait; if it lasts, `kubectl get podgroups` shows whether it exists",
    )
    POD_GROUP_GONE = (
        "PodGroupGone",
        "the PodGroup that changed does not exist any more, so no gang waits in it",
        "look for the Job's own key in the log",
    )
    BASIC_POLICY = "BasicPolicy", "the PodGroup has the Basic policy, and its pods start one by one"
    WAIT_OVER = "WaitOver", "the Job ended, was suspended or was deleted before its pods were counted"

    # It is too early, or nothing has changed.
    TOO_EARLY = (
        "TooEarly",
        "the gang has waited only a few seconds; most gangs are scheduled within that time",
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
    GANG_RUNS = "GangRuns", "the gang is scheduled, and there is nothing new to report"
    OLD_NEWS = (
        "OldNews",
        "the gang was scheduled more than 60 seconds ago, so Muster does not report it again after a restart",
    )
    HAD_ITS_NODES = (
        "HadItsNodes",
        "the gang had all its nodes before and lost some, so it does not start now",
        "see `GangWaiting`, if Muster reported the loss",
    )
    NO_PART_STARTED = (
        "NoPartStarted",
        "the look at the pods does not show that some of them started without the others",
    )
    STARTED_IN_PARTS = (
        "StartedInParts",
        "the gang's pods were scheduled one after the other, so the gang was never scheduled as a whole",
        "see `GangNotHeld`",
    )

    # There is something to report, but the event is not posted.
    ALREADY_POSTED = (
        "AlreadyPosted",
        "the same event was posted before",
        "`kubectl describe job`; the API server keeps events for an hour by default",
    )
    RATE_LIMITED = (
        "RateLimited",
        "the Job has reached the limit of this event: one `GangWaiting` in 30 seconds, 20 refusals in an hour",
        "wait; Muster posts it later if it still applies",
    )
    EVENT_QUEUE_FULL = (
        "EventQueueFull",
        "too many events wait to be posted",
        "wait; `muster_events_dropped_total` counts them, and a slow API server is the usual cause",
    )
    NAMESPACE_TERMINATING = "NamespaceTerminating", "the Job's namespace is being deleted and accepts no new events"
