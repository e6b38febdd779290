"""What a Job can say in `muster.dev/scheduling` and its sister annotations. Each Job must start."""

import json
from functools import partial

from tests.clusters.objects import POD_GROUP_ANNOTATION, SCHEDULING_ANNOTATION, asking, gang_job, job
from tests.e2e.hostile.attack import KILOBYTE, Attack, Input, with_metadata

BOMB = "\n".join(
    [
        "a: &a [x, x, x, x, x, x, x, x, x]",
        *(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ]
)
CONTROLS = "".join(map(chr, (*range(1, 32), 127, *range(128, 160))))
ANSI = "\x1b[2J\x1b[31mERROR\x1b]0;owned\x07 everything is lost\x1b[0m"
LOG_LINE = (
    'x\n2026-01-01 00:00:00 ERROR muster: Traceback (most recent call last):\r\n{"level":"error","message":"forged"}'
)
BIDI = "\u202egang\u2066\u2069\u200b\u2028\u2029\ufeff"
FORMATS = "%s%n%d%(name)s {0.__class__.__init__.__globals__} ${HOME} $(id) `id`"


def _min_count(text: str) -> str:
    return f"policy: {{gang: {{minCount: {text}}}}}"


TEXTS = {
    "half a surrogate as a key": '{"\\ud800": 1}',
    "half a surrogate as a value": '{"policy": "\\udfff"}',
    "a thousand open brackets": "[" * 1_000,
    "four thousand nested mappings, as far as they fit": "{a: " * 1_000,
    "nesting by indentation, ninety deep": "\n".join(" " * depth + "a:" for depth in range(85)),
    "a YAML bomb": BOMB,
    "an anchor that contains itself": "&a [*a]",
    "a merge key": "{<<: {policy: {gang: {}}}}",
    "a merge key of a list": "<<: [1, 2]",
    "250 KB of text": "x" * 250 * KILOBYTE,
    "250 KB of brackets": "[" * 250 * KILOBYTE,
    "250 KB of NULs": "\0" * 250 * KILOBYTE,
    "control characters": f"policy: {CONTROLS}",
    "ANSI escapes": f"policy: {ANSI}",
    "ANSI escapes in a key": json.dumps({ANSI: 1}),
    "newlines that look like log lines": LOG_LINE,
    "newlines as escapes in a key": '{"x\\nERROR muster: forged": 1}',
    "text that runs from right to left": f"policy: {BIDI}",
    "NUL as an escape": '{"policy": "\\u0000", "\\u0000": 1}',
    "format strings": FORMATS,
    "format strings as a key": f'{{"{FORMATS}": 1}}',
    "a script": "policy: <script>alert(document.cookie)</script>",
    "infinity as a count": _min_count("1e999"),
    "JSON's Infinity as a count": '{"policy": {"gang": {"minCount": Infinity}}}',
    "not a number as a count": _min_count(".nan"),
    "a count of 4,000 digits": f'{{"policy": {{"gang": {{"minCount": {"9" * 4_000}}}}}}}',
    "a negative count": _min_count("-1"),
    "a count of nobody": _min_count("0"),
    "a count of one and a half": _min_count("1.5"),
    "a count above the Job's": _min_count("1000000"),
    "a count above 32 bits": _min_count(str(2**63)),
    "a count as text": _min_count('"2"'),
    "a count that is true": _min_count("true"),
    "a count in base 16": _min_count("0x2"),
    "a count in base 60": _min_count("1:30"),
    "a count in Arabic digits": _min_count("٢"),
    "a tag that runs a command": '!!python/object/apply:os.system ["exit 1"]',
    "a tag that nobody knows": "!<tag:example.com,2026:x> {policy: {gang: {}}}",
    "a date as a key": "{2026-01-01: 1}",
    "a date that does not exist": "policy: 2026-99-99",
    "booleans as keys": "{yes: 1, true: 2, null: 3}",
    "a list as a key": "? [a, b]\n: 1",
    "a mapping as a key": "? {a: b}\n: 1",
    "binary, sets and ordered maps": "{policy: !!binary aGk=, constraints: !!set {a, b}, disruption: !!omap [a: 1]}",
    "binary that is not base64": "policy: !!binary '****'",
    "a key given twice": "policy: {gang: {}}\npolicy: {basic: {}}",
    "many documents": "--- {}\n" * 500,
    "a directive of another YAML": "%YAML 9.9\n---\npolicy: {}",
    "nothing": "",
    "only blanks": " \t\n\r ",
    "a number": "42",
    "a list": "[policy, gang]",
    "hundreds of unknown fields": "{" + ", ".join(f"f{n}: {n}" for n in range(400)) + "}",
    "an unknown field of 4,000 characters": "{" + "k" * 4_000 + ": 1}",
    "astral and combining characters": "policy: " + "\U0001f469\u200d\U0001f4bb" * 50 + "e\u0301" * 500 + "\U0010ffff",
    "a topology key with newlines": '{"constraints": {"topology": [{"level": "a\\nb/\\u001b[31m"}]}}',
    "a topology key of 4,000 characters": f'{{"constraints": {{"topology": [{{"level": "{"k" * 3_900}"}}]}}}}',
    "resource claims that are paths": '{"resourceClaims": [{"name": "../x", "resourceClaimName": "../../secrets/y"}]}',
    "all policies at once": "policy: {gang: {minCount: 2}, basic: {}}",
}  # fmt: skip


def _on_a_plain_job(attack: Attack) -> None:
    body = job(attack.name, cpu="10m", parallelism=2, completions=2)
    attack.job(asking(body, '{"\\ud800": 1}'), runs=True)


def _every_annotation_of_ours(attack: Attack) -> None:
    words = {f"muster.dev/{key}": ANSI + LOG_LINE for key in ("pod-group", "scheduling", "grouped", "gang", "x" * 63)}
    kep = {f"scheduling.k8s.io/{key}": FORMATS for key in ("group-template-name", "parent-composite-podgroup")}
    attack.job(with_metadata(gang_job(attack.name, 2, cpu="10m"), annotations=words | kep), runs=True)


def _group_template(text: str, attack: Attack) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": attack.name, "controller": True}
    parent = attack.api.create("configmaps", {"metadata": {"name": attack.name}}, attack.namespace)
    body = with_metadata(
        gang_job(attack.name, 2, cpu="10m"),
        annotations={
            "scheduling.k8s.io/group-template-name": text,
            "scheduling.k8s.io/parent-composite-podgroup": text,
        },
        ownerReferences=[{**owner, "uid": parent["metadata"]["uid"]}],
    )
    attack.job(body, runs=True)


def _preset_group(text: str, attack: Attack) -> None:
    body = gang_job(attack.name, 2, cpu="10m")
    body["spec"]["template"]["metadata"] = {
        "annotations": {POD_GROUP_ANNOTATION: text},
        "labels": {"muster.dev/grouped": "true"},
    }
    attack.job(body)


def _changed_again_and_again(attack: Attack) -> None:
    made = attack.gang(runs=True)
    for text in list(TEXTS.values())[:40]:
        if len(text) < 4_000:
            annotations = {SCHEDULING_ANNOTATION: text}
            attack.patch("jobs", made["metadata"]["name"], {"metadata": {"annotations": annotations}})


def _on_pods(attack: Attack) -> None:
    annotations = {SCHEDULING_ANNOTATION: '{"\\ud800": 1}', POD_GROUP_ANNOTATION: ANSI}
    attack.pod({}, metadata={"name": attack.name, "annotations": annotations})


INPUTS: dict[str, Input] = {
    **{f"an annotation with {what}": partial(Attack.asking, intent=text) for what, text in TEXTS.items()},
    "half a surrogate on a plain Job": _on_a_plain_job,
    "every annotation of Muster's, forged": _every_annotation_of_ours,
    "a template name of 100 KB on an owned Job": partial(_group_template, "t" * 100 * KILOBYTE),
    "a template name with escapes on an owned Job": partial(_group_template, ANSI + LOG_LINE + BIDI),
    "a pod template that presets a group with a path": partial(_preset_group, "../../../secrets/x"),
    "a pod template that presets a group of 200 KB": partial(_preset_group, "g" * 200 * KILOBYTE),
    "a pod template that presets a group with escapes": partial(_preset_group, ANSI + LOG_LINE),
    "an annotation that changes forty times": _changed_again_and_again,
    "hostile annotations on a pod": _on_pods,
}
