"""The logs of every pod of Muster's that there was. The kubelet deletes those of a pod with the pod."""

from tests.clusters.chart import NAMESPACE
from tests.kind.support.machine import Kind

FOLDER = "/var/log/kept"
KEEP = f"""
mkdir -p {FOLDER}
for file in /var/log/pods/{NAMESPACE}_*/*/*.log; do
  [ ! -f "$file" ] || ln "$file" "{FOLDER}/$(stat --format %i "$file")" 2>/dev/null || true
done
ls {FOLDER} | wc -l
"""
"""A second name for each file, which also shows what is written to it later, and stays when the first one goes."""
SHOW = f"grep --recursive --no-filename --after-context=30 Traceback {FOLDER} || [ $? = 1 ]"


def keep_logs(kind: Kind) -> int:
    """The logs of the pods that are there now stay readable. The value is the number of logs that were kept so far."""
    return sum(int(kind.on_node(node, "sh", "-c", KEEP)) for node in kind.running_workers())


def tracebacks(kind: Kind) -> str:
    """What every replica has logged of them, also those that are gone."""
    return "".join(kind.on_node(node, "sh", "-c", f"({KEEP}) >/dev/null; {SHOW}") for node in kind.running_workers())
