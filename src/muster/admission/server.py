"""The admission server: explicit routes, a size limit, a deadline, and an answer to everything."""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from muster.admission.certificates import ServingCertificate
from muster.admission.gate import PodGate
from muster.admission.guard import ParallelismGuard
from muster.admission.review import REFUSED, REFUSED_FOR_NOW, Review, answer
from muster.api.dialect import Dialect
from muster.api.wire import Unreadable
from muster.core.admit import ALLOWED, Verdict
from muster.runtime.health import Health

logger = logging.getLogger(__name__)

GATE_PATH = "/pod-gate"
GUARD_PATH = "/parallelism-guard"
MAX_BODY_BYTES = 8 * 1024 * 1024
DEFAULT_TIMEOUT_SECONDS = 10.0
"""What the API server waits where a configuration names no timeout."""
SHARE_OF_TIMEOUT = 0.8
"""An answer that comes after the API server gave up is worth nothing."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclass(slots=True)
class AdmissionServer:
    gate: PodGate
    guard: ParallelismGuard
    dialect: Dialect
    health: Health

    def application(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post(GATE_PATH, self._gate)
        app.router.add_post(GUARD_PATH, self._guard)
        app.router.add_get("/livez", self._alive)
        app.router.add_get("/readyz", self._ready)
        return app

    async def start(self, host: str, port: int, certificate: ServingCertificate) -> "Listening":
        runner = web.AppRunner(self.application(), access_log=None, keepalive_timeout=300, shutdown_timeout=5)
        await runner.setup()
        site = web.TCPSite(runner, host, port, ssl_context=certificate.ssl_context())
        try:
            await site.start()
        except OSError:
            await runner.cleanup()
            raise
        return Listening(runner, runner.addresses[0][1])

    async def _gate(self, request: web.Request) -> web.Response:
        async def judge(review: Review, seconds: float) -> tuple[Verdict, list[dict[str, Any]] | None]:
            if review.operation != "CREATE":
                return ALLOWED, None
            verdict = await self.gate.review(review, seconds)
            return verdict, self.dialect.join(verdict.join) if verdict.join else None

        return await _respond(request, judge, REFUSED_FOR_NOW)

    async def _guard(self, request: web.Request) -> web.Response:
        async def judge(review: Review, seconds: float) -> tuple[Verdict, None]:
            return await self.guard.review(review, seconds) if review.operation == "UPDATE" else ALLOWED, None

        return await _respond(request, judge, REFUSED)

    async def _alive(self, _: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    async def _ready(self, _: web.Request) -> web.Response:
        return web.Response(text=f"{self.health.sentence}\n", status=200 if self.health.ready else 503)


@dataclass(frozen=True, slots=True)
class Listening:
    runner: web.AppRunner
    port: int

    async def stop(self) -> None:
        await self.runner.cleanup()


Judge = Callable[[Review, float], Awaitable[tuple[Verdict, list[dict[str, Any]] | None]]]


async def _respond(request: web.Request, judge: Judge, refusal_code: int) -> web.Response:
    try:
        review = Review.parse(orjson.loads(await request.read()))
    except (orjson.JSONDecodeError, Unreadable) as error:
        return web.Response(status=400, text=f"not an AdmissionReview: {error}\n")
    try:
        verdict, patch = await judge(review, time_to_answer(request.query.get("timeout", "")))
    except Unreadable as error:
        logger.warning("an object that cannot be read passes untouched: %s", error)
        verdict, patch = ALLOWED, None
    return web.Response(body=answer(review, verdict, patch, refusal_code), content_type="application/json")


def time_to_answer(timeout: str) -> float:
    """Seconds to answer within, from the API server's own `timeout` parameter (a Go duration such as 2s or 1m30s)."""
    parts = _DURATION.findall(timeout)
    whole = "".join(number + unit for number, unit in parts) == timeout
    seconds = (
        sum(float(number) * _UNITS[unit] for number, unit in parts) if parts and whole else DEFAULT_TIMEOUT_SECONDS
    )
    return SHARE_OF_TIMEOUT * seconds
