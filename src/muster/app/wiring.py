"""Which parts there are for one scheduling API, and which of them knows which."""

from dataclasses import dataclass, field
from functools import partial

from muster.admission.intents import IntentReview
from muster.admission.parallelism_guard import ParallelismGuard
from muster.admission.pod import PodWebhook
from muster.admission.podgroups import PodGroupReview
from muster.admission.server import AdmissionServer, WebhookHandlers
from muster.api.keys import JobKey, ObjectKey
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import GangState
from muster.config.types import Settings
from muster.controllers.gang_status.controller import GangStatusController, listed, remembered
from muster.controllers.gang_status.split_check import SplitCheck
from muster.controllers.job.executor import Executor
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.job.observer import Observer
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.podgroup.defaulting import PodGroupDefaulting
from muster.controllers.podgroup.protection import PodGroupProtection
from muster.controllers.profile.agreement import Agreement, OwnAgreement
from muster.controllers.resync import Resync
from muster.controllers.store import Cache
from muster.core.decide import Rules
from muster.core.eligibility import Policy
from muster.core.policy import ReleaseOnSuspend
from muster.kube.credentials import Credentials
from muster.kube.http import HttpClient
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import Health
from muster.runtime.leader_election import Alone, Lead
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor
from muster.runtime.workqueue import WorkQueue
from muster.webhooks.dev import DevWebhooks
from muster.webhooks.reconciler import WebhookReconciler


@dataclass(frozen=True, slots=True)
class Cluster:
    """What outlives a change of the API."""

    client: HttpClient
    credentials: Credentials
    settings: Settings
    health: Health
    server: AdmissionServer
    webhooks: DevWebhooks | WebhookReconciler | None
    """None where somebody else registers the webhooks."""
    recorder: EventRecorder
    background: BackgroundTasks
    supervisor: Supervisor
    lead: Lead = field(default_factory=Alone)
    agreement: Agreement = field(default_factory=OwnAgreement)


@dataclass(frozen=True, slots=True)
class Parts:
    """What works on one API."""

    handlers: WebhookHandlers
    cache: Cache
    queue: WorkQueue[JobKey]
    observer: Observer
    reconciler: Reconciler
    resync: Resync
    protection: PodGroupProtection | None
    gang_status: GangStatusController


def build(cluster: Cluster, profile: ApiProfile) -> Parts:
    settings, recorder = cluster.settings, cluster.recorder
    metrics, rules, cache = recorder.metrics, Rules(profile, policy_of(settings, profile)), Cache()
    queue = WorkQueue[JobKey](metrics.retries.labels("jobs").inc)
    observer = Observer(cluster.client, profile, cache)
    gang_former = GangFormer(
        observer,
        Executor(observer),
        rules,
        recorder,
        cluster.health,
        draining=cluster.lead.draining,
        background=cluster.background,
    )
    errors, pod_groups = recorder.errors, WorkQueue[ObjectKey](metrics.retries.labels("podgroups").inc)
    protection = None if profile.native else PodGroupProtection(observer, pod_groups, errors)
    pod_groups_review = None if profile.native else PodGroupReview(PodGroupDefaulting(observer), profile)
    adopt_existing_only = settings.webhooks.pods.is_selective
    look = remembered(protection.members) if protection else listed(observer)
    statuses = WorkQueue[JobKey](metrics.retries.labels("gang-status").inc)
    gang_status = GangStatusController(cache, rules, recorder, look, statuses, profile.native, adopt_existing_only)
    pods = PodWebhook(gang_former, fail_open=settings.webhooks.pods.failure_policy == "Ignore")
    guard = ParallelismGuard(observer, rules, recorder)
    handlers = WebhookHandlers(profile, pods, guard, pod_groups_review, IntentReview(cache, rules))
    on_pod_group = partial(_queue_pod_group, protection, gang_status)
    split = SplitCheck(observer, recorder, cluster.lead.leads)
    metrics.measure(metrics.split_gangs, split.count)
    resync = Resync(observer, queue, rules, settings.resync_seconds, on_pod_group, metrics, recorder, split.run)
    _measure(metrics, cache, {"jobs": queue, "gang-status": statuses}, protection)
    return Parts(
        handlers=handlers,
        cache=cache,
        queue=queue,
        observer=observer,
        reconciler=Reconciler(cache, queue, gang_former, rules, adopt_existing_only),
        resync=resync,
        protection=protection,
        gang_status=gang_status,
    )


def _queue_pod_group(
    protection: PodGroupProtection | None, gang_status: GangStatusController, pod_group: ObjectKey
) -> None:
    if protection is not None:
        protection.queue.add(pod_group)
    gang_status.pod_group_changed(pod_group)


def policy_of(settings: Settings, profile: ApiProfile) -> Policy:
    return Policy(
        settings.excluded_namespaces,
        settings.scheduler_names,
        groups_by_annotation=not profile.native,
        opt_in=settings.default_policy == "opt-in",
        basic_for_others=settings.basic_for_others,
        release_on_suspend=ReleaseOnSuspend(settings.release_on_suspend),
        all_jobs=settings.scope == "all-jobs",
        elastic=settings.elastic,
    )


def _measure(
    metrics: Metrics, cache: Cache, queues: dict[str, WorkQueue[JobKey]], protection: PodGroupProtection | None
) -> None:
    """What is asked for when somebody looks, of the life that is lived then."""
    for state in GangState:
        metrics.measure(metrics.gangs.labels(state.value), partial(cache.gangs.__getitem__, state))
    for name, queue in queues.items():
        metrics.measure(metrics.queue_depth.labels(name), partial(len, queue))
    metrics.measure(metrics.queue_depth.labels("podgroups"), lambda: len(protection.queue) if protection else 0)
