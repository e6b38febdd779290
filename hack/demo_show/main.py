"""The command line of `hack/demo`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from rich.console import Console

from demo_show.api import Api
from demo_show.cluster import NODE_CPUS, NODES, OWN_MUSTER, DemoCluster, opened
from demo_show.errors import DemoError
from demo_show.lines import Lines
from demo_show.promises import Promise
from demo_show.record import Record
from demo_show.scenario import Scenario
from demo_show.screen import Screen
from demo_show.setup import recording, wait_for_webhook
from demo_show.show import Audience, Show

_LOG_LINES = 10


def main() -> int:
    arguments = _parser().parse_args()
    _end_in_order_on_signals()
    try:
        return _demo(arguments)
    except DemoError as error:
        print(f"hack/demo: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"hack/demo: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hack/demo: interrupted; nothing was left behind.", file=sys.stderr)
        return 130


def _end_in_order_on_signals() -> None:
    """End in the same way on every signal, which asyncio can handle. Shells ignore SIGINT for background processes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/demo", description="Shows what Muster does, on a local cluster.")
    parser.add_argument("--name", default="demo", help="name of the local cluster (default: %(default)s)")
    parser.add_argument(
        "--keep",
        action="store_true",
        default=os.environ.get("KEEP", "") not in ("", "0"),
        help="keep the cluster and Muster running at the end (also: KEEP=1)",
    )
    parser.add_argument("--muster", type=Path, default=OWN_MUSTER, help="the command to run (default: the clone's)")
    return parser


def _demo(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    show = Show(Record(), cpus=NODES * NODE_CPUS)
    with opened(arguments.name, arguments.muster, _say) as cluster:
        try:
            asyncio.run(_perform(cluster, show))
        except DemoError:
            _print_muster_log(cluster)
            raise
        kept_all = _print_outcome(show, time.monotonic() - began)
        if not kept_all:
            _print_muster_log(cluster)
        if arguments.keep:
            cluster.keep()
            _print_next_steps(cluster)
    return 0 if kept_all else 1


async def _perform(cluster: DemoCluster, show: Show) -> None:
    async with Api(cluster.kubeconfig) as api:
        await wait_for_webhook(api, lambda: cluster.muster_ended)
        async with recording(api, show.record) as check_record:
            with contextlib.ExitStack() as stack:
                await Scenario(api, show, _audience(show, stack), check_record).run()


def _audience(show: Show, stack: contextlib.ExitStack) -> Audience:
    console = Console(highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return stack.enter_context(Screen(show, console))
    return Lines(show, _say)


def _print_outcome(show: Show, seconds: float) -> bool:
    for promise, problem in show.broken.items():
        _say(f"BROKEN: {promise.sentence}: {problem}.")
    unchecked = [promise for promise in Promise if promise not in show.results]
    if unchecked:
        _say(f"Not reached: {'; '.join(promise.sentence for promise in unchecked)}.")
    if show.broken or unchecked:
        return False
    _say(f"All {len(Promise)} promises were kept, in {seconds:.0f} s.")
    return True


def _print_muster_log(cluster: DemoCluster) -> None:
    with contextlib.suppress(DemoError, OSError):
        _say("Muster ended before the demo did. Its log:" if cluster.muster_ended else "The end of Muster's log:")
        for line in cluster.muster_log.read_text(errors="replace").splitlines()[-_LOG_LINES:]:
            _say(f"  {line}")


def _print_next_steps(cluster: DemoCluster) -> None:
    _say(
        f"""
The cluster and Muster keep running. To use kubectl with them:

  export KUBECONFIG={cluster.kubeconfig}
  kubectl apply -f examples/gang.yaml
  kubectl get jobs,workloads,podgroups,pods

If you have no kubectl: hack/cluster kubectl --name {cluster.name} get pods
Muster's log: {cluster.muster_log}
To remove the cluster and Muster: hack/cluster down --name {cluster.name}"""
    )


def _say(sentence: str) -> None:
    print(sentence, flush=True)
