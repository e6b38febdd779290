"""All kopf settings that Muster changes, and why. With some defaults, kopf would write to users' Jobs."""

import random
from collections.abc import Iterator
from typing import Any

import kopf

LONGEST_BACKOFF_SECONDS = 30.0


class ForeverBackoffs:
    """Endless backoffs: kopf gives up on a stream when they end, and starts over after every success."""

    def __iter__(self) -> Iterator[float]:
        seconds = 1.0
        while True:
            yield seconds * random.uniform(0.5, 1.0)
            seconds = min(seconds * 2, LONGEST_BACKOFF_SECONDS)


class NoDiffBase(kopf.DiffBaseStorage):
    """Stores no diffs, which Muster does not use; kopf's own storage copies every object three times per event."""

    def build(self, *, body: kopf.Body, extra_fields: Any = None) -> kopf.BodyEssence:  # noqa: ARG002 - kopf's signature
        return kopf.BodyEssence({})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - kopf's signature
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        pass


def operator_settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    # With kopf's default name, an operator that only watches still removes the finalizers of other kopf operators.
    settings.persistence.finalizer = "muster.dev/never-set"
    settings.persistence.diffbase_storage = NoDiffBase()
    settings.posting.enabled = False  # Muster posts its own events
    settings.scanning.disabled = True  # do not scan CRDs and namespaces, which needs more rights
    settings.queueing.idle_timeout = 1.0  # how long kopf keeps a task per object after its last event
    settings.watching.chunk_size = 500
    settings.watching.initial_streaming = False  # it loses objects if the first stream breaks midway
    settings.watching.server_timeout = 600  # an int: the API server rejects "600.0"
    settings.watching.client_timeout = 660
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 60
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = ForeverBackoffs()
    return settings
