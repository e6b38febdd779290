"""`hack/demo` as a newcomer, a pipe and an impatient user meet it."""

import contextlib
import re
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.cluster import EXTERNAL
from tests.clusters.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
DEMO = str(REPOSITORY / "hack" / "demo")
CLUSTER = str(REPOSITORY / "hack" / "cluster")
PROMISES = 10
WARM_SECONDS = 90

pytestmark = pytest.mark.skipif(bool(EXTERNAL), reason="the demo has a cluster of its own")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    subprocess.run([CLUSTER, "build"], check=True, capture_output=True)


@pytest.fixture
def name() -> Iterator[str]:
    name = f"demo-{uuid.uuid4().hex[:8]}"
    yield name
    subprocess.run([CLUSTER, "down", "--name", name], capture_output=True, check=False)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for clusters that is this test's own, so that it can be looked through."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("KEEP", raising=False)
    return tmp_path


def run_demo(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DEMO, "--name", name, *arguments], capture_output=True, text=True, timeout=WARM_SECONDS, check=False
    )


def processes_of(name: str) -> list[str]:
    """Command lines that name the cluster: its components and supervisor, Muster and its sidecar, the demo."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if name in command:
                found.append(command)
    return found


def nothing_is_left(name: str, state: Path) -> bool:
    return not processes_of(name) and not [path for path in state.rglob("*") if path.is_file()]


def test_every_promise_is_kept_in_plain_lines_and_nothing_is_left(name: str, state: Path) -> None:
    done = run_demo(name)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = re.findall(r"^ *[\d.]+ s  ([✓✗]) ", done.stdout, re.MULTILINE)
    assert verdicts == ["✓"] * PROMISES
    assert "✗" not in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "pods 12/12 created, 0/12 bound; waits for room for 12 at once" in done.stdout
    assert "4 Insufficient cpu" in done.stdout
    assert nothing_is_left(name, state), processes_of(name)


@pytest.mark.full
def test_keep_leaves_both_up_until_one_command_ends_them(name: str, state: Path) -> None:
    done = run_demo(name, "--keep")
    assert done.returncode == 0, done.stdout + done.stderr
    kubeconfig = re.search(r"export KUBECONFIG=(\S+)", done.stdout)
    assert kubeconfig is not None
    assert Path(kubeconfig[1]).is_file()
    assert any("muster run" in command for command in processes_of(name))

    second = run_demo(name)
    assert second.returncode == 1
    assert second.stderr.strip() == (
        f"hack/demo: A demo is already running in the local cluster {name!r}: "
        f"`hack/cluster down --name {name}` ends it."
    )

    assert f"hack/cluster down --name {name}" in done.stdout
    subprocess.run([CLUSTER, "down", "--name", name], check=True, capture_output=True)
    eventually(lambda: nothing_is_left(name, state), "nothing is left", 10)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.full),
        pytest.param(signal.SIGKILL, marks=pytest.mark.full),
    ],
    ids=lambda number: number.name,
)
def test_ended_in_the_middle_it_leaves_nothing(name: str, state: Path, number: signal.Signals) -> None:
    demo = subprocess.Popen([DEMO, "--name", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    for line in demo.stdout:
        if "Act 2" in line:
            break
    demo.send_signal(number)
    _, errors = demo.communicate(timeout=30)
    if number is signal.SIGKILL:
        assert demo.returncode == -number
    else:
        assert demo.returncode == 130
        assert errors.endswith("hack/demo: interrupted; nothing was left behind.\n")
        assert "Traceback" not in errors
    eventually(lambda: nothing_is_left(name, state), "nothing is left", 15)
