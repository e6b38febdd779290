"""The scheduling request of a Job: its own annotation, or else the default of the settings.

A request that is invalid or not supported here is ignored: the Job runs as if it had no annotation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from muster.api.job import GROUP_TEMPLATE_ANNOTATION, PARENT_GROUP_ANNOTATION, JobView
from muster.core.intent import Intent, read_intent
from muster.core.memo import remembering
from muster.core.naming import template_name
from muster.core.policy import Policy
from muster.core.reasons import Reason
from muster.workloadbuilder import (
    V1ALPHA2,
    BasicPolicy,
    BuildOptions,
    DisruptionMode,
    ErrorKind,
    FieldError,
    FieldPath,
    GangPolicy,
    Parsed,
    PodGroupScheduling,
    PolicyKind,
    SchedulingConfig,
    WorkloadBuilder,
    WorkloadItem,
    default_min_count,
)
from muster.workloadbuilder.errors import ROOT
from muster.workloadbuilder.merge import resolve
from muster.workloadbuilder.rules import count_path

REMEMBERED_BYTES = 8 * 1024 * 1024
"""Budget of the cache: every decision uses the request several times."""
ALLOWED = BuildOptions(allowed_policies=tuple(PolicyKind), allowed_disruption_modes=tuple(DisruptionMode))
"""All policies and disruption modes; a Job may request any of them."""


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    item: WorkloadItem | None = None
    """The group for the Job's pods; None if they get none."""
    why: Reason | None = None
    """Why the pods get no group."""
    asked: bool = False
    """The Job itself requests it."""
    errors: tuple[FieldError, ...] = ()
    """The errors in the Job's request, because of which the default applies."""
    more_errors: int = 0
    quiet: bool = False
    """Only the settings request the group (basicForOthers): no event if the Job cannot have it."""

    @property
    def config(self) -> SchedulingConfig | None:
        """The merged and defaulted blocks."""
        return resolve(self.item).config if self.item else None

    @property
    def gang(self) -> GangPolicy | None:
        config = self.config
        return config.policy if config and isinstance(config.policy, GangPolicy) else None


def _depends_on(job: JobView, policy: Policy) -> tuple[object, ...]:
    shape = (job.indexed, job.parallelism, job.completions, job.delegated)
    return job.intent, job.key.name, job.priority_class_name, job.group_template, job.parent_group, shape, policy


@remembering(REMEMBERED_BYTES, _depends_on)
def request_of(job: JobView, policy: Policy) -> SchedulingRequest:
    """The Job's own request, if it is valid and supported here; otherwise the default, with the errors."""
    intent = read_intent(job.intent) if job.intent is not None else Intent()
    if intent.opted_out:
        return SchedulingRequest(why=Reason.OPTED_OUT, asked=True)
    if job.delegated:
        return _delegated(job, policy, intent)
    if intent.asked is None:
        return replace(_default(job, policy, intent.errors), more_errors=intent.more_errors)
    item = _item(job, None if not_a_gang(job) else GangPolicy(), intent.asked)
    errors = (*_not_here(job, item, intent.asked, policy), *WorkloadBuilder(item, ALLOWED, V1ALPHA2).validate())
    return _default(job, policy, errors) if errors else SchedulingRequest(item, asked=True)


def not_a_gang(job: JobView) -> Reason | None:
    """Why the Job does not qualify by its completionMode, completions or parallelism (KEP-5547)."""
    if not job.indexed:
        return Reason.NOT_INDEXED
    if job.parallelism is None or job.parallelism <= 1:
        return Reason.NOT_PARALLEL
    if job.completions != job.parallelism:
        return Reason.COMPLETIONS_DIFFER
    return None


def _default(job: JobView, policy: Policy, errors: tuple[FieldError, ...]) -> SchedulingRequest:
    why = not_a_gang(job) or (Reason.NOT_ASKED if policy.opt_in else None)
    if why is None:
        return SchedulingRequest(_item(job, GangPolicy()), errors=errors)
    if policy.basic_for_others:
        return SchedulingRequest(_item(job, BasicPolicy()), errors=errors, quiet=True)
    return SchedulingRequest(why=why, errors=errors)


def _delegated(job: JobView, policy: Policy, intent: Intent) -> SchedulingRequest:
    """The Workload of the Job's controller contains the whole request."""
    errors = [*_out_of_reach(job, policy, ROOT)]
    if intent.asked or intent.errors:
        template = FieldPath.of(GROUP_TEMPLATE_ANNOTATION)
        allowed = "already determines the group of the pods"
        errors.append(FieldError(ErrorKind.FORBIDDEN, template, job.group_template, allowed))
    reached = not any(_out_of_reach(job, policy, ROOT))
    return SchedulingRequest(asked=reached, why=None if reached else Reason.OWNED_BY_CONTROLLER, errors=tuple(errors))


def _item(
    job: JobView, default: GangPolicy | BasicPolicy | None, asked: Parsed[PodGroupScheduling] | None = None
) -> WorkloadItem:
    config = SchedulingConfig(policy=default, priority_class_name=job.priority_class_name or None)
    name, callbacks = template_name(job.key.name), (default_min_count(max(1, _parallelism(job))),)
    if asked is None:
        return WorkloadItem(name, default_config=config, callbacks=callbacks)
    return WorkloadItem(name, config, asked.scheduling, callbacks, path=asked.path, block_paths=asked.block_paths)


def _parallelism(job: JobView) -> int:
    return 1 if job.parallelism is None else job.parallelism


def _not_here(
    job: JobView, item: WorkloadItem, asked: Parsed[PodGroupScheduling], policy: Policy
) -> Iterator[FieldError]:
    """Errors of a valid request that this Job, this server or the settings do not support."""
    config, places = resolve(item).config, item.places
    if isinstance(config.policy, GangPolicy) and (config.policy.min_count or 0) > max(1, _parallelism(job)):
        allowed = f"must not be greater than parallelism ({_parallelism(job)})"
        yield FieldError(ErrorKind.INVALID, count_path(item), config.policy.min_count, allowed)
    yield from _out_of_reach(job, policy, asked.path)
    if config.resource_claims and policy.groups_by_annotation:
        names = [claim.name for claim in config.resource_claims]
        allowed = "is not supported with Muster's CRDs: no component allocates claims for their PodGroups"
        yield FieldError(ErrorKind.FORBIDDEN, places.resource_claims, names, allowed)


def _out_of_reach(job: JobView, policy: Policy, path: FieldPath) -> Iterator[FieldError]:
    if not job.indexed and not policy.all_jobs:
        allowed = "is not supported for a Job that is not Indexed, unless Muster's setting is `scope: all-jobs`"
        yield FieldError(ErrorKind.FORBIDDEN, path, None, allowed)
    if job.parent_group:
        allowed = "is not supported: v1alpha2 has no groups of groups"
        yield FieldError(ErrorKind.FORBIDDEN, FieldPath.of(PARENT_GROUP_ANNOTATION), job.parent_group, allowed)
