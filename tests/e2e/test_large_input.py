"""Thousands of large inputs: the memory of the real process stays, and its event loop is never blocked for long."""

import itertools
import json
import re
import socket
import ssl
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import orjson
import pytest

from muster.api.job import GROUP_TEMPLATE_ANNOTATION, SCHEDULING_ANNOTATION
from tests.builders import JobBuilder, a_gang, a_pod, a_review
from tests.clusters.api import Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.waiting import eventually
from tests.e2e.hostile.checks import resident_bytes
from tests.e2e.support import probed
from tests.e2e.support.strangers import LOOPBACK, TLS, http

pytestmark = [pytest.mark.quiet, pytest.mark.timeout(600)]

MEGABYTE = 1_000_000
ETCD_LIMIT = 1_500_000
MIB = 1024 * 1024
MOST_GROWN = 30
LONGEST_BLOCK = 0.050
ROUNDS = 3
WARM_UP = 30
COUNTS = [500, pytest.param(10_000, marks=pytest.mark.full)]


class Process:
    """Muster's, with a connection to its admission port."""

    def __init__(self, muster: Muster, blocked: Path) -> None:
        self._muster, self._blocked = muster, blocked
        port = int(re.findall(r"admission is served on https://\S+:(\d+)", muster.log())[-1])
        self._connection: ssl.SSLSocket = TLS.wrap_socket(socket.create_connection((LOOPBACK, port)))
        self._answers = self._connection.makefile("rb")

    def answer(self, path: str, body: bytes) -> Object:
        self._connection.sendall(http(f"{path}?timeout=2s", body))
        assert b" 200 " in self._answers.readline()
        length = 0
        while line := self._answers.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        answer: Object = json.loads(self._answers.read(length))["response"]
        return answer

    def close(self) -> None:
        self._connection.close()

    def resident(self) -> float:
        return resident_bytes(self._muster.pid) / MIB

    def next_window(self) -> float:
        return probed.next_window(self._blocked)

    def longest_block(self, since: float) -> float:
        until = self.next_window()
        return max(longest for began, longest in probed.windows(self._blocked) if since <= began <= until)


@pytest.fixture
def process(local: Cluster, tmp_path: Path) -> Iterator[Process]:
    """A new one for each test: what one input took is not there for the next."""
    for kind in ("jobs", "workloads", "podgroups"):  # hundreds that vanish take time of the loop, too
        eventually(lambda kind=kind: not local.api.list(kind), f"no {kind} of an earlier test are left", 300)  # type: ignore[misc]
    blocked = tmp_path / "blocked"
    program = (sys.executable, "-P", probed.__file__, str(blocked))
    with Muster(local.muster_kubeconfig(), local.api, tmp_path / "muster.log", program=program) as muster:
        made = Process(muster, blocked)
        yield made
        made.close()
        assert "Traceback" not in muster.log()


def assert_bounded(process: Process, what: str, feed: Callable[[], None]) -> None:
    """One round within the bound, or two of three. Each round feeds inputs that Muster has not seen before.

    A host stops its virtual machines at times, and a guest counts that as time of the thread that ran: an empty loop on
    an idle machine has shown jumps of 32 ms, on both processors at once. What an input causes comes again.
    """
    before = process.resident()
    longest: list[float] = []
    while not longest or (longest[0] >= LONGEST_BLOCK and len(longest) < ROUNDS):
        since = process.next_window()
        feed()
        grown = process.resident() - before
        longest.append(process.longest_block(since))
        print(f"{what}: {before:.0f} MiB, grew by {grown:.1f}; blocked {longest[-1] * 1000:.0f} ms at most")
        assert grown < MOST_GROWN
    assert min(longest) > 0
    assert all(each < LONGEST_BLOCK for each in longest[1:] or longest), longest


def reviews_of(raw: Object, numbers: Iterable[int], dry: bool = False) -> Iterator[bytes]:
    """The object in a review, FILLER replaced by a text of a megabyte, another one for each number."""
    before, after = json.dumps(a_review(raw, dry=dry)).encode().split(b"FILLER")
    for number in numbers:
        yield before + f"{number:08d}".encode() + b"u" * (MEGABYTE - 8) + after


def assert_all_bounded(process: Process, path: str, raws: list[Object], count: int, allowed: bool, dry: bool) -> None:
    numbers = itertools.count()

    def feed(count: int = count) -> None:
        for raw in raws:
            for review in reviews_of(raw, itertools.islice(numbers, count // len(raws)), dry):
                assert process.answer(path, review)["allowed"] is allowed

    feed(WARM_UP * len(raws))
    assert_bounded(process, f"{count} of {path}", feed)


@pytest.mark.parametrize("count", COUNTS)
def test_refused_pods_with_owner_uids_of_a_megabyte_stay_bounded(process: Process, count: int) -> None:
    pod = a_pod().of(a_gang("train").uid("FILLER")).build()
    del pod["metadata"]["labels"]
    assert_all_bounded(process, "/pods", [pod], count, allowed=False, dry=False)


FIELDS: dict[str, Callable[[Object], None]] = {
    "schedulerName": lambda job: job["spec"]["template"]["spec"].update(schedulerName="FILLER"),
    "priorityClassName": lambda job: job["spec"]["template"]["spec"].update(priorityClassName="FILLER"),
    "an owner's uid": lambda job: job["metadata"].update(
        ownerReferences=[{"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "FILLER", "controller": True}]
    ),
    "an annotation": lambda job: job["metadata"]["annotations"].update({GROUP_TEMPLATE_ANNOTATION: "FILLER"}),
}


@pytest.mark.parametrize("count", COUNTS)
def test_dry_run_jobs_with_fields_of_a_megabyte_stay_bounded(process: Process, count: int) -> None:
    jobs = []
    for change in FIELDS.values():
        job = a_gang("train").asking("policy: {gang: {minCount: 2}}").build()
        change(job)
        jobs.append(job)
    assert_all_bounded(process, "/intents", jobs, count, allowed=True, dry=True)


SIZES = (0, 1, 10, 100, 1_000, 2_000, 4_000, 4_095, 4_096, 4_097, 8_192, 16_384, 65_536, 262_144, MEGABYTE, ETCD_LIMIT)
CONTENTS = {
    "entries of a list": "[" + "a," * ETCD_LIMIT,
    "unknown fields": "\n".join(f"k{n}: 1" for n in range(ETCD_LIMIT // 8)),
    "lists in a field": "policy: [" + "[]," * ETCD_LIMIT,
    "objects in JSON": '{"policy": [' + "{}," * ETCD_LIMIT,
    "nested blocks": "- " * ETCD_LIMIT,
    "brackets": "[" * ETCD_LIMIT,
    "unpaired surrogates": '{"\\ud800": "' + "\\ud800" * ETCD_LIMIT,
    "blanks": " " * ETCD_LIMIT,
    "emoji": "\N{GRINNING FACE}" * ETCD_LIMIT,
}


def cut(content: str, size: int) -> str:
    return content.encode()[:size].decode(errors="ignore")


def test_annotations_of_every_size_that_etcd_accepts_stay_bounded(process: Process) -> None:
    bodies = [
        orjson.dumps(a_review(a_gang("train").annotated(**{SCHEDULING_ANNOTATION: cut(content, size)}).build()))
        for size in SIZES
        for content in CONTENTS.values()
    ]
    for body in bodies:
        process.answer("/intents", body)
    numbers = itertools.count()

    def feed() -> None:
        for number in itertools.islice(numbers, 4):  # never the same one twice, so that none is remembered
            for body in bodies:
                process.answer("/intents", body.replace(b"k1", f"j{number}".encode()))

    assert_bounded(process, "annotations", feed)


def half_ended(first: int) -> JobBuilder:
    ended = [str(index) for index in range(first, 200_000, 2)]
    return a_gang("train", 200_000).with_status(completedIndexes=",".join(ended), succeeded=len(ended))


def test_a_job_with_100_000_alternating_completed_indexes_stays_bounded(process: Process) -> None:
    reviews = iter([json.dumps(a_review(half_ended(first).build())).encode() for first in range(ROUNDS)])

    def feed() -> None:
        assert process.answer("/intents", next(reviews))["allowed"] is True

    assert_bounded(process, "alternating indexes", feed)
