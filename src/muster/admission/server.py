"""The admission server: explicit routes, size limits, a deadline, and an answer to everything."""

import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from muster.admission.intents import IntentReview
from muster.admission.parallelism_guard import ParallelismGuard
from muster.admission.pod import PodWebhook
from muster.admission.podgroups import PodGroupReview
from muster.admission.request_bodies import KIB, MIB, BodyReader
from muster.admission.review import (
    POD_GROUP,
    POD_OR_JOB,
    REFUSED,
    REFUSED_FOR_NOW,
    NotAReview,
    Review,
    Shape,
    answer,
)
from muster.api.profile import ApiProfile
from muster.api.wire import Unreadable
from muster.core import messages
from muster.core.admit import ALLOWED, Verdict, refused
from muster.core.reasons import Reason
from muster.kube.lanes import Lane, in_lane
from muster.runtime.health import STAYING, Health
from muster.runtime.internal_errors import InternalErrors, kind_of, name_of
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

PODS_PATH = "/pods"
GUARD_PATH = "/parallelism-guard"
POD_GROUPS_PATH = "/pod-groups"
INTENTS_PATH = "/intents"
OBJECT_BYTES = 3 * MIB
"""The largest object that an API server accepts."""
ONE_OBJECT_BYTES = OBJECT_BYTES + MIB
TWO_OBJECTS_BYTES = 2 * OBJECT_BYTES + MIB
"""An update comes with the object as it was. The rest of a review is small."""
POD_GROUP_BYTES = 512 * KIB
DEFAULT_TIMEOUT_SECONDS = 10.0
"""What the API server waits where a configuration names no timeout."""
LONGEST_TIMEOUT_SECONDS = 30.0
"""The longest that a configuration can name."""
SHARE_OF_TIMEOUT = 0.8
"""An answer that comes after the API server gave up is worth nothing."""

LONGEST_DURATION = 32
"""Characters of a duration that are looked at."""
UNREADABLE_EVERY_SECONDS = 10.0
"""How often the log names an object that cannot be read: anybody can send one."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class WebhookHandlers:
    """Who answers, for one profile of the API."""

    profile: ApiProfile
    pods: PodWebhook
    guard: ParallelismGuard
    pod_groups: PodGroupReview | None
    """Only where the PodGroups are Muster's own CRD: the built-in ones are checked by the server."""
    intents: IntentReview | None = None


@dataclass(slots=True)
class AdmissionServer:
    """The HTTP application of the webhooks, and of health and metrics.

    Reads `handlers`, which each generation replaces. It answers every review, whatever fails.
    """

    health: Health
    handlers: WebhookHandlers | None = None
    """None until the first API was found. It stays when an API goes: then it says what is wrong."""
    metrics: Metrics = field(default_factory=Metrics)
    bodies: BodyReader = field(default_factory=BodyReader)
    errors: InternalErrors = field(init=False)
    _logged_at: float = -UNREADABLE_EVERY_SECONDS

    def __post_init__(self) -> None:
        self.errors = InternalErrors(self.metrics)

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post(PODS_PATH, self._pods)
        app.router.add_post(GUARD_PATH, self._guard)
        app.router.add_post(POD_GROUPS_PATH, self._pod_groups)
        app.router.add_post(INTENTS_PATH, self._intents)
        self._add_health(app)
        return app

    def health_application(self) -> web.Application:
        """For kubelets and Prometheus, which do not know our authority."""
        app = web.Application()
        self._add_health(app)
        return app

    def _add_health(self, app: web.Application) -> None:
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/livez", self._alive)
        app.router.add_get("/readyz", self._ready)

    async def _pods(self, request: web.Request) -> web.Response:
        async def handle(handlers: WebhookHandlers, review: Review, seconds: float) -> Answered:
            verdict = await handlers.pods.review(review, seconds)
            return verdict, handlers.profile.join(verdict.join, review.new) if verdict.join else None

        return await self._respond(request, _PODS, handle)

    async def _guard(self, request: web.Request) -> web.Response:
        async def handle(handlers: WebhookHandlers, review: Review, seconds: float) -> Answered:
            return await handlers.guard.review(review, seconds), None

        return await self._respond(request, _GUARD, handle)

    async def _pod_groups(self, request: web.Request) -> web.Response:
        async def handle(handlers: WebhookHandlers, review: Review, seconds: float) -> Answered:
            return await handlers.pod_groups.review(review, seconds) if handlers.pod_groups else (ALLOWED, None)

        return await self._respond(request, _POD_GROUPS, handle)

    async def _intents(self, request: web.Request) -> web.Response:
        async def handle(handlers: WebhookHandlers, review: Review, _seconds: float) -> Answered:
            return handlers.intents.review(review) if handlers.intents else ALLOWED, None

        return await self._respond(request, _INTENTS, handle)

    async def _metrics(self, _: web.Request) -> web.Response:
        try:
            page = self.metrics.page()
        except Exception as error:  # noqa: BLE001
            self.errors.note(Task.METRICS, "the page /metrics", error)
            return web.Response(
                status=500, text="Muster failed to write this page, which is a bug; its log says where\n"
            )
        return web.Response(body=page, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _alive(self, _: web.Request) -> web.Response:
        """A loop that is stuck does not answer at all. What heals by itself is no reason to end the process."""
        hopeless = self.health.hopeless
        return web.Response(text=f"{hopeless or 'alive'}\n", status=503 if hopeless else 200)

    async def _ready(self, _: web.Request) -> web.Response:
        return web.Response(text=f"{self.health.sentence}\n", status=200 if self.health.ready else 503)

    @in_lane(Lane.ADMISSION)
    async def _respond(self, request: web.Request, webhook: "_Webhook", handle: "Handler") -> web.Response:
        try:
            review = Review.parse(await self.bodies.read(request, webhook.body_bytes), webhook.shape)
        except NotAReview as error:
            return web.Response(status=400, text=f"not an AdmissionReview: {error}\n")
        began = time.perf_counter()
        verdict, patch = ALLOWED, None
        try:
            if self.handlers is None:
                verdict = self._without(webhook.task, Reason.NOT_READY, self.health.sentence)
            elif review.problem:
                verdict = self._unread(webhook.task, review.problem)
            elif review.operation in webhook.operations:
                verdict, patch = await handle(self.handlers, review, time_to_answer(request.query.get("timeout", "")))
            body = answer(review, verdict, patch, webhook.refusal_code)
        except Unreadable as error:
            verdict = self._unread(webhook.task, str(error))
            body = answer(review, verdict, code=webhook.refusal_code)
        except Exception as error:  # noqa: BLE001 - the API server gets an answer in any case
            self.errors.note(webhook.task, f"{review.operation} {review.namespace}/{name_of(review.new)}", error)
            why = messages.failed_on("this object", kind_of(error))
            verdict = self._without(webhook.task, Reason.MUSTER_FAILED, why)
            body = answer(review, verdict, code=webhook.refusal_code)
        outcome = "joined" if verdict.join else "allowed" if verdict.allowed else "refused"
        self.metrics.admission.labels(webhook.task.value, outcome).observe(time.perf_counter() - began)
        response = web.Response(body=body, content_type="application/json")
        if not self.health.is_well(STAYING):
            response.force_close()  # the next one has to go to somebody else
        return response

    def _without(self, webhook: Task, reason: Reason, why: str) -> Verdict:
        """What is answered where nobody can handle. Advice is left out; everything else waits, as far as it may."""
        fail_open = webhook is Task.POD_WEBHOOK and self.handlers is not None and self.handlers.pods.fail_open
        advisory = webhook is Task.INTENTS
        return ALLOWED if advisory or fail_open else refused(reason, why)

    def _unread(self, webhook: Task, problem: str) -> Verdict:
        """A pod may belong to a gang, so it does not pass without its group. Other objects are not Muster's to stop."""
        if webhook is Task.POD_WEBHOOK:
            return self._without(webhook, Reason.POD_UNREADABLE, messages.pod_unreadable(problem))
        if time.monotonic() - self._logged_at > UNREADABLE_EVERY_SECONDS:
            self._logged_at = time.monotonic()
            logger.warning("an object that cannot be read passes untouched: %s", problem)
        return ALLOWED


@dataclass(frozen=True, slots=True)
class _Webhook:
    task: Task
    operations: frozenset[str]
    body_bytes: int
    refusal_code: int = REFUSED
    shape: Shape = POD_OR_JOB


_PODS = _Webhook(Task.POD_WEBHOOK, frozenset({"CREATE"}), ONE_OBJECT_BYTES, REFUSED_FOR_NOW)
_GUARD = _Webhook(Task.PARALLELISM_GUARD, frozenset({"UPDATE"}), TWO_OBJECTS_BYTES)
_POD_GROUPS = _Webhook(Task.POD_GROUPS_WEBHOOK, frozenset({"CREATE"}), POD_GROUP_BYTES, shape=POD_GROUP)
_INTENTS = _Webhook(Task.INTENTS, frozenset({"CREATE", "UPDATE"}), TWO_OBJECTS_BYTES)

Answered = tuple[Verdict, list[dict[str, Any]] | None]
Handler = Callable[[WebhookHandlers, Review, float], Awaitable[Answered]]


def time_to_answer(timeout: str) -> float:
    """Seconds to answer within, from the API server's own `timeout` parameter (a Go duration such as 2s or 1m30s)."""
    seconds = _seconds(timeout) if len(timeout) <= LONGEST_DURATION else 0.0
    return SHARE_OF_TIMEOUT * (seconds if 0 < seconds <= LONGEST_TIMEOUT_SECONDS else DEFAULT_TIMEOUT_SECONDS)


def _seconds(duration: str) -> float:
    parts = _DURATION.findall(duration)
    whole = "".join(number + unit for number, unit in parts) == duration
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if whole else 0.0
