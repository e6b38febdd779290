"""The chart as files: linted, strict about values, and with one set of rights and settings in all of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clusters.chart import CHART, VALUES, helm, refusal, rendered, run_tool, settings_in, the
from tests.clusters.cluster import ROOT
from tests.clusters.command import muster

ALERT_TESTS = Path(__file__).parent / "support/alert_tests.yaml"


@pytest.mark.parametrize("values", VALUES)
def test_helm_lint_finds_no_problem(values: str) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), "--values", str(VALUES[values]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("replicas=0", "at '/replicas': minimum: got 0, want 1", id="too few replicas"),
        pytest.param("replica=3", "additional properties 'replica' not allowed", id="a misspelt key"),
        pytest.param("webhooks.pods.failurePolicy=Maybe", "'/webhooks/pods/failurePolicy'", id="no such policy"),
        pytest.param("webhooks.pods.timeoutSeconds=60", "maximum: got 60, want 30", id="a timeout beyond the limit"),
        pytest.param(
            "webhooks.gate.timeoutSeconds=2", "additional properties 'gate' not allowed", id="no such webhook"
        ),
        pytest.param("image.digest=latest", "at '/image/digest'", id="no digest"),
        pytest.param("certificates.provider=vault", "at '/certificates/provider'", id="no such provider"),
        pytest.param("crds.install=yes", "at '/crds/install'", id="CRDs without a group"),
        pytest.param("flowControl.precedence=9500", "maximum: got 9,500, want 8,999", id="behind all ServiceAccounts"),
        pytest.param("leadership.renewSeconds=12", "leadership.renewSeconds", id="renewed too seldom"),
        pytest.param("certificates.leafDays=2000", "certificates.leafDays", id="outlived by its certificate"),
        pytest.param("leave.waitSeconds=100", "leave.waitSeconds", id="given up while it waits"),
        pytest.param("drainSeconds=40", "drainSeconds", id="killed while it drains"),
        pytest.param(
            "releaseOnSuspend=true",
            "at '/releaseOnSuspend': value must be one of 'Auto', 'PodGroup', 'Pair', 'Nothing'",
            id="true, as it once was",
        ),
        pytest.param("ports.health=9443", "ports.health", id="one port for two things"),
    ],
)
def test_a_wrong_value_is_refused_by_name(value: str, message: str) -> None:
    assert message in refusal("--set", value)


@pytest.mark.parametrize("values", VALUES)
def test_muster_accepts_the_settings(values: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(settings_in(rendered(values)))
    answer = muster("config", "check", str(file))
    assert answer.code == 0, answer.err + answer.out


def test_the_settings_say_what_the_values_say() -> None:
    settings = yaml.safe_load(settings_in(rendered("everything")))
    pods, guard = settings["webhooks"]["pods"], settings["webhooks"]["parallelismGuard"]
    assert (pods["failurePolicy"], pods["timeoutSeconds"], guard["failurePolicy"]) == ("Ignore", 3, "Fail")
    assert pods["namespaceSelector"] == {"matchLabels": {"gangs": "yes"}}, "the common one"
    assert guard["namespaceSelector"] == {"matchExpressions": [{"key": "guarded", "operator": "Exists"}]}, "its own"
    assert settings["service"] == {"name": "muster", "namespace": "muster-system", "port": 443}
    serving = {"address": "0.0.0.0", "port": 10443, "healthPort": 10080, "drainSeconds": 7}
    assert settings["serving"] == {**serving, "clientCA": "/etc/muster/client-ca/ca.crt"}
    assert settings["excludedNamespaces"] == ["kube-system", "istio-system"]
    assert yaml.safe_load(settings_in(rendered("cert-manager")))["certificates"]["mode"] == "files"


def test_pods_are_replaced_when_and_only_when_their_settings_change() -> None:
    def pods(*flags: str) -> Any:
        return the(rendered("default", *flags), "Deployment")["spec"]["template"]

    assert pods("--set", "metrics.dashboard.enabled=true") == pods()
    assert pods("--set", "workers=8") != pods()


def test_the_rights_are_those_that_the_tests_run_with() -> None:
    """Muster's account in the end-to-end tests has what manifests/rbac.yaml says, and that is the chart's."""
    in_chart = {
        (each["kind"], each["metadata"]["name"]): each.get("rules")
        for each in rendered("default", "--no-hooks")
        if "ole" in each["kind"]
    }
    in_tests = {
        (each["kind"], each["metadata"]["name"]): each.get("rules")
        for each in yaml.safe_load_all((ROOT / "manifests/rbac.yaml").read_text())
        if "ole" in each["kind"]
    }
    assert len(in_chart) == 6
    assert in_chart == in_tests


@pytest.mark.parametrize(
    ("value", "granted"), [("Auto", False), ("PodGroup", False), ("Pair", True), ("Nothing", False)]
)
def test_workloads_can_be_deleted_only_where_they_are_released(value: str, granted: bool) -> None:
    documents = rendered("default", "--set", f"releaseOnSuspend={value}")
    assert ("muster-release" in {each["metadata"]["name"] for each in documents}) is granted
    assert yaml.safe_load(settings_in(documents))["releaseOnSuspend"] == value


def test_muster_may_read_no_secret_if_cert_manager_makes_the_certificate() -> None:
    assert "secrets" in str(the(rendered(), "Role"))
    assert "secrets" not in str(the(rendered("cert-manager"), "Role")["rules"])


def test_the_pods_drain_before_they_are_killed() -> None:
    documents = rendered()
    pod = the(documents, "Deployment")["spec"]["template"]["spec"]
    drain = yaml.safe_load(settings_in(documents))["serving"]["drainSeconds"]
    assert drain + 10 <= pod["terminationGracePeriodSeconds"]


def test_the_rules_are_sound() -> None:
    answer = run_tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", str(CHART / "files/alerts.yaml"))
    assert answer.code == 0, answer.out + answer.err


def test_every_alert_fires_when_it_should_and_only_then() -> None:
    answer = run_tool("promtool", "test", "rules", str(ALERT_TESTS))
    assert answer.code == 0, answer.out + answer.err
    alerts = {rule["alert"] for group in alert_groups() for rule in group["rules"]}
    tested = [case for test in yaml.safe_load(ALERT_TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in tested if case.get("exp_alerts")} == alerts, "each fires in a test"
    assert {case["alertname"] for case in tested if not case.get("exp_alerts")} == alerts, "each is silent in a test"


def test_the_rule_object_holds_exactly_those_rules() -> None:
    assert the(rendered("everything"), "PrometheusRule")["spec"]["groups"] == alert_groups()


def test_without_leader_election_no_alert_asks_for_a_leader() -> None:
    documents = rendered("everything", "--set", "leadership.enabled=false")
    (group,) = the(documents, "PrometheusRule")["spec"]["groups"]
    missing = {rule["alert"] for rule in alert_groups()[0]["rules"]} - {rule["alert"] for rule in group["rules"]}
    assert missing == {"MusterWithoutLeader", "MusterTwoLeaders", "MusterBehind"}


def alert_groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load((CHART / "files/alerts.yaml").read_text())["groups"]
    return groups
