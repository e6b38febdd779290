"""The Prometheus metrics. All labels are bounded: reasons, kinds, verbs and verdicts, never names or namespaces."""

import math
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from muster.runtime.tasks import Task

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
LONG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Metrics:
    """Owns the registry and all metrics in it. Every part writes its own; only /metrics reads them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._gang_metrics()
        self._work_metrics()
        self._api_metrics()

    def _gang_metrics(self) -> None:
        counter, gauge = partial(Counter, registry=self._registry), partial(Gauge, registry=self._registry)
        self.events = counter("muster_events", "Events posted on Jobs, by reason", ["reason"])
        self.skipped = counter(
            "muster_jobs_skipped",
            "Jobs that Muster skipped or could not help, by the reason in their event",
            ["reason"],
        )
        self.events_dropped = counter(
            "muster_events_dropped", "Events that were not posted because too many were waiting"
        )
        self.resizes = counter("muster_resizes", "PodGroups replaced by one of another size, by cause", ["why"])
        self.gangs = gauge("muster_gangs", "PodGroups of Jobs, by state", ["state"])
        self.split_gangs = gauge(
            "muster_split_gangs", "Gangs with pods that wait in the PodGroup for pods that are in no group"
        )
        self.formation = Histogram(
            "muster_formation_seconds",
            "Time from this replica first seeing a Job until it created the Workload and the PodGroup, and until it "
            "saw the gang scheduled",
            ["stage"],
            buckets=LONG_SECONDS,
            registry=self._registry,
        )

    def _work_metrics(self) -> None:
        counter, gauge = partial(Counter, registry=self._registry), partial(Gauge, registry=self._registry)
        self.queue_depth = gauge("muster_queue_depth", "Keys waiting for a worker, by queue", ["queue"])
        self.retries = counter("muster_retries", "Failed work that is tried again, by queue", ["queue"])
        self.resyncs = counter("muster_resyncs", "Resyncs, each a list of all objects, by outcome", ["outcome"])
        self.resync_drift = counter(
            "muster_resync_drift_jobs", "Jobs that a resync found in another state than the watch streams had shown"
        )
        self.internal_errors = counter(
            "muster_internal_errors", "Unexpected errors, which are bugs in Muster, by task", ["task"]
        )
        self.task_restarts = counter(
            "muster_task_restarts", "Restarts of long-lived tasks that died, by task", ["task"]
        )
        for task in Task:  # start at 0: Prometheus does not see the first increase of a new series
            self.internal_errors.labels(task.value)
            self.task_restarts.labels(task.value)
        self.leader = gauge("muster_leader", "1 on the replica that leads, 0 on the others")
        self.leader_changes = counter("muster_leader_transitions", "How often this replica gained or lost leadership")

    def _api_metrics(self) -> None:
        self.admission = Histogram(
            "muster_admission_seconds",
            "Time to answer an admission request, by webhook and verdict",
            ["webhook", "verdict"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.api_calls = Counter(
            "muster_api_calls",
            "Calls to the API server, by verb, resource and class of the status code",
            ["verb", "resource", "code"],
            registry=self._registry,
        )
        self.certificate_expires = Gauge(
            "muster_certificate_expiry_timestamp_seconds",
            "When the serving certificate expires; 0 if Muster does not renew it",
            registry=self._registry,
        )

    def measure(self, gauge: Gauge, look: Callable[[], float]) -> None:
        """Compute the gauge's value at each scrape. An error there must not fail the whole page."""

        def value() -> float:
            try:
                return look()
            except Exception:  # noqa: BLE001
                self.internal_errors.labels(Task.METRICS.value).inc()
                return math.nan

        gauge.set_function(value)

    def count_call(self, verb: str, resource: str, code: str) -> None:
        self.api_calls.labels(verb, resource, code).inc()

    def page(self) -> bytes:
        return generate_latest(self._registry)
