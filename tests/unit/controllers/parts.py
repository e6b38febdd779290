"""Muster's parts, wired to a cluster in memory."""

from dataclasses import dataclass

from muster.api.keys import JobKey
from muster.api.profile import NATIVE, Dialect
from muster.controllers.job.executor import Executor
from muster.controllers.job.gang_former import Formation
from muster.controllers.job.observer import Observer
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.resync import Resync
from muster.controllers.store import Cache
from muster.core.decide import Rules
from muster.core.eligibility import Policy
from muster.kube.client import KubeClient
from muster.runtime.event_recorder import Recorder
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
    formation: Formation
    reconciler: Reconciler
    resync: Resync


def build(client: KubeClient, dialect: Dialect = NATIVE) -> Parts:
    cache, queue, health = Cache(), WorkQueue[JobKey](), Health()
    rules = Rules(dialect, Policy(groups_by_annotation=not dialect.native))
    observer = Observer(client, dialect, cache)
    formation = Formation(observer, Executor(observer), rules, Recorder(client, "test"), health)
    reconciler = Reconciler(cache, queue, formation, rules)
    return Parts(cache, queue, health, observer, formation, reconciler, Resync(observer, queue, rules, 300))


def a_supervisor() -> Supervisor:
    return Supervisor(Health(), InternalErrors(Metrics()), first_restart_seconds=0.01)
