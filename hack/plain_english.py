"""Finds words that make Muster's English hard to read, and says what to write instead.

`ALLOWED` lists the files that still contain such words. A count may only shrink, and a clean file leaves the list.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SUFFIXES = {".md", ".py", ".tpl", ".yaml"}
OWN = {"hack/plain_english.py", "tests/unit/hack/test_plain_english.py"}
"""They quote the words."""

INSTEAD = {
    "told": "reported, or name who learns it: 'the event says'",
    "mend|mends|mended": "fix",
    "heed|heeds|heeded": "read, apply, have an effect",
    "whoever": "anyone who, or name the component",
    "for ever": "forever",
    "cannot be had": "is not supported",
    "the very": "the same, or leave it out",
    "says so|said so": "name what it reports",
    "whom": "rewrite with a named subject",
    "shall": "must, or the present tense",
    r"it takes(?! (?:\d|a |about|effect|minutes|seconds|some|the Lease|up to))": "requires",
}
_WORDS = re.compile("|".join(rf"(?P<w{number}>\b(?:{words})\b)" for number, words in enumerate(INSTEAD)), re.IGNORECASE)

ALLOWED: dict[str, int] = {
    "CONTRIBUTING.md": 1,
    "charts/muster/templates/leave.yaml": 1,
    "docs/conformance.md": 8,
    "docs/reasons.md": 2,
    "docs/workloadbuilder.md": 1,
    "hack/control-plane/kwok/stages.yaml": 4,
    "hack/demo_show/cluster.py": 4,
    "hack/demo_show/errors.py": 1,
    "hack/demo_show/lines.py": 1,
    "hack/demo_show/promises.py": 2,
    "hack/demo_show/record.py": 1,
    "hack/demo_show/sidecar.py": 1,
    "hack/image_pins.py": 1,
    "hack/local_cluster/components.py": 1,
    "hack/local_cluster/errors.py": 1,
    "hack/local_cluster/layout.py": 1,
    "hack/local_cluster/lifecycle.py": 3,
    "hack/local_cluster/options.py": 1,
    "hack/local_cluster/owners.py": 1,
    "hack/local_cluster/plan.py": 1,
    "hack/local_cluster/progress.py": 1,
    "hack/reasons_page.py": 2,
    "hack/release_build/identity.py": 1,
    "hack/used_rights.py": 1,
    "src/muster/admission/intents.py": 3,
    "src/muster/api/job.py": 5,
    "src/muster/api/lease.py": 1,
    "src/muster/api/schema.py": 1,
    "src/muster/app/generation.py": 2,
    "src/muster/app/modes.py": 2,
    "src/muster/cli/logs.py": 7,
    "src/muster/config/loading.py": 1,
    "src/muster/config/types.py": 4,
    "src/muster/controllers/intake.py": 2,
    "src/muster/controllers/job/gang_former.py": 2,
    "src/muster/controllers/job/reconciler.py": 2,
    "src/muster/controllers/job/resizing.py": 5,
    "src/muster/controllers/podgroup/members.py": 1,
    "src/muster/controllers/resync.py": 1,
    "src/muster/core/admit.py": 1,
    "src/muster/core/decide.py": 1,
    "src/muster/core/election.py": 1,
    "src/muster/core/gang_status.py": 1,
    "src/muster/core/intent.py": 1,
    "src/muster/core/intent_warnings.py": 5,
    "src/muster/core/request.py": 1,
    "src/muster/crds/immutability.py": 2,
    "src/muster/crds/server_support.py": 1,
    "src/muster/kube/http.py": 2,
    "src/muster/kube/reflector.py": 2,
    "src/muster/runtime/background.py": 1,
    "src/muster/runtime/event_recorder.py": 2,
    "src/muster/runtime/latency.py": 1,
    "src/muster/runtime/leader_election.py": 3,
    "src/muster/serving/renewer.py": 1,
    "src/muster/serving/sources.py": 2,
    "src/muster/serving/trust_bundle.py": 1,
    "src/muster/uninstall/drain.py": 2,
    "src/muster/uninstall/lease.py": 3,
    "src/muster/uninstall/steps.py": 6,
    "src/muster/watching/thread.py": 3,
    "src/muster/webhooks/configurations.py": 2,
    "src/muster/webhooks/reconciler.py": 2,
    "src/muster/workloadbuilder/config.py": 1,
    "src/muster/workloadbuilder/errors.py": 1,
    "src/muster/workloadbuilder/parsing.py": 1,
    "src/muster/workloadbuilder/validation.py": 6,
    "tests/builders.py": 2,
    "tests/conformance/catalogue/in-tree.yaml": 1,
    "tests/conformance/catalogue/kep-5547.yaml": 4,
    "tests/conformance/catalogue/kep-6089.yaml": 1,
    "tests/conformance/profiles/test_delegation.py": 2,
    "tests/conformance/profiles/test_elastic.py": 2,
    "tests/conformance/profiles/test_gang_status.py": 25,
    "tests/conformance/profiles/test_gang_status_restarts.py": 6,
    "tests/conformance/profiles/test_guard_rows.py": 2,
    "tests/conformance/profiles/test_intent.py": 11,
    "tests/conformance/profiles/test_job_rows.py": 1,
    "tests/conformance/profiles/test_pod_webhook.py": 3,
    "tests/conformance/profiles/test_rules.py": 3,
    "tests/conformance/profiles/test_sentences.py": 4,
    "tests/conformance/profiles/test_skipped.py": 5,
    "tests/conformance/profiles/test_split.py": 2,
    "tests/conformance/test_beside_in_tree.py": 1,
    "tests/conformance/test_gated_rows.py": 12,
    "tests/conformance/test_validation_rows.py": 14,
    "tests/conformance/validation/sites.py": 1,
    "tests/e2e/hostile/groups.py": 1,
    "tests/e2e/hostile/jobs.py": 1,
    "tests/e2e/hostile/trial.py": 1,
    "tests/e2e/support/clusters.py": 1,
    "tests/e2e/support/load.py": 1,
    "tests/e2e/support/proxy.py": 5,
    "tests/e2e/support/relay.py": 2,
    "tests/e2e/support/stream.py": 2,
    "tests/e2e/support/workers.py": 1,
    "tests/e2e/test_api_changes.py": 7,
    "tests/e2e/test_certificate_life.py": 1,
    "tests/e2e/test_chart_choices.py": 1,
    "tests/e2e/test_chart_on_a_server.py": 5,
    "tests/e2e/test_chart_rendering.py": 3,
    "tests/e2e/test_chart_rollouts.py": 1,
    "tests/e2e/test_control_plane.py": 6,
    "tests/e2e/test_crds_cli.py": 1,
    "tests/e2e/test_installed.py": 1,
    "tests/e2e/test_leave.py": 7,
    "tests/e2e/test_leave_under_load.py": 15,
    "tests/e2e/test_many_gangs.py": 7,
    "tests/e2e/test_not_ready.py": 5,
    "tests/e2e/test_outages.py": 3,
    "tests/e2e/test_planted_bugs.py": 1,
    "tests/e2e/test_policies.py": 2,
    "tests/e2e/test_replicas.py": 4,
    "tests/e2e/test_retries.py": 4,
    "tests/e2e/test_sigkill.py": 5,
    "tests/e2e/test_uninstall.py": 1,
    "tests/e2e/test_watching_dead.py": 2,
    "tests/fake_cluster.py": 2,
    "tests/faults/scenarios.py": 1,
    "tests/faults/sweep.py": 4,
    "tests/faults/test_leaving.py": 3,
    "tests/kind/support/jobs.py": 2,
    "tests/kind/test_outages.py": 2,
    "tests/oracles.py": 4,
    "tests/unit/admission/test_intents.py": 1,
    "tests/unit/admission/test_podgroups.py": 1,
    "tests/unit/admission/test_server.py": 1,
    "tests/unit/api/test_indexes.py": 3,
    "tests/unit/cli/test_exit_codes.py": 1,
    "tests/unit/cli/test_logs.py": 11,
    "tests/unit/config/test_loading.py": 9,
    "tests/unit/controllers/gang_status/test_controller.py": 2,
    "tests/unit/controllers/gang_status/test_counts.py": 4,
    "tests/unit/controllers/gang_status/test_identity.py": 1,
    "tests/unit/controllers/job/test_gang_former.py": 2,
    "tests/unit/controllers/job/test_resizing.py": 5,
    "tests/unit/controllers/podgroup/test_members.py": 11,
    "tests/unit/controllers/podgroup/test_protection.py": 3,
    "tests/unit/controllers/profile/test_chooser.py": 9,
    "tests/unit/controllers/test_intake.py": 3,
    "tests/unit/core/test_decide.py": 1,
    "tests/unit/core/test_delegation.py": 3,
    "tests/unit/core/test_drain.py": 2,
    "tests/unit/core/test_dropped_fields.py": 7,
    "tests/unit/core/test_election.py": 1,
    "tests/unit/core/test_gang_status.py": 6,
    "tests/unit/core/test_intent.py": 3,
    "tests/unit/core/test_intent_warnings.py": 20,
    "tests/unit/core/test_podgroup_rules.py": 1,
    "tests/unit/core/test_profile_choice.py": 1,
    "tests/unit/core/test_request.py": 3,
    "tests/unit/core/test_split.py": 4,
    "tests/unit/core/test_sticky.py": 1,
    "tests/unit/hack/test_image_pins.py": 1,
    "tests/unit/hack/test_release_identity.py": 2,
    "tests/unit/hack/test_used_rights.py": 8,
    "tests/unit/kube/test_api_detection.py": 1,
    "tests/unit/kube/test_http_bounds.py": 1,
    "tests/unit/kube/test_reflector.py": 16,
    "tests/unit/runtime/test_event_recorder.py": 5,
    "tests/unit/runtime/test_leader_election.py": 1,
    "tests/unit/runtime/test_metrics.py": 1,
    "tests/unit/runtime/test_worker.py": 2,
    "tests/unit/serving/test_renewer.py": 3,
    "tests/unit/test_chart_metrics.py": 2,
    "tests/unit/test_conformance_catalogue.py": 6,
    "tests/unit/uninstall/test_drain.py": 4,
    "tests/unit/uninstall/test_steps.py": 3,
    "tests/unit/webhooks/test_narrowing.py": 7,
    "tests/unit/webhooks/test_reconciler.py": 1,
    "tests/unit/workloadbuilder/drawing.py": 1,
    "tests/unit/workloadbuilder/test_build.py": 2,
    "tests/unit/workloadbuilder/test_docs.py": 1,
    "tests/unit/workloadbuilder/test_limits.py": 4,
    "tests/unit/workloadbuilder/test_parsing.py": 3,
    "tests/unit/workloadbuilder/test_properties.py": 3,
    "tests/unit/workloadbuilder/test_validation.py": 12,
}
"""Path to how often such words are in it."""


class Found(NamedTuple):
    line: int
    word: str
    instead: str


def found_in(text: str) -> Iterator[Found]:
    """A phrase may go on in the next line."""
    advice = list(INSTEAD.values())
    joined = text.replace("\n", " ")
    for match in _WORDS.finditer(joined):
        number = int((match.lastgroup or "w0").removeprefix("w"))
        yield Found(text.count("\n", 0, match.start()) + 1, match[0], advice[number])


def is_checked(path: str) -> bool:
    name = Path(path)
    script = path.startswith("hack/") and not name.suffix
    return path not in OWN and (name.suffix in SUFFIXES or script or path == "Makefile")


def tracked(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and is_checked(path) and (root / path).is_file()]


def problems(root: Path, paths: Iterable[str], allowed: dict[str, int]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for path in paths:
        found = list(found_in((root / path).read_text()))
        counts[path] = len(found)
        if len(found) > allowed.get(path, 0):
            yield from (f"{path}:{line}: {word}: {instead}" for line, word, instead in found)
            if path in allowed:
                yield f"{path}: {len(found)} of these words, and {allowed[path]} are allowed"
    for path in allowed:
        if not counts[path]:
            yield f"{path}: clean or gone: take it off the list in hack/plain_english.py"


def main() -> None:
    found = list(problems(ROOT, tracked(ROOT), ALLOWED))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
