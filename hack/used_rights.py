"""Compares the rights of Muster's accounts with their calls in the audit logs of a whole test run.

Each test cluster writes a file to the folder in MUSTER_USED_RIGHTS. `make test` compares all of them with the roles of
the chart and of `manifests/dev-rbac.yaml`: an unused or missing right is an error.
"""

import argparse
import json
import os
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from manifests import FOLDER, rendered

ENVIRONMENT = "MUSTER_USED_RIGHTS"
ACCOUNTS = ("muster", "muster-leave")
OWN_NAMESPACE = "muster-system"
PROGRAMS = ("muster/", "kopf/")
"""User agents that count. Calls of a test with Muster's account do not."""
FREE = {"authorization.k8s.io"}
"""Every account may query its own rights."""
NEVER_CALLED = {
    (
        "update",
        "batch",
        "jobs/finalizers",
    ): "the admission plugin OwnerReferencesPermissionEnforcement checks it",
}
"""Rights that no audit log can show, with the reason."""
NOT_GRANTED = {
    (
        "get",
        "apiextensions.k8s.io",
        "customresourcedefinitions",
    ): "`muster crds` is for people; a test checks its message for an account without the right",
}
"""Calls that are refused, with the reason."""


@dataclass(frozen=True, order=True)
class Use:
    """One kind of call in the audit log."""

    account: str
    verb: str
    group: str
    resource: str
    """Includes the subresource."""
    namespace: str
    """Muster's own namespace, or one value for all others."""
    name: str
    """Only for resources whose rights can be limited by name."""


@dataclass(frozen=True, order=True)
class Right:
    account: str
    role: str
    verb: str
    group: str
    resource: str
    namespace: str
    """Empty for the whole cluster."""
    name: str
    """Empty for all names."""

    def covers(self, use: Use) -> bool:
        same = (self.account, self.verb, self.group, self.resource) == (use.account, use.verb, use.group, use.resource)
        return same and self.namespace in {"", use.namespace} and self.name in {"", use.name}

    def __str__(self) -> str:
        what = f"{self.resource}{'.' + self.group if self.group else ''}{' ' + self.name if self.name else ''}"
        return f"{self.verb} {what} ({self.role})"


def record(audit_log: Path) -> None:
    """Keep the calls of one cluster, if MUSTER_USED_RIGHTS is set. The audit log itself is deleted with the cluster."""
    folder = os.environ.get(ENVIRONMENT)
    if not folder or not audit_log.exists():
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    found = [asdict(use) for use in sorted(uses(audit_log))]
    (Path(folder) / f"{uuid.uuid4().hex}.json").write_text(json.dumps(found))


def uses(audit_log: Path) -> set[Use]:
    mark = f'"system:serviceaccount:{OWN_NAMESPACE}:'.encode()
    with audit_log.open("rb") as lines:
        return {use for line in lines if mark in line and line.endswith(b"\n") for use in _use(json.loads(line))}


def _use(event: dict[str, Any]) -> Iterator[Use]:
    *prefix, account = event["user"]["username"].split(":")
    what = event.get("objectRef") or {}
    if prefix[-1:] != [OWN_NAMESPACE] or account not in ACCOUNTS or "resource" not in what:
        return
    if what.get("apiGroup") in FREE or not str(event.get("userAgent", "")).startswith(PROGRAMS):
        return
    part = f"/{what['subresource']}" if what.get("subresource") else ""
    own = what.get("namespace") == OWN_NAMESPACE
    named = own or not what.get("namespace")
    yield Use(
        account,
        event["verb"],
        what.get("apiGroup", ""),
        what["resource"] + part,
        OWN_NAMESPACE if own else "",
        what.get("name", "") if named and event["verb"] != "create" else "",
    )


def rights(documents: Iterable[dict[str, Any]]) -> set[Right]:
    """The rights of all accounts through their bound roles."""
    known = [document for document in documents if document]
    roles = {_place(each): each.get("rules") or [] for each in known if each["kind"] in {"Role", "ClusterRole"}}
    found: set[Right] = set()
    for binding in known:
        if binding["kind"] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        namespace = binding["metadata"].get("namespace", "")
        role = binding["roleRef"]
        rules = roles[role["kind"], namespace if role["kind"] == "Role" else "", role["name"]]
        for subject in binding["subjects"]:
            for rule in rules:
                found |= set(_single(subject["name"], f"{role['kind']} {role['name']}", namespace, rule))
    return found


def _place(role: dict[str, Any]) -> tuple[str, str, str]:
    return role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]


def _single(account: str, role: str, namespace: str, rule: dict[str, Any]) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames") or [""]:
                    yield Right(account, role, verb, group, resource, namespace, name)


def differences(granted: set[Right], used: set[Use]) -> list[str]:
    """Every unused right, and every call without a right."""
    return [*unused(granted, used), *uncovered(granted, used)]


def unused(granted: set[Right], used: set[Use]) -> list[str]:
    return [
        f"{right.account} may {right}, and never did"
        for right in sorted(granted)
        if (right.verb, right.group, right.resource) not in NEVER_CALLED and not any(right.covers(use) for use in used)
    ]


def uncovered(granted: set[Right], used: set[Use]) -> list[str]:
    return [
        f"{use.account} called {use.verb} {use.resource}.{use.group} {use.namespace} {use.name}: no right"
        for use in sorted(used)
        if (use.verb, use.group, use.resource) not in NOT_GRANTED and not any(right.covers(use) for right in granted)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", action="store_true", help="not all tests ran: an unused right is only a note")
    given = parser.parse_args()
    folder = given.folder
    files = sorted(folder.glob("*.json"))
    if not files:
        print(f"rights: no cluster of the tests left its log in {folder}: nothing to compare")
        return 0 if os.environ.get("MUSTER_E2E_KUBECONFIG") else 1
    used = {Use(**each) for file in files for each in json.loads(file.read_text())}
    texts = (rendered("--set", "releaseOnSuspend=Pair"), (FOLDER / "dev-rbac.yaml").read_text())
    granted = rights(document for text in texts for document in yaml.safe_load_all(text))
    idle, wrong = unused(granted, used), uncovered(granted, used)
    for line in (*idle, *wrong):
        print(f"rights: {line}")
    if wrong or (idle and not given.sample):
        return 1
    if idle:
        print(
            f"rights: no call but for what is granted, on {len(files)} clusters; `make test-full` shows the rest used"
        )
        return 0
    print(f"rights: {len(granted)} are granted, and each was used; {len(files)} clusters saw no other call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
