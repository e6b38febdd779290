"""`hack/kind/engine` on machines of every sort, with made-up programs on the path."""

import shlex
from pathlib import Path

import pytest
from tests.unit.made_up_machine import ANSWERS, ANYBODY, SILENT, install, install_real, run


def test_where_a_daemon_answers_the_command_runs_and_its_exit_code_is_the_answer(machine: Path) -> None:
    install(machine, "docker", ANSWERS)
    install(machine, "seven", "echo ran; exit 7")
    for word in ("with", "try"):
        done = run(machine, "hack/kind/engine", word, "seven")
        assert (done.returncode, done.stdout) == (7, "ran\n")


OBSTACLES = {
    "podman is not Docker": (
        {"podman": ANSWERS},
        "podman is not supported: kind loads images and stops nodes through Docker. Install Docker.",
    ),
    "a Mac has no dockerd": ({"uname": "echo Darwin"}, "no Docker daemon answers: install Docker and start it."),
    "only root starts a daemon": (
        {"docker": SILENT, "id": ANYBODY},
        "only root can start one: install Docker, start it, and let ann use it.",
    ),
    "without apt-get nothing is installed": (
        {"docker": SILENT},
        "this machine is not Debian, where it could be installed: install Docker and start it.",
    ),
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_when_no_daemon_can_start_the_script_says_why_in_one_line(machine: Path, case: str) -> None:
    programs, sentence = OBSTACLES[case]
    for name, script in programs.items():
        install(machine, name, script)
    refused = run(machine, "hack/kind/engine", "with", "false")
    assert refused.returncode == 1
    assert refused.stderr.startswith("hack/kind/engine: no Docker daemon answers")
    assert refused.stderr.endswith(f"{sentence}\n")
    skipped = run(machine, "hack/kind/engine", "try", "false")
    assert skipped.returncode == 0, "CI continues"
    assert skipped.stdout.startswith("Skipping `false`: ")
    assert skipped.stdout.endswith(f"{sentence}\n")
    assert skipped.stdout.count("\n") == 1


def with_dockerd(machine: Path, *log: str) -> None:
    """It ends at once, and these are its last lines."""
    for name, script in {"docker": SILENT, "ip": "exit 0", "iptables": "exit 0", "setsid": '"$@"'}.items():
        install(machine, name, script)
    install(machine, "dockerd", "\n".join(f"echo {shlex.quote(line)}" for line in log))
    install_real(machine, "mkdir", "rm")


CANNOT_RUN = {
    "no cgroups": "failed to start daemon: Devices cgroup isn't mounted",
    "no mounts": "error creating overlay mount to /data: invalid argument",
    "no permission": "failed to create NAT chain DOCKER: iptables failed: Permission denied (you must be root)",
    "a kernel without the tables of iptables": "can't initialize iptables table `nat': Table does not exist (insmod?)",
    "a system call that is not allowed": "failed to start containerd: unshare: Operation not permitted",
    "a missing capability": "unable to apply caps: missing capability CAP_SYS_ADMIN",
}


@pytest.mark.parametrize("case", CANNOT_RUN)
def test_a_machine_that_cannot_run_a_daemon_is_skipped_with_its_last_output(machine: Path, case: str) -> None:
    with_dockerd(machine, "Starting up", CANNOT_RUN[case])
    skipped = run(machine, "hack/kind/engine", "try", "false")
    assert (skipped.returncode, skipped.stderr) == (0, "")
    assert skipped.stdout.endswith(f"dockerd did not start: {CANNOT_RUN[case]}\n")


OWN_MISTAKES = {
    "a flag that dockerd does not know": ["unknown flag: --bridg", "See dockerd --help."],
    "a data root that another daemon uses": ["failed to start daemon: process with PID 7 is still running"],
    "a warning long before the end": ["Support for cgroup v1 is deprecated", "one", "two", "invalid MTU"],
    "no word": [],
}


@pytest.mark.parametrize("case", OWN_MISTAKES)
def test_a_daemon_that_ends_for_another_reason_is_a_failure(machine: Path, case: str) -> None:
    """Otherwise a mistake in the flags would switch the tests on kind off, and CI would stay green."""
    with_dockerd(machine, *OWN_MISTAKES[case])
    failed = run(machine, "hack/kind/engine", "try", "false")
    assert (failed.returncode, failed.stdout) == (1, "")
    last = OWN_MISTAKES[case][-1] if OWN_MISTAKES[case] else ""
    log = machine / "home/.local/state/muster/kind/engine/log"
    assert failed.stderr.splitlines()[-1] == f"hack/kind/engine: dockerd did not start: {last} (all of it: {log})"


def test_where_an_engine_is_required_nothing_is_skipped(machine: Path) -> None:
    install(machine, "uname", "echo Darwin")
    done = run(machine, "hack/kind/engine", "try", "false", MUSTER_KIND="required")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hack/kind/engine: no Docker daemon answers: install Docker and start it.\n"


def test_a_machine_that_may_not_create_a_bridge_is_skipped(machine: Path) -> None:
    for name, script in {"docker": SILENT, "dockerd": ANSWERS, "ip": SILENT, "iptables": ANSWERS}.items():
        install(machine, name, script)
    install_real(machine, "mkdir")
    done = run(machine, "hack/kind/engine", "try", "false")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("muster0 cannot be created: Docker needs the capability NET_ADMIN.\n")


CLIENTS = {
    "Debian 13 has a package of the client": ("echo '  Candidate: 26.1.5'", "docker.io docker-cli iproute2 iptables"),
    "Debian 12 has none": ("echo '  Candidate: (none)'", "docker.io iproute2 iptables"),
}


@pytest.mark.parametrize("case", CLIENTS)
def test_docker_is_installed_with_its_client(machine: Path, case: str) -> None:
    policy, packages = CLIENTS[case]
    install(machine, "apt-cache", policy)
    install(machine, "apt-get", 'echo "$@" >>"$HOME/calls"')
    install_real(machine, "mkdir")
    done = run(machine, "hack/kind/engine", "try", "false")
    assert (machine / "home/calls").read_text().splitlines()[-1].endswith(f"--no-install-recommends {packages}")
    assert done.returncode == 1, "apt-get has succeeded, so nothing is skipped"
    assert done.stderr.endswith(f"{packages} contain no docker command: install Docker's client.\n")


def test_the_end_takes_the_rules_of_the_bridge_along_and_no_others(machine: Path) -> None:
    rules = "-P FORWARD DROP\n-A FORWARD -o muster0 -j DOCKER\n-A FORWARD -o muster01 -j ACCEPT\n"
    install(machine, "iptables", f"""case "$4" in -S) echo '{rules}' ;; *) echo "$@" >>"$HOME/calls" ;; esac""")
    install(machine, "ip", 'echo "$@" >>"$HOME/calls"')
    (machine / "home").mkdir()
    assert run(machine, "hack/kind/engine", "down").returncode == 0
    assert (machine / "home/calls").read_text().splitlines() == [
        "-w -t nat -D FORWARD -o muster0 -j DOCKER",
        "-w -t filter -D FORWARD -o muster0 -j DOCKER",
        "link show muster0",
        "link delete muster0",
    ]
