"""The admission server: explicit routes, size limits, a deadline, and an answer to every request."""

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
from muster.core.admit import ALLOWED, Verdict, admit_on_failure, admit_unreadable
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
"""An update contains the old and the new object. The rest of a review is small."""
POD_GROUP_BYTES = 512 * KIB
DEFAULT_TIMEOUT_SECONDS = 10.0
"""The API server's timeout if the webhook configuration sets none."""
LONGEST_TIMEOUT_SECONDS = 30.0
"""The longest timeout that a webhook configuration can set."""
SHARE_OF_TIMEOUT = 0.8
"""Muster answers within this share of the timeout: the API server ignores a later answer."""

LONGEST_DURATION = 32
"""Maximum length of a duration."""
UNREADABLE_EVERY_SECONDS = 10.0
"""How often the log names an unreadable object. The log is limited because any client can send one."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class WebhookHandlers:
    """The webhook handlers of one API profile."""

    profile: ApiProfile
    pods: PodWebhook
    guard: ParallelismGuard
    pod_groups: PodGroupReview | None
    """Set only with Muster's own CRDs: the API server validates the built-in PodGroups itself."""
    intents: IntentReview | None = None
    fail_open: bool = False
    """The pod webhook's failurePolicy is Ignore."""


@dataclass(slots=True)
class AdmissionServer:
    """The HTTP applications of the webhooks, and of health and metrics.

    Owns the handlers of the current generation and the reader of request bodies. It reads `health` for /livez and
    /readyz, and counts in `metrics`. It answers every review, whatever fails.
    """

    health: Health
    metrics: Metrics
    errors: InternalErrors
    handlers: WebhookHandlers | None = None
    """None until an API is found. The handlers stay when the API disappears, and then report the problem."""
    bodies: BodyReader = field(default_factory=BodyReader)
    _logged_at: float = -UNREADABLE_EVERY_SECONDS

    def use(self, handlers: WebhookHandlers | None) -> None:
        """Answer with these handlers from now on. They change at run time, when the scheduling API does."""
        self.handlers = handlers

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post(PODS_PATH, self._pods)
        app.router.add_post(GUARD_PATH, self._guard)
        app.router.add_post(POD_GROUPS_PATH, self._pod_groups)
        app.router.add_post(INTENTS_PATH, self._intents)
        self._add_health(app)
        return app

    def health_application(self) -> web.Application:
        """For the kubelet and Prometheus, which do not know Muster's certificate authority."""
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
        """A stuck event loop does not answer at all. Problems that can recover are no reason to restart the process."""
        restart_reason = self.health.restart_reason
        return web.Response(text=f"{restart_reason or 'alive'}\n", status=503 if restart_reason else 200)

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
        except Exception as error:  # noqa: BLE001 - the API server must get an answer
            self.errors.note(webhook.task, f"{review.operation} {review.namespace}/{name_of(review.new)}", error)
            why = messages.failed_on("this object", kind_of(error))
            verdict = self._without(webhook.task, Reason.MUSTER_FAILED, why)
            body = answer(review, verdict, code=webhook.refusal_code)
        outcome = "joined" if verdict.join else "allowed" if verdict.allowed else "refused"
        self.metrics.admission.labels(webhook.task.value, outcome).observe(time.perf_counter() - began)
        response = web.Response(body=body, content_type="application/json")
        if not self.health.is_well(STAYING):
            response.force_close()  # the API server must connect to another replica
        return response

    def _without(self, webhook: Task, reason: Reason, why: str) -> Verdict:
        """The answer if no handler can run: advisory webhooks allow, the others refuse, unless set to fail open."""
        fail_open = webhook is Task.POD_WEBHOOK and self.handlers is not None and self.handlers.fail_open
        advisory = webhook is Task.INTENTS
        return admit_on_failure(reason, why, may_pass=advisory or fail_open)

    def _unread(self, webhook: Task, problem: str) -> Verdict:
        """A pod may belong to a gang, so Muster refuses it. Other unreadable objects are allowed."""
        if webhook is Task.POD_WEBHOOK:
            verdict = self._without(webhook, Reason.POD_UNREADABLE, messages.pod_unreadable(problem))
        else:
            verdict = admit_unreadable()
        if verdict.allowed and time.monotonic() - self._logged_at > UNREADABLE_EVERY_SECONDS:
            self._logged_at = time.monotonic()
            logger.warning("allowed an object that Muster cannot read: %s: %s", verdict.reason, problem)
        return verdict


@dataclass(frozen=True, slots=True)
class _Webhook:
    task: Task
    operations: frozenset[str]
    body_bytes: int
    refusal_code: int = REFUSED
    shape: Shape = POD_OR_JOB


_PODS = _Webhook(Task.POD_WEBHOOK, frozenset({"CREATE"}), ONE_OBJECT_BYTES, REFUSED_FOR_NOW)
_GUARD = _Webhook(Task.PARALLELISM_GUARD, frozenset({"UPDATE"}), TWO_OBJECTS_BYTES)
_POD_GROUPS = _Webhook(Task.POD_GROUP_WEBHOOK, frozenset({"CREATE"}), POD_GROUP_BYTES, shape=POD_GROUP)
_INTENTS = _Webhook(Task.INTENTS, frozenset({"CREATE", "UPDATE"}), TWO_OBJECTS_BYTES)

Answered = tuple[Verdict, list[dict[str, Any]] | None]
Handler = Callable[[WebhookHandlers, Review, float], Awaitable[Answered]]


def time_to_answer(timeout: str) -> float:
    """Seconds to answer within, from the `timeout` parameter of the request (a Go duration such as 2s or 1m30s)."""
    seconds = _seconds(timeout) if len(timeout) <= LONGEST_DURATION else 0.0
    return SHARE_OF_TIMEOUT * (seconds if 0 < seconds <= LONGEST_TIMEOUT_SECONDS else DEFAULT_TIMEOUT_SECONDS)


def _seconds(duration: str) -> float:
    parts = _DURATION.findall(duration)
    whole = "".join(number + unit for number, unit in parts) == duration
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if whole else 0.0
