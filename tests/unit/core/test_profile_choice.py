"""Which API profile a replica uses: a table of what it knows, and what follows."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.profile import ALLOWED, CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile, profile_named
from muster.core.profile_choice import (
    AGREEING_PROBES,
    Agree,
    Change,
    Choice,
    Keep,
    LookForGangs,
    Probe,
    ProbeAgain,
    Situation,
    choose,
)

OWN, FOREIGN = CRD_IN_OWN_GROUP, CRD_IN_KUBERNETES_GROUP
NOTHING, AWAY = Probe(problem="nothing is served"), Probe(problem="away", answered=False)
BOTH = Probe((NATIVE, OWN))


def seeing(*probes: Probe | ApiProfile, **known: object) -> Situation:
    looked = tuple(each if isinstance(each, Probe) else Probe((each,)) for each in probes)
    return Situation(looked, **known)  # type: ignore[arg-type]


def at_work(using: ApiProfile, *probes: Probe | ApiProfile, **known: object) -> Situation:
    return seeing(*probes, **{"using": using, "agreed": using, "leads": True, **known})


PINNED = {"allowed": ALLOWED["scheduling.muster.dev"]}

TABLE: dict[str, tuple[Situation, Choice]] = {
    "the first replica proposes what its server has": (seeing(NATIVE), Agree(NATIVE, None)),
    "it prefers the built-in API": (seeing(BOTH), Agree(NATIVE, None)),
    "it begins once that is agreed on": (seeing(NATIVE, agreed=NATIVE), Change(NATIVE)),
    "a server without any API is a problem at once for who has not begun": (seeing(NOTHING), Keep("nothing is served")),
    "a server that does not answer proves nothing": (seeing(AWAY), Keep("away")),
    "the next replica uses what is agreed on, also if its server has a better one": (
        seeing(BOTH, agreed=OWN),
        Change(OWN),
    ),
    "all is well": (at_work(NATIVE, NATIVE), Keep()),
    "a lost agreement is written again, by any replica": (
        at_work(NATIVE, NATIVE, agreed=None, leads=False),
        Agree(NATIVE, None),
    ),
    "a follower follows": (at_work(OWN, BOTH, agreed=NATIVE, leads=False), Change(NATIVE)),
    "one contrary probe changes nothing": (at_work(NATIVE, NATIVE, NATIVE, OWN), ProbeAgain()),
    "nor do two": (at_work(NATIVE, NATIVE, OWN, OWN), ProbeAgain()),
    "nor do probes that do not agree with each other": (at_work(NATIVE, OWN, NATIVE, OWN), ProbeAgain()),
    "nor do probes with a gap": (at_work(NATIVE, OWN, AWAY, OWN), ProbeAgain()),
    "nor does one that finds nothing": (at_work(NATIVE, NATIVE, NATIVE, NOTHING), ProbeAgain()),
    "an API that is gone is a problem after some probes": (
        at_work(NATIVE, NOTHING, NOTHING, NOTHING),
        Keep("nothing is served"),
    ),
    "before a leader leaves a profile it looks for its gangs": (
        at_work(NATIVE, OWN, OWN, OWN),
        LookForGangs(NATIVE, served=False),
    ),
    "also where the old profile is still served": (at_work(OWN, BOTH, BOTH, BOTH), LookForGangs(OWN, served=True)),
    "without gangs it changes": (at_work(NATIVE, OWN, OWN, OWN, gangs_exist=False), Agree(OWN, NATIVE)),
    "without gangs it changes to a better one": (at_work(OWN, BOTH, BOTH, BOTH, gangs_exist=False), Agree(NATIVE, OWN)),
    "who does not lead leaves a better one alone": (at_work(OWN, BOTH, BOTH, BOTH, leads=False), Keep()),
    "a leader that has only begun may change what it cannot use": (
        seeing(OWN, OWN, OWN, agreed=NATIVE, leads=True, gangs_exist=False),
        Agree(OWN, NATIVE),
    ),
    "the same group can change hands": (
        at_work(NATIVE, FOREIGN, FOREIGN, FOREIGN, gangs_exist=False),
        Agree(FOREIGN, NATIVE),
    ),
    "a pinned replica uses its group, whatever is agreed on": (seeing(OWN, agreed=NATIVE, **PINNED), Change(OWN)),
    "and continues to use it": (at_work(OWN, OWN, agreed=NATIVE, leads=False, **PINNED), Keep()),
    "once it leads all others follow": (at_work(OWN, OWN, agreed=NATIVE, **PINNED), Agree(OWN, NATIVE)),
    "a pinned replica without its group waits": (seeing(NOTHING, agreed=NATIVE, **PINNED), Keep("nothing is served")),
}


@pytest.mark.parametrize(("seen", "choice"), TABLE.values(), ids=TABLE.keys())
def test_a_replica_chooses_a_profile_from_what_it_sees(seen: Situation, choice: Choice) -> None:
    assert choose(seen) == choice


SENTENCES: dict[str, tuple[Situation, list[str]]] = {
    "gangs live, and this server does not serve their API": (
        at_work(NATIVE, OWN, OWN, OWN, gangs_exist=True),
        [
            "Muster's replicas use scheduling.k8s.io/v1alpha2 (built in)",
            "it serves scheduling.muster.dev/v1alpha2 (CRDs)",
            "serve that API again",
            "wait until their Jobs end, or delete the Jobs",
            "or set `apiGroup: scheduling.muster.dev`",
        ],
    ),
    "the same for who has not begun": (
        seeing(OWN, OWN, OWN, agreed=NATIVE, gangs_exist=True),
        ["Muster's replicas use scheduling.k8s.io/v1alpha2 (built in)", "serve that API again"],
    ),
    "no gang lives, but this replica does not decide": (
        at_work(NATIVE, OWN, OWN, OWN, leads=False, gangs_exist=False),
        ["it serves scheduling.muster.dev/v1alpha2 (CRDs)", "the replica that leads decides"],
    ),
}


@pytest.mark.parametrize(("seen", "parts"), SENTENCES.values(), ids=SENTENCES.keys())
def test_a_replica_that_cannot_use_the_profile_is_not_ready_and_names_the_remedy(
    seen: Situation, parts: list[str]
) -> None:
    choice = choose(seen)
    assert isinstance(choice, Keep)
    assert not [part for part in parts if part not in choice.problem]


def test_within_one_api_group_the_problem_does_not_suggest_to_pin_it() -> None:
    choice = choose(at_work(NATIVE, FOREIGN, FOREIGN, FOREIGN, gangs_exist=True))
    assert isinstance(choice, Keep)
    assert choice.problem
    assert "apiGroup" not in choice.problem


def test_gangs_keep_a_profile_that_is_still_served_and_the_replica_ready() -> None:
    choice = choose(at_work(OWN, BOTH, BOTH, BOTH, gangs_exist=True))
    assert isinstance(choice, Keep)
    assert not choice.problem
    assert "continues to use scheduling.muster.dev/v1alpha2 (CRDs), because gangs of that API exist" in choice.note


DIALECTS = (NATIVE, FOREIGN, OWN)
PROBES = st.sampled_from([NOTHING, AWAY, BOTH, *(Probe((each,)) for each in DIALECTS)])
SITUATIONS = st.builds(
    Situation,
    st.lists(PROBES, min_size=1, max_size=AGREEING_PROBES).map(tuple),
    st.sampled_from([None, *DIALECTS]),
    st.sampled_from([None, *DIALECTS]),
    st.booleans(),
    st.sampled_from([None, True, False]),
    st.sampled_from(list(ALLOWED.values())),
)


@given(SITUATIONS)
def test_an_agreement_is_changed_only_by_a_leader_and_never_while_gangs_live(seen: Situation) -> None:
    choice = choose(seen)
    if isinstance(choice, Agree) and choice.instead_of is not None:
        assert seen.leads
        assert seen.gangs_exist is False or seen.agreed not in seen.allowed, "unless an operator pins the group"
    if isinstance(choice, Change):
        assert choice.to in seen.probes[-1].served
        assert choice.to == seen.agreed or seen.agreed not in seen.allowed


@given(SITUATIONS)
def test_a_replica_looks_for_gangs_once(seen: Situation) -> None:
    if isinstance(choose(seen), LookForGangs):
        assert not isinstance(choose(replace(seen, gangs_exist=True)), LookForGangs)
        assert not isinstance(choose(replace(seen, gangs_exist=False)), LookForGangs)


def test_replicas_with_different_servers_settle_on_one_profile() -> None:
    """With any leader and any two servers, the replicas do not switch back and forth."""
    servers = [Probe((NATIVE,)), Probe((OWN,)), BOTH]
    for first, second in product(servers, servers):
        agreed: ApiProfile | None = None
        using: list[ApiProfile | None] = [None, None]
        history = []
        for _ in range(12):
            for number, probe in enumerate((first, second)):
                seen = Situation((probe,) * AGREEING_PROBES, using[number], agreed, number == 0, gangs_exist=False)
                match choose(_only_what_it_can_see(seen)):
                    case Agree(on=on):
                        agreed = on
                    case Change(to=to):
                        using[number] = to
            history.append((agreed, *using))
        assert history[-1] == history[-2] == history[-3], f"{first} beside {second}"
        assert len({each for each in using if each}) == 1


def _only_what_it_can_see(seen: Situation) -> Situation:
    """A server that has both serves what is agreed on as its second."""
    expected = seen.agreed or seen.using
    served = tuple(d for d in seen.probes[-1].served if d in (seen.probes[-1].served[0], expected))
    return replace(seen, probes=(Probe(served),) * AGREEING_PROBES)


@pytest.mark.parametrize("profile", DIALECTS)
def test_a_profile_is_found_by_its_name(profile: ApiProfile) -> None:
    assert profile_named(profile.name) == profile


def test_an_unknown_name_gives_no_profile() -> None:
    assert profile_named("") is None
    assert profile_named("scheduling.k8s.io/v9") is None
