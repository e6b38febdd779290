"""Checks periodically whether the scheduling API is served and whether Muster has the permissions to use it."""

import asyncio
import contextlib
import logging

from muster.api.profile import ApiProfile
from muster.controllers.profile.chooser import ProfileChooser
from muster.controllers.profile.problem_sentence import problem_sentence
from muster.core.profile_choice import Agree, Change, Keep, ProbeAgain
from muster.kube.access import find_missing_permission, find_problem
from muster.kube.client import KubeClient
from muster.kube.lanes import Lane, in_lane
from muster.runtime.health import API, WATCHING, Health
from muster.runtime.supervisor import EndOfGeneration

logger = logging.getLogger(__name__)

SOON_SECONDS = 1.0
"""The interval of checks while there is a problem."""
BRIEF_SECONDS = 0.2
"""The interval of checks while the Lease does not exist yet."""
AGREEMENT_SECONDS = 1.0
"""How often to check whether the replicas have agreed on another API."""


class ProfileChanged(EndOfGeneration):
    """The API server serves another scheduling API than before, or none."""


@in_lane(Lane.CONTROL)
async def wait_for_profile(chooser: ProfileChooser, health: Health) -> ApiProfile:
    """The scheduling API that all replicas use, as soon as this server has one."""
    chooser.use(None)
    while True:
        choice = await chooser.look()
        if isinstance(choice, Change):
            chooser.use(choice.to)
            return choice.to
        if isinstance(choice, Keep):
            health.problem(API, choice.problem)
        await asyncio.sleep(BRIEF_SECONDS if isinstance(choice, Agree) else SOON_SECONDS)


@in_lane(Lane.CONTROL)
async def keep_probing(
    chooser: ProfileChooser, client: KubeClient, profile: ApiProfile, health: Health, every_seconds: float
) -> None:
    """Detects a changed API or a missing permission, and the recovery of both."""
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
        if problem := kept.problem or await _problem(client, profile, health):
            health.problem(API, problem)
            await asyncio.sleep(SOON_SECONDS)
        else:
            health.well(API)
            await _pause(chooser, health, every_seconds)


async def _pause(chooser: ProfileChooser, health: Health, seconds: float) -> None:
    """Sleep. Return early if the API has a problem or the replicas agree on another profile."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while health.is_well(API) and not await chooser.is_outdated():
                await health.pause(API, AGREEMENT_SECONDS)


async def _problem(client: KubeClient, profile: ApiProfile, health: Health) -> str:
    problem = await find_problem(client, profile, synced=health.is_well(WATCHING))
    if problem is None and not health.is_well(API):
        problem = await find_missing_permission(client, profile)
    return "" if problem is None else problem_sentence(problem)
