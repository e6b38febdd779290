"""Is the scheduling API still there, and is Muster still allowed to use it: asked again and again."""

import asyncio
import contextlib
import logging

from muster.api.profile import ApiProfile
from muster.controllers.job.observer import Observer
from muster.controllers.profile.chooser import ProfileChooser
from muster.core.profile_choice import Agree, Change, Keep, ProbeAgain
from muster.kube.access import find_missing_right, find_problem
from muster.kube.lanes import Lane, in_lane
from muster.runtime.health import API, WATCHING, Health
from muster.runtime.supervisor import EndOfGeneration

logger = logging.getLogger(__name__)

SOON_SECONDS = 1.0
"""How soon to look again while something is wrong."""
BRIEF_SECONDS = 0.2
"""How soon to look for the Lease that is about to be made."""
AGREEMENT_SECONDS = 1.0
"""How often to look whether the replicas have agreed on another API."""


class ProfileChanged(EndOfGeneration):
    """The API server has another scheduling API than a moment ago, or none."""


@in_lane(Lane.CONTROL)
async def wait_for_profile(chooser: ProfileChooser, health: Health) -> ApiProfile:
    """The scheduling API that all replicas use, as soon as this server has one."""
    chooser.using = None
    while True:
        choice = await chooser.look()
        if isinstance(choice, Change):
            chooser.using = choice.to
            return choice.to
        if isinstance(choice, Keep):
            health.problem(API, choice.problem)
        await asyncio.sleep(BRIEF_SECONDS if isinstance(choice, Agree) else SOON_SECONDS)


@in_lane(Lane.CONTROL)
async def keep_probing(chooser: ProfileChooser, observer: Observer, health: Health, every_seconds: float) -> None:
    """Notice an API that changes or a right that is taken away, and that either is back."""
    noted = ""
    while True:
        choice = await chooser.look()
        if isinstance(choice, Change):
            raise ProfileChanged
        if isinstance(choice, ProbeAgain):
            await asyncio.sleep(SOON_SECONDS)
            continue
        kept = choice if isinstance(choice, Keep) else Keep()
        if kept.note and kept.note != noted:
            logger.warning("%s", kept.note)
        noted = kept.note
        if problem := kept.problem or await _problem(observer, health):
            health.problem(API, problem)
            await asyncio.sleep(SOON_SECONDS)
        else:
            health.well(API)
            await _pause(chooser, health, every_seconds)


async def _pause(chooser: ProfileChooser, health: Health, seconds: float) -> None:
    """Sleep, but not through trouble with the API nor through a new agreement of the replicas."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while health.is_well(API) and not await chooser.is_outdated():
                await health.pause(API, AGREEMENT_SECONDS)


async def _problem(observer: Observer, health: Health) -> str:
    problem = await find_problem(observer.client, observer.profile, synced=health.is_well(WATCHING))
    if not problem and not health.is_well(API):
        problem = await find_missing_right(observer.client, observer.profile)
    return problem
