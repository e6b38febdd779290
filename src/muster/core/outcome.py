"""Chooses what a run reports about a Job: the events of one write, and what the end of the run leaves to say."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from muster.api.job import JobView
from muster.core import messages
from muster.core.actions import CreateWorkload, Write
from muster.core.decision import Decision
from muster.core.observed import Observed, ResizeNeeded
from muster.core.reasons import EventReason, Reason
from muster.core.resize import Resized


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of one write."""

    seen: Observed
    created: str = ""
    """Name of the object that this write made; empty if it made none."""
    taken: str = ""
    """A name that an object of another owner has."""
    dropped: str = ""
    """The fields that the API server did not store, as a sentence."""
    released: str = ""
    """Kind and name of the object that this write deleted."""
    resized: Resized | None = None
    """The resize that this write ended."""


@dataclass(frozen=True, slots=True)
class News:
    """One event on the Job."""

    job: JobView
    reason: EventReason
    message: str
    warns: bool = False


def news_of(write: Write, written: Written) -> Iterator[News]:
    """The events that report one write; none if its Job is gone."""
    job = written.seen.job
    if job is None:
        return
    if written.dropped:
        yield News(job, EventReason.POLICY_DROPPED, written.dropped, warns=True)
    if written.taken:
        yield News(job, EventReason.NAME_TAKEN, messages.name_taken(written.taken), warns=True)
    elif written.released:
        yield News(job, EventReason.PAIR_RELEASED, messages.pair_released(written.released))
    elif written.created and isinstance(write, CreateWorkload):
        yield News(job, EventReason.WORKLOAD_CREATED, messages.workload_created(written.created))
    elif written.created:
        yield News(job, EventReason.POD_GROUP_CREATED, messages.pod_group_created(written.created))
    if written.resized is not None:
        done = written.resized.done
        message = messages.gang_resized(done.group.metadata.name, done.was, done.size, done.sentence)
        yield News(done.job, EventReason.GANG_RESIZED, message)


def end_of(seen: Observed, decision: Decision) -> Decision | News | Reason | None:
    """What the end of a run leaves to say: a decision, an event, or the Reason why there is no event about a resize."""
    if seen.form_only:
        return decision
    needed = _not_done(seen, decision)
    if needed is None or needed.obstacle is None or needed.obstacle.event is None:
        return needed.obstacle if needed is not None else None
    group, why = needed.group.metadata.name, needed.obstacle.sentence
    message = messages.gang_not_resized(group, needed.was, needed.sentence, why)
    return News(needed.job, needed.obstacle.event, message, warns=True)


def _not_done(seen: Observed, decision: Decision) -> ResizeNeeded | None:
    """The resize that Muster does not do, with its obstacle."""
    if decision.resize is not None and decision.resize.obstacle is not None:
        return decision.resize
    if seen.replaced is not None and seen.pod_group(seen.replaced.name) is None:
        return replace(seen.replaced.resize, obstacle=Reason.NEW_ONE_REFUSED)
    return None
