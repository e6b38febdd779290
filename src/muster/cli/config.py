"""`muster config`: checks and prints the settings file."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from muster.config.types import Settings

config = typer.Typer(name="config", help="The settings file of `muster run`.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="The settings file.", show_default=False)]
OptionalFile = Annotated[Path | None, typer.Argument(help="The settings file. Default: none, so all defaults.")]


@config.command()
def check(file: File) -> None:
    """Check a settings file and report all errors at once."""
    read_settings(file)
    typer.echo(f"{file}: the settings are valid")


@config.command("print")
def print_settings(file: OptionalFile = None) -> None:
    """Print the effective settings: from the file, the defaults and the environment."""
    from muster.config.loading import as_yaml

    typer.echo(as_yaml(read_settings(file)), nl=False)


def read_settings(file: Path | None) -> "Settings":
    from muster.app.failure import Failure
    from muster.config.loading import BadSettings, load

    try:
        return load(file, os.environ)
    except BadSettings as bad:
        count = "1 error" if len(bad.problems) == 1 else f"{len(bad.problems)} errors"
        raise Failure("\n".join([f"{count} in {file}", *bad.problems])) from bad
