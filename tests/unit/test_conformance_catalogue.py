"""The conformance page is whole: no number is missing, every test on it exists, every other status says why."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from conformance_catalogue import FILES, Entry, Reference, Status, entries, exists, sources
from conformance_page import outcomes, page, unproven

IN_TREE = [
    *(f"J36-{number:02}" for number in range(1, 67)),
    *(f"A36-{number:02}" for number in range(1, 62)),
    *(f"V36-{number:02}" for number in range(1, 78) if number not in {58, 59}),
    "E36-01",
    "E36-02",
    *(f"B-{number:02}" for number in range(1, 101) if not 63 <= number <= 69),
]
"""The in-tree catalogue has no V36-58, no V36-59 and no B-63..B-69."""
SENTENCES = {"workload-api": "W", "podgroup-api": "P", "kep-5547": "K5547", "kep-5832": "K5832", "kep-6089": "K6089"}


def ids(file: str) -> list[str]:
    return [entry.id for entry in sources()[FILES.index(file)].entries]


def test_every_row_of_the_in_tree_catalogue_is_there_once() -> None:
    assert ids("in-tree") == IN_TREE


@pytest.mark.parametrize("file", SENTENCES)
def test_the_sentences_of_a_document_are_numbered_without_a_gap(file: str) -> None:
    found = ids(file)
    width = len(str(len(found)))
    assert found == [f"{SENTENCES[file]}-{number:0{width}}" for number in range(1, len(found) + 1)]


def test_no_number_is_given_twice() -> None:
    assert [id_ for id_, times in Counter(entry.id for entry in entries()).items() if times > 1] == []


@pytest.mark.parametrize("file", FILES)
def test_every_entry_names_tests_that_exist_or_says_why_not(file: str) -> None:
    assert [problem for entry in sources()[FILES.index(file)].entries for problem in wrong_with(entry)] == []


def wrong_with(entry: Entry) -> Iterator[str]:
    yield from (f"{entry.id}: there is no {test}" for test in entry.tests if not exists(test))
    if entry.status is Status.TESTED and not entry.tests:
        yield f"{entry.id}: tested, and by no test"
    if entry.status is not Status.TESTED and not entry.because.strip():
        yield f"{entry.id}: {entry.status}, and nothing says why"
    if not entry.says.strip() or re.search(r"[\n\r]", entry.says + entry.because):
        yield f"{entry.id}: has to be one line each"


def test_a_row_that_tests_carry_in_their_name_is_shown_by_one_of_them() -> None:
    """A test of another row cannot slip in: the first test of a tested V36 or B row bears its number."""
    for entry in entries():
        if entry.id.startswith(("V36-", "B-")) and entry.status is Status.TESTED:
            number = entry.id.rpartition("-")[2]
            assert entry.id in entry.tests[0].case or number in entry.tests[0].function.split("_"), entry.id


@pytest.mark.parametrize(
    ("node_id", "there"),
    [
        ("tests/unit/test_conformance_catalogue.py::test_a_reference_finds_only_existing_tests", True),
        ("tests/unit/test_conformance_catalogue.py::test_a_reference_finds_only_existing_tests_too", False),
        ("tests/unit/test_no_such_file.py::test_a_reference_finds_only_existing_tests", False),
        ("tests/conformance/test_validation_rows.py::test_create[V36-01]", True),
        ("tests/conformance/test_validation_rows.py::test_create[V36-99]", False),
        ("tests/e2e/test_local_cluster.py::TestProfiles::test_each_profile_serves_its_apis", True),
        ("tests/e2e/test_local_cluster.py::test_each_profile_serves_its_apis", False),
    ],
)
def test_a_reference_finds_only_existing_tests(node_id: str, there: bool) -> None:
    assert exists(Reference.parse(node_id)) is there


def test_an_invalid_test_id_is_an_error() -> None:
    with pytest.raises(ValueError, match="not the id of a test: core"):
        Reference.parse("core/test_decide.py")


def test_the_page_has_every_number() -> None:
    rows = Counter(re.findall(r"^\| ([A-Z]\w*-\d+) \|", page(), re.MULTILINE))
    assert rows.keys() == {entry.id for entry in entries()}


RAN = {
    "test_a[server one-R-01 good]": "",
    "test_a[server two-R-01 good]": "<skipped/>",
    "test_a[server one-R-02 bad]": "<failure/>",
    "test_a[server two-R-02 bad]": "",
    "test_b": "<error/>",
    "test_c": "<skipped/>",
    "test_d": "",
}


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("test_a[R-01]", ""),
        ("test_a[R-02]", "failed, passed"),
        ("test_a[R-03]", "did not run"),
        ("test_b", "failed"),
        ("test_c", "skipped"),
        ("test_d", ""),
        ("test_e", "did not run"),
        ("TestF::test_g", ""),
        ("test_g", "did not run"),
    ],
)
def test_a_run_proves_only_the_tests_that_passed(test: str, outcome: str, tmp_path: Path) -> None:
    cases = [f'<testcase classname="tests.x" name={quoteattr(name)}>{end}</testcase>' for name, end in RAN.items()]
    cases.append('<testcase classname="tests.x.TestF" name="test_g"/>')
    results = tmp_path / "results.xml"
    results.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    found = list(unproven({Reference.parse(f"tests/x.py::{test}")}, outcomes(results)))
    assert found == ([f"tests/x.py::{test}: {outcome}"] if outcome else [])
