"""What Prometheus can ask. Labels are bounded: reasons, webhooks and verdicts, never names or namespaces."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.events = Counter(
            "muster_events",
            "Things told in an event on a Job, by the event's reason",
            ["reason"],
            registry=self._registry,
        )
        self.told = Counter(
            "muster_jobs_told",
            "Jobs that Muster stood aside from or could not help, by the reason that their event names",
            ["reason"],
            registry=self._registry,
        )
        self.events_dropped = Counter(
            "muster_events_dropped", "Events that were not posted, since too many waited", registry=self._registry
        )
        self.admission = Histogram(
            "muster_admission_seconds",
            "Time to answer the API server, by webhook and verdict",
            ["webhook", "verdict"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.certificate_expires = Gauge(
            "muster_certificate_expiry_timestamp_seconds",
            "When the certificate that admission is served with ends; 0 where nobody looks after it",
            registry=self._registry,
        )

    def page(self) -> bytes:
        return generate_latest(self._registry)
