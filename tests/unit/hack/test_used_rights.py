"""What counts as a right used, too many, or missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from used_rights import ENVIRONMENT, Use, differences, record, rights, uses

MUSTER = "system:serviceaccount:muster-system:muster"


def logged(verb: str, resource: str, group: str = "", **more: Any) -> dict[str, Any]:
    reference: dict[str, Any] = {key: more.pop(key) for key in ("namespace", "name", "subresource") if key in more}
    what: dict[str, Any] = {"resource": resource, **reference} | ({"apiGroup": group} if group else {})
    return {"verb": verb, "user": {"username": MUSTER}, "userAgent": "muster/1", "objectRef": what, **more}


def bound(rules: list[dict[str, Any]], kind: str = "ClusterRole", namespace: str = "") -> list[dict[str, Any]]:
    metadata = {"name": "muster", **({"namespace": namespace} if namespace else {})}
    subjects = [{"kind": "ServiceAccount", "name": "muster", "namespace": "muster-system"}]
    return [
        {"kind": kind, "metadata": metadata, "rules": rules},
        {
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"kind": kind, "name": "muster"},
            "subjects": subjects,
        },
    ]


READ_JOBS = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}
OWN_SECRET = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["ours"]}


def reported(tmp_path: Path, events: list[dict[str, Any]], documents: list[dict[str, Any]]) -> list[str]:
    log = tmp_path / "audit.log"
    log.write_text("".join(json.dumps(event) + "\n" for event in events) + '{"unfinished')
    return differences(rights(documents), uses(log))


def test_a_used_right_is_not_reported(tmp_path: Path) -> None:
    assert reported(tmp_path, [logged("get", "jobs", "batch", namespace="a", name="x")], bound([READ_JOBS])) == []


def test_an_unused_right_is_reported(tmp_path: Path) -> None:
    both = {**READ_JOBS, "verbs": ["get", "list"]}
    lines = reported(tmp_path, [logged("get", "jobs", "batch", namespace="a", name="x")], bound([both]))
    assert lines == ["muster may list jobs.batch (ClusterRole muster), and never did"]


CALLS_WITHOUT_A_RIGHT = {
    "another verb": logged("patch", "jobs", "batch", namespace="a", name="x"),
    "a subresource": logged("get", "jobs", "batch", subresource="status", namespace="a", name="x"),
    "another group": logged("get", "jobs", "other", namespace="a", name="x"),
}


@pytest.mark.parametrize("call", CALLS_WITHOUT_A_RIGHT)
def test_a_call_without_a_right_is_reported(tmp_path: Path, call: str) -> None:
    allowed = logged("get", "jobs", "batch", namespace="a", name="x")
    (line,) = reported(tmp_path, [allowed, CALLS_WITHOUT_A_RIGHT[call]], bound([READ_JOBS]))
    assert line.endswith("no right")


@pytest.mark.parametrize(("namespace", "name"), [("muster-system", "theirs"), ("elsewhere", "ours")])
def test_a_right_on_one_name_in_one_namespace_allows_no_other(tmp_path: Path, namespace: str, name: str) -> None:
    documents = bound([OWN_SECRET], "Role", "muster-system")
    ours = logged("get", "secrets", namespace="muster-system", name="ours")
    assert reported(tmp_path, [ours], documents) == []
    assert len(reported(tmp_path, [ours, logged("get", "secrets", namespace=namespace, name=name)], documents)) == 1


NOT_COUNTED: dict[str, dict[str, Any]] = {
    "somebody else": {"user": {"username": "system:serviceaccount:muster-system:other"}},
    "a test that is logged in as Muster": {"userAgent": "python-urllib3/2"},
    "a path that is no object": {"objectRef": None},
    "a question about one's own rights": {
        "objectRef": {"resource": "selfsubjectaccessreviews", "apiGroup": "authorization.k8s.io"}
    },
}


@pytest.mark.parametrize("what", NOT_COUNTED)
def test_these_calls_do_not_count(tmp_path: Path, what: str) -> None:
    used = logged("get", "jobs", "batch", namespace="a", name="x")
    assert reported(tmp_path, [used, {**used, "verb": "delete", **NOT_COUNTED[what]}], bound([READ_JOBS])) == []


def test_a_right_that_no_log_can_show_is_not_reported(tmp_path: Path) -> None:
    finalizers = {"apiGroups": ["batch"], "resources": ["jobs/finalizers"], "verbs": ["update"]}
    assert reported(tmp_path, [], bound([finalizers])) == []


def test_a_cluster_writes_its_used_rights_only_if_a_folder_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "audit.log"
    log.write_text(json.dumps(logged("get", "jobs", "batch", namespace="a", name="x")) + "\n")
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    record(log)
    assert list(tmp_path.iterdir()) == [log]
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "used"))
    record(log)
    (file,) = (tmp_path / "used").iterdir()
    assert [Use(**each) for each in json.loads(file.read_text())] == [Use("muster", "get", "batch", "jobs", "", "")]
