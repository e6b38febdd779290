"""The names of Muster's long-lived tasks in logs, metrics and /readyz."""

from enum import StrEnum


class Task(StrEnum):
    GENERATION = "generation"
    """Detects the scheduling API and runs everything that works on it."""
    JOBS = "jobs"
    POD_GROUP_PROTECTION = "podgroup-protection"
    GANG_STATUS = "gang-status"
    EVENTS = "events"
    RESYNC = "resync"
    API_PROBE = "api-probe"
    WATCH = "watch"
    POD_REFLECTOR = "pod-reflector"
    WEBHOOKS = "webhooks"
    CERTIFICATES = "certificates"
    LEADER_ELECTION = "leader-election"
    LEADER_WORK = "leader-work"
    ADMISSION_PORT = "admission-port"
    HEALTH_PORT = "health-port"
    EVENT_LOOP = "event-loop"
    SHUTDOWN = "shutdown"
    POD_WEBHOOK = "pods"
    PARALLELISM_GUARD = "parallelism-guard"
    POD_GROUP_WEBHOOK = "podgroup-webhook"
    INTENTS = "intents"
    METRICS = "metrics"
