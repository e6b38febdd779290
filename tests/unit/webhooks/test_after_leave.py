"""What a replica does once `muster leave` was run: it registers nothing, makes no Secret, and says why."""

import asyncio
from typing import Any, cast

from muster.runtime.health import Health
from muster.runtime.metrics import Metrics
from muster.serving.certificates import ServingCertificate
from muster.serving.renewer import CertificateRenewer
from muster.serving.rotation import Unusable
from muster.serving.tls import ReloadingTls
from tests.fake_cluster import USER, FakeCluster
from tests.unit.webhooks.test_reconciler import MUTATING, VALIDATING, cluster, keeping, reconciler, well_except

__all__ = ["cluster"]


async def test_after_muster_leave_nothing_is_registered_and_the_log_says_why(cluster: FakeCluster) -> None:
    made, health = reconciler(cluster), well_except()
    await keeping(made, health)
    made.uninstalled = lambda: True
    await keeping(made, health)
    assert health.ready, "while there are webhooks, they are answered"
    for place in (MUTATING, VALIDATING):
        cluster.update(*place, lambda found: found.update(webhooks=[]), USER)
    await keeping(made, health)
    assert "`muster leave` removed the webhooks" in health.sentence
    assert not [place for place in (MUTATING, VALIDATING) if cluster.get(*place)["webhooks"]]


class Looked:
    """A source that has nothing, and counts."""

    def __init__(self) -> None:
        self.times = 0

    async def read(self) -> ServingCertificate:
        self.times += 1
        raise Unusable("there is none")


async def test_after_muster_leave_the_secret_is_not_read() -> None:
    source, uninstalled = Looked(), asyncio.Event()
    nobody = cast("Any", None)
    renewal = CertificateRenewer(
        source,
        tls=ReloadingTls(),
        host="",
        health=Health(),
        trust_bundle=nobody,
        registered=nobody,
        ask_self=nobody,
        every_seconds=0.001,
        clock=nobody,
        uninstalled=uninstalled.is_set,
        metrics=Metrics(),
    )
    task = asyncio.create_task(renewal.run())
    await asyncio.sleep(0.05)
    assert source.times
    uninstalled.set()
    await asyncio.sleep(0.05)
    seen = source.times
    await asyncio.sleep(0.05)
    assert source.times == seen
    assert not task.done()
    task.cancel()
