"""Warnings about the annotation on a Job: errors in it, and changes that have no effect."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.api.job import GROUP_TEMPLATE_ANNOTATION, SCHEDULING_ANNOTATION, JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.scheduling import DisruptionMode as Spelled
from muster.api.v1alpha2.scheduling import TopologyConstraint
from muster.core import messages
from muster.core.eligibility import skip_reason
from muster.core.policy import Policy
from muster.core.reasons import EventReason, Reason
from muster.core.request import SchedulingRequest, request_of
from muster.workloadbuilder import DisruptionMode, GangPolicy, SchedulingConfig

MOST = 5
"""Errors per warning: people read no more, and the answer of a webhook is bounded."""
_OF_NO_INTEREST = {Reason.NAMESPACE_EXCLUDED, Reason.JOB_FINISHED}
_UNSET = {"", Spelled.POD.value}
_OVERRULED = {Reason.GROUP_PRESET, Reason.MANAGED_ELSEWHERE}


@dataclass(frozen=True, slots=True)
class IntentWarning:
    event: EventReason
    about: str
    parts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"{self.about}{'; '.join(self.parts)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """One warning per part: kubectl shows them line by line and cuts long ones."""
        return tuple(f"{self.about}{part}" for part in self.parts)


def intent_warnings(job: JobView, group: PodGroup | None, policy: Policy) -> Iterator[IntentWarning]:
    """`group` is the PodGroup that Muster created for the Job, if there is one."""
    alone = skip_reason(job, policy)
    if job.being_deleted or alone in _OF_NO_INTEREST:
        return
    request = request_of(job, policy)
    if request.errors:
        yield _ignored(job, *map(str, request.errors), more=request.more_errors)
    elif request.asked and alone is not None and alone in _OVERRULED:
        yield _ignored(job, alone.sentence)
    elif group is not None and not job.delegated and (changes := tuple(_changes(job, request, group))):
        about = messages.intent_without_effect(SCHEDULING_ANNOTATION, group.metadata.name)
        yield IntentWarning(EventReason.INTENT_WITHOUT_EFFECT, about, changes)


def _ignored(job: JobView, *parts: str, more: int = 0) -> IntentWarning:
    name = GROUP_TEMPLATE_ANNOTATION if job.intent is None else SCHEDULING_ANNOTATION
    first, more = parts[:MOST], len(parts) + more - MOST
    parts = (*first, messages.and_more(more)) if more > 0 else first
    return IntentWarning(EventReason.INTENT_IGNORED, messages.intent_ignored(name), parts)


def _changes(job: JobView, request: SchedulingRequest, group: PodGroup) -> Iterator[str]:
    """Differences between the current request and the PodGroup. Without an annotation, only fields that nothing else
    sets.
    """
    if job.intent is not None and request.item is None:
        yield messages.stays_a_member(job.intent.strip()[:20])
        return
    config = request.config or SchedulingConfig()
    if job.intent is not None:
        yield from _policy_changes(config, group)
    pairs = (
        ("topology", _topology(config), ", ".join(c.key for c in _constraints_of(group))),
        ("disruption mode", _mode(config), (group.spec.disruption_mode or Spelled.POD).value),
        ("resource claims", _claims(config), ", ".join(sorted(c.name for c in group.spec.resource_claims or ()))),
    )
    for what, asked, made in pairs:
        if asked != made:
            yield (messages.differs_or_dropped if made in _UNSET else messages.differs)(what, made, asked)


def _policy_changes(config: SchedulingConfig, group: PodGroup) -> Iterator[str]:
    """A change of minCount alone has an effect (core/resize.py), except for groups with resource claims."""
    asked = config.policy if isinstance(config.policy, GangPolicy) else None
    if (asked is None) != (group.gang is None):
        yield messages.differs("policy", "gang" if group.gang else "basic", "gang" if asked else "basic")
    elif asked and group.gang and group.spec.resource_claims and asked.min_count != group.gang.min_count:
        yield messages.differs("minCount", group.gang.min_count, asked.min_count)


def _topology(config: SchedulingConfig) -> str:
    return ", ".join(config.constraints.topology) if config.constraints else ""


def _constraints_of(group: PodGroup) -> tuple[TopologyConstraint, ...]:
    constraints = group.spec.scheduling_constraints
    return constraints.topology if constraints else ()


def _mode(config: SchedulingConfig) -> str:
    return (Spelled.POD_GROUP if config.disruption_mode is DisruptionMode.ALL else Spelled.POD).value


def _claims(config: SchedulingConfig) -> str:
    return ", ".join(sorted(claim.name for claim in config.resource_claims))
