"""What Prometheus can ask. Labels are bounded: reasons, kinds, verbs and verdicts, never names or namespaces."""

import math
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from muster.runtime.tasks import Task

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
LONG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._of_what_people_see()
        self._of_the_work()
        self._of_the_api_server()

    def _of_what_people_see(self) -> None:
        counter, gauge = partial(Counter, registry=self._registry), partial(Gauge, registry=self._registry)
        self.events = counter("muster_events", "Things told in an event on a Job, by the event's reason", ["reason"])
        self.told = counter(
            "muster_jobs_told",
            "Jobs that Muster stood aside from or could not help, by the reason that their event names",
            ["reason"],
        )
        self.events_dropped = counter("muster_events_dropped", "Events that were not posted, since too many waited")
        self.resizes = counter("muster_resizes", "PodGroups that were replaced by one of another size, by why", ["why"])
        self.gangs = gauge("muster_gangs", "PodGroups of Jobs, by state", ["state"])
        self.split_gangs = gauge(
            "muster_split_gangs", "Gangs with pods that wait in the PodGroup for pods that are in no group"
        )
        self.formation = Histogram(
            "muster_formation_seconds",
            "Time from this replica's first sight of a Job until it made the workload and the podgroup, and until it "
            "saw it scheduled",
            ["stage"],
            buckets=LONG_SECONDS,
            registry=self._registry,
        )

    def _of_the_work(self) -> None:
        counter, gauge = partial(Counter, registry=self._registry), partial(Gauge, registry=self._registry)
        self.queue_depth = gauge("muster_queue_depth", "Keys that wait for a worker", ["queue"])
        self.retries = counter("muster_retries", "Work that failed and is tried again", ["queue"])
        self.resyncs = counter("muster_resyncs", "Lists of everything, by outcome", ["outcome"])
        self.resync_drift = counter(
            "muster_resync_drift_jobs", "Jobs that a list of everything showed other than the streams had"
        )
        self.internal_errors = counter(
            "muster_internal_errors", "Unexpected errors, that is bugs in Muster, by the task that met them", ["task"]
        )
        self.task_restarts = counter(
            "muster_task_restarts", "Long-lived tasks that died and were started again", ["task"]
        )
        for task in Task:  # from the start on: an increase of what was not there before is not seen
            self.internal_errors.labels(task.value)
            self.task_restarts.labels(task.value)
        self.leader = gauge("muster_leader", "1 on the replica that does the eager work")
        self.leader_changes = counter("muster_leader_transitions", "How often this replica began or ceased to lead")

    def _of_the_api_server(self) -> None:
        self.admission = Histogram(
            "muster_admission_seconds",
            "Time to answer the API server, by webhook and verdict",
            ["webhook", "verdict"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.api_calls = Counter(
            "muster_api_calls",
            "Calls of the API server, by verb, resource and class of the answer's code",
            ["verb", "resource", "code"],
            registry=self._registry,
        )
        self.certificate_expires = Gauge(
            "muster_certificate_expiry_timestamp_seconds",
            "When the certificate that admission is served with ends; 0 where nobody looks after it",
            registry=self._registry,
        )

    def measure(self, gauge: Gauge, look: Callable[[], float]) -> None:
        """Have the gauge look when somebody asks. A bug in that must not take the whole page down."""

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
