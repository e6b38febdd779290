"""Renders manifests/ from the chart, for installations without Helm. It contains no Helm hooks."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from tools import HELM, tool

ROOT = Path(__file__).parents[1]
CHART, FOLDER = ROOT / "charts/muster", ROOT / "manifests"
HEAD = "# Rendered from charts/muster by `make generate`. Do not edit.\n"
BY_HAND = {"dev-rbac.yaml"}
"""Files in the folder that do not come from the chart."""
_HELMS_OWN = re.compile(r"^ +(app\.kubernetes\.io/managed-by|helm\.sh/[a-z-]+): .*\n", re.MULTILINE)
_EMPTY = re.compile(r"^( +)annotations:\n(?!\1 )", re.MULTILINE)
_SOURCE = re.compile(r"^# Source: muster/templates/(\S+)\n", re.MULTILINE)


def rendered(*flags: str) -> str:
    command = [str(tool(HELM)), "template", "muster", str(CHART), "--namespace", "muster-system", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return done.stdout


def without_helm(document: str) -> str:
    return _EMPTY.sub("", _HELMS_OWN.sub("", document))


def files() -> dict[str, str]:
    """One file per template, without what only Helm reads."""
    text = rendered("--set", "namespace.create=true", "--no-hooks", "--skip-tests")
    found: dict[str, list[str]] = {}
    for document in re.split(r"^---\n", text, flags=re.MULTILINE):
        source = _SOURCE.match(document)
        if source:
            body = without_helm(document[source.end() :]).strip() + "\n"
            found.setdefault(source[1], []).append(body)
    names = sorted(found, key=lambda name: (name != "namespace.yaml", name))
    listed = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": names}
    return {
        "kustomization.yaml": HEAD + yaml.safe_dump(listed, sort_keys=False),
        **{name: HEAD + "---\n".join(bodies) for name, bodies in found.items()},
    }


def stale() -> list[str]:
    wanted = files()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.yaml") if path.name not in BY_HAND}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main() -> None:
    names = stale()
    if "--check" in sys.argv:
        if names:
            sys.exit(f"manifests/ is stale ({', '.join(names)}): run `make generate`")
        return
    for name in names:
        (FOLDER / name).unlink(missing_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
