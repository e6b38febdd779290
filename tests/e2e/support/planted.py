"""Muster with planted bugs: `python planted.py FOLDER run …` is `muster run …`, and fails where a test wants it to.

- A Job whose name begins with `bad-STAGE` meets a bug at that stage; no other Job does.
- While there is a file FOLDER/REPLICA/TASK, that long-lived task of that replica dies, as often as it is started. If
  the file says `once`, it dies once.

To be run with `python -P`: beside this file there is another `muster.py`.
"""

import asyncio
import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import muster.admission.parallelism_guard
import muster.admission.pod
import muster.app.cluster
import muster.app.process
import muster.app.wiring
import muster.controllers.gang_status.controller
import muster.controllers.job.gang_former
import muster.controllers.job.reconciler
import muster.controllers.resync
import muster.watching.thread
from muster.admission.intents import IntentReview
from muster.api.job import JobView
from muster.cli.main import main
from muster.controllers.intake import Intake
from muster.controllers.job.executor import Executor
from muster.controllers.job.observer import Observer
from muster.controllers.job.reconciler import Reconciler
from muster.controllers.podgroup.members import Members
from muster.controllers.podgroup.protection import PodGroupProtection
from muster.controllers.resync import Resync
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.leader_election import Leadership
from muster.runtime.supervisor import Supervisor
from muster.runtime.worker import Workers
from muster.serving.connections import Connections
from muster.serving.renewer import CertificateRenewer
from muster.watching.thread import WatchThread
from muster.webhooks.reconciler import WebhookReconciler

POLL_SECONDS = 0.05
STEADY_SECONDS = 4.0
"""Shorter than in real life, so that a test sees a replica become well again."""


class PlantedBug(Exception):
    pass


def plant(owner: Any, name: str, stage: str, subject: Callable[..., str]) -> None:
    """The function fails for whatever is named `bad-STAGE…`; `subject` finds the name among its arguments."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def failing(*args: Any, **kwargs: Any) -> Any:
        if subject(*args, **kwargs).startswith(f"bad-{stage}"):
            raise PlantedBug(f"at {stage}")
        return original(*args, **kwargs)

    setattr(owner, name, failing)


def of_observed(seen: Any, *_: object, **__: object) -> str:
    return seen.job.key.name if seen.job is not None else ""


def of_ref(_: object, ref: Any, *__: object, **___: object) -> str:
    return str(ref.key.name)


def of_key(_: object, key: Any) -> str:
    return str(key.name)


def of_job(_: object, job: Any, *__: object, **___: object) -> str:
    return str(job.key.name)


def plant_in_items() -> None:
    plant(Observer, "live", "observe", of_ref)
    for module in (
        muster.controllers.job.gang_former,
        muster.controllers.job.reconciler,
        muster.controllers.resync,
        muster.controllers.gang_status.controller,
    ):
        plant(module, "decide", "decide", of_observed)
    plant(muster.controllers.resync, "decide", "resync", of_observed)
    plant(Executor, "execute", "execute", lambda _, __, seen: of_observed(seen))
    plant(EventRecorder, "normal", "report", of_job)
    plant(EventRecorder, "_post", "posting", of_job_of_event)
    plant(Reconciler, "reconcile", "reconcile", of_key)
    plant(muster.admission.pod.PodWebhook, "_decide", "pod-webhook", of_ref)
    plant(muster.admission.parallelism_guard, "admit_parallelism", "guard", lambda old, *_: str(old.key.name))
    plant(IntentReview, "review", "intents", lambda _, review: str(review.new["metadata"]["name"]))
    plant(muster.controllers.gang_status.controller, "gang_of", "status", of_observed)
    plant(Intake, "job", "watch", of_job)
    plant(PodGroupProtection, "handle", "protection", lambda _, key: str(key[1]))
    plant(Members, "_put", "member", lambda _, pod: str(pod.name))
    parse = JobView.parse

    def failing(raw: Any) -> JobView:
        if raw["metadata"]["name"].startswith("bad-parse"):
            raise PlantedBug("at parse")
        return parse(raw)

    JobView.parse = staticmethod(failing)  # type: ignore[method-assign]


def of_job_of_event(_: object, event: Any) -> str:
    return str(event.job.key.name)


def plant_in_tasks(folder: Path) -> None:
    def check(task: str) -> None:
        file = folder / task
        with contextlib.suppress(FileNotFoundError):
            if file.read_text() == "once":
                file.unlink()
            raise PlantedBug(f"in {task}")

    def make_mortal(owner: Any, name: str, task_of: Callable[..., str]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        async def mortal(*args: Any, **kwargs: Any) -> None:
            work = asyncio.ensure_future(original(*args, **kwargs))
            try:
                while not work.done():
                    check(task_of(*args))
                    await asyncio.wait({work}, timeout=POLL_SECONDS)
                await work
            finally:
                work.cancel()
                await asyncio.wait({work})

        setattr(owner, name, mortal)

    for owner, name, task in (
        (muster.app.process, "run_generations", "generation"),
        (EventRecorder, "run", "events"),
        (CertificateRenewer, "run", "certificates"),
        (Leadership, "run", "leader-election"),
        (Leadership, "while_leading", "leader-work"),
        (muster.app.wiring, "keep_probing", "api-probe"),
        (Resync, "run", "resync"),
        (WatchThread, "run", "watch"),
        (WebhookReconciler, "keep", "webhooks"),
    ):
        make_mortal(owner, name, lambda *_, task=task: task)
    make_mortal(Connections, "serve", lambda port, _: "admission-port" if port._context else "health-port")
    make_mortal(Workers, "run", lambda workers: workers.task.value)
    setattr(muster.app.cluster, "Supervisor", functools.partial(Supervisor, steady_seconds=STEADY_SECONDS))  # noqa: B010


if __name__ == "__main__":
    plant_in_items()
    plant_in_tasks(Path(sys.argv[1]) / os.environ.get("POD_NAME", "").rpartition("-")[0])
    sys.argv = ["muster", *sys.argv[2:]]
    main()
