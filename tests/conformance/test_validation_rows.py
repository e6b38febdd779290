"""Every server says the same about the same object: V36-01..57 and V36-60..77 of the in-tree catalogue, and more.

The built-in API, our CRDs in `scheduling.k8s.io` and our CRDs in `scheduling.muster.dev` run one table. A refusal must
name the same field everywhere. Rows that cannot agree are in `docs/crds.md`; their tests say what happens instead.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.clusters.api import APPLY, MERGE, STRATEGIC, ApiError
from tests.clusters.profiles import NATIVE, PROFILES
from tests.clusters.site import site_of
from tests.clusters.waiting import eventually
from tests.conformance.validation import pod_group_rows, shared_rows, workload_rows
from tests.conformance.validation.rows import UNKNOWN, Kind, Object, Row, claim, claims, condition, group, workload
from tests.conformance.validation.servers import Server, prepared

ROWS = [*shared_rows.rows(), *pod_group_rows.rows(), *workload_rows.rows()]
CREATES = [row for row in ROWS if row.before is None]
UPDATES = [row for row in ROWS if row.before is not None and row.status is None]
STATUSES = [row for row in ROWS if row.status is not None]
SPECS: dict[Kind, Object] = {"podgroups": group(), "workloads": workload()}
REFUSALS = {400, 403, 404, 405, 415, 422}


@pytest.fixture(scope="module", params=PROFILES, ids=lambda profile: profile.name)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One that Muster does not run on: the API server alone decides."""
    if request.param == NATIVE:
        with prepared(request.getfixturevalue("native")) as made:
            yield made
        return
    with site_of(request.param, f"rows-{request.param.cluster}", "--nodes", "1") as site, prepared(site) as made:
        yield made


def row_id(row: Row) -> str:
    return f"{row.kind} {row.name}"


@pytest.mark.parametrize("row", CREATES, ids=row_id)
def test_create(server: Server, row: Row) -> None:
    if row.wrong:
        message = refusal(lambda: server.create(row.kind, row.spec))
        assert row.wrong in message or (server.reviewed and "PodGroup rejected: " in message)
    else:
        made = server.create(row.kind, row.spec)
        assert includes(made["spec"], row.spec), made["spec"]


def test_v36_28_only_pod_groups_get_a_disruption_mode_by_default(server: Server) -> None:
    assert server.create("podgroups", group())["spec"]["disruptionMode"] == "Pod"
    (only,) = server.create("workloads", workload())["spec"]["podGroupTemplates"]
    assert "disruptionMode" not in only


@pytest.mark.parametrize("row", UPDATES, ids=row_id)
def test_update(server: Server, row: Row) -> None:
    made = server.create(row.kind, row.before or {})
    spec = {field: value for field, value in {**made["spec"], **row.spec}.items() if value is not None}
    if row.wrong:
        assert row.wrong in refusal(lambda: server.update(row.kind, {**made, "spec": spec}))
        assert server.get(row.kind, made["metadata"]["name"])["spec"] == made["spec"]
    else:
        server.update(row.kind, {**made, "spec": spec})


@pytest.mark.parametrize("row", STATUSES, ids=row_id)
def test_status(server: Server, row: Row) -> None:
    made = server.create(row.kind, row.before or {})
    if row.wrong:
        assert row.wrong in refusal(lambda: server.update(row.kind, {**made, "status": row.status}, "/status"))
    else:
        updated = server.update(row.kind, {**made, "status": row.status}, "/status")
        assert includes(updated.get("status") or {}, row.status or {})
        assert updated["spec"] == made["spec"]


def test_v36_51_the_status_is_dropped_on_create(server: Server) -> None:
    for status in ({"conditions": [condition()]}, {"conditions": [condition(status="nonsense")]}):
        made = server.create("podgroups", group(), status=status)
        assert not made.get("status")


@pytest.mark.parametrize("kind", ["podgroups", "workloads"])
def test_v36_53_56_names(server: Server, kind: Kind) -> None:
    spec = SPECS[kind]
    assert "name or generateName is required" in refusal(lambda: server.create(kind, spec, metadata={}))
    for name in (".podGroup", "w" * 254, "Upper", "a/b"):
        assert "metadata.name" in refusal(partial(server.create, kind, spec, metadata={"name": name}))
    assert server.create(kind, spec, metadata={"generateName": "given-"})["metadata"]["name"].startswith("given-")
    server.create(kind, spec, metadata={"name": f"a.b.{'c' * 249}"})
    made = server.create(kind, spec)
    renamed = {**made, "metadata": {**made["metadata"], "name": "other"}}
    path = server.path(kind, made["metadata"]["name"])
    assert "does not match the name" in refusal(lambda: server.api._call("PUT", path, body=renamed))


@pytest.mark.parametrize("kind", ["podgroups", "workloads"])
def test_v36_56_namespaces(server: Server, kind: Kind) -> None:
    for namespace in ("", ".ns", "n" * 64, "no-such-namespace"):
        refusal(partial(server.create, kind, SPECS[kind], namespace))


@pytest.mark.parametrize("kind", ["podgroups", "workloads"])
def test_v36_56_metadata_may_change(server: Server, kind: Kind) -> None:
    made = server.create(kind, SPECS[kind])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "some", "uid": "00000000-0000-4000-8000-000000000000"}
    more = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "ownerReferences": [owner], "finalizers": ["e.com/f"]}
    changed = server.update(kind, {**made, "metadata": {**made["metadata"], **more}})
    assert includes(changed["metadata"], {key: more[key] for key in ("labels", "annotations", "ownerReferences")})
    server.update(kind, {**changed, "metadata": {**changed["metadata"], "finalizers": []}})


def test_v36_54_a_status_update_changes_the_status_only(server: Server) -> None:
    made = server.create("podgroups", group())
    body = {
        **made,
        "metadata": {**made["metadata"], "labels": {"a": "b"}, "finalizers": []},
        "spec": group(schedulingPolicy={"gang": {"minCount": 99}}),
        "status": {"conditions": [condition()]},
    }
    updated = server.update("podgroups", body, "/status")
    assert updated["spec"] == made["spec"]
    assert "labels" not in updated["metadata"]
    assert updated["metadata"].get("finalizers") == made["metadata"].get("finalizers")
    assert includes(updated["status"]["conditions"], [condition()])
    spec_update = server.update("podgroups", {**updated, "status": {}})
    assert includes(spec_update["status"]["conditions"], [condition()])
    path = server.path("podgroups", made["metadata"]["name"]) + "/status"
    renamed = {**updated, "metadata": {**updated["metadata"], "name": "other"}}
    assert "does not match the name" in refusal(lambda: server.api._call("PUT", path, body=renamed))


@pytest.mark.parametrize("kind", ["podgroups", "workloads"])
def test_a_spec_is_required(server: Server, kind: Kind) -> None:
    body = {"apiVersion": server.api_version, "kind": server.create(kind, SPECS[kind])["kind"]}
    lacking: tuple[Object, ...] = ({}, {"spec": None}, {"spec": {}})
    for spec in lacking:
        named = {**body, "metadata": {"name": server.fresh_name()}, **spec}
        assert "spec" in refusal(partial(server.api._call, "POST", server.path(kind), body=named))


def test_workloads_have_no_status(server: Server) -> None:
    made = server.create("workloads", workload(), status={"conditions": [condition()]})
    assert "status" not in made
    refusal(lambda: server.update("workloads", made, "/status"))


@pytest.mark.parametrize("kind", ["podgroups", "workloads"])
def test_v36_57_e36_01_02_objects_can_be_made_read_watched_changed_and_deleted(server: Server, kind: Kind) -> None:
    label = {"labelSelector": "part=57"}
    seen = server.api._call("GET", server.path(kind), {"limit": "1"})["metadata"]["resourceVersion"]
    made = server.create(kind, SPECS[kind], metadata={"name": server.fresh_name(), "labels": {"part": "57"}})
    name = made["metadata"]["name"]
    assert server.get(kind, name)["spec"] == made["spec"]
    assert [item["metadata"]["name"] for item in server.api._call("GET", server.path(kind), label)["items"]] == [name]
    patched = server.api._call("PATCH", server.path(kind, name), {}, {"metadata": {"annotations": {"a": "b"}}}, MERGE)
    assert patched["metadata"]["annotations"] == {"a": "b"}
    applied = {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": {"name": name}, "spec": made["spec"]}
    server.api._call("PATCH", server.path(kind, name), {"fieldManager": "somebody", "force": "true"}, applied, APPLY)
    server.api._call("DELETE", server.path(kind), label)
    eventually(lambda: not server.api._call("GET", server.path(kind), label)["items"], "it is gone")
    path = f"{server.path(kind)}?watch=true&timeoutSeconds=1&resourceVersion={seen}&labelSelector=part%3D57"
    status, stream = server.api.raw(path)
    events = [json.loads(line)["type"] for line in stream.splitlines()]
    assert (status, events[0], events[-1]) == (200, "ADDED", "DELETED")


DRA = [None, claims(claim())]


@pytest.mark.parametrize("after", DRA, ids=["without", "with"])
@pytest.mark.parametrize("before", DRA, ids=["without", "with"])
def test_v36_55_73_claims_are_never_dropped(server: Server, before: Object | None, after: Object | None) -> None:
    """The matrix with the gate on: what is unchanged stays, what is changed is refused, nothing is dropped."""
    made = server.create("podgroups", group(**(before or {})))
    spec = {field: value for field, value in made["spec"].items() if field != "resourceClaims"}
    body = {**made, "spec": {**spec, **(after or {})}}
    if before == after:
        assert server.update("podgroups", body)["spec"] == made["spec"]
    else:
        assert "spec.resourceClaims" in refusal(lambda: server.update("podgroups", body))


POD: Object = {"containers": [{"name": "c", "image": "c"}]}
GROUPS = {"nil": {}, "empty": {"podGroupName": ""}, "bad": {"podGroupName": "a/b"}, "long": {"podGroupName": "p" * 254}}


def test_v36_74_75_a_pod_names_its_group(server: Server) -> None:
    """Cannot agree: a server without the feature drops `spec.schedulingGroup` from a pod, right or wrong."""
    good: Object = {**POD, "schedulingGroup": {"podGroupName": "some"}}
    made = server.api.create("pods", {"metadata": {"name": server.fresh_name()}, "spec": good}, server.namespace)
    assert made["spec"].get("schedulingGroup") == (good["schedulingGroup"] if server.native else None)
    for named in GROUPS.values():
        bad = {"metadata": {"name": server.fresh_name()}, "spec": {**POD, "schedulingGroup": named}}
        if server.native:
            assert "spec.schedulingGroup" in refusal(partial(server.api.create, "pods", bad, server.namespace))
        else:
            assert "schedulingGroup" not in server.api.create("pods", bad, server.namespace)["spec"]
    change = {"spec": {"schedulingGroup": {"podGroupName": "other"}}}
    if server.native:
        name = made["metadata"]["name"]
        assert "pod updates may not change" in refusal(lambda: server.api.patch("pods", name, change, server.namespace))


def agrees_only_natively(server: Server, attempt: Callable[[], object]) -> None:
    """Accepted by the built-in API, refused by CRDs."""
    if server.native:
        attempt()
    else:
        refusal(attempt)


def test_cannot_agree_an_update_without_a_resource_version(server: Server) -> None:
    made = server.create("workloads", workload())
    del made["metadata"]["resourceVersion"]
    agrees_only_natively(server, lambda: server.update("workloads", made))


def test_cannot_agree_a_strategic_merge_patch(server: Server) -> None:
    path = server.path("workloads", server.create("workloads", workload())["metadata"]["name"])
    patch = {"metadata": {"labels": {"a": "b"}}}
    agrees_only_natively(server, lambda: server.api._call("PATCH", path, {}, patch, STRATEGIC))


def test_cannot_agree_the_length_of_a_message_is_in_bytes_or_in_characters(server: Server) -> None:
    made = server.create("podgroups", group())
    made["status"] = {"conditions": [condition(message="€" * 20000)]}
    if server.native:
        assert "status.conditions[0].message" in refusal(lambda: server.update("podgroups", made, "/status"))
    else:
        server.update("podgroups", made, "/status")


@pytest.mark.parametrize("kind", ["podgroups", "workloads"])
def test_cannot_agree_the_generation(server: Server, kind: Kind) -> None:
    assert server.create(kind, SPECS[kind])["metadata"].get("generation") == (None if server.native else 1)


def refusal(attempt: Callable[[], object]) -> str:
    with pytest.raises(ApiError) as refused:
        attempt()
    assert refused.value.status in REFUSALS
    return refused.value.message


def includes(returned: Any, sent: Any) -> bool:
    """What was sent is there. Empty is as good as absent."""
    if isinstance(sent, dict):
        return all(includes(returned.get(key), value) for key, value in sent.items() if key != UNKNOWN)
    if isinstance(sent, list) and sent:
        return len(returned) == len(sent) and all(includes(*pair) for pair in zip(returned, sent, strict=True))
    return bool(returned == sent or (not sent and not returned))
