"""`muster config`: the settings file, before it is used."""

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
    """Tell everything that is wrong with a settings file, at once."""
    read_settings(file)
    typer.echo(f"{file}: everything is as it should be")


@config.command("print")
def print_settings(file: OptionalFile = None) -> None:
    """Print the effective settings: the file's, the defaults, and what the environment adds."""
    from muster.config.loading import as_yaml

    typer.echo(as_yaml(read_settings(file)), nl=False)


def read_settings(file: Path | None) -> "Settings":
    from muster.app.failure import Failure
    from muster.config.loading import BadSettings, load

    try:
        return load(file, os.environ)
    except BadSettings as bad:
        count = "one thing is" if len(bad.problems) == 1 else f"{len(bad.problems)} things are"
        raise Failure("\n".join([f"{count} wrong with {file}", *bad.problems])) from bad
