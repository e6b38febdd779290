"""The lives of Muster on one cluster: one per scheduling API, since an API can come, go or change while it runs."""

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from muster.admission.gate import PodGate
from muster.admission.guard import ParallelismGuard
from muster.admission.intents import IntentReview
from muster.admission.podgroups import PodGroupReview
from muster.admission.registrar import Registrar
from muster.admission.registration import Registration
from muster.admission.server import AdmissionServer, Desk
from muster.api.dialect import Dialect
from muster.api.keys import JobKey
from muster.api.pod import GROUPED_LABEL
from muster.api.podgroup import GangState
from muster.config.types import Settings
from muster.core.decide import Rules
from muster.core.eligibility import Policy
from muster.core.policy import ReleaseOnSuspend
from muster.kube.credentials import Credentials
from muster.kube.http import HttpClient
from muster.kube.reflector import Reflector
from muster.kube.resources import PODS
from muster.runtime.agreement import Agreement, OwnAgreement
from muster.runtime.cache import Cache, Place
from muster.runtime.checking import ProfileChanged, Resync, keep_probing, wait_for_dialect
from muster.runtime.completion import Completion
from muster.runtime.errands import Errands
from muster.runtime.events import Recorder
from muster.runtime.executor import Executor
from muster.runtime.formation import Formation
from muster.runtime.health import API, WATCHING, Health
from muster.runtime.keeper import Keeper
from muster.runtime.leadership import Alone, Lead
from muster.runtime.metrics import Metrics
from muster.runtime.observer import Observer
from muster.runtime.profile import ProfileChooser
from muster.runtime.queue import WorkQueue
from muster.runtime.reconciler import Reconciler
from muster.runtime.split import SplitCheck
from muster.runtime.supervisor import Supervisor, Work
from muster.runtime.tasks import Task
from muster.runtime.teller import Teller, listed, remembered

logger = logging.getLogger(__name__)

MEMBERS = {"labelSelector": f"{GROUPED_LABEL}=true"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """What outlives a change of the API."""

    client: HttpClient
    credentials: Credentials
    settings: Settings
    health: Health
    server: AdmissionServer
    registration: Registration | Registrar | None
    """None where somebody else registers the webhooks."""
    recorder: Recorder
    errands: Errands
    supervisor: Supervisor
    lead: Lead = field(default_factory=Alone)
    agreement: Agreement = field(default_factory=OwnAgreement)


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


@dataclass(frozen=True, slots=True)
class Parts:
    """What works on one API."""

    desk: Desk
    cache: Cache
    queue: WorkQueue[JobKey]
    observer: Observer
    reconciler: Reconciler
    resync: Resync
    keeper: Keeper | None
    teller: Teller


def build(cluster: Cluster, dialect: Dialect) -> Parts:
    client, settings = cluster.client, cluster.settings
    metrics, rules, cache = cluster.recorder.metrics, Rules(dialect, policy_of(settings, dialect)), Cache()
    queue = WorkQueue[JobKey](metrics.retries.labels("jobs").inc)
    observer = Observer(client, dialect, cache)
    formation = Formation(
        observer,
        Executor(observer),
        rules,
        cluster.recorder,
        cluster.health,
        being_left=cluster.lead.being_left,
        errands=cluster.errands,
    )
    errors, pod_groups = cluster.recorder.errors, WorkQueue[Place](metrics.retries.labels("podgroups").inc)
    keeper = None if dialect.native else Keeper(observer, pod_groups, errors)
    completing = None if dialect.native else PodGroupReview(Completion(observer), dialect)
    only_own = settings.webhooks.pod_gate.is_selective
    look = remembered(keeper.members) if keeper else listed(observer)
    telling = WorkQueue[JobKey](metrics.retries.labels("telling").inc)
    teller = Teller(cache, rules, cluster.recorder, look, telling, dialect.native, only_own)
    gate = PodGate(formation, fail_open=settings.webhooks.pod_gate.failure_policy == "Ignore")
    guard = ParallelismGuard(observer, rules, cluster.recorder)
    desk = Desk(dialect, gate, guard, completing, IntentReview(cache, rules))
    on_pod_group = partial(_tell_of, keeper, teller)
    split = SplitCheck(observer, cluster.recorder, cluster.lead.leads)
    metrics.measure(metrics.split_gangs, split.count)
    resync = Resync(observer, queue, rules, settings.resync_seconds, on_pod_group, metrics, cluster.recorder, split.run)
    _measure(metrics, cache, {"jobs": queue, "telling": telling}, keeper)
    return Parts(
        desk=desk,
        cache=cache,
        queue=queue,
        observer=observer,
        reconciler=Reconciler(cache, queue, formation, rules, only_own),
        resync=resync,
        keeper=keeper,
        teller=teller,
    )


def _tell_of(keeper: Keeper | None, teller: Teller, pod_group: Place) -> None:
    if keeper is not None:
        keeper.queue.add(pod_group)
    teller.pod_group_changed(pod_group)


def policy_of(settings: Settings, dialect: Dialect) -> Policy:
    return Policy(
        settings.excluded_namespaces,
        settings.scheduler_names,
        groups_by_annotation=not dialect.native,
        opt_in=settings.default_policy == "opt-in",
        basic_for_others=settings.basic_for_others,
        release_on_suspend=ReleaseOnSuspend(settings.release_on_suspend),
        all_jobs=settings.scope == "all-jobs",
        elastic=settings.elastic,
    )


def _measure(metrics: Metrics, cache: Cache, queues: dict[str, WorkQueue[JobKey]], keeper: Keeper | None) -> None:
    """What is asked for when somebody looks, of the life that is lived then."""
    for state in GangState:
        metrics.measure(metrics.gangs.labels(state.value), partial(cache.gangs.__getitem__, state))
    for name, queue in queues.items():
        metrics.measure(metrics.queue_depth.labels(name), partial(len, queue))
    metrics.measure(metrics.queue_depth.labels("podgroups"), lambda: len(keeper.queue) if keeper else 0)


async def _work(cluster: Cluster, parts: Parts, profile: ProfileChooser) -> None:
    """Two kinds of work: every replica watches, and answers admission from what it sees; only the leader is eager."""
    from muster.watching.handlers import Inbox
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
