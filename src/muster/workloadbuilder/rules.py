"""The rules of the building blocks: the API server's declarative validation, and limits that it checks later."""

import re
from collections.abc import Iterable, Iterator, Sequence

from muster.api.blocks import (
    MAX_CLAIMS,
    MAX_TOPOLOGY,
    CompositePodGroupScheduling,
    PodGroupScheduling,
    WorkloadCompositePodGroupGangSchedulingPolicy,
    WorkloadPodGroupResourceClaim,
)
from muster.api.schema import DNS_LABEL, DNS_SUBDOMAIN, LABEL_KEY, Schema
from muster.workloadbuilder.config import GangPolicy, ResourceClaim, SchedulingConfig
from muster.workloadbuilder.errors import ErrorKind, FieldError, FieldPath
from muster.workloadbuilder.mapping import AnyConstraints, AnyDisruptionMode, AnyPolicy
from muster.workloadbuilder.tree import BlockPaths, WorkloadItem

MAX_COUNT = 2**31 - 1
MAX_PRIORITY = 10**9
MIN_PRIORITY = -(2**31)
LABEL_TEXT = "must be a DNS label: at most 63 characters of a-z, 0-9 and -, which do not begin or end with -"
SUBDOMAIN_TEXT = "must be a DNS subdomain: at most 253 characters, DNS labels joined by dots"
LABEL_KEY_TEXT = "must be the key of a label, such as topology.kubernetes.io/zone"

AnyBlocks = PodGroupScheduling | CompositePodGroupScheduling
AnyClaim = WorkloadPodGroupResourceClaim | ResourceClaim


def block_errors(given: AnyBlocks, places: BlockPaths, old: AnyBlocks | None = None) -> Iterator[FieldError]:
    """All errors of the blocks. On an update, unchanged fields are not checked."""
    if given.policy is not None and given.policy != (old and old.policy):
        yield from policy_errors(given.policy, places.policy)
    if given.constraints is not None and given.constraints != (old and old.constraints):
        yield from constraint_errors(given.constraints, places)
    if given.disruption_mode is not None and given.disruption_mode != (old and old.disruption_mode):
        yield from disruption_errors(given.disruption_mode, places.disruption_mode)
    if isinstance(given, PodGroupScheduling):
        before = old.resource_claims if isinstance(old, PodGroupScheduling) else None
        yield from claim_errors(given.resource_claims or (), places.resource_claims, before or ())


def config_errors(item: WorkloadItem, config: SchedulingConfig) -> Iterator[FieldError]:
    """The same rules for the resolved configuration: a default or a callback can be wrong too."""
    places = item.places
    if isinstance(config.policy, GangPolicy):
        yield from _count_errors(config.policy.min_count, count_path(item))
    if config.constraints is not None:
        yield from _topology_errors(config.constraints.topology, places)
    yield from claim_errors(config.resource_claims, places.resource_claims)
    yield from _format_errors(config.priority_class_name or None, item.path.child("priorityClassName"), DNS_SUBDOMAIN)
    if config.priority is not None and not MIN_PRIORITY <= config.priority <= MAX_PRIORITY:
        allowed = f"must be between {MIN_PRIORITY} and {MAX_PRIORITY}"
        yield FieldError(ErrorKind.INVALID, item.path.child("priority"), config.priority, allowed)


def count_path(item: WorkloadItem) -> FieldPath:
    return item.places.policy.child("gang", "minGroupCount" if item.composite else "minCount")


def policy_errors(policy: AnyPolicy, path: FieldPath) -> Iterator[FieldError]:
    yield from _exactly_one(path, basic=policy.basic, gang=policy.gang)
    if isinstance(policy.gang, WorkloadCompositePodGroupGangSchedulingPolicy):
        yield from _count_errors(policy.gang.min_group_count, path.child("gang", "minGroupCount"))
    elif policy.gang is not None:
        yield from _count_errors(policy.gang.min_count, path.child("gang", "minCount"))


def disruption_errors(mode: AnyDisruptionMode, path: FieldPath) -> Iterator[FieldError]:
    yield from _exactly_one(path, single=mode.single, all=mode.all)


def constraint_errors(constraints: AnyConstraints, places: BlockPaths) -> Iterator[FieldError]:
    yield from _topology_errors(tuple(constraint.key for constraint in constraints.topology), places)


def claim_errors(
    claims: Sequence[AnyClaim], path: FieldPath, old: Iterable[WorkloadPodGroupResourceClaim] = ()
) -> Iterator[FieldError]:
    before = list(old)
    changed = list(claims) != before
    if changed and len(claims) > MAX_CLAIMS:
        yield _too_many(path, len(claims), MAX_CLAIMS, "claims")
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        if changed and claim.name and claim.name in seen:
            yield FieldError(
                ErrorKind.DUPLICATE, path.child(index), claim.name, "names another claim too: names are unique"
            )
        seen.add(claim.name)
        if claim not in before:
            yield from _one_claim_errors(claim, path.child(index))


def _one_claim_errors(claim: AnyClaim, path: FieldPath) -> Iterator[FieldError]:
    existing, template = claim.resource_claim_name, claim.resource_claim_template_name
    yield from _format_errors(claim.name, path.child("name"), DNS_LABEL)
    yield from _exactly_one(path, resourceClaimName=existing, resourceClaimTemplateName=template)
    yield from _format_errors(existing, path.child("resourceClaimName"), DNS_SUBDOMAIN)
    yield from _format_errors(template, path.child("resourceClaimTemplateName"), DNS_SUBDOMAIN)


def _topology_errors(keys: Sequence[str], places: BlockPaths) -> Iterator[FieldError]:
    path = places.constraints.child("topology")
    if len(keys) > MAX_TOPOLOGY:
        yield _too_many(path, len(keys), MAX_TOPOLOGY, "topology constraints")
    for index, key in enumerate(keys):
        yield from _format_errors(key, path.child(index, places.topology_key), LABEL_KEY)


def _exactly_one(path: FieldPath, **members: object) -> Iterator[FieldError]:
    found = [name for name, value in members.items() if value is not None]
    if len(found) != 1:
        allowed = f"must specify exactly one of: {', '.join(members)}"
        yield FieldError(ErrorKind.INVALID, path, found, allowed)


def _count_errors(count: int | None, path: FieldPath) -> Iterator[FieldError]:
    if count is not None and not 1 <= count <= MAX_COUNT:
        allowed = "must be at least 1" if count < 1 else f"must be at most {MAX_COUNT}"
        yield FieldError(ErrorKind.INVALID, path, count, allowed)


_FORMATS = {DNS_LABEL: LABEL_TEXT, DNS_SUBDOMAIN: SUBDOMAIN_TEXT, LABEL_KEY: LABEL_KEY_TEXT}


def _format_errors(value: str | None, path: FieldPath, schema: Schema) -> Iterator[FieldError]:
    if value == "":
        yield FieldError(ErrorKind.REQUIRED, path, None, _FORMATS[schema])
    elif value is not None and not fits(value, schema):
        yield FieldError(ErrorKind.INVALID, path, value, _FORMATS[schema])


def fits(value: str, schema: Schema) -> bool:
    """Whether a value matches the API server's schema of such a field."""
    keywords = schema.keywords
    patterns = [keywords["pattern"], *(more["pattern"] for more in keywords.get("allOf", ()))]
    in_bounds = keywords.get("minLength", 0) <= len(value) <= keywords["maxLength"]
    return in_bounds and all(re.fullmatch(pattern.removesuffix("$"), value) for pattern in patterns)


def _too_many(path: FieldPath, found: int, most: int, things: str) -> FieldError:
    return FieldError(ErrorKind.TOO_MANY, path, found, f"{things}: must have at most {most}")
