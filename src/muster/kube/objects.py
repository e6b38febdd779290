"""Changes of single objects that several parts of Muster make."""

from collections.abc import Iterable

from muster.api.keys import ObjectKey
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.kube.client import KubeClient
from muster.kube.resources import pod_groups


async def remove_protection(
    client: KubeClient, profile: ApiProfile, key: ObjectKey, version: str, finalizers: Iterable[str]
) -> None:
    """Remove the protection finalizer from a PodGroup, and keep those of others.

    Only from the resourceVersion that was read, which had these finalizers: a later one is a `Conflict`.
    """
    kept = [finalizer for finalizer in finalizers if finalizer != PROTECTION]
    await client.patch(pod_groups(profile), *key, {"metadata": {"finalizers": kept, "resourceVersion": version}})
