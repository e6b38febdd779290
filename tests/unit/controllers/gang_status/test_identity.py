"""Whom the gang status controller reports on: one Job, and not the next one of that name."""

import asyncio

import pytest

from muster.controllers.gang_status import controller as module
from tests.unit.controllers.gang_status.test_controller import KEY, Stage, job
from tests.unit.core.seeing import our_group, our_workload


async def test_a_job_that_is_made_again_begins_to_wait_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.05)
    stage = Stage()
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
