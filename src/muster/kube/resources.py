"""API groups, versions and paths of the kinds that Muster uses."""

from dataclasses import dataclass
from urllib.parse import quote

from muster.api.profile import KUBERNETES_GROUP, ApiProfile


@dataclass(frozen=True, slots=True)
class Resource:
    group: str
    version: str
    plural: str

    def path(self, namespace: str = "", name: str = "") -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        item = f"/{quote(name, safe='')}" if name else ""
        return f"{root}{within}/{self.plural}{item}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def can_be_a_name(name: str) -> bool:
    """Whether a string that a user wrote can be the name of an object.

    The API server decodes a path before it parses it. A name with a slash would address something else, even when it is
    quoted, and an empty name would address the whole collection.
    """
    return name not in {"", ".", ".."} and not {"/", "%"} & set(name)


JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
NAMESPACES = Resource("", "v1", "namespaces")
PRIORITY_CLASSES = Resource(KUBERNETES_GROUP, "v1", "priorityclasses")
EVENTS = Resource("", "v1", "events")
SECRETS = Resource("", "v1", "secrets")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
MUTATING_WEBHOOKS = Resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
VALIDATING_WEBHOOKS = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")


def workloads(profile: ApiProfile) -> Resource:
    return Resource(profile.group, profile.version, "workloads")


def pod_groups(profile: ApiProfile) -> Resource:
    return Resource(profile.group, profile.version, "podgroups")
