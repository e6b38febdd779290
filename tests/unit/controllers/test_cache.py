"""The cache shows the newest that arrived, in whichever order it came."""

import gc
import tracemalloc

import orjson
from hypothesis import given
from hypothesis import strategies as st

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.api.profile import NATIVE
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.controllers.cache import Cache
from tests.builders import a_gang, a_pod_group, a_workload

JOB = a_gang("train").uid("now")
KEY = JobKey("default", "train")


def names(cache: Cache) -> tuple[list[str], list[str]]:
    seen = cache.observe(KEY)
    return [w.metadata.name for w in seen.workloads], [g.metadata.name for g in seen.pod_groups]


def test_an_older_revision_never_replaces_a_newer_one() -> None:
    cache = Cache()
    assert cache.put_job(a_gang("train").version(10).view())
    assert not cache.put_job(a_gang("train").suspended().version(9).view())
    assert not cache.jobs[KEY].suspended
    assert cache.put_job(a_gang("train").suspended().version(11).view())
    assert cache.jobs[KEY].suspended


def test_a_change_that_no_decision_reads_is_no_change() -> None:
    cache = Cache()
    cache.put_job(a_gang("train").version(1).view())
    assert not cache.put_job(a_gang("train").version(2).with_status(active=3).view())
    assert cache.jobs[KEY].resource_version == "2"


def test_versions_are_numbers_not_texts() -> None:
    cache = Cache()
    cache.put_workload(a_workload("w").describing(JOB).version(9).read())
    cache.put_workload(a_workload("w").describing(JOB).version(10).being_deleted().read())
    assert cache.observe(KEY).workloads[0].metadata.deletion_timestamp is not None
    cache.put_workload(a_workload("w").describing(JOB).version(9).read())
    assert cache.observe(KEY).workloads[0].metadata.deletion_timestamp is not None


def test_a_late_answer_does_not_bring_back_a_deleted_object() -> None:
    """An answer on its way while the stream says that the object is deleted."""
    cache = Cache()
    workload = a_workload("w").uid("w-1").describing(JOB).version(5)
    group = a_pod_group("g").uid("g-1").naming_workload("w").version(6).being_deleted()
    cache.put_job(JOB.version(4).view())
    for _ in range(2):
        cache.drop_job(KEY, JOB.view().uid, for_good=True)
        cache.drop_workload(workload.read().metadata, for_good=True)
        cache.drop_pod_group(group.read().metadata, for_good=True)
        assert not cache.put_job(JOB.version(4).view())
        assert not cache.put_workload(workload.read())
        assert not cache.put_pod_group(group.read())
        assert (cache.jobs, names(cache), sum(cache.gangs.values())) == ({}, ([], []), 0)
    cache.put_workload(a_workload("w").uid("w-2").describing(JOB).version(8).read())
    cache.put_pod_group(a_pod_group("g").uid("g-2").naming_workload("w").version(9).read())
    assert names(cache) == (["w"], ["g"]), "another one of that name"


def test_an_object_that_an_answer_did_not_find_may_come_back() -> None:
    """An API server that starts may say 404 for a while."""
    cache = Cache()
    group = a_pod_group("g").uid("g-1").naming_workload("w").read()
    cache.put_pod_group(group)
    cache.drop_pod_group(group.metadata)
    assert cache.put_pod_group(group)


def test_after_a_restore_of_etcd_a_deleted_object_may_come_back() -> None:
    cache = Cache()
    group = a_pod_group("g").uid("g-1").naming_workload("w").version(60).read()
    cache.put_pod_group(group)
    cache.drop_pod_group(group.metadata, for_good=True)
    assert cache.rewound(PodGroup, "50", 60)
    assert cache.put_pod_group(a_pod_group("g").uid("g-1").naming_workload("w").version(40).read())


def test_a_late_deletion_of_an_earlier_object_removes_nothing() -> None:
    cache = Cache()
    cache.put_job(a_gang("train").uid("new").view())
    assert not cache.drop_job(KEY, Uid("old"))
    assert KEY in cache.jobs
    cache.put_workload(a_workload("w").uid("new").describing(JOB).read())
    assert not cache.drop_workload(a_workload("w").uid("old").read().metadata)
    assert names(cache)[0] == ["w"]
    cache.put_pod_group(a_pod_group("g").uid("new").naming_workload("w").read())
    assert not cache.drop_pod_group(a_pod_group("g").uid("old").read().metadata)
    assert names(cache)[1] == ["g"]


def test_a_job_s_groups_are_found_through_its_workload_and_through_their_owner() -> None:
    cache = Cache()
    cache.put_job(JOB.view())
    cache.put_workload(a_workload("w").describing(JOB).read())
    cache.put_pod_group(a_pod_group("through-workload").naming_workload("w").read())
    cache.put_pod_group(a_pod_group("through-owner").naming_workload("gone").controlled_by(JOB).read())
    cache.put_pod_group(a_pod_group("strangers").naming_workload("other").read())
    assert names(cache) == (["w"], ["through-workload", "through-owner"])


def test_an_object_that_changes_its_job_is_found_under_the_new_job() -> None:
    cache = Cache()
    cache.put_workload(a_workload("w").uid("1").describing(JOB).version(1).read())
    cache.put_workload(a_workload("w").uid("2").describing(a_gang("other")).version(2).read())
    assert names(cache)[0] == []
    assert [w.metadata.name for w in cache.observe(JobKey("default", "other")).workloads] == ["w"]


def test_a_dropped_object_leaves_nothing_behind() -> None:
    cache = Cache()
    workload, group = a_workload("w").describing(JOB).read(), a_pod_group("g").naming_workload("w").read()
    cache.put_workload(workload)
    cache.put_pod_group(group)
    assert cache.drop_workload(workload.metadata)
    assert cache.drop_pod_group(group.metadata)
    assert not cache.drop_pod_group(group.metadata)
    assert not cache._workloads.index
    assert not cache._pod_groups.index


def test_the_cache_finds_the_jobs_that_a_change_concerns() -> None:
    cache = Cache()
    cache.put_workload(a_workload("w").describing(JOB).read())
    assert cache.jobs_of(a_workload("x").describing(a_gang("other")).read()) == {JobKey("default", "other")}
    assert cache.jobs_of(a_pod_group("g").naming_workload("w").read()) == {KEY}
    assert cache.jobs_of(a_pod_group("g").naming_workload("unknown").controlled_by(JOB).read()) == {KEY}
    assert cache.jobs_of(a_pod_group("g").owned_by("apps/v1", "Deployment", "d", "u").read()) == set()


def full_cache() -> Cache:
    cache = Cache()
    cache.put_job(a_gang("train").uid("now").version(5).view())
    cache.put_workload(a_workload("w").uid("w1").describing(JOB).version(6).read())
    cache.put_pod_group(a_pod_group("g").uid("g1").naming_workload("w").version(7).read())
    return cache


def unlisted(cache: Cache, listed: set[Uid], at: tuple[str, str, str] = ("9", "9", "9")) -> set[Uid]:
    """The UIDs of the cached objects that are missing in lists of these resourceVersions."""
    found = [*map(cache.unlisted, (JobView, Workload, PodGroup), [listed] * 3, at)]
    return {each.uid if isinstance(each, JobView) else each.metadata.uid for items in found for each in items}


def test_the_cache_finds_objects_that_a_full_list_does_not_contain() -> None:
    cache = full_cache()
    assert unlisted(cache, {Uid("now"), Uid("w1")}) == {"g1"}
    assert unlisted(cache, set()) == {"now", "w1", "g1"}
    assert unlisted(cache, {Uid("now"), Uid("w1"), Uid("g1")}) == set()


def test_an_object_newer_than_the_list_stays() -> None:
    cache = full_cache()
    assert unlisted(cache, set(), ("4", "5", "6")) == set()
    assert unlisted(cache, set(), ("4", "6", "6")) == {"w1"}


@given(st.permutations(list(range(1, 7))))
def test_any_order_of_arrival_ends_in_the_newest_version(order: list[int]) -> None:
    cache = Cache()
    for version in order:
        workload = a_workload("w").describing(JOB).version(version)
        cache.put_workload((workload.being_deleted() if version == 6 else workload).read())
    (found,) = cache.observe(KEY).workloads
    assert found.metadata.resource_version == "6"


def test_a_list_that_is_older_than_what_was_seen_before_it_shows_a_restored_etcd() -> None:
    cache = Cache()
    cache.put_job(JOB.version(900).view())
    cache.put_workload(a_workload("w").describing(JOB).version(901).read())
    cache.put_pod_group(a_pod_group("g").naming_workload("w").controlled_by(JOB).version(902).read())
    before = dict(cache.newest)
    assert cache.rewound(JobView, "500", before[JobView])
    assert cache.rewound(Workload, "501", before[Workload])
    assert cache.rewound(PodGroup, "502", before[PodGroup])
    assert (cache.jobs, names(cache), +cache.gangs) == ({}, ([], []), {})
    assert cache.put_job(a_gang("train").uid("restored").version(400).view())
    assert not cache.rewound(JobView, "510", cache.newest[JobView])
    assert cache.jobs[KEY].uid == "restored"


def test_a_list_that_lags_behind_what_arrives_meanwhile_replaces_nothing() -> None:
    cache = Cache()
    cache.put_job(JOB.version(900).view())
    newest = cache.newest[JobView]
    cache.put_job(a_gang("other").version(950).view())
    assert not cache.rewound(JobView, "900", newest), "the list began before the other Job came"
    assert not cache.rewound(JobView, "", newest)
    assert len(cache.jobs) == 2


def test_the_cache_returns_objects_unchanged() -> None:
    cache = Cache()
    workload = a_workload("w").describing(JOB).controlled_by(JOB).read()
    group = a_pod_group("g").naming_workload("w").controlled_by(JOB).read()
    cache.put_workload(workload)
    cache.put_pod_group(group)
    (found,) = cache.observe(KEY).workloads
    assert found == workload
    assert found.spec.pod_group_templates[0].model_fields_set == workload.spec.pod_group_templates[0].model_fields_set
    assert cache.pod_group("default", "g") == group


def test_a_gang_takes_little_memory() -> None:
    """The pair of a gang took 16 KB as models."""
    things = [
        (
            orjson.dumps(a_workload(f"w-{n}").describing(a_gang(f"job-{n}")).build()),
            orjson.dumps(a_pod_group(f"g-{n}").naming_workload(f"w-{n}").controlled_by(a_gang(f"job-{n}")).build()),
        )
        for n in range(500)
    ]
    cache = Cache()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for workload, group in things:
        cache.put_workload(NATIVE.read_workload(orjson.loads(workload)))
        cache.put_pod_group(NATIVE.read_pod_group(orjson.loads(group)))
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown / len(things) < 4_000
