"""What must hold after any input: log and events are printable and bounded, and no metric has a user's word."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from muster.api.v1alpha2.podgroup import GangState
from muster.core.observed import Why
from muster.core.reasons import EventReason, Reason
from muster.runtime.tasks import Task
from tests.clusters.api import Api, ApiError, Object

TEXT_LINE = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ (?P<level>[A-Z]+) (?P<logger>[\w.]+): (?P<message>.*)")
LONGEST_LINE = 3_500
LONGEST_MESSAGE = 1_024
MOST_METRIC_BYTES = 128 * 1024
RESOURCES = {
    *("jobs", "pods", "workloads", "podgroups", "events", "leases", "secrets", "priorityclasses", "namespaces"),
    *("mutatingwebhookconfigurations", "validatingwebhookconfigurations", "selfsubjectaccessreviews"),
}
QUEUES = {"jobs", "podgroup-protection", "gang-status"}
LABELS: dict[str, set[str]] = {
    "reason": {each.value for each in (*Reason, *EventReason)},
    "why": {each.value for each in Why},
    "state": {each.value for each in GangState},
    "stage": {"workload", "podgroup", "scheduled"},
    "queue": QUEUES,
    "task": {each.value for each in Task},
    "outcome": {"done", "failed"},
    "webhook": {"pods", "parallelism-guard", "podgroup-webhook", "intents"},
    "verdict": {"joined", "allowed", "refused"},
    "verb": {"get", "list", "watch", "create", "update", "patch", "delete"},
    "resource": RESOURCES,
    "code": {"none", "2xx", "3xx", "4xx", "5xx"},
}
"""Every label that a metric of Muster's may have, with all its values. None of them is a user's word."""


def log_problems(log: str) -> Iterable[str]:
    """Lines that a person or a parser would stumble over. An unfinished last line is not looked at."""
    whole, _, _ = log.rpartition("\n")
    for line in whole.split("\n") if whole else ():
        shown = repr(line[:200])
        if not line.isprintable():
            yield f"a log line is not printable: {shown}"
        if len(line) > LONGEST_LINE:
            yield f"a log line has {len(line)} characters: {shown}"
        yield from _json_problems(line) if line.startswith("{") else _text_problems(line)


def _text_problems(line: str) -> Iterable[str]:
    """The level counts, not the words: users may write `ERROR` or `Traceback`, and some do."""
    parts = TEXT_LINE.match(line)
    if parts is None:
        yield f"a log line has no time, level and logger: {line[:200]!r}"
    elif parts["level"] in {"ERROR", "CRITICAL"}:
        yield f"an error is logged: {line[:1500]!r}"
    elif parts["message"].startswith("not ready"):
        yield f"Muster was not ready: {line[:200]!r}"


def _json_problems(line: str) -> Iterable[str]:
    try:
        record = json.loads(line)
    except ValueError:
        yield f"a log line is not JSON: {line[:200]!r}"
        return
    if "trace" in record or record["level"] in {"error", "critical"}:
        yield f"an error is logged: {record['message'][:300]!r} {str(record.get('trace'))[-1500:]}"
    if record["message"].startswith("not ready"):
        yield f"Muster was not ready: {line[:200]!r}"


def events_of_muster(api: Api, namespace: str) -> list[Object]:
    try:
        found = api.list("events", namespace)
    except ApiError:
        return []
    return [event for event in found if event.get("reportingComponent", "").startswith("muster.dev")]


def event_problems(events: Iterable[Object]) -> Iterable[str]:
    for event in events:
        message = event["message"]
        if not message.isprintable():
            yield f"an event is not printable: {message[:200]!r}"
        if len(message) > LONGEST_MESSAGE:
            yield f"an event has {len(message)} characters: {message[:200]!r}"
        if event["reason"] not in LABELS["reason"]:
            yield f"an event has the reason {event['reason'][:80]!r}"


def metric_problems(page: str) -> Iterable[str]:
    if len(page) > MOST_METRIC_BYTES:
        yield f"the metrics have {len(page)} bytes"
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            for label, value in sample.labels.items():
                bound = label == "le" or value in LABELS.get(label, ())
                if family.name.startswith("muster_") and not bound:
                    yield f"{sample.name} has {label}={value[:80]!r}, which is no word of Muster's"


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [each for each in status.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024
