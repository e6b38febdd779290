"""Who belongs to which PodGroup, by annotation. Rows A36-… are those of the built-in controller's own tests."""

import pytest

from muster.api.keys import ObjectKey
from muster.controllers.podgroup.members import Members
from muster.kube.client import Object
from tests.builders import PodBuilder, a_pod

G, H = ("default", "g"), ("default", "h")


class Index:
    """The members, and whom they told of."""

    def __init__(self, *pods: PodBuilder) -> None:
        self.told: list[ObjectKey] = []
        self.members = Members(self.told.append)
        for pod in pods:
            self.members.changed(pod.view())
        self.told.clear()

    def names(self, group: ObjectKey = G) -> list[str]:
        return sorted(pod.name for pod in self.members.of(group))


def member(name: str = "a", group: str = "g") -> PodBuilder:
    return a_pod(name).naming_group(group)


@pytest.mark.parametrize(
    ("known", "shown", "told"),
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
def test_a_change_is_told_to_the_groups_that_it_concerns(
    known: list[PodBuilder], shown: PodBuilder, told: list[ObjectKey]
) -> None:
    index = Index(*known)
    index.members.changed(shown.view())
    assert index.told == told


def test_a_deletion_is_told_and_only_once() -> None:
    index = Index(member("a"), member("b"))
    index.members.deleted(member("a").build())
    index.members.deleted(member("a").build())
    assert index.told == [G]
    assert index.names() == ["b"]


def test_groups_of_one_name_in_two_namespaces_are_two() -> None:
    index = Index(member("a"), member("b").in_namespace("other"), member("c", "h"))
    assert index.names() == ["a"]
    assert index.names(("other", "g")) == ["b"]
    assert index.names(H) == ["c"]


def test_what_has_no_members_takes_no_room() -> None:
    index = Index(member("a"))
    index.members.deleted(member("a").build())
    assert index.names() == []
    assert not index.members._groups
    assert not index.members._pods


def test_a_full_list_takes_away_what_is_not_in_it() -> None:
    index = Index(member("a"), member("b"), member("c", "h"))
    index.members.replaced([member("b").view(), member("d").view()])
    assert index.names() == ["b", "d"]
    assert index.names(H) == []
    assert sorted(index.told) == [G, G, H]


def test_complete_between_the_list_and_the_loss_of_the_stream() -> None:
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
def test_a_pod_that_cannot_be_read_is_passed_over(broken: Object, caplog: pytest.LogCaptureFixture) -> None:
    index = Index(member("a"))
    assert index.members.read(broken) is None
    index.members.deleted({"metadata": broken})
    assert "cannot be read" in caplog.text
    assert index.names() == ["a"]
