"""What a run reports: the events of a write, and what its end leaves to say."""

from dataclasses import replace

import pytest

from muster.core.actions import CreatePodGroup, CreateWorkload, DeleteObject, Write
from muster.core.decision import Decision, Membership
from muster.core.observed import Observed, Replaced, ResizeNeeded, Why
from muster.core.outcome import News, Written, end_of, news_of
from muster.core.reasons import EventReason, Reason
from muster.core.resize import Resized
from tests.unit.core.seeing import JOB, members_of, our_group, our_workload, saw

NEEDED = ResizeNeeded(JOB.view(), our_group().read(), 3, Why.ASKED)
JOIN = Decision(Reason.GANG_FORMED, Membership.JOIN, NEEDED.group.metadata.name)
SEEN = replace(saw(groups=[our_group()]), form_only=False)
REPLACED = replace(SEEN, pod_groups=(), replaced=Replaced(NEEDED, None))


def at_the_end(seen: Observed, obstacle: Reason | None) -> object:
    """The Reason of the event, or of the silence."""
    resize = replace(NEEDED, obstacle=obstacle) if obstacle else None
    said = end_of(seen, replace(JOIN, resize=resize))
    if isinstance(said, News):
        assert said.warns
        assert said.message.startswith(f"PodGroup {NEEDED.group.metadata.name} needs 4 pods, but the Job asks for")
        return said.message.rpartition("since ")[2].partition(":")[0]
    return said


def test_a_run_that_only_forms_reports_its_decision() -> None:
    assert end_of(saw(), JOIN) == JOIN


END = {
    "nothing is left": (SEEN, None, None),
    "Muster may not replace it": (SEEN, Reason.HAS_RESOURCE_CLAIMS, Reason.HAS_RESOURCE_CLAIMS.sentence),
    "another client still holds it": (SEEN, Reason.POD_GROUP_HELD, Reason.POD_GROUP_HELD),
    "its Workload goes": (SEEN, Reason.WORKLOAD_BEING_DELETED, Reason.WORKLOAD_BEING_DELETED),
    "the old one is gone, and no new one came": (REPLACED, None, Reason.NEW_ONE_REFUSED.sentence),
}


@pytest.mark.parametrize(("seen", "obstacle", "said"), END.values(), ids=END)
def test_each_resize_that_is_not_done_has_an_event_or_a_reason(
    seen: Observed, obstacle: Reason | None, said: object
) -> None:
    assert at_the_end(seen, obstacle) == said


WORKLOAD, GROUP = our_workload().read(), our_group().read()
WRITES: dict[str, tuple[Write, Written, list[EventReason]]] = {
    "a Workload": (CreateWorkload(WORKLOAD), Written(SEEN, created="w"), [EventReason.WORKLOAD_CREATED]),
    "a PodGroup": (CreatePodGroup(GROUP), Written(SEEN, created="g"), [EventReason.POD_GROUP_CREATED]),
    "a PodGroup that another replica made": (CreatePodGroup(GROUP), Written(SEEN), []),
    "fields are lost": (
        CreateWorkload(WORKLOAD),
        Written(SEEN, created="w", dropped="lost"),
        [EventReason.POLICY_DROPPED, EventReason.WORKLOAD_CREATED],
    ),
    "a name is taken": (CreateWorkload(WORKLOAD), Written(SEEN, taken="w"), [EventReason.NAME_TAKEN]),
    "a release": (DeleteObject(GROUP), Written(SEEN, released="PodGroup g"), [EventReason.PAIR_RELEASED]),
    "a resize has ended": (
        CreatePodGroup(GROUP),
        Written(SEEN, created="g", resized=Resized(NEEDED, GROUP.metadata.uid)),
        [EventReason.POD_GROUP_CREATED, EventReason.GANG_RESIZED],
    ),
    "the Job is gone": (CreateWorkload(WORKLOAD), Written(Observed(None), created="w"), []),
}


@pytest.mark.parametrize(("write", "written", "reasons"), WRITES.values(), ids=WRITES)
def test_a_write_is_reported(write: Write, written: Written, reasons: list[EventReason]) -> None:
    assert [news.reason for news in news_of(write, written)] == reasons


def test_a_rejection_lasts_unless_pods_wait_for_the_group() -> None:
    assert saw(rejected="no").lasting_rejection == "no"
    assert saw(rejected="no", pods=members_of("g")).lasting_rejection == ""
