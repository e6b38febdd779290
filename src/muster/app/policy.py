"""The settings that decisions depend on, in the terms of the core."""

from muster.api.profile import ApiProfile
from muster.config.types import Settings
from muster.core.policy import Policy, ReleaseOnSuspend


def policy_of(settings: Settings, profile: ApiProfile) -> Policy:
    return Policy(
        settings.excluded_namespaces,
        settings.scheduler_names,
        groups_by_annotation=not profile.native,
        opt_in=settings.default_policy == "opt-in",
        basic_for_others=settings.basic_for_others,
        release_on_suspend=ReleaseOnSuspend(settings.release_on_suspend),
        all_jobs=settings.scope == "all-jobs",
        elastic=settings.elastic,
    )
