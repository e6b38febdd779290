"""Resolves the configuration of each item: the default, overridden by the user's blocks, then the callbacks."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from muster.workloadbuilder.config import BasicPolicy, SchedulingConfig, SchedulingPolicy
from muster.workloadbuilder.mapping import mapped
from muster.workloadbuilder.tree import WorkloadItem

NOTHING = SchedulingConfig()


@dataclass(frozen=True, slots=True)
class ResolvedItem:
    """An item with its merged configuration and its children."""

    item: WorkloadItem
    config: SchedulingConfig
    children: tuple["ResolvedItem", ...]

    @property
    def policy(self) -> SchedulingPolicy:
        return self.config.policy or BasicPolicy()

    def walk(self) -> Iterator["ResolvedItem"]:
        """This item and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def leaves(self) -> tuple["ResolvedItem", ...]:
        return tuple(child for child in self.children if not child.item.composite)

    @property
    def composites(self) -> tuple["ResolvedItem", ...]:
        return tuple(child for child in self.children if child.item.composite)


def merge(default: SchedulingConfig | None, user: SchedulingConfig | None) -> SchedulingConfig:
    """Block by block: a block that the user sets replaces the whole default block."""
    default, user = default or NOTHING, user or NOTHING
    asked = {field.name: getattr(user, field.name) for field in fields(SchedulingConfig)}
    return replace(default, **{name: value for name, value in asked.items() if value is not None and value != ()})


def resolve(item: WorkloadItem) -> ResolvedItem:
    """The item and all below it, resolved. The arguments are immutable and stay unchanged."""
    config = merge(item.default_config, None if item.user_config is None else mapped(item.user_config))
    for callback in item.callbacks:
        config = callback(item, config)
        if not isinstance(config, SchedulingConfig):
            name = getattr(callback, "__name__", repr(callback))
            raise TypeError(f"callback {name} of {item.name!r} returned {config!r}, not a SchedulingConfig")
    return ResolvedItem(item, config, tuple(map(resolve, item.children)))
