"""Reports what came of a decision: events on the Job, metrics, latency."""

import logging
from dataclasses import dataclass

from muster.api.keys import Uid
from muster.core import messages
from muster.core.actions import Write
from muster.core.decision import Decision
from muster.core.observed import Observed
from muster.core.outcome import News, Written, end_of, news_of
from muster.core.reasons import EventReason, Reason
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.latency import POD_GROUP, WORKLOAD, LatencyTracker
from muster.runtime.metrics import Metrics

logger = logging.getLogger(__name__)

STAGES = {EventReason.WORKLOAD_CREATED: WORKLOAD, EventReason.POD_GROUP_CREATED: POD_GROUP}


@dataclass(slots=True)
class Reporter:
    """Reports what a run did and decided; `core.outcome` decides what there is to report.

    Owns nothing. It reads only its arguments, and writes events, metrics and the measured latency.
    """

    recorder: EventRecorder
    metrics: Metrics
    latency: LatencyTracker

    def began(self, job: Uid) -> None:
        """The latency counts from here, unless a stream has shown the Job before."""
        self.latency.start(job)

    def decided(self, seen: Observed, decision: Decision) -> None:
        """The end of a run: why Muster stands aside, what pods wait for, why a PodGroup keeps a wrong size."""
        match end_of(seen, decision):
            case Decision():
                self.recorder.decision(seen.job, decision)
            case News() as news:
                self._post(news)
            case Reason() as why if seen.job is not None:
                key = seen.job.key
                logger.debug("%s: %s", key, messages.silence(why), extra={"job": key})

    def written(self, write: Write, written: Written) -> None:
        for news in news_of(write, written):
            if (stage := STAGES.get(news.reason)) is not None:
                self.latency.stop(news.job.uid, stage)
            self._post(news)
        if written.resized is not None:
            self.metrics.resizes.labels(written.resized.done.why.value).inc()

    def _post(self, news: News) -> None:
        post = self.recorder.warning if news.warns else self.recorder.normal
        post(news.job, news.reason, news.message)
