"""A model of two replicas on one API server: each request is one step, and `reachable` tries every order of steps.

The model knows what the API server answers, and asks `decide` for everything else. Its requests (`replica_requests`)
follow `controllers/job/{observer,executor}.py`; tests/unit/controllers/job/test_requests_of_the_model.py compares them.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

from muster.core.decision import Membership
from muster.core.observed import Observed
from muster.core.witness import CachedDecision
from tests.unit.core.replica_requests import (
    Replica,
    Run,
    Store,
    begun,
    decisions,
    progressed,
    seen_key,
    witness_steps,
)

MOST_TRIES = 2
"""How often the Job controller creates the same pod again."""


@dataclass(frozen=True)
class Review:
    """A pod on its way to the store."""

    replica: int
    run: Run | None = None
    answer: str | None = None
    """The group that it was given; None: no answer yet."""
    stored: bool = False
    tries: int = 0


@dataclass(frozen=True)
class World:
    store: Store
    replicas: tuple[Replica, ...]
    leader: Run | None
    reviews: tuple[Review, ...]
    user: str = ""
    """What a user still does, at any moment."""
    violation: str = ""


def start(replicas: tuple[Replica, ...], store: Store, user: str = "", leads: bool = True) -> World:
    """The leader forms the gang, while the Job controller creates the first pod at the other replica, then the next."""
    decisions.clear()  # a test may have changed a rule
    leader = begun(0, replicas[0]) if leads else None
    return World(store, replicas, leader, (Review(1), Review(0)), user)


def reachable(world: World) -> Iterator[World]:
    """Every state that some order of steps leads to."""
    known, waiting = {key_of(world)}, [world]
    while waiting:
        state = waiting.pop()
        yield state
        if state.violation:
            continue
        for following in moves(state):
            if (key := key_of(following)) not in known:
                known.add(key)
                waiting.append(following)


def key_of(world: World) -> Hashable:
    """What tells two states apart. Models of objects cannot be hashed: their UIDs stand for them."""
    replicas = tuple((each.informer, each.rejected, _cached_key(each.cached)) for each in world.replicas)
    reviews = tuple((each.replica, _run_key(each.run), each.answer, each.stored, each.tries) for each in world.reviews)
    return world.store, replicas, _run_key(world.leader), reviews, world.user, world.violation


def _cached_key(cached: CachedDecision | None) -> Hashable:
    return cached and (cached.decision.membership, cached.decision.group, cached.decision.sticky, cached.witness)


def _run_key(run: Run | None) -> Hashable:
    if run is None or run.done:
        return run is None
    return run.replica, run.steps, seen_key(run.seen)


def moves(world: World) -> Iterator[World]:
    if world.leader is not None and not world.leader.done:
        for store, replica, run in progressed(world.leader, world.store, world.replicas[world.leader.replica]):
            yield _with(world, store, run.replica, replica, leader=run)
    for number, review in enumerate(world.reviews):
        if number == 0 or world.store.pods:  # the Job controller creates the first pod alone
            yield from _review_moves(world, number, review)
    for number, replica in enumerate(world.replicas):
        shown = world.store.shown()
        if replica.informer not in {None, shown}:  # the stream catches up, at any moment
            yield _with(world, world.store, number, replace(replica, informer=shown))
    if world.user:
        yield replace(world, store=USER[world.user](world.store), user="")


USER: dict[str, Callable[[Store], Store]] = {
    "deletes the PodGroup": lambda store: replace(store, group=0),
    "deletes both": lambda store: replace(store, group=0, workload=0),
    "adds a Workload": lambda store: replace(store, rival=True),
    "deletes their Workload": lambda store: replace(store, rival=False),
}


def _review_moves(world: World, number: int, review: Review) -> Iterator[World]:
    if review.stored or review.tries > MOST_TRIES:
        return
    if review.answer is not None:
        yield _stored(world, number, review)
    elif review.run is None:
        replica = world.replicas[review.replica]
        steps = witness_steps(replica)
        run = Run(review.replica, Observed(None), steps) if steps else begun(review.replica, replica)
        yield _reviewed(world, number, answered(review, run))
    else:
        for store, replica, run in progressed(review.run, world.store, world.replicas[review.run.replica]):
            moved = _with(world, store, run.replica, replica)
            yield _reviewed(moved, number, answered(review, run))


def answered(review: Review, run: Run) -> Review:
    if not run.done or run.decision is None:
        return replace(review, run=run)
    if run.decision.membership is Membership.HOLD:  # refused: the Job controller tries again, at the other replica
        return replace(review, run=None, replica=1 - review.replica, tries=review.tries + 1)
    return replace(review, run=None, answer=run.decision.group if run.decision.joins else "")


def _stored(world: World, number: int, review: Review) -> World:
    group, store = review.answer or "", world.store
    world = _reviewed(world, number, replace(review, stored=True))
    world = replace(world, store=replace(store, pods=(*store.pods, group)))
    if any(other != group for other in store.pods):
        return replace(world, violation="the gang is split")
    if group and not store.group:
        return replace(world, violation="a pod before its PodGroup")
    return world


def _reviewed(world: World, number: int, review: Review) -> World:
    reviews = (*world.reviews[:number], review, *world.reviews[number + 1 :])
    return replace(world, reviews=reviews)


def _with(world: World, store: Store, number: int, replica: Replica, leader: Run | None = None) -> World:
    replicas = (*world.replicas[:number], replica, *world.replicas[number + 1 :])
    return replace(world, store=store, replicas=replicas, leader=leader or world.leader)


def ended(world: World) -> bool:
    return next(moves(world), None) is None
