"""What the kind scripts say and do on machines of every sort, with made-up programs on the path."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from tests.unit.made_up_machine import ANSWERS, ANYBODY, ROOT, SILENT, install, install_real, run, sourced

SETTINGS = {
    "podman as the engine": (
        {"CONTAINER_ENGINE": "podman"},
        "CONTAINER_ENGINE=podman is not supported, only Docker is",
    ),
    "podman as kind's provider": (
        {"KIND_EXPERIMENTAL_PROVIDER": "podman"},
        "KIND_EXPERIMENTAL_PROVIDER=podman is not supported, only Docker is",
    ),
    "an unknown profile": ({"PROFILE": "cdr"}, "PROFILE is native, crd or stock, not 'cdr'"),
}


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("script", ["hack/kind-up", "hack/kind-load", "hack/kind-down"])
def test_an_unsupported_setting_is_refused(machine: Path, script: str, case: str) -> None:
    install(machine, "docker", ANSWERS)
    variables, sentence = SETTINGS[case]
    done = run(machine, script, **variables)
    assert done.returncode == 1
    assert f"{Path(script).name}: {sentence}" in done.stderr


@pytest.mark.parametrize("script", ["hack/kind-load", "hack/kind-install", "hack/kind-e2e"])
def test_without_a_cluster_the_script_says_how_to_create_one(machine: Path, script: str) -> None:
    install(machine, "docker", ANSWERS)
    done = run(machine, script, PROFILE="stock")
    assert done.returncode == 1
    assert "there is no cluster: run `make kind-up PROFILE=stock` first" in done.stderr


DEBIAN = {
    "not root": (
        {"id": ANYBODY},
        "needs root, because debootstrap makes a root file system: run it as root, or where an image can be pulled.",
    ),
    "no apt-get": (
        {},
        "needs Debian's packages, and this machine has no apt-get: run it where an image can be pulled.",
    ),
    "debootstrap cannot be installed": (
        {"apt-get": SILENT, "jq": ANSWERS},
        "needs debootstrap, and apt-get could not install it.",
    ),
}


@pytest.mark.parametrize("case", DEBIAN)
def test_what_the_node_image_lacks_is_said_in_one_sentence(machine: Path, case: str) -> None:
    programs, sentence = DEBIAN[case]
    install(machine, "docker", '[ "$1" = version ]')
    for name, script in programs.items():
        install(machine, name, script)
    install_real(machine, "sha256sum", "cut")
    if not os.access(ROOT / ".venv/bin/python", os.X_OK):
        pytest.skip("needs the project's virtual environment")
    done = run(machine, "hack/kind/node-image")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"hack/kind/node-image: Building the node image {sentence}"


NEEDS_A_DAEMON = {
    "hack/kind/node-image": "run it through `hack/kind/engine with hack/kind/node-image`.",
    "hack/image-build": "run `hack/kind/engine with hack/image-build`.",
    "hack/kind-load": "start Docker, or let `hack/kind/engine up` install and start one (Debian, as root)",
    "hack/kind-down": "start Docker, or let `hack/kind/engine up` install and start one (Debian, as root)",
}


@pytest.mark.parametrize("script", NEEDS_A_DAEMON)
def test_without_a_daemon_the_script_says_how_to_start_one(machine: Path, script: str) -> None:
    install(machine, "docker", SILENT)
    install_real(machine, "sha256sum", "cut")
    done = run(machine, script)
    assert done.returncode == 1
    assert done.stderr.endswith(f": no Docker daemon answers: {NEEDS_A_DAEMON[script]}\n")
    assert done.stderr.count("\n") == 1


def test_without_a_release_the_check_says_how_to_build_one(machine: Path) -> None:
    (dist := machine / "dist").mkdir()
    done = run(machine, "hack/release-check", MUSTER_DIST=str(dist))
    assert done.stderr == f"hack/release-check: there is no release in {dist}: run `make release` first\n"
    (dist / "SHA256SUMS").touch()
    done = run(machine, "hack/release-check", MUSTER_DIST=str(dist))
    assert "run `make release` without SKIP_IMAGE, where Docker is" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("digests", "loads", "code"),
    [
        pytest.param(0, True, 0, id="this machine has made it"),
        pytest.param(0, False, 1, id="this machine has made it, and kind cannot load it"),
        pytest.param(1, False, 0, id="Docker 29 has pulled it, so the nodes can"),
    ],
)
def test_only_an_image_that_was_pulled_may_be_missing_on_the_nodes(
    machine: Path, digests: int, loads: bool, code: int
) -> None:
    install(machine, "docker", f'case "$*" in *RepoDigests*) echo {digests} ;; esac')
    fails = "" if loads else 'case "$*" in *busybox*) exit 1 ;; esac'
    install(machine, "python", f'shift; echo "$@" >>"$HOME/calls"\n{fails}')
    install_real(machine, "sha256sum", "cut", "git")
    state = machine / "home/.local/state/muster/kind"
    state.mkdir(parents=True)
    (state / "muster-native.kubeconfig").touch()
    done = run(machine, "hack/kind-load", MUSTER_PYTHON=str(machine / "python"))
    assert (done.returncode, done.stderr) == (code, "")
    calls = (machine / "home/calls").read_text().splitlines()
    images = ("muster:dev", "docker.io/library/busybox:1.35")
    assert calls == [f"kind load docker-image {image} --name muster-native" for image in images], "by the pinned kind"


def test_after_a_failed_step_the_next_profile_follows(machine: Path) -> None:
    install(machine, "docker", SILENT)
    install_real(machine, "mkdir")
    done = run(machine, "hack/kind-profiles", MUSTER_ENGINE_IN_USE="yes")
    assert done.returncode == 1
    assert "kind-up" not in done.stderr
    assert done.stderr.count("kind-down: no Docker daemon answers") == 2 * 3, "before and after, on each profile"
    assert done.stderr.endswith("kind-profiles: the suite failed on native stock crd\n")


@pytest.mark.skipif(shutil.which("flock") is None, reason="needs flock")
@pytest.mark.parametrize(("script", "clusters"), [("kind-test", "muster-test"), ("kind-profiles", "muster-profile")])
def test_two_runs_do_not_use_the_same_clusters(machine: Path, script: str, clusters: str) -> None:
    install(machine, "docker", ANSWERS)
    install_real(machine, "mkdir", "flock")
    state = machine / "home/.local/state/muster/kind"
    state.mkdir(parents=True)
    with (state / f"{clusters}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(machine, f"hack/{script}", MUSTER_ENGINE_IN_USE="yes")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{script}: another run uses the clusters {clusters}-*: wait until it ends")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(shutil.which("flock") is None, reason="needs flock")
def test_two_checks_of_a_release_do_not_use_the_same_clusters(machine: Path) -> None:
    install_real(machine, "mkdir", "flock")
    (state := machine / "home/.local/state/muster/kind").mkdir(parents=True)
    (dist := machine / "dist").mkdir()
    for name in ("SHA256SUMS", "muster-0-image.tar"):
        (dist / name).touch()
    with (state / "release.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(machine, "hack/release-check", "on-kind", MUSTER_DIST=str(dist))
    assert done.returncode == 1
    assert done.stderr == "release-check: another run uses the clusters release-*: wait until it ends\n"


def test_a_failed_pull_is_remembered_until_one_succeeds(machine: Path) -> None:
    install_real(machine, "find", "mkdir", "rm", "timeout")
    ask = "pull example/image 5 || echo failed; failed_lately example/image && echo remembered || echo unknown"
    for docker, answer in ((SILENT, "failed\nremembered\n"), (ANSWERS, "unknown\n")):
        install(machine, "docker", docker)
        done = sourced(machine, "hack/kind/registry", ask)
        assert (done.stdout, done.stderr) == (answer, "Pulling example/image\n")


POLICY = """Package files:
 100 /var/lib/dpkg/status
     release a=now
 500 {first}/debian bookworm-updates/main amd64 Packages
     release v=12-updates,o=Debian,a=oldstable-updates,n=bookworm-updates,l=Debian,c=main,b=amd64
 500 https://packages.example/debian bookworm/main amd64 Packages
     release o=Example,a=stable,n=bookworm,l=Debian,c=main,b=amd64
 500 {second}/debian trixie/main amd64 Packages
     release v=13.1,o=Debian,a=stable,n=trixie,l=Debian,c=main,b=amd64
"""


@pytest.mark.parametrize(
    ("second", "mirror"),
    [("http://mirror.example", "http://mirror.example/debian"), ("file:/srv", ""), ("cdrom://disc", "")],
)
def test_only_debians_own_archive_over_http_is_a_mirror(machine: Path, second: str, mirror: str) -> None:
    policy = POLICY.format(first="http://deb.debian.org", second=second)
    install(machine, "apt-cache", f"cat <<'END'\n{policy}END")
    install(machine, "apt-get", ANSWERS)
    assert sourced(machine, "hack/kind/debian", "debian_mirror").stdout.strip() == mirror


def test_a_package_is_downloaded_with_old_package_lists_too(machine: Path) -> None:
    install(machine, "apt-get", '[ "$1" = update ] && : >"$HOME/new" || [ -e "$HOME/new" ]')
    install(machine, "dpkg-deb", ANSWERS)
    (machine / "home").mkdir()
    assert sourced(machine, "hack/kind/debian", 'package busybox-static "$HOME"').returncode == 0
    install(machine, "apt-get", SILENT)
    done = sourced(machine, "hack/kind/debian", 'package busybox-static "$HOME"')
    assert (done.returncode, done.stderr) == (1, "the Debian package busybox-static could not be downloaded.\n")


def test_a_release_is_refused_where_its_bases_cannot_be_pulled(machine: Path) -> None:
    install(machine, "docker", '[ "$*" != "${*#*muster.local}" ]')
    install_real(machine, "sha256sum", "cut", "timeout", "mkdir")
    done = run(machine, "hack/kind/image-bases")
    assert "BUILD_BASE=muster.local/" in done.stdout, "a snapshot may use stand-ins"
    done = run(machine, "hack/kind/image-bases", MUSTER_OWN_BASES="yes")
    assert (done.returncode, done.stdout) == (1, "")
    sentence = (
        "a release needs the Dockerfile's own bases, and they cannot be pulled: run it where they can be, or build "
    )
    assert done.stderr.splitlines()[-1].startswith(f"hack/kind/image-bases: {sentence}")


def test_a_base_of_the_environment_is_used_and_has_no_stand_in(machine: Path) -> None:
    """As release notes name it. In the image its name stays the Dockerfile's, so that the bytes are the same."""
    install(machine, "docker", 'echo "$@" >>"$HOME/calls"; [ "$1" != pull ] || case "$*" in *gone*) exit 1 ;; esac')
    install_real(machine, "sha256sum", "cut", "timeout", "mkdir", "find", "rm")
    (machine / "home").mkdir()
    own = dict(
        line[4:].split("=", 1) for line in (ROOT / "Dockerfile").read_text().splitlines() if "BASE=" in line[:16]
    )
    again = f"{own['BASE'].partition('@')[0]}@sha256:{'0' * 64}"
    done = run(machine, "hack/kind/image-bases", BASE=again)
    assert (done.returncode, done.stderr) == (0, "")
    kept = own["BASE"] if "@" not in own["BASE"] else again
    assert done.stdout == f"--build-arg\nBUILD_BASE={own['BUILD_BASE']}\n--build-arg\nBASE={kept}\n"
    tagged = [line for line in (machine / "home/calls").read_text().splitlines() if line.startswith("tag ")]
    assert tagged == ([f"tag {again} {own['BASE']}"] if "@" not in own["BASE"] else [])
    install(machine, "docker", SILENT)
    done = run(machine, "hack/kind/image-bases", BUILD_BASE="mirror.example/python:3.13")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("hack/kind/image-bases: mirror.example/python:3.13 cannot be pulled.\n")


def test_another_version_of_uv_is_not_used(machine: Path) -> None:
    install(machine, "uv", "echo uv 0.0.1")
    (cached := machine / "cache/muster/uv-0.13.7/bin").mkdir(parents=True)
    install(cached, "uv", ANSWERS)
    done = run(machine, "hack/uv", XDG_CACHE_HOME=str(machine / "cache"))
    assert done.stdout == f"{cached}/uv\n"
    install(machine, "uv", "echo 'uv 0.13.7 (abc 2026-01-01)'")
    assert run(machine, "hack/uv").stdout == f"{machine}/uv\n"


def test_the_archive_of_the_image_comes_with_the_digests_of_its_bases(machine: Path) -> None:
    install(machine, "docker", '[ "$3" != --format ] || echo "${5%:*}@sha256:0a"')
    install_real(machine, "sha256sum", "cut", "git")
    done = run(machine, "hack/release_build/image-archive", "muster:dev", str(machine / "a"), str(machine / "bases"))
    assert done.returncode == 0, done.stderr
    names = [line.rpartition("BASE=")[2] for line in (ROOT / "Dockerfile").read_text().splitlines() if "BASE=" in line]
    assert (machine / "bases").read_text() == "".join(f"{name} sha256:0a\n" for name in names[:2])
