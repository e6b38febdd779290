"""Muster's parts, wired to a cluster in memory."""

from dataclasses import dataclass

from muster.api.keys import JobKey
from muster.api.profile import NATIVE, ApiProfile
from muster.controllers.job.executor import Executor
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.job.observer import Observer
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.resync import Resync
from muster.controllers.store import Cache
from muster.core.decide import Rules
from muster.core.eligibility import Policy
from muster.kube.client import KubeClient
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor
from muster.runtime.workqueue import WorkQueue


@dataclass
class Parts:
    cache: Cache
    queue: WorkQueue[JobKey]
    health: Health
    observer: Observer
    gang_former: GangFormer
    reconciler: Reconciler
    resync: Resync


def build(client: KubeClient, profile: ApiProfile = NATIVE) -> Parts:
    cache, queue, health = Cache(), WorkQueue[JobKey](), Health()
    rules = Rules(profile, Policy(groups_by_annotation=not profile.native))
    observer = Observer(client, profile, cache)
    gang_former = GangFormer(observer, Executor(observer), rules, EventRecorder(client, "test"), health)
    reconciler = Reconciler(cache, queue, gang_former, rules)
    return Parts(cache, queue, health, observer, gang_former, reconciler, Resync(observer, queue, rules, 300))


def a_supervisor() -> Supervisor:
    return Supervisor(Health(), InternalErrors(Metrics()), first_restart_seconds=0.01)
