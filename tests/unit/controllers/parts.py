"""Muster's parts, wired to a cluster in memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from muster.admission.parallelism_guard import ParallelismGuard
from muster.admission.pod import PodWebhook
from muster.api.keys import JobKey, ObjectKey
from muster.api.profile import NATIVE, ApiProfile
from muster.controllers.cache import Cache
from muster.controllers.intake import Intake
from muster.controllers.job.attempts import Attempts
from muster.controllers.job.executor import Executor
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.job.job_reader import JobReader
from muster.controllers.job.observer import Observer
from muster.controllers.job.pod_reader import PodReader
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.job.reporter import Reporter
from muster.controllers.resync import Resync
from muster.core.policy import Policy, Rules
from muster.kube.client import KubeClient
from muster.kube.objects import PodGroups, Workloads
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.latency import LatencyTracker
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor
from muster.runtime.workqueue import WorkQueue


@dataclass
class Parts:
    client: KubeClient
    profile: ApiProfile
    cache: Cache
    queue: WorkQueue[JobKey]
    health: Health
    jobs: JobReader
    pods: PodReader
    workloads: Workloads
    pod_groups: PodGroups
    observer: Observer
    executor: Executor
    gang_former: GangFormer
    reconciler: Reconciler
    resync: Resync
    recorder: EventRecorder
    errors: InternalErrors
    latency: LatencyTracker

    def pod_webhook(self, fail_open: bool = False) -> PodWebhook:
        former, recorder, errors = self.gang_former, self.recorder, self.errors
        return PodWebhook(former, self.jobs, self.pods, former.rules, recorder, errors, former.background, fail_open)

    def guard(self, rules: Rules | None = None) -> ParallelismGuard:
        return ParallelismGuard(self.jobs, self.observer, rules or self.reconciler.rules, self.recorder)

    def intake(
        self,
        on_pod_group: Callable[[ObjectKey], None] | None = None,
        on_job: Callable[[JobKey], None] | None = None,
    ) -> Intake:
        forget = self.gang_former.forget
        return Intake(self.cache, self.queue, forget, self.recorder, self.errors, self.latency, on_pod_group, on_job)


def stays() -> bool:
    """Nobody removes Muster."""
    return False


def build(
    client: KubeClient,
    profile: ApiProfile = NATIVE,
    policy: Policy | None = None,
    draining: Callable[[], bool] = stays,
    events: KubeClient | None = None,
) -> Parts:
    """`events` is the client that posts events, if it is another one."""
    cache, queue, health, errors = Cache(), WorkQueue[JobKey](), Health(), InternalErrors(Metrics())
    rules = Rules(profile, replace(policy or Policy(), groups_by_annotation=not profile.native))
    jobs, pods, attempts = JobReader(client, cache), PodReader(client, profile), Attempts()
    workloads = Workloads(client, profile, cache.put_workload)
    pod_groups = PodGroups(client, profile, cache.put_pod_group)
    observer = Observer(cache, jobs, pods, workloads, pod_groups, attempts, draining)
    executor = Executor(workloads, pod_groups, cache, attempts, profile.native)
    recorder, background = EventRecorder(events or client, "test", errors.metrics, errors), BackgroundTasks()
    latency = LatencyTracker(errors.metrics)
    reporter = Reporter(recorder, errors.metrics, latency)
    gang_former = GangFormer(jobs, observer, executor, rules, reporter, health, background, draining)
    intake = Intake(cache, queue, gang_former.forget, recorder, errors, latency)
    return Parts(
        client=client,
        profile=profile,
        cache=cache,
        queue=queue,
        health=health,
        jobs=jobs,
        pods=pods,
        workloads=workloads,
        pod_groups=pod_groups,
        observer=observer,
        executor=executor,
        gang_former=gang_former,
        reconciler=Reconciler(cache, observer.cached, queue, gang_former, rules, recorder, errors),
        resync=Resync(client, cache, intake, observer, queue, rules, 300, errors.metrics, errors, recorder),
        recorder=recorder,
        errors=errors,
        latency=latency,
    )


def a_supervisor() -> Supervisor:
    return Supervisor(Health(), InternalErrors(Metrics()), first_restart_seconds=0.01)
