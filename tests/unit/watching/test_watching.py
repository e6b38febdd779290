"""kopf only listens: nothing that it does here can write to a user's object."""

import asyncio
import threading
from itertools import islice
from typing import Any, cast

import kopf
import pytest

from muster.api.keys import JobKey
from muster.api.profile import NATIVE
from muster.controllers.intake import Intake
from muster.kube.credentials import Credentials
from muster.kube.login import Endpoint
from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from muster.watching.handlers import build_registry
from muster.watching.settings import LONGEST_BACKOFF_SECONDS, ForeverBackoffs, NoDiffBase, operator_settings
from muster.watching.thread import WatchEnded, WatchThread
from tests.builders import Object, a_gang, a_pod_group, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build
from tests.unit.kube.misbehaving import FakeLogin

JOB = a_gang("train").uid("now")
KEY = JobKey("default", "train")


@pytest.fixture
async def parts() -> Parts:
    return build(FakeClient(FakeCluster()))


@pytest.fixture
async def intake(parts: Parts) -> Intake:
    return parts.intake()


@pytest.fixture
async def registry(intake: Intake) -> kopf.OperatorRegistry:
    login = FakeLogin(Endpoint("https://h:1", ca_path="ca", certificate_path="c", private_key_path="k"))
    return build_registry(intake, asyncio.get_running_loop(), NATIVE, Credentials(login), InternalErrors(Metrics()))


def handlers(registry: kopf.OperatorRegistry) -> dict[str, Any]:
    return {str(handler.id): handler for handler in registry._watching.get_all_handlers()}


async def test_there_are_event_handlers_and_no_others(registry: kopf.OperatorRegistry) -> None:
    assert set(handlers(registry)) == {"jobs", "workloads", "podgroups"}
    for kind in (registry._changing, registry._spawning, registry._indexing, registry._webhooks):
        assert not list(cast("Any", kind).get_all_handlers())
    assert len(list(registry._activities.get_all_handlers())) == 1, "the login"


async def test_each_handler_names_its_version(registry: kopf.OperatorRegistry) -> None:
    selectors = {name: handler.selector for name, handler in handlers(registry).items()}
    assert (selectors["jobs"].group, selectors["jobs"].version) == ("batch", "v1")
    assert (selectors["workloads"].group, selectors["workloads"].version) == ("scheduling.k8s.io", "v1alpha2")


async def shown(registry: kopf.OperatorRegistry, name: str, raw: Object, how: str | None = "MODIFIED") -> object:
    result = await handlers(registry)[name].fn(type=how, body=kopf.Body(cast("Any", raw)), logger=None, patch=None)
    await asyncio.sleep(0)
    return result


async def test_an_event_reaches_the_cache_and_the_queue_and_returns_nothing(
    registry: kopf.OperatorRegistry, parts: Parts
) -> None:
    workload = a_workload("w").describing(JOB)
    assert await shown(registry, "jobs", JOB.build(), None) is None
    assert await shown(registry, "workloads", workload.build()) is None
    assert await shown(registry, "podgroups", a_pod_group("g").made_from(workload).build()) is None
    seen = parts.cache.observe(KEY)
    assert seen.job == JOB.view()
    assert [w.metadata.name for w in seen.workloads] == ["w"]
    assert [g.metadata.name for g in seen.pod_groups] == ["g"]
    assert len(parts.queue) == 1


async def test_a_deletion_removes_the_job_from_the_cache(registry: kopf.OperatorRegistry, parts: Parts) -> None:
    await shown(registry, "jobs", JOB.build())
    await shown(registry, "jobs", JOB.build(), "DELETED")
    assert KEY not in parts.cache.jobs


@pytest.mark.parametrize("name", ["jobs", "workloads", "podgroups"])
async def test_an_unreadable_object_is_skipped(
    registry: kopf.OperatorRegistry, parts: Parts, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await shown(registry, name, {"metadata": 7, "spec": "x"}) is None
    assert not parts.cache.jobs
    assert "cannot be read" in caplog.text


async def test_kopf_uses_the_login_of_the_client(registry: kopf.OperatorRegistry) -> None:
    (login,) = registry._activities.get_all_handlers()
    connection = await cast("Any", login.fn)()
    assert (connection.server, connection.ca_path, connection.certificate_path) == ("https://h:1", "ca", "c")
    assert connection.token is None
    assert connection.insecure is False


def test_with_these_settings_kopf_writes_nothing() -> None:
    settings = operator_settings()
    assert settings.persistence.finalizer == "muster.dev/never-set"
    assert settings.persistence.finalizer != kopf.OperatorSettings().persistence.finalizer
    assert isinstance(settings.persistence.diffbase_storage, NoDiffBase)
    assert settings.posting.enabled is False
    assert settings.scanning.disabled is True
    assert isinstance(settings.watching.server_timeout, int)


def test_backoffs_never_end_and_start_again() -> None:
    backoffs = ForeverBackoffs()
    first = list(islice(backoffs, 100))
    assert all(0.5 <= seconds <= LONGEST_BACKOFF_SECONDS for seconds in first)
    assert first[0] <= 1.0
    assert min(first[10:]) >= LONGEST_BACKOFF_SECONDS / 2
    assert next(iter(backoffs)) <= 1.0


def test_no_copy_of_an_object_is_kept() -> None:
    storage = NoDiffBase()
    body, patch = kopf.Body(cast("Any", JOB.build())), kopf.Patch()
    assert storage.fetch(body=body) is None
    assert storage.build(body=body) == {}
    storage.store(body=body, patch=patch, essence=kopf.BodyEssence({}))
    assert not patch


async def test_without_a_thread_livez_asks_for_a_restart(
    intake: Intake, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    health = Health()
    credentials, errors = Credentials(FakeLogin(Endpoint("https://h:1"))), InternalErrors(Metrics())
    watching = WatchThread(intake, parts.cache, NATIVE, credentials, parts.resync, health, errors)
    with pytest.raises(WatchEnded):
        await watching._run_once(asyncio.get_running_loop())
    assert health.restart_reason == "watching cannot be started: can't start new thread"
