"""Constant admission load: the API server asks the webhook all the time, and every question has to be answered."""

import base64
import socket
import ssl
import threading
import time
import uuid
from typing import Self

import urllib3

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.https import pod_of
from tests.clusters.objects import all_pods, gang_job, group_of, is_bound
from tests.clusters.waiting import eventually

PAUSE_SECONDS = 0.01


class Load:
    """Dry runs of a pod of a running gang, one after the other, from some threads.

    The API server keeps its connections open. Beside it a client calls the Service's port, with a new
    connection each time, and trusts the authority that the webhook names.
    """

    def __init__(self, api: Api, namespace: str, threads: int = 3) -> None:
        self._api, self._namespace = api, namespace
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        self._threads.append(threading.Thread(target=self._knock, daemon=True))
        self.answered = self.knocked = 0
        self.lost: list[str] = []
        """What the API server said where the webhook did not put the pod into its group."""

    def __enter__(self) -> Self:
        name = f"load-{uuid.uuid4().hex[:6]}"
        self._job = self._api.create("jobs", gang_job(name, size=2, cpu="10m"), self._namespace)
        (pod, _) = eventually(lambda: all_pods(self._api, self._namespace, name, 2, is_bound), "the gang runs", 60)
        self._group = group_of(pod)
        assert self._group
        for each in self._threads:
            each.start()
        self.more(3)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for each in self._threads:
            each.join(60)

    def more(self, count: int = 10, seconds: float = 60) -> None:
        """Wait until so many more were answered."""
        goal, knocks = self.answered + count, self.knocked + 1
        eventually(
            lambda: self.lost or (self.answered >= goal and self.knocked >= knocks),
            "the webhook is asked",
            seconds,
            0.02,
        )

    def _run(self) -> None:
        pod: Object = pod_of(self._job)
        while not self._ended.is_set():
            pod["metadata"]["name"] = f"load-{uuid.uuid4().hex}"
            try:
                group = group_of(self._api.create("pods", pod, self._namespace, dryRun="All"))
                if group == self._group:
                    self.answered += 1
                else:
                    self.lost.append(f"a pod without its group: {group}")
            except (ApiError, urllib3.exceptions.HTTPError) as error:
                self.lost.append(f"{time.strftime('%H:%M:%S')} {error}")
            time.sleep(PAUSE_SECONDS)

    def _knock(self) -> None:
        while not self._ended.is_set():
            client = self._api.get("mutatingwebhookconfigurations", "muster")["webhooks"][0]["clientConfig"]
            service = client["service"]
            trust = ssl.create_default_context(cadata=base64.b64decode(client["caBundle"]).decode())
            name = f"{service['name']}.{service['namespace']}.svc"
            try:
                with (
                    socket.create_connection(("127.0.0.1", service["port"]), 10) as plain,
                    trust.wrap_socket(plain, server_hostname=name),
                ):
                    self.knocked += 1
            except OSError as error:
                self.lost.append(f"{time.strftime('%H:%M:%S')} a new connection: {error}")
            time.sleep(PAUSE_SECONDS)
