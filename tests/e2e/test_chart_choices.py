"""What the chart renders for values that change the pods, the network and the notes."""

import pytest
import yaml

from muster.core import readiness
from tests.clusters.api import Object
from tests.clusters.chart import CHART, NAMESPACE, VALUES, helm, refusal, rendered, settings_in, the
from tests.clusters.cluster import ROOT

OPERATOR = {"app.kubernetes.io/name": "muster", "app.kubernetes.io/component": "operator"}


def pod_specs(documents: list[Object]) -> list[Object]:
    found = [each["spec"] for each in documents if each["kind"] == "Pod"]
    return found + [each["spec"]["template"]["spec"] for each in documents if each["kind"] in {"Deployment", "Job"}]


@pytest.mark.parametrize("values", VALUES)
def test_no_pod_keeps_a_node_from_being_drained_or_writes_to_a_disk(values: str) -> None:
    """`kubectl drain` refuses pods with an emptyDir without the flag to delete the data."""
    specs = pod_specs(rendered(values))
    assert specs
    assert not [volume for spec in specs for volume in spec.get("volumes", ()) if "emptyDir" in volume]
    containers = [container for spec in specs for container in spec["containers"]]
    assert all(each["securityContext"]["readOnlyRootFilesystem"] is True for each in containers)
    mounts = [mount for each in containers for mount in each.get("volumeMounts", ())]
    assert all(mount["readOnly"] is True for mount in mounts)


def test_replicas_of_one_rollout_are_spread() -> None:
    (spread,) = the(rendered(), "Deployment")["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread["matchLabelKeys"] == ["pod-template-hash"]
    assert spread["labelSelector"] == {"matchLabels": OPERATOR}


def policies(*flags: str) -> dict[str, Object]:
    documents = rendered("default", *flags)
    return {each["metadata"]["name"]: each["spec"] for each in documents if each["kind"] == "NetworkPolicy"}


def test_every_pod_of_the_chart_has_a_policy_that_opens_what_it_needs() -> None:
    documents = rendered("default", "--set", "networkPolicy.apiServerPorts={443,7443}")
    found = {each["metadata"]["name"]: each["spec"] for each in documents if each["kind"] == "NetworkPolicy"}
    labels = [each["metadata"]["labels"] for each in documents if each["kind"] == "Pod"]
    templates = [each["spec"]["template"] for each in documents if each["kind"] in {"Deployment", "Job"}]
    for pod in (*labels, *(template["metadata"]["labels"] for template in templates)):
        assert [name for name, spec in found.items() if spec["podSelector"]["matchLabels"].items() <= pod.items()], pod
    assert len(labels) + len(templates) == len(found) == 3
    api_server = {"ports": [{"port": 443}, {"port": 7443}]}
    assert found["muster-leave"]["egress"] == [api_server]
    assert api_server in found["muster"]["egress"]
    reached, dns = found["muster-test"]["egress"]
    assert (reached["to"], reached["ports"]) == ([{"podSelector": {"matchLabels": OPERATOR}}], [{"port": "health"}])
    assert {port["port"] for port in dns["ports"]} == {53}
    assert not any("ingress" in found[name] for name in ("muster-leave", "muster-test"))
    assert policies("--set", "networkPolicy.enabled=false") == {}


def test_admission_is_open_to_all_unless_callers_are_named() -> None:
    admission, health = policies()["muster"]["ingress"]
    assert admission == {"ports": [{"port": "admission"}]}
    block = {"ipBlock": {"cidr": "10.0.0.0/28"}}
    admission, unchanged = policies("--set", "networkPolicy.admissionFrom[0].ipBlock.cidr=10.0.0.0/28")["muster"][
        "ingress"
    ]
    assert admission["from"] == [block, {"podSelector": {"matchLabels": OPERATOR}}], "Muster asks its own Service, too"
    assert unchanged == health
    assert "networkPolicy/admissionFrom" in refusal("--set", "networkPolicy.admissionFrom[0].cidr=10.0.0.0/28")


def test_the_chart_has_a_quota_for_its_priority_if_a_cluster_requires_one() -> None:
    assert not [each for each in rendered() if each["kind"] == "ResourceQuota"]
    on = ("--set", "priorityClassQuota.enabled=true")
    quota = the(rendered("default", *on, "--set", "replicas=3"), "ResourceQuota")["spec"]
    assert quota["hard"] == {"pods": "8"}
    (scope,) = quota["scopeSelector"]["matchExpressions"]
    assert scope == {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
    assert "priorityClassQuota.enabled requires a priorityClassName" in refusal(*on, "--set", "priorityClassName=")


def test_an_authority_for_client_certificates_is_a_key_of_a_config_map() -> None:
    assert "clientCA" not in settings_in(rendered())
    flags = ("--set", "serving.clientCA.configMap=callers", "--set", "serving.clientCA.key=x.pem")
    documents = rendered("default", *flags)
    settings = yaml.safe_load(settings_in(documents))
    pod = the(documents, "Deployment")["spec"]["template"]["spec"]
    (mount,) = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "client-ca"]
    (volume,) = [each for each in pod["volumes"] if each["name"] == "client-ca"]
    assert volume["configMap"] == {"name": "callers", "items": [{"key": "x.pem", "path": "ca.crt"}]}
    assert settings["serving"]["clientCA"] == f"{mount['mountPath']}/ca.crt"
    assert mount["readOnly"] is True


def test_the_admission_port_can_be_changed() -> None:
    documents = rendered("default", "--set", "ports.admission=10250")
    (container,) = the(documents, "Deployment")["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["admission"] == yaml.safe_load(settings_in(documents))["serving"]["port"] == 10250


def test_an_annotation_for_everything_may_have_a_dot_in_its_name() -> None:
    """The flag is on the page about managed clusters, for AKS."""
    flag = "commonAnnotations.admissions\\.enforcer/disabled=true"
    page = (ROOT / "docs/managed-clusters.md").read_text()
    assert f"--set-string '{flag}'" in page
    documents = rendered("default", "--set-string", flag)
    assert documents
    for document in documents:
        assert document["metadata"]["annotations"]["admissions.enforcer/disabled"] == "true", document["kind"]


def test_the_configurations_have_no_webhooks_and_no_hook() -> None:
    """So that Muster's survive an upgrade, and that an uninstall takes them along."""
    found = [each for each in rendered() if each["kind"].endswith("WebhookConfiguration")]
    assert [each["metadata"]["name"] for each in found] == ["muster", "muster"]
    assert not [each for each in found if "webhooks" in each or "annotations" in each["metadata"]]


def test_the_notes_quote_what_the_log_says() -> None:
    """What the notes quote is in the sentence that Muster logs when it is not ready."""
    notes = helm("install", "muster", str(CHART), "--dry-run=client", "--namespace", NAMESPACE).partition("NOTES:")[2]
    quoted = notes.split('"')[1::2]
    (words,) = quoted
    assert words == "the API server does not serve workloads"
    assert words in readiness.no_api("auto")
    assert "--reset-then-reuse-values" in notes
    assert "--reuse-values" not in notes
