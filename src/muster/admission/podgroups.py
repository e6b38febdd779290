"""The PodGroup webhook of the CRD profiles. It does what the built-in admission plugins do for the built-in API."""

import asyncio
from dataclasses import dataclass
from typing import Any

from muster.admission.review import Review
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.api.wire import Raw, mapping, texts
from muster.controllers.podgroup.defaulting import PodGroupDefaulting
from muster.core import messages
from muster.core.admit import ALLOWED, Verdict, refused, refused_as_built_in
from muster.core.podgroup_rules import Completed, Refused
from muster.core.reasons import Reason
from muster.kube.errors import KubeError

Patch = list[dict[str, Any]]


@dataclass(slots=True)
class PodGroupReview:
    """Answers the API server about one PodGroup with a refusal or with defaults. Owns nothing."""

    defaulting: PodGroupDefaulting
    profile: ApiProfile

    async def review(self, review: Review, seconds: float) -> tuple[Verdict, Patch | None]:
        group = self.profile.read_pod_group(_with_namespace(review))
        try:
            async with asyncio.timeout(seconds):
                outcome = await self.defaulting.review(group)
        except (KubeError, TimeoutError) as error:
            return refused(Reason.POD_GROUP_UNCHECKED, messages.pod_group_unchecked(str(error))), None
        if isinstance(outcome, Refused):
            return refused_as_built_in(outcome.message), None
        return ALLOWED, _patch(review.new, outcome)


def _patch(raw: Raw, completed: Completed) -> Patch:
    patch: Patch = []
    has_spec, finalizers = bool(mapping(raw, "spec")), texts(mapping(raw, "metadata"), "finalizers")
    if PROTECTION not in finalizers:
        patch.append({"op": "add", "path": "/metadata/finalizers", "value": [*finalizers, PROTECTION]})
    if has_spec and completed.priority_class_name:
        patch.append({"op": "add", "path": "/spec/priorityClassName", "value": completed.priority_class_name})
    if has_spec and completed.priority is not None:
        patch.append({"op": "add", "path": "/spec/priority", "value": completed.priority})
    return patch


def _with_namespace(review: Review) -> dict[str, Any]:
    metadata = {**mapping(review.new, "metadata"), "namespace": review.namespace}
    return {**review.new, "metadata": metadata}
