"""The tree that a controller builds of its workload: its groups, and the configuration of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from muster.api.blocks import CompositePodGroupScheduling, PodGroupScheduling
from muster.workloadbuilder.config import SchedulingConfig
from muster.workloadbuilder.errors import ROOT, ErrorKind, FieldError, FieldPath

DEEPEST = 16
"""Maximum depth. No API has so many levels. A deeper tree may be a cycle."""

_POLICY = FieldPath.of("schedulingPolicy")
_CONSTRAINTS = FieldPath.of("schedulingConstraints")
_DISRUPTION_MODE = FieldPath.of("disruptionMode")
_RESOURCE_CLAIMS = FieldPath.of("resourceClaims")


@dataclass(frozen=True, slots=True)
class BlockPaths:
    """The paths of the blocks in the controller's API, below the path of the item. Default: a Job of 1.37."""

    policy: FieldPath = _POLICY
    constraints: FieldPath = _CONSTRAINTS
    disruption_mode: FieldPath = _DISRUPTION_MODE
    resource_claims: FieldPath = _RESOURCE_CLAIMS
    topology_key: str = "key"

    def below(self, path: FieldPath) -> "BlockPaths":
        return BlockPaths(
            path.join(self.policy),
            path.join(self.constraints),
            path.join(self.disruption_mode),
            path.join(self.resource_claims),
            self.topology_key,
        )


_AS_IN_A_JOB = BlockPaths()


@dataclass(frozen=True, slots=True)
class WorkloadItem:
    """A component of a workload: the whole, one role of it, or a single Job.

    An item with children is a composite; an item without children is a leaf, a group of pods.
    """

    name: str
    """The name of the template. A DNS label, unique in the tree."""
    default_config: SchedulingConfig | None = None
    """The controller's default for blocks that the user does not set."""
    user_config: PodGroupScheduling | CompositePodGroupScheduling | SchedulingConfig | None = None
    """The user's request at this level: its blocks, or the result of a mapping helper."""
    callbacks: Sequence["WorkloadItemFunc"] = ()
    """Called in order with the merged configuration; each returns the new one."""
    children: Sequence["WorkloadItem"] = ()
    path: FieldPath = ROOT
    """The path of this item's blocks in the controller's API, which errors name."""
    block_paths: BlockPaths = _AS_IN_A_JOB

    @property
    def composite(self) -> bool:
        return len(self.children) > 0

    @property
    def places(self) -> BlockPaths:
        """The path of each block from the root of the user's object."""
        return self.block_paths.below(self.path)


WorkloadItemFunc = Callable[[WorkloadItem, SchedulingConfig], SchedulingConfig]
"""A callback. It gets the item and its merged configuration, and returns the one to use. It must not modify them."""


def tree_errors(root: WorkloadItem | None) -> list[FieldError]:
    """The errors of the tree's structure. If there are any, nothing else is checked and no callback runs."""
    if root is None:
        return [FieldError(ErrorKind.INVALID, FieldPath(), None, "a workload must have a root item")]
    return list(_errors(root, seen=set(), depth=1))


def _errors(item: WorkloadItem, seen: set[str], depth: int) -> Iterator[FieldError]:
    if not item.name:
        yield _mistake(item, None, "an item must have a name")
    elif item.name in seen:
        yield FieldError(
            ErrorKind.DUPLICATE, item.path, item.name, "names another item too: names are unique in the workload"
        )
    seen.add(item.name)
    yield from _level_errors(item)
    if item.composite and depth == DEEPEST:
        yield _mistake(item, item.name, f"has more than {DEEPEST} levels, or is among its own children")
        return
    for child in item.children:
        if not isinstance(child, WorkloadItem):
            yield _mistake(item, child, f"is a child of {item.name!r} but not a WorkloadItem")
            continue
        yield from _errors(child, seen, depth + 1)


def _level_errors(item: WorkloadItem) -> Iterator[FieldError]:
    asked = item.user_config
    if item.composite and isinstance(asked, PodGroupScheduling):
        yield _mistake(item, item.name, "has children, and blocks of a leaf: it requires a CompositePodGroupScheduling")
    if not item.composite and isinstance(asked, CompositePodGroupScheduling):
        yield _mistake(item, item.name, "has no children, and blocks of a composite: it requires a PodGroupScheduling")


def _mistake(item: WorkloadItem, value: object, allowed: str) -> FieldError:
    return FieldError(ErrorKind.INTERNAL, item.path, value, allowed)
