"""Who leads: a table of what is seen and done, and replicas whose clocks and calls go wrong."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.api.lease import UNINSTALL_HOLDER, Lease
from muster.core.election import (
    Create,
    Move,
    Renew,
    Standing,
    Take,
    Terms,
    Wait,
    Withdraw,
    look,
    lost,
    won,
)

ME = Terms("me", duration_seconds=15, renew_seconds=5)


def lease(holder: str, version: str = "1", seconds: float = 15) -> Lease:
    return Lease(version, holder, seconds)


def seen(holder: str, since: float, seconds: float = 15) -> Standing:
    return Standing(seen=lease(holder, seconds=seconds), seen_since=since)


NEW = Standing()
NOW = 1000.0


@pytest.mark.parametrize(
    ("standing", "found", "move"),
    [
        pytest.param(NEW, None, Create(), id="there is none"),
        pytest.param(NEW, lease(""), Take(), id="it was released"),
        pytest.param(NEW, lease("me"), Renew(), id="it is ours, from a life before this one"),
        pytest.param(NEW, lease("other"), Wait(15), id="another's, first seen now"),
        pytest.param(seen("other", NOW - 14), lease("other"), Wait(1), id="unchanged for almost its duration"),
        pytest.param(seen("other", NOW - 15), lease("other"), Take(), id="unchanged for its whole duration"),
        pytest.param(seen("other", NOW - 99), lease("other", "2"), Wait(15), id="it changed: counted anew"),
        pytest.param(seen("other", NOW - 20, 60), lease("other", seconds=60), Wait(40), id="theirs lasts longer"),
        pytest.param(
            seen("other", NOW - 15, 1), lease("other", seconds=1), Take(), id="theirs is shorter: ours counts"
        ),
        pytest.param(seen("other", NOW - 15, 1e9), lease("other", seconds=1e9), Take(), id="nonsense is not believed"),
        pytest.param(seen("other", NOW - 5), None, Wait(10), id="deleted under its holder, who may not know"),
        pytest.param(seen("other", NOW - 15), None, Create(), id="deleted, and its holder is gone too"),
        pytest.param(seen("me", NOW - 5), None, Create(), id="ours was deleted"),
        pytest.param(seen("", NOW), None, Create(), id="deleted after it was released"),
        pytest.param(seen("me", NOW), lease(UNINSTALL_HOLDER, "2"), Withdraw(), id="`muster leave` took it from us"),
        pytest.param(
            seen("other", NOW), lease(UNINSTALL_HOLDER, "2"), Withdraw(), id="`muster leave` took it from another"
        ),
        pytest.param(NEW, lease(UNINSTALL_HOLDER), Wait(15), id="Muster was left before we came"),
        pytest.param(
            seen(UNINSTALL_HOLDER, NOW - 15), lease(UNINSTALL_HOLDER), Take(), id="Muster was left long before we came"
        ),
    ],
)
def test_a_replica_decides_from_the_lease_that_it_reads(standing: Standing, found: Lease | None, move: Move) -> None:
    assert look(standing, found, ME, NOW)[1] == move


def test_a_leader_counts_from_before_its_write_and_stops_long_before_others_may_begin() -> None:
    leader = won(NEW, lease("me"), NOW, ME)
    assert leader.leads(NOW + 9.9)
    assert not leader.leads(NOW + 10)


def test_a_leader_that_sees_another_holder_stops_at_once() -> None:
    leader = won(NEW, lease("me"), NOW, ME)
    assert not look(leader, lease("other", "2"), ME, NOW + 1)[0].leads(NOW + 1)
    assert not lost(leader).leads(NOW + 1)


@dataclass
class Api:
    lease: Lease | None = None
    writes: int = 0

    def write(self, holder: str, terms: Terms) -> Lease:
        self.writes += 1
        self.lease = Lease(str(self.writes), holder, terms.duration_seconds)
        return self.lease


@dataclass
class Replica:
    """A replica with a clock of its own: when it began to count, and how fast it runs."""

    api: Api
    name: str
    rate: float
    offset: float
    standing: Standing = field(default_factory=Standing)
    move: Move = field(default_factory=lambda: Wait(0))
    based_on: Lease | None = None
    began: float = 0.0

    @property
    def terms(self) -> Terms:
        return Terms(self.name, 15, 5)

    def clock(self, real: float) -> float:
        return self.offset + self.rate * real

    def leads(self, real: float) -> bool:
        return self.standing.leads(self.clock(real))

    def read(self, real: float) -> None:
        self.based_on = self.api.lease
        self.standing, self.move = look(self.standing, self.api.lease, self.terms, self.clock(real))
        self.began = self.clock(real)

    def write(self, answered: bool) -> None:
        """What was decided when it was read last, whenever that was; its answer may be lost."""
        if isinstance(self.move, Wait) or self.api.lease != self.based_on:
            return
        written = self.api.write(self.name, self.terms)
        self.move = Wait(0)
        if answered:
            self.standing = won(self.standing, written, self.began, self.terms)

    def restart(self) -> None:
        self.standing, self.move = Standing(), Wait(0)

    def release(self, real: float) -> None:
        if self.leads(real) and self.api.lease is not None and self.api.lease.holder == self.name:
            self.standing = lost(self.standing)
            self.api.write("", self.terms)


STEPS = ("read", "read", "read", "write", "write", "write lost", "restart", "release")
steps = st.lists(st.tuples(st.floats(0, 8), st.integers(0, 2), st.sampled_from(STEPS)), max_size=80)
clocks = st.lists(st.tuples(st.floats(0.9, 1.1), st.floats(-1e6, 1e6)), min_size=3, max_size=3)


def play(replicas: list[Replica], script: list[tuple[float, int, str]]) -> float:
    real = 0.0
    for after, who, what in script:
        real += after
        replica = replicas[who]
        if what == "read":
            replica.read(real)
        elif what == "restart":
            replica.restart()
            replica.name += "'"
        elif what == "release":
            replica.release(real)
        else:
            replica.write(answered=what == "write")
        leaders = [each.name for each in replicas if each.leads(real)]
        assert len(leaders) <= 1, f"{leaders} lead at {real}"
    return real


@settings(max_examples=400, deadline=None)
@given(clocks, steps)
def test_two_replicas_never_lead_at_once(
    their_clocks: list[tuple[float, float]], script: list[tuple[float, int, str]]
) -> None:
    api = Api()
    play([Replica(api, f"r{n}", rate, offset) for n, (rate, offset) in enumerate(their_clocks)], script)


@settings(max_examples=200, deadline=None)
@given(clocks, steps, st.booleans())
def test_some_replica_leads_in_the_end(
    their_clocks: list[tuple[float, float]], script: list[tuple[float, int, str]], deleted: bool
) -> None:
    """Whatever happened, once calls go well again: also where the Lease was deleted by hand."""
    api = Api()
    replicas = [Replica(api, f"r{n}", rate, offset) for n, (rate, offset) in enumerate(their_clocks)]
    real = play(replicas, script)
    api.lease = None if deleted else api.lease
    for _ in range(25):
        real += 1.0
        for replica in replicas:
            replica.read(real)
            replica.write(answered=True)
    assert [replica.leads(real) for replica in replicas].count(True) == 1


def taken(taken_from: str, *noticed_by: str) -> Lease:
    return Lease("2", UNINSTALL_HOLDER, 15, taken_from, noticed_by)


@pytest.mark.parametrize(
    ("found", "after_seconds"),
    [
        pytest.param(taken("other", "third"), 10, id="the old leader has not signed: until it has surely stopped"),
        pytest.param(taken("other", "third", "other"), 0, id="who led has noticed"),
        pytest.param(taken("me"), 0, id="it was ours"),
        pytest.param(taken(""), 0, id="nobody led"),
    ],
)
@pytest.mark.parametrize("standing", [NEW, seen("other", NOW - 5)], ids=["it comes later", "it was there"])
def test_a_replica_drains_only_when_no_replica_can_lead(standing: Standing, found: Lease, after_seconds: float) -> None:
    standing, _ = look(standing, found, ME, NOW)
    assert standing.draining(ME, NOW + after_seconds)
    assert not after_seconds or not standing.draining(ME, NOW + after_seconds - 0.1)


def test_replicas_stop_draining_once_another_replica_holds_the_lease() -> None:
    standing, _ = look(NEW, taken(""), ME, NOW)
    assert standing.draining(ME, NOW)
    assert not look(standing, lease("other", "3"), ME, NOW + 1)[0].draining(ME, NOW + 99)
    assert not won(standing, lease("me", "3"), NOW + 1, ME).draining(ME, NOW + 99)
