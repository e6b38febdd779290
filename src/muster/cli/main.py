"""The commands of `muster` (and `kubectl muster`)."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from muster import __version__
from muster.app.failure import FAILED, USAGE, Failure
from muster.cli.config import config
from muster.cli.crds import KUBECONFIG_HELP, crds
from muster.cli.explain import explained

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

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
    """Typer needs a callback to keep sub-commands if there is only one."""


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"muster {__version__}")


@app.command()
def run(  # noqa: PLR0913, PLR0917 - every flag is an argument
    config: Annotated[Path | None, typer.Option(help="Settings file; `muster config print` shows every key.")] = None,
    kubeconfig: Annotated[Path | None, typer.Option(help=KUBECONFIG_HELP)] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    dev: Annotated[
        bool,
        typer.Option("--dev", help="Serve admission on loopback; register the webhooks while this runs."),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Admission port. Default: from the settings; with --dev a free port."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Address to serve admission on. Default: from the settings; with --dev loopback.")
    ] = None,
    tls_certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate chain (PEM) of the admission server. You then register the webhooks yourself."),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error. Default: from the settings, else info.")
    ] = None,
) -> None:
    """Run the controllers and the admission server."""
    from muster.cli import run as running

    serving = running.ServingOptions(dev, address, port, tls_certificate, tls_key)
    running.run(running.Options(config, kubeconfig, context, serving, log_level))


@app.command()
def leave(
    config: Annotated[Path | None, typer.Option(help="Settings file that Muster ran with, if it had one.")] = None,
    kubeconfig: Annotated[Path | None, typer.Option(help=KUBECONFIG_HELP)] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    dev: Annotated[bool, typer.Option("--dev", help="Also clean up after a killed `muster run --dev`.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be done.")] = False,
    wait: Annotated[
        int,
        typer.Option(min=0, max=3600, help="Seconds to wait for incomplete gangs; 0 removes the webhooks at once."),
    ] = 60,
) -> None:
    """Remove Muster's webhooks, finalizers, certificates and Lease before you delete Muster.

    It does not change Jobs or pods.
    """
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
    """Exit codes: 0 success, 1 failure, 2 wrong command line, 130 interrupted (docs/operations.md)."""
    try:
        # With standalone mode off, Click returns the exit code instead of exiting. Ignoring it would turn failures into
        # 0.
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
        # Click formats its own errors about flags. Without arguments it has already printed the help.
        if message := error.format_message():
            typer.echo(f"muster: {message}", err=True)
        sys.exit(USAGE)


def _give_up_on_output(error: OSError) -> NoReturn:
    """The pipe is closed or the disk is full. Redirect stdout, or Python tries again at exit and prints the error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(FAILED if isinstance(error, BrokenPipeError) else f"muster: {error}")
