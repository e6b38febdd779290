"""`muster leave`: runs `muster.uninstall` on a cluster and prints its progress."""

from functools import partial

from muster.config.types import Settings
from muster.kube.credentials import Credentials
from muster.kube.http import HttpClient
from muster.uninstall.steps import Leave


async def leave(
    credentials: Credentials, settings: Settings, dev: bool, dry_run: bool, wait_seconds: float
) -> list[str]:
    """The steps that failed, one sentence each."""
    async with HttpClient(credentials, dry_run=dry_run) as client:
        at_once = partial(print, flush=True)  # show progress while the command waits
        leaving = Leave(client, settings, at_once, dev, dry_run, wait_seconds)
        await leaving.run()
        return leaving.problems
