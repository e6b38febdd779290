"""Which parts there are for one scheduling API, and which of them knows which."""

from dataclasses import dataclass, field
from functools import partial

from muster.admission.intents import IntentReview
from muster.admission.parallelism_guard import ParallelismGuard
from muster.admission.pod import PodGate
from muster.admission.podgroups import PodGroupReview
from muster.admission.server import AdmissionServer, Desk
from muster.api.keys import JobKey
from muster.api.profile import Dialect
from muster.api.v1alpha2.podgroup import GangState
from muster.config.types import Settings
from muster.controllers.gang_status.controller import Teller, listed, remembered
from muster.controllers.gang_status.split_check import SplitCheck
from muster.controllers.job.executor import Executor
from muster.controllers.job.gang_former import Formation
from muster.controllers.job.observer import Observer
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.podgroup.defaulting import Completion
from muster.controllers.podgroup.protection import Keeper
from muster.controllers.profile.agreement import Agreement, OwnAgreement
from muster.controllers.resync import Resync
from muster.controllers.store import Cache, Place
from muster.core.decide import Rules
from muster.core.eligibility import Policy
from muster.core.policy import ReleaseOnSuspend
from muster.kube.credentials import Credentials
from muster.kube.http import HttpClient
from muster.runtime.background import Errands
from muster.runtime.event_recorder import Recorder
from muster.runtime.health import Health
from muster.runtime.leader_election import Alone, Lead
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor
from muster.runtime.workqueue import WorkQueue
from muster.webhooks.dev import Registration
from muster.webhooks.reconciler import Registrar


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
