"""Merges Muster's webhook configurations with selectors that other tools add.

AKS' admissions enforcer, for example, adds expressions to every namespaceSelector, and adds them again if they are
removed. An added expression or label can only exclude objects from Muster, so Muster keeps it and does not write. An
annotation records which expressions are Muster's own, also after a change of the settings.
"""

import json
from collections.abc import Iterator
from typing import Any

from muster.kube.client import Object

WRITTEN = "muster.dev/selectors"
"""The annotation with the selectors of each webhook as Muster last wrote them."""
SELECTORS = ("namespaceSelector", "objectSelector")


def wanted(body: Object, owners: list[Object]) -> Object:
    """The configuration that Muster writes. Its labels are those of the chart."""
    selectors = {webhook["name"]: {field: webhook[field] for field in SELECTORS} for webhook in body["webhooks"]}
    written = json.dumps(selectors, sort_keys=True, separators=(",", ":"))
    metadata = {"name": body["metadata"]["name"], "annotations": {WRITTEN: written}, "ownerReferences": owners}
    return {**body, "metadata": metadata}


def is_as_wanted(found: Object, wanted: Object) -> bool:
    """Whether Muster's own part of the configuration is up to date."""
    theirs, ours = found["metadata"], wanted["metadata"]
    annotated = ours["annotations"].items() <= (theirs.get("annotations") or {}).items()
    owners = [_owner(each) for each in theirs.get("ownerReferences") or ()]
    owned = all(_owner(each) in owners for each in ours["ownerReferences"])
    return annotated and owned and _is_same(found.get("webhooks") or [], wanted["webhooks"])


def merged(found: Object, wanted: Object) -> Object:
    """The wanted configuration, merged with the additions of other tools."""
    theirs, ours = found["metadata"], wanted["metadata"]
    names = {(owner["kind"], owner["name"]) for owner in ours["ownerReferences"]}
    others = [o for o in theirs.get("ownerReferences") or () if (o.get("kind"), o.get("name")) not in names]
    metadata = {
        **theirs,
        "annotations": {**(theirs.get("annotations") or {}), **ours["annotations"]},
        "ownerReferences": [*others, *ours["ownerReferences"]],
    }
    there, written = {each.get("name"): each for each in found.get("webhooks") or ()}, _written(found)
    webhooks = [_narrowed(each, there.get(each["name"], {}), written) for each in wanted["webhooks"]]
    return {**wanted, "metadata": metadata, "webhooks": webhooks}


def added_by_others(found: Object) -> list[str]:
    """The expressions and labels that Muster did not write, as text."""
    written = _written(found)
    return [
        f"{webhook.get('name')} {field} {json.dumps(each, sort_keys=True)}"
        for webhook in found.get("webhooks") or ()
        for field in SELECTORS
        for each in _added(webhook.get(field), written, webhook.get("name"), field)
    ]


def _is_same(found: list[Object], ours: list[Object]) -> bool:
    def rest(webhook: Object) -> Object:
        return {key: value for key, value in webhook.items() if key not in SELECTORS}

    return len(found) == len(ours) and all(
        _said(rest(one)) == _said(rest(other))
        and all(_contains(one.get(field), other.get(field)) for field in SELECTORS)
        for one, other in zip(found, ours, strict=True)
    )


def _contains(found: Any, ours: Any) -> bool:
    there = list(_requirements(found))
    return all(each in there for each in _requirements(ours))


def _narrowed(ours: Object, found: Object, written: Any) -> Object:
    selectors = {}
    for field in SELECTORS:
        added = [
            each
            for each in _added(found.get(field), written, ours["name"], field)
            if each not in _requirements(ours[field])
        ]
        labels = {each["key"]: each["values"][0] for each in added if each["operator"] == "="}
        expressions = [each for each in added if each["operator"] != "="]
        selectors[field] = _joined(ours[field], labels, expressions)
    return {**ours, **selectors}


def _joined(ours: Object, labels: dict[str, str], expressions: list[Object]) -> Object:
    joined = {
        "matchLabels": {**labels, **ours.get("matchLabels", {})},
        "matchExpressions": [*ours.get("matchExpressions", ()), *map(_said, expressions)],
    }
    return {key: value for key, value in joined.items() if value}


def _added(found: Any, written: Any, name: Any, field: str) -> list[Object]:
    of_webhook = written.get(name) if isinstance(written, dict) else None
    ours = list(_requirements(of_webhook.get(field) if isinstance(of_webhook, dict) else None))
    return [each for each in _requirements(found) if each not in ours]


def _requirements(selector: Any) -> Iterator[Object]:
    """All requirements in one form; a required label value has the operator `=`."""
    if not isinstance(selector, dict):
        return
    for key, value in (selector.get("matchLabels") or {}).items():
        yield {"key": key, "operator": "=", "values": [value]}
    for each in selector.get("matchExpressions") or ():
        yield {"key": each["key"], "operator": each["operator"], "values": sorted(each.get("values") or ())}


def _written(found: Object) -> Any:
    """Empty if the annotation was removed or changed: then all other requirements count as added by others."""
    try:
        return json.loads((found["metadata"].get("annotations") or {}).get(WRITTEN, ""))
    except ValueError:
        return {}


def _owner(reference: Object) -> tuple[Any, ...]:
    return reference.get("kind"), reference.get("name"), reference.get("uid")


def _said(value: Any) -> Any:
    """The value without empty parts: the API server drops them or adds them."""
    if isinstance(value, dict):
        said = {key: _said(each) for key, each in value.items()}
        return {key: each for key, each in said.items() if each not in (None, "", [], {})}
    return [_said(each) for each in value] if isinstance(value, list) else value
