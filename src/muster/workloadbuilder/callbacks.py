"""Callbacks that nearly every controller needs."""

from dataclasses import replace

from muster.workloadbuilder.config import GangPolicy, SchedulingConfig
from muster.workloadbuilder.tree import WorkloadItem, WorkloadItemFunc


def default_min_count(count: int) -> WorkloadItemFunc:
    """Sets minCount of a gang that has none: a Job's parallelism, or the number of groups in a composite."""

    def fill_min_count(_item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
        match config.policy:
            case GangPolicy(min_count=None):
                return replace(config, policy=GangPolicy(count))
        return config

    return fill_min_count
