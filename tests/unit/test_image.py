"""What can be said of the image without building it: there is no container engine here."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()
DIGEST = r"@sha256:[0-9a-f]{64}"


@dataclass(frozen=True)
class Step:
    word: str
    rest: str


def steps(text: str) -> list[Step]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def stages() -> list[list[Step]]:
    found: list[list[Step]] = []
    for step in steps(TEXT):
        if step.word == "FROM":
            found.append([])
        found[-1].append(step)
    return found


BUILD, FINAL = stages()


def rest_of(stage: list[Step], word: str) -> list[str]:
    return [step.rest for step in stage if step.word == word]


def test_both_bases_are_pinned_by_tag_and_digest() -> None:
    for stage in (BUILD, FINAL):
        (base,) = rest_of(stage, "FROM")
        assert re.fullmatch(rf"\S+:[a-z0-9.-]+{DIGEST}( AS [a-z]+)?", base), base
        assert ":latest" not in base


def test_the_final_base_has_no_shell_and_nothing_is_run_in_it() -> None:
    assert rest_of(FINAL, "FROM")[0].startswith("gcr.io/distroless/")
    assert ":debug" not in rest_of(FINAL, "FROM")[0]
    assert rest_of(FINAL, "RUN") == rest_of(FINAL, "SHELL") == rest_of(FINAL, "ADD") == []


@pytest.mark.parametrize("word", ["RUN", "CMD", "ENTRYPOINT"])
def test_no_command_goes_through_a_shell(word: str) -> None:
    commands = [step.rest for step in [*BUILD, *FINAL] if step.word == word]
    assert commands
    for command in commands:
        assert all(isinstance(part, str) for part in json.loads(command))


def test_it_does_not_run_as_root_and_the_chart_says_the_same_number() -> None:
    assert rest_of(FINAL, "USER") == ["65532:65532"]
    names = (ROOT / "charts/muster/templates/_names.tpl").read_text()
    assert "runAsUser: 65532\n" in names
    assert "runAsNonRoot: true\n" in names


def test_both_stages_have_the_same_python() -> None:
    """Wheels with machine code fit one version only."""
    (version,) = re.findall(r"python:(3\.\d+)-", rest_of(BUILD, "FROM")[0])
    assert rest_of(FINAL, "FROM")[0].startswith("gcr.io/distroless/python3-debian13:")
    assert "-trixie@" in rest_of(BUILD, "FROM")[0], "Debian 13, as the final base"
    interpreter = f"/usr/bin/python{version}"
    assert json.loads(rest_of(FINAL, "ENTRYPOINT")[0]) == [interpreter, "-m", "muster"]
    assert f"command: [{interpreter}, -c]" in (ROOT / "charts/muster/templates/tests/answers.yaml").read_text()
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert [int(part) for part in version.split(".")] >= [int(part) for part in least.split(".")]


def test_dependencies_come_from_the_lock_file_with_their_hashes() -> None:
    runs = [json.loads(command) for command in rest_of(BUILD, "RUN")]
    (export,) = [run for run in runs if run[:2] == ["uv", "export"]]
    assert {"--frozen", "--no-dev"} <= set(export)
    installs = [run for run in runs if run[:3] == ["uv", "pip", "install"]]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert {"--no-deps", "--no-index"} <= set(installs[1]), "Muster itself brings nothing along"


def test_uv_is_the_one_of_the_setup() -> None:
    (wanted,) = re.findall(r"UV_VERSION=(\S+)", (ROOT / "hack/setup").read_text())
    assert f'"uv=={wanted}"' in TEXT


def test_whatever_is_copied_exists_and_is_not_ignored() -> None:
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


def test_it_says_what_it_is() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.([a-z.]+)="([^"]+)"', " ".join(rest_of(FINAL, "LABEL"))))
    assert {"title", "description", "licenses", "version", "revision", "base.name"} <= labels.keys()
    assert rest_of(FINAL, "FROM")[0].startswith(labels["base.name"])
