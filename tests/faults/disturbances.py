"""Faults of a single call, and actions of users right before it."""

from collections.abc import Callable

from muster.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    Rejected,
    ServerFault,
    Throttled,
    Unreachable,
)
from tests.builders import a_workload, missing_right
from tests.fake_cluster import USER
from tests.faults.scenarios import delete_job, gang, recreate_job
from tests.faults.world import Call, Crash, Disturbance, Process, World


def _answers(error: Callable[[], KubeError]) -> Disturbance:
    async def disturb(world: World, process: Process, call: Call[object]) -> object:
        raise error()

    return disturb


async def _answer_is_lost(world: World, process: Process, call: Call[object]) -> object:
    await call()
    raise Unreachable("the connection was reset after the server had done its part")


async def _crash_before(world: World, process: Process, call: Call[object]) -> object:
    process.end()
    raise Crash


async def _crash_after(world: World, process: Process, call: Call[object]) -> object:
    await call()
    process.end()
    raise Crash


REJECTED = "422"
BY_FORCE = "PodGroups are deleted by force"
FAULTS: dict[str, Disturbance] = {
    "403 no right": _answers(lambda: missing_right("create", "workloads")),
    "403 quota": _answers(lambda: Forbidden("exceeded quota")),
    "404": _answers(lambda: NotFound("not found")),
    "409 Conflict": _answers(lambda: Conflict("the object has been modified")),
    "409 AlreadyExists": _answers(lambda: AlreadyExists("already exists")),
    REJECTED: _answers(lambda: Rejected("spec: Invalid value")),
    "429": _answers(lambda: Throttled("too many requests", 1.0)),
    "500 or 503": _answers(lambda: ServerFault("etcd is away")),
    "lost before": _answers(lambda: Unreachable("connection refused")),
    "lost after": _answer_is_lost,
    "crash before": _crash_before,
    "crash after": _crash_after,
}


def _first(act: Callable[[World], None]) -> Disturbance:
    async def disturb(world: World, process: Process, call: Call[object]) -> object:
        act(world)
        return await call()

    return disturb


def _delete_all(plural: str, force: bool = False) -> Callable[[World], None]:
    def act(world: World) -> None:
        for thing in world.cluster.find(plural):
            world.cluster.remove(plural, "default", thing["metadata"]["name"], USER, force=force)

    return act


def _toggle_suspend(world: World) -> None:
    def suspend(value: bool) -> None:
        if ("jobs", "default", "train") in world.cluster.objects:
            world.cluster.update("jobs", "default", "train", lambda job: job["spec"].update(suspend=value), USER)

    suspend(True)
    world.later.append(lambda: suspend(False))


def _rival(world: World) -> None:
    if ("workloads", "default", "rival") not in world.cluster.objects:
        world.cluster.apply(a_workload("rival").uid("rival-uid").describing(gang()).gang(3))


def _take_over(world: World) -> None:
    """Somebody removes what Muster made, and describes the Job twice: it should run plain from here on."""
    _delete_all("podgroups", force=True)(world)
    _delete_all("workloads")(world)
    for name in ("theirs", "theirs-too"):
        if ("workloads", "default", name) not in world.cluster.objects:
            world.cluster.apply(a_workload(name).uid(f"{name}-uid").describing(gang()).gang(3))


ACTORS: dict[str, Disturbance] = {
    "the Job is deleted": _first(delete_job),
    "the Job is deleted and made again": _first(recreate_job),
    "Workloads are deleted": _first(_delete_all("workloads")),
    "PodGroups are deleted": _first(_delete_all("podgroups")),
    BY_FORCE: _first(_delete_all("podgroups", force=True)),
    "the Job is suspended and resumed": _first(_toggle_suspend),
    "a rival Workload appears": _first(_rival),
    "two Workloads replace the pair": _first(_take_over),
}
