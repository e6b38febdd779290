"""`muster`, also as `kubectl muster`."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from muster import __version__
from muster.app.failure import FAILED, USAGE, Failure
from muster.cli.config import config
from muster.cli.crds import crds
from muster.cli.explain import explained

INTERRUPTED = 130
"""The exit code when somebody pressed Ctrl-C."""

app = typer.Typer(
    name="muster",
    help="Gang scheduling for Kubernetes Jobs: the whole gang starts or nothing does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.add_typer(crds)
app.add_typer(config)


@app.callback()
def _root() -> None:
    """Sub-commands stay sub-commands, however few there are."""


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"muster {__version__}")


@app.command()
def run(  # noqa: PLR0913, PLR0917 - every flag is an argument
    config: Annotated[Path | None, typer.Option(help="Settings file; `muster config print` shows every key.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Cluster to work on. Default: the pod's ServiceAccount, else ~/.kube/config.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    dev: Annotated[
        bool,
        typer.Option("--dev", help="Serve admission on loopback and register the webhooks for as long as this runs."),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port of the admission server. Default: as set; with --dev a free one."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Address to serve admission on. Default: as set; with --dev loopback.")
    ] = None,
    tls_certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate chain (PEM) to serve admission with; then the webhooks are yours to register."),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error. Default: as set, else info.")
    ] = None,
) -> None:
    """Run the controller and admission in this process."""
    from muster.cli import run as running

    serving = running.ServingOptions(dev, address, port, tls_certificate, tls_key)
    running.run(running.Options(config, kubeconfig, context, serving, log_level))


@app.command()
def leave(
    config: Annotated[Path | None, typer.Option(help="Settings file that Muster ran with, if it had one.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Cluster to leave. Default: the pod's ServiceAccount, else ~/.kube/config.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    dev: Annotated[bool, typer.Option("--dev", help="Also what a killed `muster run --dev` left behind.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    wait: Annotated[
        int,
        typer.Option(min=0, max=3600, help="Seconds that gangs get to be completed; 0: the webhooks go at once."),
    ] = 60,
) -> None:
    """Remove the webhooks and finalizers of Muster, before it is deleted. Jobs and pods are not touched."""
    import asyncio

    from muster.cli.config import read_settings
    from muster.cli.leave import leave as going
    from muster.kube.credentials import load_credentials

    settings = read_settings(config)
    with explained():
        problems = asyncio.run(going(load_credentials(kubeconfig, context), settings, dev, dry_run, wait))
    for problem in problems:
        typer.echo(f"muster: {problem}", err=True)
    raise typer.Exit(FAILED if problems else 0)


def main() -> None:
    """Exit codes: 0 done, 1 failed, 2 not understood, 130 interrupted (docs/operations.md)."""
    try:
        # Outside its standalone mode Click returns the code of an Exit; dropped, every failure would end with 0.
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except Failure as failure:
        typer.echo(f"muster: {failure}", err=True)
        sys.exit(failure.code)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except OSError as error:
        _give_up_on_output(error)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # Click's own errors about flags know how to say what is wrong. Without arguments it has shown the help already.
        if message := error.format_message():
            typer.echo(f"muster: {message}", err=True)
        sys.exit(USAGE)


def _give_up_on_output(error: OSError) -> NoReturn:
    """Nobody reads it, or there is no room for it. Python would try once more at its end, and say so."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(FAILED if isinstance(error, BrokenPipeError) else f"muster: {error}")
