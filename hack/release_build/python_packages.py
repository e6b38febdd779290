"""Builds the wheel and the sdist with the hatchling that uv.lock pins."""

from pathlib import Path

from release_build.environment import run


def built(source: Path, environment: Path, epoch: int, target: Path) -> None:
    command = [str(environment / "bin/python"), "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    run([*command, "-d", str(target)], source, {"SOURCE_DATE_EPOCH": str(epoch)})
