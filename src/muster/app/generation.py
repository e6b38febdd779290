"""The lives of Muster on one cluster: one per scheduling API, since an API can come, go or change while it runs."""

import asyncio
import logging
from functools import partial

from muster.api.pod import GROUPED_LABEL
from muster.app.wiring import Cluster, Parts, build
from muster.controllers.api_monitor import ProfileChanged, keep_probing, wait_for_profile
from muster.controllers.intake import Intake
from muster.controllers.profile.chooser import ProfileChooser
from muster.kube.reflector import Reflector
from muster.kube.resources import PODS
from muster.runtime.health import API, WATCHING
from muster.runtime.supervisor import Work
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

MEMBERS = {"labelSelector": f"{GROUPED_LABEL}=true"}


async def run_generations(cluster: Cluster) -> None:
    """One life per API: when the server gets another one, everything that was known about the old one is forgotten."""
    chooser = ProfileChooser(cluster.client, cluster.settings.api_group, cluster.agreement, cluster.lead.leads)
    while True:
        profile = await wait_for_profile(chooser, cluster.health)
        logger.info("using %s%s", profile.api_version, "" if profile.native else " (Muster's own CRDs)")
        if not profile.native:
            logger.warning("gangs are formed and not held: with Muster's own CRDs no scheduler waits for a whole gang")
        cluster.health.announce(WATCHING, "watching has not started yet")
        if cluster.webhooks is not None:
            cluster.webhooks.announce(cluster.health)
        parts = build(cluster, profile)
        cluster.server.handlers = parts.handlers
        try:
            await _run_generation(cluster, parts, chooser)
        except* ProfileChanged:
            cluster.health.problem(API, "Muster changes to another scheduling API; pods of gangs wait for some seconds")
            cluster.server.handlers = None  # no two replicas use different profiles at once
            await asyncio.sleep(cluster.agreement.settle_seconds)


async def _run_generation(cluster: Cluster, parts: Parts, chooser: ProfileChooser) -> None:
    """Two kinds of work: every replica watches, and answers admission from what it sees; only the leader is eager."""
    from muster.watching.thread import WatchThread

    settings, health, observer = cluster.settings, cluster.health, parts.observer
    told = parts.resync.on_pod_group, parts.gang_status.job_changed
    intake = Intake(parts.cache, parts.queue, parts.reconciler.gang_former, *told)
    watching = WatchThread(intake, observer.profile, cluster.credentials, parts.resync, health)
    _pause_leader_work(parts)
    works: dict[Task, Work] = {
        Task.API_PROBE: partial(keep_probing, chooser, observer, health, settings.probe_seconds),
        Task.RESYNC: partial(parts.resync.run, health),
        Task.WATCH: watching.run,
        Task.LEADER_WORK: partial(cluster.lead.while_leading, partial(_run_leader_work, cluster, parts)),
    }
    if cluster.webhooks is not None:
        works[Task.WEBHOOKS] = partial(cluster.webhooks.keep, observer.profile, health)
    if parts.protection is not None:
        works[Task.POD_REFLECTOR] = Reflector(
            cluster.client, cluster.client, PODS, MEMBERS, parts.protection.members
        ).run
    await cluster.supervisor.run_all(works)


async def _run_leader_work(cluster: Cluster, parts: Parts) -> None:
    """What others may have left undone is found by a list of everything; from then on the streams tell."""
    parts.queue.open()
    parts.gang_status.queue.open()
    if parts.protection is not None:
        parts.protection.queue.open()
    parts.resync.soon()
    works: dict[Task, Work] = {
        Task.JOBS: parts.reconciler.workers(cluster.settings.workers).run,
        Task.GANG_STATUS: parts.gang_status.workers().run,
    }
    if parts.protection is not None:
        works[Task.POD_GROUPS] = parts.protection.workers().run
    try:
        await cluster.supervisor.run_all(works)
    finally:
        _pause_leader_work(parts)


def _pause_leader_work(parts: Parts) -> None:
    parts.queue.close()
    parts.gang_status.pause()
    if parts.protection is not None:
        parts.protection.queue.close()
