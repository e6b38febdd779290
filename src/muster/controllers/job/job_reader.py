"""Finds one Job by its UID: in the cache, or at the API server."""

from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobRef
from muster.controllers.cache import Cache
from muster.controllers.job.lookup import Lookup
from muster.kube.client import KubeClient
from muster.kube.errors import NotFound
from muster.kube.resources import JOBS


@dataclass(slots=True)
class JobReader:
    """Reads one Job. Owns the lookup, which limits the reads of Jobs that no stream has shown. It writes nothing.

    A Job with the same name and another UID is another Job; the result is then None.
    """

    client: KubeClient
    cache: Cache
    lookup: Lookup = field(default_factory=Lookup)

    def cached(self, ref: JobRef) -> JobView | None:
        """The Job as a watch stream or a list has shown it. Then no client made it up."""
        job = self.cache.jobs.get(ref.key)
        return job if job is not None and job.uid == ref.uid else None

    async def read(self, ref: JobRef) -> JobView | None:
        """The Job as it is now."""
        try:
            job = JobView.parse(await self.client.get(JOBS, ref.key.namespace, ref.key.name))
        except NotFound:
            return None
        return job if job.uid == ref.uid else None

    async def look_up(self, ref: JobRef) -> JobView | None:
        """A Job that no stream has shown yet. Raises Busy instead of waiting."""
        return await self.lookup.find(ref, self.read)

    async def find(self, ref: JobRef) -> JobView | None:
        """The Job as a synced cache shows it, else by one request."""
        known = self.cached(ref) if self.cache.has_synced else None
        return known or await self.read(ref)
