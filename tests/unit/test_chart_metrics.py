"""Alerts, dashboard and documents ask for metrics that there are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from muster.runtime.metrics import Metrics

ROOT = Path(__file__).parents[2]
FILES = ROOT / "charts/muster/files"
OPERATIONS = (ROOT / "docs/operations.md").read_text()
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
FOREIGN = {"up", "apiserver_admission_webhook_rejection_count", "apiserver_admission_webhook_fail_open_count"}
"""Those of Prometheus and of the API server."""


def families() -> list[Metric]:
    """What Muster tells, without the times at which its counters began."""
    pages = text_string_to_metric_families(Metrics().page().decode())
    return [family for family in pages if not family.name.endswith("_created")]


def ours() -> set[str]:
    """Every time series of Muster's."""
    return {f"{family.name}{suffix}" for family in families() for suffix in SUFFIXES[family.type]}


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> Iterator[str]:
    for rule in alerts():
        yield rule["expr"]
    for panel in json.loads((FILES / "dashboard.json").read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def asked(query: str) -> set[str]:
    return set(re.findall(r"\b(?:muster|apiserver|up)(?:_[a-z_]+)?(?=\{)", query))


def test_every_query_uses_existing_metrics() -> None:
    for query in queries():
        assert asked(query), query
        assert asked(query) <= ours() | FOREIGN, query


def test_every_query_of_muster_s_metrics_names_the_scrape_job() -> None:
    for query in queries():
        for name in asked(query) - FOREIGN | asked(query) & {"up"}:
            assert f'{name}{{job="muster"' in query, query


def test_every_metric_is_shown_and_documented() -> None:
    shown = {name for query in queries() for name in asked(query)}
    assert len(families()) > 4
    for family in families():
        assert {f"{family.name}{suffix}" for suffix in SUFFIXES[family.type]} & shown, family.name
        documented = family.name + ("_total" if family.type == "counter" else "")
        assert f"| `{documented}` | {family.documentation} |\n" in OPERATIONS


def test_every_alert_says_what_to_do() -> None:
    headings = set(re.findall(r"^### (\w+)$", OPERATIONS, re.MULTILINE))
    assert {rule["alert"] for rule in alerts()} == headings
    for rule in alerts():
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
