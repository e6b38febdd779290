"""`muster crds`: the Workload and PodGroup API for servers that do not have it built in."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.explain import explained

if TYPE_CHECKING:
    from muster.crds.install import Installed
    from muster.kube.http import HttpClient

crds = typer.Typer(
    name="crds",
    help="The Workload and PodGroup API as CRDs, for servers that do not have it built in.",
    no_args_is_help=True,
)

KUBECONFIG_HELP = "Kubeconfig file. Default: the pod's ServiceAccount, or else $KUBECONFIG or ~/.kube/config."
Kubeconfig = Annotated[Path | None, typer.Option(help=KUBECONFIG_HELP)]
Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig.")]


class Group(StrEnum):
    """The names of `api/profile.py`, which would take most of the time that `muster --help` needs."""

    BUILT_IN = "scheduling.k8s.io"
    OWN = "scheduling.muster.dev"


class Choice(StrEnum):
    AUTO = "auto"
    BUILT_IN = Group.BUILT_IN.value
    OWN = Group.OWN.value


UNSERVED_CRDS = (
    f"there are CRDs in {Group.BUILT_IN} on this API server, which has that group built in: they do not work, and they "
    f"delay the garbage collector. Run `muster crds uninstall --group {Group.BUILT_IN} --yes`"
)


@crds.command("print")
def print_crds(
    group: Annotated[Group, typer.Option(help="API group to print the CRDs of.")] = Group.OWN,
) -> None:
    """Print the CRDs as YAML."""
    from muster.crds.yaml import print_group

    typer.echo(print_group(group.value), nl=False)


@crds.command()
def install(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    group: Annotated[
        Choice, typer.Option(help="API group; auto detects which one the server can serve.")
    ] = Choice.AUTO,
) -> None:
    """Install or upgrade the CRDs that this server can serve. Existing objects are kept."""

    async def work(client: "HttpClient") -> None:
        from muster.api.profile import NATIVE
        from muster.crds.install import install as put
        from muster.crds.server_support import choose, find_support

        found = await find_support(client)
        if found.dead:
            typer.echo(f"muster: warning: {UNSERVED_CRDS}", err=True)
        chosen = choose(found, group.value)
        if not chosen:
            typer.echo(f"nothing to install: this API server serves {NATIVE.api_version} itself")
            return
        upgraded = found.has_definitions(chosen)
        await put(client, chosen)
        typer.echo(f"the CRDs of {chosen} are {'up to date' if upgraded else 'installed'} and served")

    _on_cluster(kubeconfig, context, work)


@crds.command()
def uninstall(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    group: Annotated[Group | None, typer.Option(help="Only the CRDs of this API group. Default: all.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Proceed even if this deletes Workloads and PodGroups.")] = False,
) -> None:
    """Remove Muster's CRDs and all their objects."""

    async def work(client: "HttpClient") -> None:
        from muster.app.failure import Failure
        from muster.crds.install import find_installed
        from muster.crds.install import uninstall as remove

        found = await find_installed(client, [group.value] if group else [each.value for each in Group])
        if not found:
            typer.echo("nothing to remove: none of Muster's CRDs is installed")
            return
        if (loss := _loss(found)) and not yes:
            raise Failure(f"{loss}: add --yes to proceed")
        if loss:
            typer.echo(loss)
        await remove(client, found)
        typer.echo(f"removed {' and '.join(each.name for each in found)}")

    _on_cluster(kubeconfig, context, work)


def _loss(found: list["Installed"]) -> str:
    """What is deleted with the CRDs, as the beginning of a sentence; empty if nothing is."""
    goes = [f"{each.objects} {each.kind.name}s of {each.group}" for each in found if each.objects]
    hidden = [each.name for each in found if each.objects is None]
    if hidden:
        goes.append(f"all objects of {' and '.join(hidden)}, which this API server does not list")
    return f"this deletes {' and '.join(goes)}" if goes else ""


def _on_cluster(kubeconfig: Path | None, context: str | None, work: Callable[["HttpClient"], Awaitable[None]]) -> None:
    import asyncio

    from muster.kube.credentials import load_credentials
    from muster.kube.http import HttpClient

    async def connected() -> None:
        async with HttpClient(load_credentials(kubeconfig, context)) as client:
            await work(client)

    with explained():
        asyncio.run(connected())
