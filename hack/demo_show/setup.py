"""Starts the watches that fill the record, and waits until the API server calls Muster's pod webhook."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable

from demo_show.api import Api, Body
from demo_show.errors import DemoError
from demo_show.record import Kind, Record

NAMESPACE = "default"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_SCHEDULING = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{NAMESPACE}"
_WATCHED = {
    Kind.JOB: JOBS,
    Kind.WORKLOAD: f"{_SCHEDULING}/workloads",
    Kind.POD_GROUP: f"{_SCHEDULING}/podgroups",
    Kind.POD: PODS,
    Kind.EVENT: f"/api/v1/namespaces/{NAMESPACE}/events",
}
_MUSTER_TIMEOUT = 30.0
_PROBE_SECONDS = 0.2
# A metric of the API server: the number of answered calls per webhook.
_WEBHOOK_WAS_CALLED = re.compile(
    r'^apiserver_admission_webhook_request_total\{[^}]*code="200"[^}]*name="pods\.muster\.dev"', re.MULTILINE
)


@contextlib.asynccontextmanager
async def recording(api: Api, record: Record) -> AsyncIterator[Callable[[], None]]:
    """Record all changes. Yields a function that raises if a watch has ended, because the record is then incomplete."""
    started = [(kind, (await api.get(path))["metadata"]["resourceVersion"]) for kind, path in _WATCHED.items()]
    watches = [asyncio.create_task(_record(api, record, kind, revision)) for kind, revision in started]

    def check() -> None:
        for watch in watches:
            if watch.done():
                watch.result()

    try:
        yield check
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


async def _record(api: Api, record: Record, kind: Kind, revision: str) -> None:
    async for change, body in api.watch(_WATCHED[kind], revision):
        record.note(kind, change, body, time.monotonic())


async def wait_for_webhook(api: Api, muster_ended: Callable[[], bool]) -> None:
    """Wait until the API server calls Muster for pods: it needs a moment to notice new webhooks."""
    deadline = time.monotonic() + _MUSTER_TIMEOUT
    while True:
        await api.create(PODS, _probe_pod(), dry_run=True)
        if _WEBHOOK_WAS_CALLED.search(await api.text("/metrics")):
            return
        if muster_ended():
            raise DemoError("Muster ended before it was ready.")
        if time.monotonic() > deadline:
            raise DemoError(f"Muster was not ready within {_MUSTER_TIMEOUT:.0f} s.")
        await asyncio.sleep(_PROBE_SECONDS)


def _probe_pod() -> Body:
    return {
        "metadata": {"name": "probe", "labels": {"batch.kubernetes.io/job-completion-index": "0"}},
        "spec": {"containers": [{"name": "probe", "image": "probe"}]},
    }
