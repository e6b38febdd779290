"""The generations of Muster on one cluster: one per scheduling API, which can come, go or change while Muster runs."""

import asyncio
import logging

from muster.app.cluster import Cluster
from muster.app.wiring import Parts, build, build_chooser, leader_work_of, works_of
from muster.controllers.api_monitor import ProfileChanged, wait_for_profile
from muster.controllers.profile.chooser import ProfileChooser
from muster.core import readiness
from muster.runtime.health import API, WATCHING

logger = logging.getLogger(__name__)


async def run_generations(cluster: Cluster) -> None:
    """One generation per API: when the server gets another one, Muster forgets everything about the old one."""
    chooser = build_chooser(cluster)
    while True:
        profile = await wait_for_profile(chooser, cluster.health)
        logger.info("using %s%s", profile.api_version, "" if profile.native else " (Muster's own CRDs)")
        if not profile.native:
            logger.warning("with Muster's own CRDs no scheduler waits for a whole gang: a gang may start in part")
        cluster.health.announce(WATCHING, readiness.NOT_WATCHING)
        if cluster.serving.webhooks is not None:
            cluster.serving.webhooks.announce(cluster.health)
        parts = build(cluster, profile)
        cluster.server.use(parts.handlers)
        try:
            await _run_generation(cluster, parts, chooser)
        except* ProfileChanged:
            cluster.health.problem(API, readiness.API_CHANGES)
            cluster.server.use(None)  # no two replicas use different profiles at once
            await asyncio.sleep(cluster.agreement.settle_seconds)


async def _run_generation(cluster: Cluster, parts: Parts, chooser: ProfileChooser) -> None:
    leader_work = leader_work_of(cluster, parts)
    leader_work.pause()
    await cluster.supervisor.run_all(works_of(cluster, parts, chooser, leader_work))
