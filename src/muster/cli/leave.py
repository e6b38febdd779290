"""`muster leave`: what `muster.uninstall` does, on a real cluster and for somebody who reads along."""

from functools import partial

from muster.config.types import Settings
from muster.kube.credentials import Credentials
from muster.kube.http import HttpClient
from muster.uninstall.steps import Leave


async def leave(
    credentials: Credentials, settings: Settings, dev: bool, dry_run: bool, wait_seconds: float
) -> list[str]:
    """What could not be done, a sentence each."""
    async with HttpClient(credentials, dry_run=dry_run) as client:
        at_once = partial(print, flush=True)  # somebody reads along while it waits
        leaving = Leave(client, settings, at_once, dev, dry_run, wait_seconds)
        await leaving.run()
        return leaving.problems
