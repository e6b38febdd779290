"""The kopf handlers: they parse a watch event and pass it to the intake of the main loop. They decide and send nothing.

They run in kopf's thread and parse there, so that the main loop, which answers admission, only has to store the result.
They return None and do not touch the patch: otherwise kopf would write to the object.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import kopf

from muster.api.job import JobView
from muster.api.profile import ApiProfile
from muster.api.wire import Unreadable
from muster.controllers.intake import Intake
from muster.kube.credentials import Credentials
from muster.runtime.internal_errors import InternalErrors, name_of
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)


def build_registry(
    intake: Intake,
    main_loop: asyncio.AbstractEventLoop,
    profile: ApiProfile,
    credentials: Credentials,
    errors: InternalErrors,
) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    def listen(group: str, plural: str, parse: Callable[[object], Any], receive: Callable[[Any, bool], None]) -> None:
        version = "v1" if group == "batch" else profile.version

        async def on_event(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name for it
            try:
                main_loop.call_soon_threadsafe(intake.deliver, receive, parse(dict(body)), type == "DELETED")
            except Unreadable as error:
                logger.warning("skipped a %s event that cannot be read: %s", plural, error)
            except Exception as error:  # noqa: BLE001 - a bug on one object must not stop the stream
                errors.note(Task.WATCH, f"{plural} {name_of(body)}", error)

        # With the version: otherwise kopf would only watch the preferred version of the group, which is
        # PriorityClass's.
        kopf.on.event(group, version, plural, registry=registry, id=plural)(on_event)

    listen("batch", "jobs", JobView.parse, intake.job)
    listen(profile.group, "workloads", profile.read_workload, intake.workload)
    listen(profile.group, "podgroups", profile.read_pod_group, intake.pod_group)

    kopf.on.login(registry=registry)(_log_in_with(credentials))
    return registry


def _log_in_with(credentials: Credentials) -> Callable[..., Awaitable[kopf.ConnectionInfo]]:
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

    return log_in
