"""The settings file: Muster reports all mistakes at once, with the allowed values; a correct file is read unchanged."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from muster.config.loading import BadSettings, as_yaml, load, parse
from muster.config.types import Settings

WRONG = {
    "a key that there is not": (
        "worker: 3",
        "worker: unknown key; did you mean workers? (allowed: apiVersion, kind, apiGroup, ",
    ),
    "a key inside that there is not": (
        "serving: {prot: 1}",
        ("serving.prot: unknown key; did you mean port? (allowed: address, port, healthPort, drainSeconds, clientCA)"),
    ),
    "snake case": ("api_group: auto", "api_group: unknown key; did you mean apiGroup? (allowed: "),
    "another version": (
        "apiVersion: muster.dev/v2",
        "apiVersion: is \"muster.dev/v2\" (allowed: 'muster.dev/v1alpha1')",
    ),
    "another kind": ("kind: Deployment", "kind: is \"Deployment\" (allowed: 'MusterConfiguration')"),
    "too many": ("workers: 1000", "workers: is 1000 (allowed: 1 to 256)"),
    "a number in quotes": ('workers: "64"', 'workers: is "64" (allowed: a whole number)'),
    "yes is no number": ("workers: yes", "workers: is true (allowed: a whole number)"),
    "not a number at all": ("resyncSeconds: .nan", "resyncSeconds: is NaN (allowed: a finite number)"),
    "no time": ("probeSeconds: 0", "probeSeconds: is 0 (allowed: more than 0 to 86400)"),
    "text for a list": ("excludedNamespaces: a", 'excludedNamespaces: is "a" (allowed: a list)'),
    "a name that is none": (
        "excludedNamespaces: [A_B]",
        'excludedNamespaces.0: is "A_B" (allowed: a name of a-z, 0-9 and -)',
    ),
    "text for a part": ("service: muster", 'service: is "muster" (allowed: a mapping)'),
    "a policy that there is not": (
        "webhooks: {pods: {failurePolicy: fail}}",
        "webhooks.pods.failurePolicy: is \"fail\" (allowed: 'Fail' or 'Ignore')",
    ),
    "releaseOnSuspend as it once was": (
        "releaseOnSuspend: true",
        "releaseOnSuspend: true is no longer supported; write Pair for the same, or one of Auto, PodGroup, Pair, N",
    ),
    "releaseOnSuspend as it once was by default": (
        "releaseOnSuspend: false",
        "releaseOnSuspend: false is no longer supported; write Nothing for the same",
    ),
    "a release that there is not": (
        "releaseOnSuspend: pair",
        "releaseOnSuspend: is \"pair\" (allowed: 'Auto', 'PodGroup', 'Pair' or 'Nothing')",
    ),
    "half a requirement": (
        "webhooks: {pods: {objectSelector: {matchExpressions: [{key: a}]}}}",
        "webhooks.pods.objectSelector.matchExpressions.0.operator: is missing",
    ),
    "In without values": (
        "webhooks: {pods: {objectSelector: {matchExpressions: [{key: a, operator: In}]}}}",
        "webhooks.pods.objectSelector.matchExpressions.0: the operators In and NotIn require values",
    ),
    "an authority that dies before its leaf": (
        "certificates: {leafDays: 90, authorityDays: 100}",
        "certificates: leafDays must be at most half of authorityDays",
    ),
    "a lead that is lost with one write": (
        "leadership: {renewSeconds: 10}",
        "leadership: renewSeconds must be at most half of durationSeconds",
    ),
    "twice": ("workers: 3\nworkers: 4", "workers: is given twice, again in line 2 (allowed: once)"),
    "twice inside": ("serving:\n  port: 1\n  port: 2", "serving.port: is given twice, again in line 3 (allowed: once)"),
    "no YAML": (
        "a: [",
        "the file: is not YAML: expected the node content, but found '<stream end>' in line 1, column 5",
    ),
    "a date that there is not": ("workers: 2026-99-99", "the file: is not YAML: month must be in 1..12"),
    "a list as a key": ("? [1]\n: 2", "the file: is not YAML: found unhashable key in line 1"),
    "two documents": ("a: b\n---\nc: d", "the file: is not YAML: but found another document in line 2"),
    "a list": ("- 1", "the file: is [1] (allowed: a mapping of settings)"),
    "text": ("hello", 'the file: is "hello" (allowed: a mapping of settings)'),
    "nested too deeply": ("[" * 5000, "the file: is nested too deeply"),
    "an alias": ("serving: &a {port: 1}\nservice: *a", "service: is a YAML alias (allowed: the value itself)"),
    "an alias of itself": ("serving: &a [*a]", "serving.0: is a YAML alias (allowed: the value itself)"),
    "a tag of Python's": (
        "workers: !!python/object:os.system x",
        "the file: is not YAML: could not determine a constructor",
    ),
    "control characters": ('"a\\nb": 1', "a b: unknown key (allowed: "),
}


@pytest.mark.parametrize(("content", "line"), WRONG.values(), ids=list(WRONG))
def test_each_mistake_is_reported_in_one_line(content: str, line: str) -> None:
    with pytest.raises(BadSettings) as raised:
        parse(content.encode())
    (problem,) = raised.value.problems
    assert problem.startswith(line)
    assert problem.isprintable()


def test_all_mistakes_are_reported_at_once() -> None:
    content = """
    apiVersion: muster.dev/v2
    workers: 1
    workers: 0
    service: {port: 0}
    webhooks:
      pods: {timeoutSeconds: 31}
      pod: {}
    leadership: {renewSeconds: 10}
    loging: {}
    """
    with pytest.raises(BadSettings) as raised:
        parse(content.encode())
    assert [problem.split(":")[0] for problem in raised.value.problems] == [
        "workers",
        "apiVersion",
        "workers",
        "service.port",
        "webhooks.pods.timeoutSeconds",
        "webhooks.pod",
        "leadership",
        "loging",
    ]


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(BadSettings, match="cannot be read: No such file or directory"):
        load(Path("/nonexistent/muster.yaml"), {})


@pytest.mark.parametrize("content", ["", "# nothing", "---", "serving:\nlogging:", "serving: {port: }"])
def test_a_missing_key_has_its_default(content: str) -> None:
    assert parse(content.encode()) == Settings()


def test_printed_settings_read_back_unchanged() -> None:
    content = b"workers: 3\nwebhooks: {pods: {objectSelector: {matchLabels: {a: b}}}}\nlogging: {format: json}"
    settings = parse(content)
    assert parse(as_yaml(settings).encode()) == settings
    assert yaml.safe_load(as_yaml(settings))["webhooks"]["pods"]["objectSelector"]["matchLabels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("content", "environment", "namespace", "excluded"),
    [
        pytest.param("", {}, "muster-system", {"kube-system", "muster-system"}, id="by default"),
        pytest.param("", {"POD_NAMESPACE": "ours"}, "ours", {"kube-system", "ours"}, id="from the pod"),
        pytest.param(
            "service: {namespace: given}", {"POD_NAMESPACE": "ours"}, "given", {"kube-system", "given"}, id="as set"
        ),
        pytest.param(
            "excludedNamespaces: [a]",
            {"POD_NAMESPACE": "ours"},
            "ours",
            {"a", "kube-system", "ours"},
            id="kube-system and its own cannot be left out",
        ),
        pytest.param(
            "excludedNamespaces: [muster-system]",
            {"POD_NAMESPACE": "ours"},
            "ours",
            {"muster-system", "kube-system", "ours"},
            id="what is listed stays",
        ),
    ],
)
def test_muster_excludes_its_own_namespace(
    content: str, environment: dict[str, str], namespace: str, excluded: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text(content)
    settings = load(file, environment)
    assert settings.service.namespace == namespace
    assert settings.service.host == f"muster.{namespace}.svc"
    assert settings.excluded_namespaces == excluded


def test_every_key_has_a_description() -> None:
    silent = [path for path, field in _fields(Settings, "") if not field.description]
    assert silent == []


def _fields(model: type[BaseModel], path: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for field in model.model_fields.values():
        here = f"{path}.{field.alias}"
        found.append((here, field))
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += _fields(field.annotation, here)
    return found
