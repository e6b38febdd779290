"""The gang status controller reports on one Job, and not on the next one of the same name."""

import asyncio

from muster.api.profile import CRD_IN_OWN_GROUP
from muster.controllers.gang_status.controller import remembered
from muster.controllers.podgroup.members import Members
from muster.core.gang_silence import Pace
from muster.core.gang_status import Gang, MemberSummary
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from tests.unit.controllers.gang_status.test_controller import KEY, Stage, group, job, pods
from tests.unit.core.seeing import our_group, our_workload


async def test_a_job_that_is_created_again_starts_a_new_wait() -> None:
    stage = Stage(Pace(silence=0.05))
    await stage.consider()
    await asyncio.sleep(0.06)
    again = job().uid("again")
    stage.cache.drop_job(KEY, job().ref.uid)
    stage.cache.put_workload(our_workload(again).read())
    stage.shows(again, our_group(again).uid("its group"))
    await stage.consider()
    assert stage.client.lists == 0, "it has only just come"
    await asyncio.sleep(0.06)
    await stage.consider()
    assert stage.client.lists == 1


async def test_members_by_annotation_come_from_the_stream() -> None:
    members = Members(lambda _: None, InternalErrors(Metrics()))
    gang = Gang(job().view(), CRD_IN_OWN_GROUP.read_pod_group(group().build()), 4, "")
    assert await remembered(members)(gang) is None
    members.replaced([pod.naming_group(group().name).view() for pod in pods(3)])
    assert await remembered(members)(gang) == MemberSummary(3, 0, "", "uid-0")
