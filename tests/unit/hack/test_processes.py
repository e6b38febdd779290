import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from local_cluster.errors import ClusterError
from local_cluster.layout import ClusterLayout
from local_cluster.locking import exclusive, remove_if_free
from local_cluster.owners import add_owner, all_owners_gone, owner_of, share_with
from local_cluster.plan import Plan
from local_cluster.processes import ProcessIdentity, identity_of, is_alive


def ended_process() -> ProcessIdentity:
    with subprocess.Popen(["sleep", "60"]) as child:
        identity = owner_of(child.pid)
        child.kill()
    return identity


@pytest.fixture
def layout(tmp_path: Path) -> ClusterLayout:
    return ClusterLayout(tmp_path)


def test_a_process_that_ended_is_not_alive() -> None:
    assert not is_alive(ended_process())


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["true"]) as child:
        while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        assert identity_of(child.pid) is None


def test_another_process_under_the_same_id_is_not_taken_for_it() -> None:
    assert is_alive(owner_of(os.getpid()))
    assert not is_alive(ProcessIdentity(os.getpid(), "1"))


def test_an_owner_that_is_gone_is_refused() -> None:
    with pytest.raises(ClusterError, match="no such process"):
        owner_of(ended_process().pid)


def test_a_cluster_without_owners_stays(layout: ClusterLayout) -> None:
    assert not all_owners_gone(layout)


def test_a_cluster_stays_for_the_last_of_its_owners(layout: ClusterLayout) -> None:
    add_owner(layout, ended_process())
    assert all_owners_gone(layout)
    share_with(layout, owner_of(os.getpid()))
    assert not all_owners_gone(layout)


def test_a_cluster_that_is_joined_without_an_owner_stays(layout: ClusterLayout) -> None:
    add_owner(layout, ended_process())
    share_with(layout, None)
    assert not all_owners_gone(layout)


def test_joining_a_cluster_that_stays_does_not_bind_it(layout: ClusterLayout) -> None:
    share_with(layout, ended_process())
    assert not all_owners_gone(layout)


def test_a_lock_is_held_by_one_at_a_time_and_leaves_no_file(tmp_path: Path) -> None:
    lock, inside, most = tmp_path / "lock", 0, 0

    def work() -> None:
        nonlocal inside, most
        with exclusive(lock, lambda _: None):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == 1
    assert not lock.exists()


def test_a_lock_file_is_removed_unless_somebody_holds_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with exclusive(lock, lambda _: None):
        remove_if_free(lock)
        assert lock.exists()
    lock.touch()
    remove_if_free(lock)
    assert not lock.exists()


def test_a_plan_of_another_version_is_an_error(layout: ClusterLayout) -> None:
    layout.plan_file.write_text('{"generation": 1, "starter": null, "ports": {"etcd": 1}, "components": []}')
    with pytest.raises(ClusterError, match="started by another version"):
        Plan.read(layout)
