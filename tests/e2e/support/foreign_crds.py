"""Stand-ins for the CRDs of cert-manager and of the Prometheus operator.

They have the fields that the chart uses, written by hand from the documentation, so that a strict API server refuses
any other field. Nobody acts on the objects.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
TEXTS: Schema = {"type": "array", "items": TEXT}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}
DURATION: Schema = {"type": "string", "pattern": r"^([0-9]+(ms|s|m|h))+$"}


def one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def record(required: str = "", **fields: Schema) -> Schema:
    return {"type": "object", "properties": fields} | ({"required": required.split()} if required else {})


def rows(item: Schema) -> Schema:
    return {"type": "array", "items": item}


ISSUER_REF = record("name", name=TEXT, kind=TEXT, group=TEXT)
KEY = record(algorithm=one_of("RSA", "ECDSA", "Ed25519"), size=WHOLE, rotationPolicy=one_of("Never", "Always"))
USAGES = rows(one_of("digital signature", "key encipherment", "server auth", "client auth", "cert sign"))
RULE = record("expr", alert=TEXT, expr=TEXT, labels=LABELS, annotations=LABELS)
RULE["properties"]["for"] = DURATION
ENDPOINT = record(port=TEXT, path=TEXT, interval=DURATION, relabelings=rows(record(targetLabel=TEXT, replacement=TEXT)))

SPECS = {
    ("cert-manager.io", "v1", "Certificate"): record(
        "secretName issuerRef",
        secretName=TEXT,
        commonName=TEXT,
        isCA={"type": "boolean"},
        duration=DURATION,
        renewBefore=DURATION,
        usages=USAGES,
        dnsNames=TEXTS,
        privateKey=KEY,
        issuerRef=ISSUER_REF,
    ),
    ("cert-manager.io", "v1", "Issuer"): record(selfSigned=record(), ca=record("secretName", secretName=TEXT)),
    ("monitoring.coreos.com", "v1", "ServiceMonitor"): record(
        "endpoints selector",
        selector=record(matchLabels=LABELS),
        namespaceSelector=record(matchNames=TEXTS),
        endpoints=rows(ENDPOINT),
    ),
    ("monitoring.coreos.com", "v1", "PrometheusRule"): record(groups=rows(record("name", name=TEXT, rules=rows(RULE)))),
}


def definitions() -> list[dict[str, Any]]:
    return [_definition(group, version, kind, spec) for (group, version, kind), spec in SPECS.items()]


def _definition(group: str, version: str, kind: str, spec: Schema) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
