"""The lives of Muster on one cluster: one per scheduling API, since an API can come, go or change while it runs."""

import asyncio
import logging
from functools import partial

from muster.api.pod import GROUPED_LABEL
from muster.app.wiring import Cluster, Parts, build
from muster.controllers.api_monitor import ProfileChanged, keep_probing, wait_for_dialect
from muster.controllers.intake import Inbox
from muster.controllers.profile.chooser import ProfileChooser
from muster.kube.reflector import Reflector
from muster.kube.resources import PODS
from muster.runtime.health import API, WATCHING
from muster.runtime.supervisor import Work
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

MEMBERS = {"labelSelector": f"{GROUPED_LABEL}=true"}


async def live(cluster: Cluster) -> None:
    """One life per API: when the server gets another one, everything that was known about the old one is forgotten."""
    profile = ProfileChooser(cluster.client, cluster.settings.api_group, cluster.agreement, cluster.lead.leads)
    while True:
        dialect = await wait_for_dialect(profile, cluster.health)
        logger.info("using %s%s", dialect.api_version, "" if dialect.native else " (Muster's own CRDs)")
        if not dialect.native:
            logger.warning("gangs are formed and not held: with Muster's own CRDs no scheduler waits for a whole gang")
        cluster.health.announce(WATCHING, "watching has not started yet")
        if cluster.registration is not None:
            cluster.registration.announce(cluster.health)
        parts = build(cluster, dialect)
        cluster.server.desk = parts.desk
        try:
            await _work(cluster, parts, profile)
        except* ProfileChanged:
            cluster.health.problem(API, "Muster changes to another scheduling API; pods of gangs wait for some seconds")
            cluster.server.desk = None  # no two replicas use different profiles at once
            await asyncio.sleep(cluster.agreement.settle_seconds)


async def _work(cluster: Cluster, parts: Parts, profile: ProfileChooser) -> None:
    """Two kinds of work: every replica watches, and answers admission from what it sees; only the leader is eager."""
    from muster.watching.thread import WatchThread

    settings, health, observer = cluster.settings, cluster.health, parts.observer
    told = parts.resync.on_pod_group, parts.teller.queue.add
    inbox = Inbox(parts.cache, parts.queue, parts.reconciler.formation, *told)
    watching = WatchThread(inbox, observer.dialect, cluster.credentials, parts.resync, health)
    _rest(parts)
    works: dict[Task, Work] = {
        Task.API_PROBE: partial(keep_probing, profile, observer, health, settings.probe_seconds),
        Task.RESYNC: partial(parts.resync.run, health),
        Task.WATCH: watching.run,
        Task.LEADER_WORK: partial(cluster.lead.while_leading, partial(_be_eager, cluster, parts)),
    }
    if cluster.registration is not None:
        works[Task.WEBHOOKS] = partial(cluster.registration.keep, observer.dialect, health)
    if parts.keeper is not None:
        works[Task.POD_REFLECTOR] = Reflector(cluster.client, cluster.client, PODS, MEMBERS, parts.keeper.members).run
    await cluster.supervisor.run_all(works)


async def _be_eager(cluster: Cluster, parts: Parts) -> None:
    """What others may have left undone is found by a list of everything; from then on the streams tell."""
    parts.queue.open()
    parts.teller.queue.open()
    if parts.keeper is not None:
        parts.keeper.queue.open()
    parts.resync.soon()
    works: dict[Task, Work] = {
        Task.JOBS: parts.reconciler.workers(cluster.settings.workers).run,
        Task.GANG_STATUS: parts.teller.workers().run,
    }
    if parts.keeper is not None:
        works[Task.POD_GROUPS] = parts.keeper.workers().run
    try:
        await cluster.supervisor.run_all(works)
    finally:
        _rest(parts)


def _rest(parts: Parts) -> None:
    parts.queue.close()
    parts.teller.rest()
    if parts.keeper is not None:
        parts.keeper.queue.close()
