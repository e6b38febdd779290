"""All hostile inputs in one table, and the part of it that every run takes."""

from collections.abc import Sequence

from tests.e2e.hostile import annotations, groups, jobs, pods, statuses, surroundings
from tests.e2e.hostile.attack import Input

TABLES = (annotations.INPUTS, jobs.INPUTS, statuses.INPUTS, pods.INPUTS, groups.INPUTS, surroundings.INPUTS)
INPUTS: dict[str, Input] = {sentence: table[sentence] for table in TABLES for sentence in table}
assert len(INPUTS) == sum(map(len, TABLES)), "two inputs have the same sentence"

SAMPLE = (
    "an annotation with half a surrogate as a key",
    "an annotation with a YAML bomb",
    "an annotation with 250 KB of brackets",
    "an annotation with ANSI escapes in a key",
    "an annotation with newlines as escapes in a key",
    "an annotation with text that runs from right to left",
    "an annotation with a count of 4,000 digits",
    "an annotation with an unknown field of 4,000 characters",
    "every annotation of Muster's, forged",
    "a Job for a scheduler of 900 KB",
    "a Job for a scheduler with escapes",
    "a Job whose owner has a UID of 500 KB",
    "a Job with a name of 61 characters",
    "a Job that is deleted and created again, six times",
    "a Job that is patched a hundred times",
    "a status with 50,000 alternating indexes",
    "a status with a message of 900 KB",
    "a pod whose owner is called newlines and escapes",
    "a pod whose owner is called a path upwards",
    "a pod whose owner has a UID of 900 KB",
    "a pod of the neighbour's Job",
    "a pod in a group called a path upwards",
    "a hundred Workloads for one Job",
    "the first sixteen names of the Workload, taken",
    "a PodGroup that is deleted eight times",
    "a namespace that ends while gangs begin",
)
AT_ONCE = 6
EVERY_THIRD = tuple(INPUTS)[::3]
"""For a second API profile."""


def in_batches(sentences: Sequence[str]) -> list[tuple[str, ...]]:
    """So many at the same time that a run takes minutes and not a quarter of an hour."""
    return [tuple(sentences[start : start + AT_ONCE]) for start in range(0, len(sentences), AT_ONCE)]
