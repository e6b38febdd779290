"""The servers that the table runs on: the built-in API, and our CRDs in either group."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.clusters.api import Api, ApiError
from tests.clusters.namespaces import own_namespace
from tests.clusters.site import Site
from tests.conformance.validation.rows import PRIORITIES, TEMPLATE, WORKLOAD, Kind, Object, template, workload


@dataclass
class Server:
    site: Site
    namespace: str = ""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def api(self) -> Api:
        return self.site.api

    @property
    def native(self) -> bool:
        return self.site.profile.native

    @property
    def reviewed(self) -> bool:
        """Muster runs, and reviews PodGroups before the schema does. It names what is wrong in its own words."""
        return self.site.external and not self.native

    @property
    def api_version(self) -> str:
        return f"{self.site.profile.group}/v1alpha2"

    def fresh_name(self) -> str:
        return f"row-{next(self._numbers)}"

    def path(self, kind: Kind, name: str = "", namespace: str | None = None) -> str:
        within = self.namespace if namespace is None else namespace
        place = f"/namespaces/{within}" if within else ""
        return f"/apis/{self.api_version}{place}/{kind}{'/' + name if name else ''}"

    def create(self, kind: Kind, spec: Object, namespace: str | None = None, **changes: Object | str) -> Object:
        body: Object = {
            "apiVersion": self.api_version,
            "kind": {"workloads": "Workload", "podgroups": "PodGroup"}[kind],
            "metadata": {"name": self.fresh_name()},
            "spec": spec,
            **changes,
        }
        return self.api._call("POST", self.path(kind, namespace=namespace), body=body)

    def get(self, kind: Kind, name: str) -> Object:
        return self.api._call("GET", self.path(kind, name))

    def update(self, kind: Kind, made: Object, part: str = "") -> Object:
        """Another writer of the object (a controller that makes claims, say) only costs another attempt."""
        name = made["metadata"]["name"]
        while True:
            try:
                return self.api._call("PUT", self.path(kind, name) + part, body=made)
            except ApiError as error:
                if error.status != 409:
                    raise
                made["metadata"]["resourceVersion"] = self.get(kind, name)["metadata"]["resourceVersion"]


@contextmanager
def prepared(site: Site) -> Iterator[Server]:
    """With a namespace, the Workload that the rows refer to, and the PriorityClasses where there can be any."""
    server = Server(site)
    if site.profile.has_priority_classes:
        for priority, value in PRIORITIES.items():
            if not site.api.find("priorityclasses", priority):
                site.api.create("priorityclasses", {"metadata": {"name": priority}, "value": value})
    for server.namespace in own_namespace(site.api):
        server.create("workloads", workload(template(TEMPLATE)), metadata={"name": WORKLOAD})
        yield server
