"""Where the pod webhook sees only selected pods, the controller maintains what the webhook has begun, and no more."""

from dataclasses import replace

import pytest

from muster.core.actions import CreatePodGroup, CreateWorkload
from muster.core.decide import decide
from muster.core.observed import GONE, Observed
from muster.core.reasons import Reason
from tests.builders import a_job, a_pod_group, a_workload
from tests.unit.core.seeing import JOB, PLAIN_ALIVE, RULES, our_group, our_workload, saw

CONTROLLER = replace(RULES, adopt_existing_only=True)
MINE = a_workload("mine").describing(JOB)

LEFT: dict[str, Observed] = {
    "nothing was made": saw(),
    "a user made the Workload": saw(workloads=[MINE]),
    "a user made both": saw(workloads=[MINE], groups=[a_pod_group("g").made_from(MINE)]),
    "its pods are plain": saw(pods=PLAIN_ALIVE),
    "it is no gang": saw(a_job()),
}


@pytest.mark.parametrize("seen", LEFT.values(), ids=LEFT)
def test_the_controller_leaves_to_the_webhook_what_it_has_not_begun(seen: Observed) -> None:
    decision = decide(seen, CONTROLLER)
    assert (decision.reason, decision.reason.event) == (Reason.LEFT_TO_WEBHOOK, None)
    assert decision.settled
    assert decision.action is None


@pytest.mark.parametrize("seen", LEFT.values(), ids=LEFT)
def test_the_webhook_itself_leaves_nothing(seen: Observed) -> None:
    assert decide(seen, RULES).reason is not Reason.LEFT_TO_WEBHOOK


BEGUN: dict[str, Observed] = {
    "the PodGroup is missing": saw(workloads=[our_workload()]),
    "the Workload is missing": saw(groups=[our_group()]),
    "both exist": saw(workloads=[our_workload()], groups=[our_group()]),
    "the Job is gone": GONE,
}


@pytest.mark.parametrize("seen", BEGUN.values(), ids=BEGUN)
def test_what_the_webhook_has_begun_is_decided_as_everywhere(seen: Observed) -> None:
    assert decide(seen, CONTROLLER) == decide(seen, RULES)


def test_what_the_webhook_has_begun_is_completed() -> None:
    assert isinstance(decide(BEGUN["the PodGroup is missing"], CONTROLLER).write, CreatePodGroup)
    assert isinstance(decide(BEGUN["the Workload is missing"], CONTROLLER).write, CreateWorkload)
