"""Who belongs to which PodGroup, by annotation. Rows A36-… are those of the built-in controller's own tests."""

import pytest

from muster.api.keys import ObjectKey
from muster.controllers.podgroup.members import Members
from muster.kube.client import Object
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from tests.builders import PodBuilder, a_pod

G, H = ("default", "g"), ("default", "h")


class Index:
    """The members, and the groups that they reported as changed."""

    def __init__(self, *pods: PodBuilder) -> None:
        self.notified: list[ObjectKey] = []
        self.members = Members(self.notified.append, InternalErrors(Metrics()))
        for pod in pods:
            self.members.changed(pod.view())
        self.notified.clear()

    def names(self, group: ObjectKey = G) -> list[str]:
        return sorted(pod.name for pod in self.members.of(group))


def member(name: str = "a", group: str = "g") -> PodBuilder:
    return a_pod(name).naming_group(group)


@pytest.mark.parametrize(
    ("known", "shown", "notified"),
    [
        pytest.param([], member(), [G], id="a new member"),
        pytest.param([member()], member().phase("Succeeded"), [G, G], id="A36-58 a member ends"),
        pytest.param([member()], member().bound(), [G, G], id="a member gets its node"),
        pytest.param([member()], member().version(9).labelled(a="b"), [], id="nothing that matters changed"),
        pytest.param([member().phase("Pending")], member().phase("Running"), [], id="A36-58 a pending member runs"),
        pytest.param([], member(group=""), [], id="A36-58 an empty name of a group"),
        pytest.param(
            [member()],
            member().uid("later").phase("Failed"),
            [G, G],
            id="A36-58 replaced under the same name by one that ended",
        ),
        pytest.param([], a_pod("a"), [], id="A36-56 and A36-58 a pod without a group"),
        pytest.param([member()], a_pod("a"), [G], id="a member leaves"),
        pytest.param([member()], member(group="h"), [G, H], id="A36-58 replaced under the same name, in another group"),
        pytest.param([], a_pod("a").in_group("g"), [], id="the field is not the annotation"),
    ],
)
def test_a_change_notifies_the_groups_that_it_concerns(
    known: list[PodBuilder], shown: PodBuilder, notified: list[ObjectKey]
) -> None:
    index = Index(*known)
    index.members.changed(shown.view())
    assert index.notified == notified


def test_a_deletion_notifies_the_group_once() -> None:
    index = Index(member("a"), member("b"))
    index.members.deleted(member("a").build())
    index.members.deleted(member("a").build())
    assert index.notified == [G]
    assert index.names() == ["b"]


def test_groups_of_one_name_in_two_namespaces_are_two() -> None:
    index = Index(member("a"), member("b").in_namespace("other"), member("c", "h"))
    assert index.names() == ["a"]
    assert index.names(("other", "g")) == ["b"]
    assert index.names(H) == ["c"]


def test_a_group_without_members_takes_no_memory() -> None:
    index = Index(member("a"))
    index.members.deleted(member("a").build())
    assert index.names() == []
    assert not index.members._groups
    assert not index.members._pods


def test_a_full_list_removes_the_pods_that_are_not_in_it() -> None:
    index = Index(member("a"), member("b"), member("c", "h"))
    index.members.replaced([member("b").view(), member("d").view()])
    assert index.names() == ["b", "d"]
    assert index.names(H) == []
    assert sorted(index.notified) == [G, G, H]


def test_members_are_synced_from_the_list_until_the_stream_is_lost() -> None:
    index = Index()
    assert not index.members.has_synced
    index.members.replaced([member("a").view()])
    assert index.members.has_synced
    index.members.lost()
    assert not index.members.has_synced
    assert index.names() == ["a"], "what was known is kept, for what it is worth"


@pytest.mark.parametrize(
    "broken", [{"metadata": {"name": "a", "namespace": "default", "annotations": "x"}}, {"spec": 7}]
)
def test_an_unreadable_pod_is_skipped(broken: Object, caplog: pytest.LogCaptureFixture) -> None:
    index = Index(member("a"))
    assert index.members.read(broken) is None
    index.members.deleted({"metadata": broken})
    assert "cannot be read" in caplog.text
    assert index.names() == ["a"]
