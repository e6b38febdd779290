"""The wiring, from top to bottom: the parts for one scheduling API, and their tasks.

Every part gets its collaborators here, when it is constructed. No part takes one from another part.
"""

from dataclasses import dataclass, replace
from functools import partial

from muster.admission.intents import IntentReview
from muster.admission.parallelism_guard import ParallelismGuard
from muster.admission.pod import PodWebhook
from muster.admission.podgroups import PodGroupReview
from muster.admission.server import WebhookHandlers
from muster.api.keys import JobKey, ObjectKey
from muster.api.pod import GROUPED_LABEL, PodView
from muster.api.profile import ApiProfile
from muster.app.cluster import Cluster
from muster.app.gauges import measure_generation
from muster.app.leader_work import LeaderWork, log_ignored
from muster.app.policy import policy_of
from muster.controllers.api_monitor import keep_probing
from muster.controllers.cache import Cache
from muster.controllers.gang_status.controller import GangStatusController, listed, remembered
from muster.controllers.gang_status.split_check import SplitCheck
from muster.controllers.intake import Intake
from muster.controllers.job.attempts import Attempts
from muster.controllers.job.executor import Executor
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.job.job_reader import JobReader
from muster.controllers.job.observer import Observer
from muster.controllers.job.pod_reader import PodReader
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.job.reporter import Reporter
from muster.controllers.podgroup.defaulting import PodGroupDefaulting
from muster.controllers.podgroup.members import Members
from muster.controllers.podgroup.protection import PodGroupProtection
from muster.controllers.profile.chooser import ProfileChooser
from muster.controllers.resync import Resync
from muster.core.gang_silence import Pace
from muster.core.policy import Rules
from muster.kube.objects import PodGroups, Workloads
from muster.kube.reflector import Reflector
from muster.kube.resources import PODS
from muster.runtime.latency import LatencyTracker
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Work
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.workqueue import WorkQueue

MEMBERS = {"labelSelector": f"{GROUPED_LABEL}=true"}


def build_chooser(cluster: Cluster) -> ProfileChooser:
    return ProfileChooser(cluster.client, cluster.settings.api_group, cluster.agreement, cluster.lead.leads)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Maintains PodGroups of Muster's CRDs as the API server maintains built-in ones."""

    queue: WorkQueue[ObjectKey]
    members: Members
    reflector: Reflector[PodView]
    protection: PodGroupProtection
    review: PodGroupReview


@dataclass(frozen=True, slots=True)
class Parts:
    """What works on one API."""

    profile: ApiProfile
    handlers: WebhookHandlers
    cache: Cache
    queue: WorkQueue[JobKey]
    statuses: WorkQueue[JobKey]
    """Jobs for the gang status controller."""
    intake: Intake
    reconciler: Reconciler
    resync: Resync
    upkeep: Upkeep | None
    """None where the API is built in."""
    gang_status: GangStatusController


@dataclass(frozen=True, slots=True)
class _Forming:
    """What forms gangs, for the controller and for the webhooks."""

    rules: Rules
    cache: Cache
    jobs: JobReader
    pods: PodReader
    workloads: Workloads
    pod_groups: PodGroups
    observer: Observer
    latency: LatencyTracker
    gang_former: GangFormer


def build(cluster: Cluster, profile: ApiProfile) -> Parts:
    metrics, recorder, errors = cluster.metrics, cluster.recorder, cluster.errors
    forming = _forming(cluster, profile)
    cache, observer, gang_former = forming.cache, forming.observer, forming.gang_former
    rules = replace(forming.rules, adopt_existing_only=cluster.settings.webhooks.pods.is_selective)
    queue, statuses = _queue(metrics, "jobs"), _queue(metrics, "gang-status")

    upkeep = None if profile.native else _upkeep(cluster, profile, forming)
    gang_status = _gang_status(cluster, rules, cache, statuses, upkeep)
    reconciler = Reconciler(cache, observer.cached, queue, gang_former, rules, recorder, errors)
    split = SplitCheck(cluster.client, profile, cache, recorder, cluster.lead.leads)
    intake = Intake(
        cache=cache,
        queue=queue,
        forget=gang_former.forget,
        recorder=recorder,
        errors=errors,
        latency=forming.latency,
        on_pod_group=partial(_queue_pod_group, upkeep.queue if upkeep else None, gang_status),
        on_job=gang_status.job_changed,
    )
    resync = Resync(
        client=cluster.client,
        cache=cache,
        intake=intake,
        observer=observer,
        queue=queue,
        rules=rules,
        every_seconds=cluster.settings.resync_seconds,
        metrics=metrics,
        errors=errors,
        recorder=recorder,
        after=split.run,
    )
    queues = {"jobs": queue, "gang-status": statuses, "podgroup-protection": upkeep.queue if upkeep else ()}
    measure_generation(metrics, cache, split, queues)
    handlers = _handlers(cluster, forming, upkeep.review if upkeep else None)
    return Parts(profile, handlers, cache, queue, statuses, intake, reconciler, resync, upkeep, gang_status)


def _forming(cluster: Cluster, profile: ApiProfile) -> _Forming:
    client, draining, cache, attempts = cluster.client, cluster.lead.draining, Cache(), Attempts()
    rules, latency = Rules(profile, policy_of(cluster.settings, profile)), LatencyTracker(cluster.metrics)
    workloads = Workloads(client, profile, cache.put_workload)
    pod_groups = PodGroups(client, profile, cache.put_pod_group)
    jobs, pods = JobReader(client, cache), PodReader(client, profile)
    observer = Observer(cache, jobs, pods, workloads, pod_groups, attempts, draining)
    gang_former = GangFormer(
        jobs=jobs,
        observer=observer,
        executor=Executor(workloads, pod_groups, cache, attempts, profile.native),
        rules=rules,
        reporter=Reporter(cluster.recorder, cluster.metrics, latency),
        health=cluster.health,
        background=cluster.background,
        draining=draining,
    )
    return _Forming(rules, cache, jobs, pods, workloads, pod_groups, observer, latency, gang_former)


def _handlers(cluster: Cluster, forming: _Forming, review: PodGroupReview | None) -> WebhookHandlers:
    recorder, rules, jobs = cluster.recorder, forming.rules, forming.jobs
    fail_open = cluster.settings.webhooks.pods.failure_policy == "Ignore"
    pods = PodWebhook(
        forming.gang_former, jobs, forming.pods, rules, recorder, cluster.errors, cluster.background, fail_open
    )
    guard = ParallelismGuard(jobs, forming.observer, rules, recorder)
    return WebhookHandlers(rules.profile, pods, guard, review, IntentReview(forming.cache, rules), fail_open)


def _upkeep(cluster: Cluster, profile: ApiProfile, forming: _Forming) -> Upkeep:
    client, errors = cluster.client, cluster.errors
    queue = WorkQueue[ObjectKey](cluster.metrics.retries.labels("podgroup-protection").inc, log_ignored)
    members = Members(queue.add, errors)
    return Upkeep(
        queue=queue,
        members=members,
        reflector=Reflector(client, client, PODS, MEMBERS, members),
        protection=PodGroupProtection(forming.pod_groups, forming.cache, queue, members, errors),
        review=PodGroupReview(PodGroupDefaulting(client, forming.workloads.get), profile),
    )


def _queue(metrics: Metrics, name: str) -> WorkQueue[JobKey]:
    return WorkQueue(metrics.retries.labels(name).inc, log_ignored)


def _gang_status(
    cluster: Cluster, rules: Rules, cache: Cache, queue: WorkQueue[JobKey], upkeep: Upkeep | None
) -> GangStatusController:
    pace = Pace()
    return GangStatusController(
        cache=cache,
        rules=rules,
        recorder=cluster.recorder,
        look=remembered(upkeep.members) if upkeep else listed(cluster.client, rules.profile),
        queue=queue,
        errors=cluster.errors,
        pace=pace,
        posted=TtlCache(pace.between),
        native=rules.profile.native,
    )


def _queue_pod_group(
    protected: WorkQueue[ObjectKey] | None, gang_status: GangStatusController, pod_group: ObjectKey
) -> None:
    if protected is not None:
        protected.add(pod_group)
    gang_status.pod_group_changed(pod_group)


def leader_work_of(cluster: Cluster, parts: Parts) -> LeaderWork:
    """A full list finds unfinished work of earlier leaders; after that, the watch streams show each change."""
    upkeep = parts.upkeep
    works: dict[Task, Work] = {
        Task.JOBS: parts.reconciler.workers(cluster.settings.workers).run,
        Task.GANG_STATUS: parts.gang_status.workers().run,
    }
    if upkeep is not None:
        works[Task.POD_GROUP_PROTECTION] = upkeep.protection.workers().run
    queues = parts.queue, parts.statuses, *((upkeep.queue,) if upkeep else ())
    return LeaderWork(cluster.supervisor, works, queues, parts.resync.soon, parts.gang_status.forget)


def works_of(cluster: Cluster, parts: Parts, chooser: ProfileChooser, leader_work: LeaderWork) -> dict[Task, Work]:
    """The tasks of one generation. Every replica watches, and answers admission from what it sees."""
    from muster.watching.thread import WatchThread  # kopf, which is imported after the settings were read

    profile, health, errors = parts.profile, cluster.health, cluster.errors
    watching = WatchThread(parts.intake, parts.cache, profile, cluster.credentials, parts.resync, health, errors)
    probing = chooser, cluster.client, profile, health, cluster.settings.probe_seconds
    works: dict[Task, Work] = {
        Task.API_PROBE: partial(keep_probing, *probing),
        Task.RESYNC: partial(parts.resync.run, health),
        Task.WATCH: watching.run,
        Task.LEADER_WORK: partial(cluster.lead.while_leading, leader_work.run),
    }
    if (webhooks := cluster.serving.webhooks) is not None:
        works[Task.WEBHOOKS] = partial(webhooks.keep, profile, health)
    if parts.upkeep is not None:
        works[Task.POD_REFLECTOR] = parts.upkeep.reflector.run
    return works
