"""What a watch event does: it is parsed, and goes to the main loop's intake. No decision, no request.

The handlers run in kopf's thread. They parse there, so that the main loop, which answers admission, only has to put
the result in its place. They return None and touch no patch: anything else would make kopf write to the object.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import kopf

from muster.api.job import JobView
from muster.api.profile import ApiProfile
from muster.api.wire import Unreadable
from muster.controllers.intake import Intake
from muster.kube.credentials import Credentials
from muster.runtime.internal_errors import name_of
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)


def build_registry(
    intake: Intake, main_loop: asyncio.AbstractEventLoop, profile: ApiProfile, credentials: Credentials
) -> kopf.OperatorRegistry:
    registry, errors = kopf.OperatorRegistry(), intake.gang_former.recorder.errors

    def listen(group: str, plural: str, parse: Callable[[object], Any], receive: Callable[[Any, bool], None]) -> None:
        version = "v1" if group == "batch" else profile.version

        async def on_event(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name for it
            try:
                main_loop.call_soon_threadsafe(intake.deliver, receive, parse(dict(body)), type == "DELETED")
            except Unreadable as error:
                logger.warning("passed over a %s event that cannot be read: %s", plural, error)
            except Exception as error:  # noqa: BLE001 - a bug that one object meets must not stop the stream
                errors.note(Task.WATCH, f"{plural} {name_of(body)}", error)

        # With its version: kopf would otherwise look only at the group's preferred one, which is PriorityClass's.
        kopf.on.event(group, version, plural, registry=registry, id=plural)(on_event)

    listen("batch", "jobs", JobView.parse, intake.job)
    listen(profile.group, "workloads", profile.read_workload, intake.workload)
    listen(profile.group, "podgroups", profile.read_pod_group, intake.pod_group)

    @kopf.on.login(registry=registry)
    async def log_in(**_: Any) -> kopf.ConnectionInfo:
        scheme, _space, token = (await credentials.authorization()).partition(" ")
        endpoint = credentials.endpoint
        return kopf.ConnectionInfo(
            server=endpoint.server,
            ca_path=endpoint.ca_path,
            insecure=not endpoint.verify,
            certificate_path=endpoint.certificate_path,
            private_key_path=endpoint.private_key_path,
            scheme=scheme or None,
            token=token or None,
        )

    return registry
