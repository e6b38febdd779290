"""Muster as users run it: a process of its own, logged in as its ServiceAccount."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests.clusters.api import Api, ApiError
from tests.clusters.waiting import eventually

STARTING_SECONDS = 60
MUSTER = str(Path(sys.executable).parent / "muster")


class Muster:
    """Owns the process of one `muster run --dev`. It writes and reads its log, and sends pods as a dry run."""

    def __init__(self, kubeconfig: Path, api: Api, log: Path, *flags: str, program: Sequence[str] = (MUSTER,)) -> None:
        self._command = [*program, "run", "--dev", "--kubeconfig", str(kubeconfig), *flags]
        self._api = api
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0
        """Length of the log when this life began."""

    def start(self) -> Self:
        """Begin, without waiting."""
        self._seen = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        return self

    @contextmanager
    def started(self) -> Iterator[Self]:
        """Begun inside the block, ready or not."""
        try:
            yield self.start()
        finally:
            self.terminate()

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_until_ready()
        except BaseException:
            self.terminate()  # nobody else would
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """What this life has logged."""
        return self._log.read_bytes()[self._seen :].decode(errors="replace")

    def wait_until_ready(self, seconds: float = STARTING_SECONDS) -> None:
        def ready() -> bool:
            assert self.running, f"Muster ended: {self.log()[-2000:]}"
            return re.search(r"health: ready$", self.log(), re.MULTILINE) is not None

        eventually(ready, "Muster is ready", seconds, every=0.05)
        eventually(lambda: webhook_is_called(self._api), "the API server asks the webhook", seconds, every=0.05)

    def kill(self) -> None:
        """SIGKILL, as the kernel does when memory runs out."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    @contextmanager
    def away(self, killed: bool = False) -> Iterator[None]:
        """Not running inside the block, ready again after it."""
        if killed:
            self.kill()
        else:
            self.terminate()
        try:
            yield
        finally:
            self.start()
            self.wait_until_ready()

    def terminate(self) -> int:
        """SIGTERM, as the kubelet does; the exit code."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._process.wait(15)

    def wait(self, seconds: float) -> int:
        assert self._process is not None
        return self._process.wait(seconds)


def webhook_is_called(api: Api, namespace: str = "default") -> bool:
    """A dry run of a pod whose Job does not exist is refused by the webhook, and by nobody else."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "muster-probe",
        "uid": str(uuid.uuid4()),
        "controller": True,
    }
    pod = {
        "metadata": {
            "name": f"muster-probe-{os.getpid()}-{time.monotonic_ns()}",
            "labels": {"batch.kubernetes.io/job-completion-index": "0"},
            "ownerReferences": [owner],
        },
        "spec": {"containers": [{"name": "c", "image": "c"}]},
    }
    try:
        api.create("pods", pod, namespace, dryRun="All")
    except ApiError as error:
        return "muster: " in error.message
    return False
