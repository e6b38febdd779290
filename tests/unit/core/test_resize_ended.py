"""When a resize has ended: with another PodGroup in place of the one that is replaced."""

from dataclasses import replace

from muster.api.keys import Uid
from muster.core.observed import Observed, Replaced, ResizeNeeded, StoredPodGroup, Why
from muster.core.resize import Resized, resize_ended
from tests.builders import PodGroupBuilder
from tests.unit.core.seeing import GROUP_NAME, JOB, our_group, our_workload, saw

OLD = our_group().uid("old")
NEEDED = ResizeNeeded(JOB.view(), OLD.read(), 3, Why.ASKED)


def replacing(now: PodGroupBuilder | None, by_us: bool = True) -> Observed:
    seen = saw(workloads=[our_workload()], groups=[now] if now else [])
    stored = StoredPodGroup(GROUP_NAME, OLD.build())
    return replace(seen, stored=stored, members_wait=True, replaced=Replaced(NEEDED, None, by_us))


def test_another_pod_group_of_that_name_ends_it() -> None:
    seen, resized = resize_ended(replacing(our_group().uid("new")))
    assert resized == Resized(NEEDED, Uid("new"))
    assert (seen.replaced, seen.stored, seen.members_wait) == (None, None, None)


def test_a_pod_group_that_somebody_else_has_replaced_is_no_resize_of_muster_s() -> None:
    seen, resized = resize_ended(replacing(our_group().uid("new"), by_us=False))
    assert (seen.replaced, resized) == (None, None)


def test_until_then_it_goes_on() -> None:
    for seen in (replacing(OLD), replacing(OLD.being_deleted()), replacing(None), saw()):
        assert resize_ended(seen) == (seen, None)
