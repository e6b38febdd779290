"""What manifests/rbac.yaml grants, and what it must not."""

from pathlib import Path
from typing import Any

import yaml

MANIFEST = Path(__file__).parents[2] / "manifests/rbac.yaml"
READS = {"get", "list", "watch"}
PAIR = {"workloads", "podgroups"}
WEBHOOKS = {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
RESIZE = {("delete", "podgroups"), ("patch", "podgroups")}


def granted(role: str) -> set[tuple[str, str]]:
    """(verb, resource) of a role."""
    return {
        (verb, what) for rule in rules_of("ClusterRole", role) for verb in rule["verbs"] for what in rule["resources"]
    }


def rules_of(kind: str, role: str) -> list[dict[str, Any]]:
    (rules,) = [each["rules"] for each in documents() if (each["kind"], name_of(each)) == (kind, role)]
    return list(rules)


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(MANIFEST.read_text()))


def name_of(document: dict[str, Any]) -> str:
    return str(document["metadata"]["name"])


def test_a36_60_61_the_rights_of_the_crd_profiles_are_a_role_of_their_own() -> None:
    assert {("create", resource) for resource in PAIR} <= granted("muster")
    assert {(verb, resource) for verb in READS for resource in PAIR} <= granted("muster")
    protection = {("patch", "podgroups/status"), ("watch", "pods"), ("list", "priorityclasses")}
    assert protection <= granted("muster-crd")
    assert not protection & granted("muster")
    assert granted("muster") & granted("muster-crd") >= RESIZE


def test_on_jobs_and_pods_only_reads_are_granted() -> None:
    for role in ("muster", "muster-crd"):
        assert {verb for verb, resource in granted(role) if resource in {"jobs", "pods"}} <= READS
    writes = {(verb, resource) for verb, resource in granted("muster") if verb not in READS}
    finalizers = ("update", "jobs/finalizers")
    webhooks = {("update", kind) for kind in WEBHOOKS}
    made = {("create", resource) for resource in (*PAIR, "events")}
    assert writes == {*made, *RESIZE, finalizers, *webhooks}


def test_every_right_that_can_be_limited_to_a_name_is_limited() -> None:
    """Webhooks, Lease, Secret, and the namespace that owns the webhooks. A create cannot be limited."""
    named = {*WEBHOOKS, "leases", "secrets", "namespaces"}
    rules = [rule for document in documents() for rule in document.get("rules", []) if named & set(rule["resources"])]
    assert {resource for rule in rules for resource in rule["resources"]} == named
    for rule in rules:
        if rule["verbs"] == ["create"]:
            continue
        assert rule["resourceNames"] in (["muster"], ["muster-certificates"], ["muster-system"])


def test_no_role_reaches_beyond_what_it_names() -> None:
    for role in ("muster", "muster-crd"):
        assert not [grant for grant in granted(role) if "*" in grant or "secrets" in grant]
    assert not [document for document in documents() if "*" in str(document.get("rules"))]


def test_rights_on_secrets_and_leases_are_limited_to_the_own_namespace_and_names() -> None:
    """Secrets and Leases: only its own, and only to read and to change; nobody can limit a create to a name."""
    rules = rules_of("Role", "muster")
    assert {(rule["resources"][0], *sorted(rule["verbs"]), *rule.get("resourceNames", ())) for rule in rules} == {
        ("namespaces", "get", "muster-system"),
        ("secrets", "create"),
        ("secrets", "get", "update", "muster-certificates"),
        ("leases", "create"),
        ("leases", "get", "update", "muster"),
    }


def test_muster_may_update_only_its_own_webhooks_and_create_none() -> None:
    sensitive = [rule for rule in rules_of("ClusterRole", "muster") if WEBHOOKS & {*rule["resources"]}]
    assert [(rule["resourceNames"], rule["verbs"]) for rule in sensitive] == [(["muster"], ["get", "update"])]
