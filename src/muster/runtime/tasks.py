"""The names of Muster's long-lived tasks, as logs, metrics and /readyz spell them."""

from enum import StrEnum


class Task(StrEnum):
    GENERATION = "generation"
    """Finds the scheduling API and runs everything that works on it."""
    JOBS = "jobs"
    POD_GROUPS = "podgroups"
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
    POD_GROUPS_WEBHOOK = "pod-groups"
    INTENTS = "intents"
    METRICS = "metrics"
