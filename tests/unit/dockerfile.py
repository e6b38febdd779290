"""The Dockerfile, as far as it can be read without a container engine."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()


@dataclass(frozen=True)
class Step:
    word: str
    rest: str


def steps(text: str) -> list[Step]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def stages() -> list[list[Step]]:
    """What comes before the first FROM, and then each stage."""
    found: list[list[Step]] = [[]]
    for step in steps(TEXT):
        if step.word == "FROM":
            found.append([])
        found[-1].append(step)
    return found


GLOBAL, BUILD, FINAL = stages()


def rest_of(stage: list[Step], word: str) -> list[str]:
    return [step.rest for step in stage if step.word == word]


def runs(stage: list[Step]) -> list[list[str]]:
    return [json.loads(command) for command in rest_of(stage, "RUN")]


(ENTRYPOINT,) = rest_of(FINAL, "ENTRYPOINT")
PYTHON: str = json.loads(ENTRYPOINT)[0]
"""The interpreter in the image."""
MAX_BYTES = 110_000_000
"""In the image's /opt/muster, unpacked."""
ARGUMENTS = dict(rest.split("=", 1) for rest in rest_of(GLOBAL, "ARG"))
