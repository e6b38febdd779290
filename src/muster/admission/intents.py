"""Warnings about the annotation on a Job, for the person who sends it. Nothing is refused, and no request is made."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from muster.admission.review import Review
from muster.api.job import SCHEDULING_ANNOTATION, JobView
from muster.api.keys import JobKey
from muster.controllers.cache import Cache
from muster.core import messages
from muster.core.admit import Verdict
from muster.core.intent_warnings import intent_warnings
from muster.core.own_group import own_pod_group
from muster.core.policy import Rules


@dataclass(slots=True)
class IntentReview:
    """Answers the API server about one Job with warnings. Owns nothing; it reads the cache."""

    cache: Cache
    rules: Rules

    def review(self, review: Review) -> Verdict:
        # In admission the Job's own metadata may still lack its namespace; the request has it.
        parsed = JobView.parse(review.new)
        new = replace(parsed, key=JobKey(review.namespace, parsed.key.name))
        return Verdict(allowed=True, warnings=tuple(map(messages.warning, self._warnings(review, new))))

    def _warnings(self, review: Review, new: JobView) -> Iterator[str]:
        seen = self.cache.observe(new.key)
        group = own_pod_group(seen) if seen.job is not None and seen.job.uid == new.uid else None
        found = [warning for each in intent_warnings(new, group, self.rules.policy) for warning in each.warnings]
        yield from found
        was = JobView.parse(review.old).intent if review.old else None
        if group is not None and new.intent is None and was is not None and not found:
            yield messages.intent_removed(SCHEDULING_ANNOTATION, group.metadata.name)
