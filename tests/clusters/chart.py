"""Helm as a person runs it on a shell, and what the chart renders."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.clusters.cluster import ROOT
from tests.clusters.command import Answer

CHART = ROOT / "charts/muster"
NAMESPACE = "muster-system"
VALUES = {path.stem: path for path in sorted((Path(__file__).parent / "chart_values").glob("*.yaml"))}
"""Sets of values, by name."""


def run_tool(name: str, *arguments: str) -> Answer:
    done = subprocess.run([path_of(name), *arguments], capture_output=True, text=True, check=False, timeout=300)
    return Answer(done.returncode, done.stdout, done.stderr)


@cache
def path_of(tool: str) -> str:
    found = subprocess.run([ROOT / "hack/tool", "path", tool], capture_output=True, text=True, check=True, timeout=3600)
    return found.stdout.strip()


def helm(*arguments: str, kubeconfig: Path | None = None) -> str:
    login = ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
    answer = run_tool("helm", *arguments, *login, "--namespace", NAMESPACE)
    assert answer.code == 0, f"helm {' '.join(arguments)}: {answer.err}{answer.out}"
    return answer.out


def refusal(*flags: str) -> str:
    """Why Helm does not render it."""
    answer = run_tool("helm", "template", "muster", str(CHART), *flags)
    assert answer.code != 0, f"rendered with {flags}"
    return answer.err


def rendered(values: str = "default", *flags: str) -> list[dict[str, Any]]:
    text = helm("template", "muster", str(CHART), "--values", str(VALUES[values]), *flags)
    return [document for document in yaml.safe_load_all(text) if document]


def the(documents: list[dict[str, Any]], kind: str, name: str = "muster") -> dict[str, Any]:
    (found,) = [each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def settings_in(documents: list[dict[str, Any]]) -> str:
    """The settings file that Muster's pods read."""
    return str(the(documents, "ConfigMap")["data"]["config.yaml"])
