"""What can be said of the image by reading the Dockerfile."""

import json
import re
import tomllib

import pytest
import yaml

from tests.unit.dockerfile import ARGUMENTS, BUILD, FINAL, GLOBAL, ROOT, TEXT, rest_of, runs

TAG = r"[a-z0-9./-]+:[a-z0-9.-]+"
DIGEST = r"@sha256:[0-9a-f]{64}"


def test_both_bases_are_build_arguments() -> None:
    assert [step.word for step in GLOBAL] == ["ARG", "ARG"]
    assert rest_of(BUILD, "FROM") == ["${BUILD_BASE} AS build"]
    assert rest_of(FINAL, "FROM") == ["${BASE}"]
    assert ARGUMENTS.keys() == {"BUILD_BASE", "BASE"}


@pytest.mark.parametrize("base", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_base_has_a_tag_and_if_it_is_pinned_a_digest_too(base: str) -> None:
    assert re.fullmatch(rf"{TAG}({DIGEST})?", base), base
    assert ":latest" not in base


def test_the_final_base_has_no_shell_and_nothing_is_run_in_it() -> None:
    assert ARGUMENTS["BASE"].startswith("gcr.io/distroless/")
    assert ":debug" not in ARGUMENTS["BASE"]
    assert rest_of(FINAL, "RUN") == rest_of(FINAL, "SHELL") == rest_of(FINAL, "ADD") == []


@pytest.mark.parametrize("word", ["RUN", "CMD", "ENTRYPOINT"])
def test_no_command_goes_through_a_shell(word: str) -> None:
    commands = [step.rest for step in [*BUILD, *FINAL] if step.word == word]
    assert commands
    for command in commands:
        assert all(isinstance(part, str) for part in json.loads(command))


def test_the_image_does_not_run_as_root_and_the_chart_has_the_same_user() -> None:
    assert rest_of(FINAL, "USER") == ["65532:65532"]
    names = (ROOT / "charts/muster/templates/_names.tpl").read_text()
    assert "runAsUser: 65532\n" in names
    assert "runAsNonRoot: true\n" in names


def test_both_stages_have_the_same_python() -> None:
    """Wheels with machine code fit one version only."""
    (version,) = re.findall(r"^python:(3\.\d+)-", ARGUMENTS["BUILD_BASE"])
    assert ARGUMENTS["BASE"].startswith("gcr.io/distroless/python3-debian13:")
    assert re.search(r"-trixie(@|$)", ARGUMENTS["BUILD_BASE"]), "Debian 13, as the final base"
    interpreter = f"/usr/bin/python{version}"
    assert json.loads(rest_of(FINAL, "ENTRYPOINT")[0]) == [interpreter, "-m", "muster"]
    assert f"command: [{interpreter}, -c]" in (ROOT / "charts/muster/templates/tests/answers.yaml").read_text()
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert [int(part) for part in version.split(".")] >= [int(part) for part in least.split(".")]


def test_dependencies_come_from_the_lock_file_with_their_hashes() -> None:
    export, builder = [run for run in runs(BUILD) if run[:2] == ["uv", "export"]]
    assert {"--frozen", "--no-dev"} <= set(export)
    assert builder[2:5] == ["--frozen", "--only-group", "release"]
    (dependencies,) = [run for run in runs(BUILD) if run[:3] == ["uv", "pip", "install"]]
    assert "--require-hashes" in dependencies
    (build,) = [run for run in runs(BUILD) if run[:2] == ["uv", "build"]]
    assert {"--require-hashes", "--build-constraints", builder[-1]} <= set(build)
    assert runs(BUILD)[-2][-2:] == ["/wheels/*.whl", "/packages"], "Muster itself brings nothing along"


def test_the_image_uses_the_uv_version_of_the_setup() -> None:
    (wanted,) = re.findall(r"^UV_VERSION=(\S+)", (ROOT / "hack/uv").read_text(), re.MULTILINE)
    assert f'"uv=={wanted}"' in TEXT


def test_the_uv_version_is_in_no_other_file_of_hack() -> None:
    version = re.findall(r"uv==([\d.]+)", TEXT)[0]
    files = [
        path for path in (ROOT / "hack").rglob("*") if path.is_file() and path.suffix not in {".pyc", ".sum", ".mod"}
    ]
    assert [path.name for path in files if f"{version}" in path.read_text(errors="replace")] == ["uv"]


def test_every_copied_file_exists_and_is_not_ignored() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*", "nothing comes along by accident"
    for copied in rest_of(BUILD, "COPY"):
        *sources, _ = copied.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in rules, source
    assert [copied.split()[0] for copied in rest_of(FINAL, "COPY")] == ["--from=build"]


def test_the_ports_are_those_of_the_chart() -> None:
    ports = yaml.safe_load((ROOT / "charts/muster/values.yaml").read_text())["ports"]
    assert rest_of(FINAL, "EXPOSE") == [f"{ports['admission']} {ports['health']}"]


def test_the_image_has_labels() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.([a-z.]+)="([^"]+)"', " ".join(rest_of(FINAL, "LABEL"))))
    assert {"title", "description", "licenses", "version", "revision", "base.name"} <= labels.keys()
    assert labels["base.name"] == "${BASE}"
    assert [argument.partition("=")[0] for argument in rest_of(FINAL, "ARG")] == ["BASE", "VERSION", "REVISION"], (
        "an argument from before FROM has no value in a stage that does not name it again"
    )
