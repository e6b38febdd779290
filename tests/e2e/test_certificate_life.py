"""Certificates over a longer life: an authority that grows old, and files that somebody else keeps."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.replicas import NAMESPACE, Replicas, registered
from tests.clusters.vault import (
    DAY,
    SECRET,
    all_serve,
    bundle,
    fresh,
    put,
    trusted,
    wait_for_another,
    write_files,
)
from tests.clusters.waiting import always, eventually
from tests.e2e.support.load import Load

QUICK = {"probeSeconds": 0.3}


@pytest.mark.full
def test_an_old_authority_gets_a_successor_under_load(api: Api, local: Cluster, namespace: str, tmp_path: Path) -> None:
    """The authority's last third begins while the replicas serve."""
    soon = timedelta(seconds=25)
    old = fresh(authority_age=3650 * DAY * 2 / 3 - soon)
    put(api, old.data())
    with Replicas(local, tmp_path, settings=QUICK) as replicas:
        replicas.wait_until_ready()
        assert all_serve(replicas, old.leaf.certificate)
        with Load(api, namespace) as load:
            wait_for_another(api, replicas, old.leaf.certificate)
            load.more(50)
        assert load.lost == []
        assert bundle(api).old == old.authorities
        assert all({*bundle(api).authorities} <= each for each in trusted(api))


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    directory = tmp_path / "mounted"
    directory.mkdir()
    return directory


def test_files_are_served_as_they_change(
    local: Cluster, api: Api, namespace: str, mounted: Path, tmp_path: Path
) -> None:
    """As cert-manager does: another authority and another leaf, in files that somebody else writes."""
    settings = {**QUICK, "certificates": {"mode": "files", "directory": str(mounted)}}
    with Replicas(local, tmp_path, settings=settings) as replicas:
        eventually(lambda: "ca.crt cannot be used: No such file" in replicas[0].readyz()[1], "it waits for them")
        write_files(mounted, fresh(age=400 * DAY))
        eventually(lambda: "cannot be used: it expired at" in replicas[0].readyz()[1], "it waits for better ones")
        assert registered(api) == []
        first, second = fresh(), fresh()
        write_files(mounted, first)
        replicas.wait_until_ready()
        with Load(api, namespace) as load:
            write_files(mounted, second)
            eventually(lambda: all_serve(replicas, second.leaf.certificate), "the new ones are served", 30)
            load.more()
            (mounted / "tls.crt").write_bytes(b"garbage")
            eventually(lambda: "admission keeps the current certificate" in replicas.logs(), "the log reports it")
            always(lambda: replicas[0].readyz()[0] == 200, "it is ready with what it has", 1)
            load.more()
        assert load.lost == []
        assert api.find("secrets", SECRET, NAMESPACE) is None
    assert "Traceback" not in replicas.logs()
