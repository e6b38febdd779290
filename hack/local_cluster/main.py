"""The command line of `hack/cluster`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import sys
import time
from typing import Any, NoReturn

from local_cluster import lifecycle
from local_cluster.binaries import KUBECTL, ensure_binaries
from local_cluster.errors import ClusterError
from local_cluster.layout import ClusterLayout
from local_cluster.options import build_parser
from local_cluster.owners import owner_of
from local_cluster.plan import Plan, Status
from local_cluster.processes import is_alive
from local_cluster.progress import say
from local_cluster.service_accounts import service_account_kubeconfig
from local_cluster.settings import ClusterSettings


def main() -> int:
    arguments = build_parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # it is ignored under nohup
            signal.signal(number, _interrupted)
    try:
        return int(_COMMANDS[arguments.command](arguments))
    except ClusterError as error:
        say(f"hack/cluster: {error}")
        return 1
    except OSError as error:
        say(f"hack/cluster: {error}.")
        return 1
    except KeyboardInterrupt:
        say("hack/cluster: interrupted; nothing was left behind.")
        return 130


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _build(_: argparse.Namespace) -> int:
    for path in ensure_binaries().values():
        print(path)
    return 0


def _up(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    layout = ClusterLayout.of(arguments.name)
    settings = _settings(ClusterSettings(), arguments)
    owner = owner_of(arguments.owner_pid) if arguments.owner_pid is not None else None
    started = lifecycle.up(layout, settings, owner)
    seconds = time.monotonic() - began
    say(
        f"Cluster {layout.name} ({settings.profile}, {settings.nodes} nodes) is up after {seconds:.1f} s."
        if started
        else f"Cluster {layout.name} ({settings.profile}, {settings.nodes} nodes) is up already."
    )
    print(f"export KUBECONFIG={layout.admin_kubeconfig}")
    return 0


def _restart(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    layout = ClusterLayout.of(arguments.name)
    settings = _settings(lifecycle.settings_of(layout), arguments)
    lifecycle.restart(layout, settings)
    say(f"Cluster {layout.name} runs again, as {settings.profile}, after {time.monotonic() - began:.1f} s.")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    layout = ClusterLayout.of(arguments.name)
    found = lifecycle.down(layout, keep_logs=arguments.keep_logs)
    say(f"Cluster {layout.name} is gone." if found else f"There is no cluster {layout.name}.")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    layout = ClusterLayout.of(arguments.name)
    report = _report(layout)
    if arguments.json:
        print(json.dumps(report, indent=2))
    elif report["state"] == "absent":
        print(f"cluster {layout.name}: absent")
    else:
        for key in ("name", "state", "profile", "server", "directory", "kubeconfig", "logs", "audit_log"):
            print(f"{key}: {report[key]}")
        for name, component in report["components"].items():
            print(f"  {name}: pid {component['pid']}, {component['state']}")
    return 0 if report["state"] == "running" else 1


def _report(layout: ClusterLayout) -> dict[str, Any]:
    status = Status.read(layout)
    if status is None or not is_alive(status.supervisor):
        state = "broken" if layout.plan_file.exists() else "absent"
        return {
            "name": layout.name,
            "state": state,
            "profile": None,
            "server": None,
            "components": {},
            **_places(layout),
        }
    plan = Plan.read(layout)
    settings = lifecycle.settings_of(layout)
    return {
        "name": layout.name,
        "state": "broken" if status.exited else status.phase,
        "profile": settings.profile,
        "server": f"https://127.0.0.1:{plan.ports.apiserver}",
        **_places(layout),
        "kubectl": str(ensure_binaries()[KUBECTL]),
        "ports": dataclasses.asdict(plan.ports),
        "settings": dataclasses.asdict(settings),
        "supervisor": status.supervisor.pid,
        "components": {
            name: {
                "pid": component.process.pid,
                "state": "running" if component.exit_code is None else f"ended with {component.exit_code}",
                "log": str(layout.log_of(name)),
            }
            for name, component in status.components.items()
        },
    }


def _places(layout: ClusterLayout) -> dict[str, str]:
    return {
        "directory": str(layout.directory),
        "kubeconfig": str(layout.admin_kubeconfig),
        "logs": str(layout.logs),
        "audit_log": str(layout.audit_log),
    }


def _path(arguments: argparse.Namespace) -> int:
    layout = ClusterLayout.of(arguments.name)
    lifecycle.running_status(layout)
    print(layout.directory)
    return 0


def _kubeconfig(arguments: argparse.Namespace) -> int:
    layout = ClusterLayout.of(arguments.name)
    lifecycle.running_status(layout)
    account = arguments.service_account
    print(service_account_kubeconfig(layout, account) if account else layout.admin_kubeconfig)
    return 0


def _kubectl(arguments: argparse.Namespace) -> NoReturn:
    layout = ClusterLayout.of(arguments.name)
    lifecycle.running_status(layout)
    kubectl = str(ensure_binaries()[KUBECTL])
    sys.stdout.flush()
    os.execv(kubectl, [kubectl, f"--kubeconfig={layout.admin_kubeconfig}", *arguments.arguments])  # noqa: S606


def _settings(base: ClusterSettings, arguments: argparse.Namespace) -> ClusterSettings:
    """The base settings, overridden by the given options."""
    given = {
        field.name: value
        for field in dataclasses.fields(ClusterSettings)
        if (value := getattr(arguments, field.name, None)) is not None
    }
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = tuple(flag for flag in value if flag)
    if "kcm_qps" in given and "kcm_burst" not in given:
        given["kcm_burst"] = 2 * given["kcm_qps"]
    return dataclasses.replace(base, **given)


_COMMANDS = {
    "build": _build,
    "up": _up,
    "restart": _restart,
    "down": _down,
    "status": _status,
    "path": _path,
    "kubeconfig": _kubeconfig,
    "kubectl": _kubectl,
}
