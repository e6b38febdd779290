"""What `hack/bench` makes of its measurements."""

from xml.etree import ElementTree as ET

import pytest

from bench_run.measure import Measurement
from bench_run.picture import picture
from bench_run.result import Round, as_json, rows
from bench_run.work import DEFAULT_QPS, WORKS, Work

WORK = Work("two Jobs", 2, 3)
BOUND, GROUPED, CPU = "until all pods are bound", "Job to PodGroup, median", "CPU of all processes"


def a_round(in_tree: float, muster: float, grouped: float | None = 0.5) -> Round:
    return Round(
        Measurement(in_tree, grouped, {"kube-apiserver": 3.0, "etcd": 1.0}),
        Measurement(muster, grouped and grouped / 5, {"kube-apiserver": 4.0, "etcd": 1.0, "muster": 1.0}),
    )


ROUNDS = [a_round(2.0, 3.0), a_round(4.0, 4.0), a_round(2.0, 5.0)]


def test_the_ratio_is_the_median_of_the_rounds_and_not_a_ratio_of_medians() -> None:
    found = {row.quantity: row for row in rows(WORK, ROUNDS)}
    assert found[BOUND].ratio.middle == 1.5
    assert (found[BOUND].in_tree, found[BOUND].muster) == (2.0, 4.0)
    assert str(found[BOUND].ratio) == "1.50  (1.00 to 2.50)"
    assert found[GROUPED].ratio.middle == pytest.approx(0.2)
    assert found[CPU].ratio.middle == 1.5


def test_jobs_that_get_no_group_have_no_row_about_it() -> None:
    assert [row.quantity for row in rows(WORK, [a_round(1.0, 1.0, grouped=None)])] == [BOUND, CPU]


def test_the_file_holds_every_round() -> None:
    saved = as_json(WORK, ROUNDS)
    assert saved["work"]["jobs"] == 2
    assert saved["ratios"][BOUND] == {"median": 1.5, "rounds": (1.5, 1.0, 2.5)}
    assert [each["muster"]["cpu"]["muster"] for each in saved["rounds"]] == [1.0, 1.0, 1.0]


def test_the_picture_is_a_document_with_a_bar_for_each_row() -> None:
    found = rows(Work("<odd> & name", 2, 3), ROUNDS)
    drawn = ET.fromstring(picture(found))
    bars = [each for each in drawn.iter("{http://www.w3.org/2000/svg}rect") if each.get("fill") != "white"]
    assert len(bars) == len(found) == 3
    assert any("<odd> & name" in (each.text or "") for each in drawn.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_each_job_is_a_gang_if_the_work_says_so(work: Work) -> None:
    manifests = work.manifests(0)
    assert len({each["metadata"]["name"] for each in (*manifests, *work.manifests(1))}) == 2 * work.jobs
    gangs = {each["spec"]["parallelism"] == each["spec"]["completions"] for each in manifests}
    assert gangs == {work.gang}
    assert {each["spec"]["parallelism"] for each in manifests} == {work.pods}


def test_the_default_request_rate_has_kubernetes_own_burst() -> None:
    assert Work("slow", 1, 1, qps=DEFAULT_QPS).burst == 30
    assert Work("fast", 1, 1, qps=1000).burst == 2000
