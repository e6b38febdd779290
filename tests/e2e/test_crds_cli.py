"""`muster crds` on each kind of server, and why it refuses what it refuses."""

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clusters.api import APPLY, Api, Object
from tests.clusters.cluster import ROOT, Cluster, hack_cluster, start_cluster
from tests.clusters.command import Answer, muster
from tests.clusters.https import readyz
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.waiting import eventually

BUILT_IN, OWN = "scheduling.k8s.io", "scheduling.muster.dev"
KINDS = ("workloads", "podgroups")
GARBAGE_COLLECTOR_WAITS = 15
"""Seconds, and some more. When its process starts, it waits 30 for monitors that do not sync."""


@pytest.fixture(scope="module")
def stock() -> Iterator[Cluster]:
    yield from cluster("stock")


@pytest.fixture(scope="module")
def crd() -> Iterator[Cluster]:
    yield from cluster("crd")


def cluster(profile: str) -> Iterator[Cluster]:
    made = start_cluster(f"crds-{profile}", "--profile", profile, "--nodes", "1")
    yield made
    made.down()


@pytest.fixture
def place(stock: Cluster) -> Iterator[str]:
    yield from own_namespace(stock.api)


def crds(on: Cluster, *arguments: str) -> Answer:
    return muster("crds", *arguments, kubeconfig=on.kubeconfig)


def served(api: Api, group: str) -> list[int]:
    return [api.raw(f"/apis/{group}/v1alpha2/{kind}")[0] for kind in KINDS]


def installed(api: Api) -> set[str]:
    return {item["metadata"]["name"] for item in api.list("customresourcedefinitions")}


def apply_crd(api: Api, crd: Object) -> None:
    name = crd["metadata"]["name"]
    api.patch("customresourcedefinitions", name, crd, how=APPLY, fieldManager="somebody", force="true")


def file_of(group: str, kind: str) -> Object:
    manifest: Object = yaml.safe_load((ROOT / f"crds/{group}_{kind}.yaml").read_text())
    return manifest


def small(group: str, kind: str) -> Object:
    policy = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    spec = {"podGroupTemplates": [{"name": "workers", **policy}]} if kind == "workloads" else policy
    name = {"workloads": "Workload", "podgroups": "PodGroup"}[kind]
    return {"apiVersion": f"{group}/v1alpha2", "kind": name, "metadata": {"name": "kept"}, "spec": spec}


@pytest.mark.parametrize("group", [BUILT_IN, OWN])
def test_print_shows_what_is_in_the_files(group: str) -> None:
    answer = muster("crds", "print", "--group", group)
    assert answer.code == 0
    assert list(yaml.safe_load_all(answer.out)) == [file_of(group, kind) for kind in KINDS]


def test_print_shows_by_default_what_every_server_can_serve() -> None:
    assert muster("crds", "print").out == muster("crds", "print", "--group", OWN).out


def test_where_the_api_is_built_in_there_is_nothing_to_install(local: Cluster) -> None:
    before = installed(local.api)
    for flags in ((), ("--group", BUILT_IN)):
        answer = crds(local, "install", *flags)
        assert (answer.code, answer.err) == (0, "")
        assert "nothing to install" in answer.out
    assert installed(local.api) == before
    assert "nothing to remove" in crds(local, "uninstall").out


def test_a_server_that_owns_the_group_gets_ours(stock: Cluster) -> None:
    answer = crds(stock, "install")
    assert (answer.code, answer.err) == (0, "")
    assert OWN in answer.out
    assert served(stock.api, OWN) == [200, 200], "it came back before they were served"
    assert served(stock.api, BUILT_IN) == [404, 404]


def test_a_server_that_does_not_own_the_group_gets_the_real_one(crd: Cluster) -> None:
    answer = crds(crd, "install")
    assert (answer.code, answer.err) == (0, "")
    assert served(crd.api, BUILT_IN) == [200, 200]
    assert not any(name.endswith(OWN) for name in installed(crd.api))
    again = crds(crd, "install")
    assert (again.code, again.err) == (0, "")
    assert "up to date" in again.out


def test_muster_reports_an_unsupported_version_and_installs_no_crds_beside_it(crd: Cluster, tmp_path: Path) -> None:
    """As a later Kubernetes has it. Here a CRD stands in for it: what counts is that the path answers."""
    crds(crd, "uninstall", "--yes")
    later = file_of(BUILT_IN, "workloads")
    later["metadata"]["labels"] = {}
    later["spec"]["versions"][0]["name"] = "v1beta1"
    apply_crd(crd.api, later)
    eventually(lambda: crd.api.raw(f"/apis/{BUILT_IN}/v1beta1/workloads")[0] == 200, "the later version is served")
    said = f"{BUILT_IN}/v1beta1"
    try:
        answer = crds(crd, "install")
        assert (answer.code, answer.out) == (1, "")
        assert said in answer.err
        with Muster(crd.muster_kubeconfig(), crd.api, tmp_path / "log").started() as process:
            eventually(lambda: f"the API server serves Workloads as {said}" in process.log(), "the log reports it", 30)
            assert process.running
            status, sentence = readyz(process)
            assert (status, said in sentence) == (503, True)
    finally:
        crd.api.delete("customresourcedefinitions", later["metadata"]["name"])
    assert not installed(crd.api) - {later["metadata"]["name"]}


def test_the_columns_show_the_policy_and_the_verdict(stock: Cluster, place: str) -> None:
    crds(stock, "install")
    ref = {"workload": {"workloadName": "kept", "podGroupTemplateName": "workers"}}
    work, group = small(OWN, "workloads"), small(OWN, "podgroups")
    work["spec"]["controllerRef"] = {"apiGroup": "batch", "kind": "Job", "name": "train"}
    group["spec"]["podGroupTemplateRef"] = ref
    path = f"/apis/{OWN}/v1alpha2/namespaces/{place}"
    stock.api._call("POST", f"{path}/workloads", body=work)
    made = stock.api._call("POST", f"{path}/podgroups", body=group)
    condition = {"type": "PodGroupScheduled", "status": "False", "reason": "Unschedulable", "message": ""}
    made["status"] = {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    stock.api._call("PUT", f"{path}/podgroups/kept/status", body=made)
    both = ",".join(f"{kind}.{OWN}" for kind in KINDS)
    get = ("kubectl", "--name", stock.name, "get", both, "-n", place, "--no-headers")
    shown = eventually(lambda: hack_cluster(*get), "kubectl knows them")
    rows = {line.split()[0].partition(".")[0]: line.split()[1:-1] for line in shown.splitlines() if line}
    assert rows["workload"] == ["train", '{"gang":{"minCount":4}}', "4"]
    resources = json.loads(stock.api.raw(f"/apis/{OWN}/v1alpha2")[1])["resources"]
    assert {each["name"] for each in resources if each.get("categories") == ["muster"]} == set(KINDS)
    assert rows["podgroup"] == ['{"gang":{"minCount":4}}', "4", "kept", "Unschedulable"]


def test_an_upgrade_keeps_the_objects(stock: Cluster, place: str) -> None:
    """From CRDs of an older Muster, with other texts, columns and fewer rules."""
    uids = {}
    for kind in KINDS:
        older = copy.deepcopy(file_of(OWN, kind))
        version = older["spec"]["versions"][0]
        version["additionalPrinterColumns"] = version["additionalPrinterColumns"][-1:]
        version["schema"]["openAPIV3Schema"]["description"] = "Older."
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"]
        older["spec"]["names"]["shortNames"] = [f"old{kind}"]
        apply_crd(stock.api, older)
    eventually(lambda: served(stock.api, OWN) == [200, 200], "the older ones are served")
    for kind in KINDS:
        assert described(stock, kind) == "Older."
        path = f"/apis/{OWN}/v1alpha2/namespaces/{place}/{kind}"
        uids[kind] = stock.api._call("POST", path, body=small(OWN, kind))["metadata"]["uid"]
    answer = crds(stock, "install")
    assert (answer.code, answer.err) == (0, "")
    for kind in KINDS:
        path = f"/apis/{OWN}/v1alpha2/namespaces/{place}/{kind}/kept"
        kept = json.loads(stock.api.raw(path)[1])
        assert kept["metadata"]["uid"] == uids[kind]
        assert described(stock, kind) != "Older."
        now = stock.api.get("customresourcedefinitions", f"{kind}.{OWN}")["spec"]["versions"]
        assert (
            now[0]["additionalPrinterColumns"] == file_of(OWN, kind)["spec"]["versions"][0]["additionalPrinterColumns"]
        )


def described(on: Cluster, kind: str) -> str:
    version = on.api.get("customresourcedefinitions", f"{kind}.{OWN}")["spec"]["versions"][0]
    return str(version["schema"]["openAPIV3Schema"]["description"])


def test_uninstall_lists_what_it_deletes_and_asks_for_confirmation(stock: Cluster, place: str) -> None:
    crds(stock, "install")
    path = f"/apis/{OWN}/v1alpha2/namespaces/{place}"
    for kind in KINDS:
        stock.api._call("POST", f"{path}/{kind}", body=small(OWN, kind))
    refused = crds(stock, "uninstall")
    assert refused.code != 0
    assert "Workloads" in refused.err
    assert "--yes" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert served(stock.api, OWN) == [200, 200]
    assert crds(stock, "uninstall", "--group", BUILT_IN).out.startswith("nothing to remove")
    answer = crds(stock, "uninstall", "--yes")
    assert answer.code == 0, answer.err
    assert not installed(stock.api)
    assert crds(stock, "install").code == 0
    empty = crds(stock, "uninstall")
    assert (empty.code, empty.err) == (0, ""), "without objects it needs no yes"


def test_crds_of_others_are_not_changed(stock: Cluster) -> None:
    crds(stock, "uninstall", "--yes")
    theirs = file_of(OWN, "workloads")
    theirs["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "somebody"}
    apply_crd(stock.api, theirs)
    try:
        before = stock.api.get("customresourcedefinitions", f"workloads.{OWN}")
        refused = crds(stock, "install")
        assert refused.code != 0
        assert "Muster did not create it" in refused.err
        assert "nothing to remove" in crds(stock, "uninstall", "--yes").out
        after = stock.api.get("customresourcedefinitions", f"workloads.{OWN}")
        assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
        assert installed(stock.api) == {f"workloads.{OWN}"}
    finally:
        stock.api.delete("customresourcedefinitions", f"workloads.{OWN}")
        eventually(lambda: not installed(stock.api), "it is gone")


def test_errors_are_one_sentence(stock: Cluster, tmp_path: Path) -> None:
    account = muster("crds", "install", kubeconfig=stock.muster_kubeconfig())
    nowhere = muster("crds", "install", kubeconfig=tmp_path / "missing")
    unknown = crds(stock, "install", "--group", "example.com")
    for answer in (account, nowhere, unknown):
        assert answer.code != 0
        assert answer.out == ""
        assert len(answer.err.splitlines()) == 1
        assert answer.err.startswith("muster: ")
    assert "lacks a permission" in account.err


@pytest.mark.full
def test_a_crd_in_a_group_that_the_server_owns_is_dead(stock: Cluster, place: str) -> None:
    """Why install refuses: Established and in discovery, answered with 404, and the garbage collector waits."""
    refused = crds(stock, "install", "--group", BUILT_IN)
    assert refused.code != 0
    assert "do not work on this API server" in refused.err
    assert len(refused.err.splitlines()) == 1
    for kind in KINDS:
        apply_crd(stock.api, file_of(BUILT_IN, kind))
    eventually(lambda: all(is_established(stock.api, f"{kind}.{BUILT_IN}") for kind in KINDS), "they are established")
    eventually(lambda: "podgroups" in discovered(stock, BUILT_IN), "discovery lists them")
    assert served(stock.api, BUILT_IN) == [404, 404]
    try:
        stock.restart()
        assert seconds_until_collected(stock, place) > GARBAGE_COLLECTOR_WAITS
        warned = crds(stock, "install")
        assert warned.code == 0
        assert "delay the garbage collector" in warned.err
    finally:
        assert crds(stock, "uninstall", "--yes").code == 0
    stock.restart()
    assert seconds_until_collected(stock, place) < GARBAGE_COLLECTOR_WAITS, "without the dead CRDs it does not wait"


def seconds_until_collected(on: Cluster, place: str) -> float:
    """How long a ConfigMap stays after its owner is gone."""
    owner = on.api.create("configmaps", {"metadata": {"generateName": "owner-"}}, place)["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}
    body = {"metadata": {"generateName": "dependent-", "ownerReferences": [reference]}}
    dependent = on.api.create("configmaps", body, place)["metadata"]["name"]
    on.api.delete("configmaps", owner["name"], place)
    began = time.monotonic()
    eventually(lambda: not on.api.find("configmaps", dependent, place), "it is collected in the end", 60)
    return time.monotonic() - began


def is_established(api: Api, name: str) -> bool:
    conditions = api.get("customresourcedefinitions", name).get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def discovered(on: Cluster, group: str) -> str:
    return hack_cluster("kubectl", "--name", on.name, "api-resources", "--api-group", group, "--cached=false")
