"""What must hold at every revision, checked over everything that a watch has shown. The letters are those of the
reliability page."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Self

from tests.clusters.api import Api, Object, Recording
from tests.clusters.objects import group_of

KINDS = ("jobs", "workloads", "podgroups", "pods")
Things = dict[str, dict[str, Object]]
"""By kind and UID."""


class Invariants:
    """Records one namespace whose Jobs all qualify; `broken` plays it back, in the order of etcd's revisions."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.recordings = {kind: Recording(api, kind, namespace) for kind in KINDS}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for recording in self.recordings.values():
            self._stack.enter_context(recording)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def has_seen_everything(self) -> bool:
        """The streams have come as far as what is there now."""
        for kind, recording in self.recordings.items():
            seen = {event["object"]["metadata"]["uid"] for event in list(recording.events)}
            missing = [t["metadata"]["name"] for t in self._api.list(kind, self._namespace) if uid(t) not in seen]
            assert not missing, f"the watch has not shown {kind} {missing[:3]}"
        return True

    def broken(self) -> list[str]:
        present: Things = defaultdict(dict)
        born: dict[str, int] = {}
        problems: list[str] = []
        for kind, event in self._in_order():
            thing = event["object"]
            if event["type"] == "DELETED":
                present[kind].pop(uid(thing), None)
                continue
            present[kind][uid(thing)] = thing
            if event["type"] == "ADDED":
                born[uid(thing)] = revision(thing)
                problems += self._at_birth(kind, thing, present, born)
        return problems

    def pods_made(self) -> int:
        return len(self.recordings["pods"].created())

    def _in_order(self) -> list[tuple[str, Object]]:
        events = [(kind, event) for kind, recording in self.recordings.items() for event in list(recording.events)]
        return sorted(events, key=lambda event: revision(event[1]["object"]))

    def _at_birth(self, kind: str, thing: Object, present: Things, born: dict[str, int]) -> Iterator[str]:
        """What was on its way when its Job was deleted may find that the collector came first, and goes after it."""
        name, owner = thing["metadata"]["name"], controller(thing)
        at = f"revision {revision(thing)}: {kind} {name}"
        if kind in {"workloads", "podgroups"}:
            siblings = [t for t in present[kind].values() if controller(t) == owner]
            if len(siblings) > 1:
                yield f"I1 {at}: {len(siblings)} for one Job"
            if owner not in born:
                yield f"I2 {at}: belongs to no Job that ever was"
        described = any(controller(w) == owner for w in present["workloads"].values())
        if kind == "podgroups" and owner in present["jobs"] and not described:
            yield f"I4 {at}: came before its Workload"
        if kind == "pods":
            yield from self._of_pod(at, thing, owner, present)

    @staticmethod
    def _of_pod(at: str, pod: Object, owner: str, present: Things) -> Iterator[str]:
        groups = present["podgroups"].values()
        if not group_of(pod):
            yield f"I4 {at}: a pod of a gang without its group"
        elif owner in present["jobs"] and group_of(pod) not in {t["metadata"]["name"] for t in groups}:
            yield f"I4 {at}: came before its PodGroup"
        living = [
            p for p in present["pods"].values() if controller(p) == owner and p["status"].get("phase") not in ENDED
        ]
        if len({group_of(p) for p in living}) > 1:
            yield f"sticky {at}: running or pending pods name {sorted({group_of(p) or '' for p in living})}"


ENDED = {"Succeeded", "Failed"}


def uid(thing: Object) -> str:
    return str(thing["metadata"]["uid"])


def revision(thing: Object) -> int:
    return int(thing["metadata"]["resourceVersion"])


def controller(thing: Object) -> str:
    owners = thing["metadata"].get("ownerReferences") or []
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")
