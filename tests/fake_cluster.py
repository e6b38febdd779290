"""A model of the API server and its controllers, in memory, limited to what Muster uses.

It has UIDs, resource versions, AlreadyExists, selectors, paging, preconditions, the admission of PodGroups, the
PodGroup protection, and a garbage collector that runs on demand. What it gets wrong is a bug of the model: the
end-to-end tests run the same scenarios on a real API server.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muster.api.pod import POD_GROUP_ANNOTATION
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.core.naming import is_dns_label
from muster.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound, Rejected
from muster.kube.resources import Resource
from tests.builders import LONG_AGO, Builder, Object, copied

StoredKey = tuple[str, str, str]
"""Plural, namespace, name."""

PLURALS = {
    "Job": "jobs",
    "Pod": "pods",
    "Workload": "workloads",
    "PodGroup": "podgroups",
    "Event": "events",
    "PriorityClass": "priorityclasses",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
USER, MUSTER, JOB_CONTROLLER, COLLECTOR = "user", "muster", "job-controller", "garbage-collector"


@dataclass(frozen=True, slots=True)
class Change:
    """One revision of the cluster: also what a watch stream shows."""

    revision: int
    actor: str
    verb: str
    """ADDED, MODIFIED or DELETED."""
    plural: str
    object: Object

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


class FakeCluster:
    def __init__(self, read_lag: int = 0) -> None:
        self.read_lag = read_lag
        """How many changes the API server's own cache is behind, for those who ask it (resourceVersion=0)."""
        self.objects: dict[StoredKey, Object] = {}
        self.history: list[Change] = []
        self.after_write: list[Callable[[Change], None]] = []
        self._uids = 0

    # What people and controllers do.

    def apply(self, thing: Builder | Object, actor: str = USER) -> Object:
        body = thing.build() if isinstance(thing, Builder) else thing
        metadata = body["metadata"]
        return self.create(PLURALS[body["kind"]], metadata.get("namespace", ""), body, actor)

    def find(self, plural: str, namespace: str | None = None) -> list[Object]:
        """Sorted by name, as the API server lists them."""
        places = sorted(place for place in self.objects if place[0] == plural)
        return [self.objects[place] for place in places if namespace is None or place[1] == namespace]

    def remembered(self, plural: str, namespace: str | None) -> list[Object]:
        """What the API server's cache shows: some changes ago."""
        past: dict[tuple[str, str], Object] = {}
        for change in self.history[: max(0, self.revision - self.read_lag)]:
            place = (change.object["metadata"]["namespace"], change.name)
            if change.plural == plural and namespace in {None, place[0]}:
                past.pop(place, None)
                if change.verb != "DELETED":
                    past[place] = change.object
        return [past[place] for place in sorted(past)]

    def get(self, plural: str, namespace: str, name: str) -> Object:
        found = self.objects.get((plural, namespace, name))
        if found is None:
            raise NotFound(f'{plural} "{name}" not found')
        return copied(found)

    def create(self, plural: str, namespace: str, body: Object, actor: str) -> Object:
        made = copied(body)
        metadata = made["metadata"]
        place = (plural, namespace, metadata["name"])
        if place in self.objects:
            raise AlreadyExists(f'{plural} "{metadata["name"]}" already exists')
        self._admit(plural, namespace, made)
        metadata.update(namespace=namespace, uid=metadata.get("uid") or self._new_uid())
        self._store("ADDED", place, made, actor)
        return copied(made)

    def update(self, plural: str, namespace: str, name: str, change: Callable[[Object], None], actor: str) -> None:
        changed = self.get(plural, namespace, name)
        change(changed)
        self._store("MODIFIED", (plural, namespace, name), changed, actor)

    def remove(self, plural: str, namespace: str, name: str, actor: str, *, force: bool = False) -> None:
        """A protected PodGroup is only marked; `force` drops its finalizer, as an impatient user does."""
        gone = self.get(plural, namespace, name)
        held = bool(gone["metadata"].get("finalizers")) and self._active_members(namespace, name)
        if plural == "podgroups" and not force and held:
            if not gone["metadata"].get("deletionTimestamp"):
                gone["metadata"]["deletionTimestamp"] = LONG_AGO
                self._store("MODIFIED", (plural, namespace, name), gone, actor)
            return
        del self.objects[plural, namespace, name]
        self._record("DELETED", plural, gone, actor)

    def collect_garbage(self) -> None:
        """One pass: what has only owners that are gone, and PodGroups that nothing protects any more."""
        alive = {thing["metadata"]["uid"] for thing in self.objects.values()}
        for place, thing in list(self.objects.items()):
            metadata = thing["metadata"]
            owners = metadata.get("ownerReferences") or []
            orphaned = owners and not any(owner["uid"] in alive for owner in owners)
            if orphaned or (place[0] == "podgroups" and metadata.get("deletionTimestamp")):
                self.remove(*place, actor=COLLECTOR)

    @property
    def revision(self) -> int:
        return len(self.history)

    def _new_uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    def _store(self, verb: str, place: StoredKey, thing: Object, actor: str) -> None:
        thing["metadata"]["resourceVersion"] = str(self.revision + 1)
        self.objects[place] = thing
        self._record(verb, place[0], thing, actor)

    def _record(self, verb: str, plural: str, thing: Object, actor: str) -> None:
        change = Change(self.revision + 1, actor, verb, plural, copied(thing))
        if verb == "DELETED":
            change.object["metadata"]["resourceVersion"] = str(change.revision)
        self.history.append(change)
        for hook in self.after_write:
            hook(change)

    def _admit(self, plural: str, namespace: str, made: Object) -> None:
        if plural == "pods":
            made.setdefault("status", {}).setdefault("phase", "Pending")
        if plural == "workloads":
            for template in made["spec"].get("podGroupTemplates", []):
                if not is_dns_label(template["name"]):
                    raise Rejected(f"spec.podGroupTemplates[0].name: Invalid value: {template['name']!r}")
        if plural == "podgroups":
            self._admit_pod_group(namespace, made)

    def _admit_pod_group(self, namespace: str, made: Object) -> None:
        """The plugins PodGroupWorkloadExists and PodGroupProtection."""
        finalizers = made["metadata"].setdefault("finalizers", [])
        finalizers += [PROTECTION] if PROTECTION not in finalizers else []
        ref = (made["spec"].get("podGroupTemplateRef") or {}).get("workload")
        if ref is None:
            return
        workload = self.objects.get(("workloads", namespace, ref["workloadName"]))
        if workload is None:
            raise Forbidden(f'PodGroup rejected: Workload "{ref["workloadName"]}" not found')
        if workload["metadata"].get("deletionTimestamp"):
            raise Forbidden(f'PodGroup rejected: Workload "{ref["workloadName"]}" is being deleted')
        if ref["podGroupTemplateName"] not in {t["name"] for t in workload["spec"]["podGroupTemplates"]}:
            raise Forbidden(f'PodGroup rejected: PodGroupTemplate "{ref["podGroupTemplateName"]}" not found')

    def _active_members(self, namespace: str, group: str) -> bool:
        return any(is_live(pod) and group_of(pod) == group for pod in self.find("pods", namespace))


@dataclass(slots=True)
class FakeClient:
    """Muster's seam, on the model. Each call lets others run first, as a network does."""

    cluster: FakeCluster
    actor: str = MUSTER

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        await asyncio.sleep(0)
        return self.cluster.get(resource.plural, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        await asyncio.sleep(0)
        query = params or {}
        look = self.cluster.remembered if query.get("resourceVersion") == "0" else self.cluster.find
        found = [thing for thing in look(resource.plural, namespace or None) if _selected(thing, query)]
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "500"))
        metadata = {"resourceVersion": str(self.cluster.revision)}
        if len(found) > start + limit:
            metadata["continue"] = str(start + limit)
        return {"metadata": metadata, "items": [copied(thing) for thing in found[start : start + limit]]}

    async def try_watch(self, resource: Resource) -> None:
        await self.list(resource, params={"watch": "true"})

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        await asyncio.sleep(0)
        return self.cluster.create(resource.plural, namespace, body, self.actor)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        await asyncio.sleep(0)
        current = self.cluster.get(resource.plural, namespace, name)
        version = body["metadata"].get("resourceVersion")
        if version not in {None, current["metadata"]["resourceVersion"]}:
            raise Conflict(f"{resource.plural} {name}: the object has been modified")
        body = {**body, "metadata": {**body["metadata"], "uid": current["metadata"]["uid"]}}
        self.cluster._store("MODIFIED", (resource.plural, namespace, name), copied(body), self.actor)
        return self.cluster.get(resource.plural, namespace, name)

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        """A merge patch. An object that is being deleted goes with its last finalizer."""
        await asyncio.sleep(0)
        current = self.cluster.get(resource.plural, namespace, name)
        if body.get("metadata", {}).get("resourceVersion") not in {None, current["metadata"]["resourceVersion"]}:
            raise Conflict(f"{resource.plural} {name}: the object has been modified")
        changed = _merged(current, {part: body.get(part)} if part else {**body, "status": current.get("status")})
        self.cluster._store("MODIFIED", (resource.plural, namespace, name), changed, self.actor)
        if changed["metadata"].get("deletionTimestamp") and not changed["metadata"].get("finalizers"):
            self.cluster.remove(resource.plural, namespace, name, self.actor, force=True)
        return changed

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
        await asyncio.sleep(0)
        current = self.cluster.get(resource.plural, namespace, name)["metadata"]
        if any(current[field] != wanted for field, wanted in preconditions.items()):
            raise Conflict(f"{resource.plural} {name}: the precondition failed")
        self.cluster.remove(resource.plural, namespace, name, self.actor)


def _merged(thing: Object, change: Object) -> Object:
    """RFC 7386."""
    result = {**thing}
    for key, value in change.items():
        result.pop(key, None)
        if isinstance(value, dict):
            known = thing.get(key)
            result[key] = _merged(known if isinstance(known, dict) else {}, value)
        elif value is not None:
            result[key] = value
    return copied(result)


def _selected(thing: Object, query: Mapping[str, str]) -> bool:
    labels = thing["metadata"].get("labels") or {}
    by_label = _matches(query.get("labelSelector", ""), lambda key: labels.get(key, ""))
    return by_label and _matches(query.get("fieldSelector", ""), lambda path: _field(thing, path))


def _matches(selector: str, value_of: Callable[[str], str]) -> bool:
    for term in filter(None, selector.split(",")):
        key, equals, wanted = term.partition("=")
        if not equals:
            if not value_of(key):
                return False
            continue
        differs = key.endswith("!")
        if (value_of(key.removesuffix("!")) == wanted) is differs:
            return False
    return True


def _field(thing: Object, path: str) -> str:
    value: object = thing
    for part in path.split("."):
        value = value.get(part, "") if isinstance(value, dict) else ""
    return str(value)


def is_live(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}


def group_of(pod: Object) -> str:
    """By the field, or by the annotation: no test uses both."""
    by_field = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
    return str(by_field or (pod["metadata"].get("annotations") or {}).get(POD_GROUP_ANNOTATION, ""))


def controller_uid(thing: Object) -> str:
    owners = thing["metadata"].get("ownerReferences") or []
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def patched(thing: Object, patch: list[Object]) -> Object:
    """With a JSON patch applied to it, as far as Muster uses them: what is added, and where its parent must be."""
    result = copied(thing)
    for step in patch:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"][1:].split("/")]
        target = result
        for parent in parents:
            target = target[parent]
        assert step["op"] == "add"
        target[last] = step["value"]
    return result
