"""What the API server says about the pods of one Job."""

from dataclasses import dataclass

from muster.api.keys import JobRef
from muster.api.pod import CONTROLLER_UID_LABEL, LIVE, PodView
from muster.api.profile import ApiProfile
from muster.api.wire import mapping
from muster.core.observed import NO_PODS, Pods
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import NotFound
from muster.kube.resources import PODS

_UNBOUND = f"{LIVE},spec.nodeName="
_ONE_PAGE = {"limit": "20"}


@dataclass(slots=True)
class PodReader:
    """Reads the pods of one Job. One running or pending pod represents all: membership is sticky.

    Owns nothing. It reads pods from the API server, never from a cache, and writes nothing.
    """

    client: KubeClient
    profile: ApiProfile

    async def listed(self, ref: JobRef) -> Pods:
        """A consistent read, and cheap for a Job of any size: one running or pending pod represents all.

        The API server makes sure that it has seen the newest revision before it answers, which takes it up to 100 ms.
        Only a consistent read proves that there are no pods; `recent` is for callers that only look for one.
        """
        first = await self._first_pod(ref, _ONE_PAGE)
        if first is None or first.live:
            return self._pods(first)
        return self._pods(await self._first_pod(ref, {**_ONE_PAGE, "fieldSelector": LIVE}) or first)

    async def recent(self, ref: JobRef) -> Pods:
        """What the API server has in memory: at once, and possibly some milliseconds old."""
        return self._pods(await self._first_pod(ref, {"fieldSelector": LIVE, "resourceVersion": "0"}))

    async def named(self, ref: JobRef, name: str) -> Pods:
        """One pod of the Job, as it is now."""
        try:
            pod = PodView.parse(await self.client.get(PODS, ref.key.namespace, name))
        except NotFound:
            return NO_PODS
        return self._pods(pod) if pod.job == ref else NO_PODS

    async def wait(self, ref: JobRef, group: str) -> bool:
        """Whether a pending pod of the Job in the group has no node. Only pods without a node are listed."""
        query = {"labelSelector": f"{CONTROLLER_UID_LABEL}={ref.uid}", "fieldSelector": _UNBOUND, **_ONE_PAGE}
        async for raw in every_item(self.client, PODS, ref.key.namespace, query):
            pod = PodView.parse(raw)
            leaves = mapping(raw, "metadata").get("deletionTimestamp") is not None
            if pod.job == ref and not leaves and self.profile.group_of(pod) == group:
                return True
        return False

    def _pods(self, first: PodView | None) -> Pods:
        if first is None:
            return NO_PODS
        if not first.live:
            return Pods(exist=True, live=False)
        return Pods(exist=True, live=True, group=self.profile.group_of(first), name=first.name)

    async def _first_pod(self, ref: JobRef, selector: dict[str, str]) -> PodView | None:
        # A label is no proof of ownership: pods that only claim to be the Job's are skipped.
        params = {"labelSelector": f"{CONTROLLER_UID_LABEL}={ref.uid}", **selector}
        async for raw in every_item(self.client, PODS, ref.key.namespace, params):
            pod = PodView.parse(raw)
            if pod.job == ref:
                return pod
        return None
