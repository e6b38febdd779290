"""Generates the chart's README from the comments in its values.yaml. Every value must have a comment."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[1] / "charts/muster"
README = CHART / "README.md"
HEAD = """<!-- Generated from values.yaml by `make generate`. Do not edit. -->
# The chart

```sh
helm install muster charts/muster --namespace muster-system --create-namespace --set image.repository=REGISTRY/muster
```

[docs/install.md](../../docs/install.md) describes how to install, upgrade and uninstall Muster;
[docs/operations.md](../../docs/operations.md) describes how to fix problems. `values.schema.json` refuses invalid
values. Install one Muster per cluster: names do not depend on the release.

The chart contains the webhook configurations without webhooks. Muster adds the webhooks when it is ready, so that an
install never blocks a Job; upgrades keep them. Deleting the namespace also deletes the webhook
configurations, because it owns them.

| value | default | what it does |
|---|---|---|
"""


class Undocumented(Exception):
    """A value without a comment."""


@dataclass(frozen=True)
class Value:
    path: str
    default: object
    text: str


def values(source: str) -> list[Value]:
    root = yaml.compose(source, yaml.SafeLoader)
    return list(_values(root, yaml.safe_load(source), source.splitlines(), ""))


def _values(node: Any, defaults: Any, lines: list[str], prefix: str) -> Iterator[Value]:
    for key, child in node.value:
        path, default = f"{prefix}{key.value}", defaults[key.value]
        text = _comment_above(lines, key.start_mark.line)
        if text:
            yield Value(path, default, text)
        elif isinstance(child, yaml.MappingNode) and child.value:
            yield from _values(child, default, lines, f"{path}.")
        else:
            raise Undocumented(f"values.yaml: {path} has no comment that says what it does")


def _comment_above(lines: list[str], number: int) -> str:
    """The comment block right above the line."""
    block: list[str] = []
    while number > 0 and lines[number - 1].strip().startswith("#"):
        number -= 1
        block.insert(0, lines[number].strip().removeprefix("#").strip())
    return " ".join(block)


def page(source: str) -> str:
    return HEAD + "".join(
        f"| `{value.path}` | `{json.dumps(value.default)}` | {value.text.replace('|', chr(92) + '|')} |\n"
        for value in values(source)
    )


def main() -> None:
    try:
        text = page((CHART / "values.yaml").read_text())
    except Undocumented as problem:
        sys.exit(str(problem))
    if "--check" not in sys.argv:
        README.write_text(text)
    elif not README.exists() or README.read_text() != text:
        sys.exit("charts/muster/README.md is stale: run `make generate`")


if __name__ == "__main__":
    main()
