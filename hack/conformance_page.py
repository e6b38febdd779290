"""Generates docs/conformance.md from tests/conformance/catalogue.

With --check it verifies that the page is up to date; with --results FILE..., that every test on it passed in those
runs (`pytest --junitxml=FILE`).
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from conformance_catalogue import Entry, Reference, Source, Status, entries, sources

PAGE = Path(__file__).parents[1] / "docs/conformance.md"

HEAD = """# Requirements for Muster, and the tests that prove them

Generated from `tests/conformance/catalogue` by `make generate`. This page lists every test of the in-tree Job
integration, of its admission and of its API validation (Kubernetes 1.36.4), every test of the in-tree library
workloadbuilder (1.37), and every normative sentence of the documents that Muster implements.

- **tested**: the named tests prove it. Their paths are below `tests/`; the text in brackets is a part of the ids of the
  relevant cases.
- **deviated**: Muster behaves differently on purpose; the tests, if any, show how.
- **superseded**: a later document or the released API says otherwise.
- **not-applicable**: about something that Muster neither does nor changes.
- **planned**: not implemented yet.

`pytest --junitxml=results.xml`, then `hack/conformance_page.py --results results.xml`, verifies that every test on this
page passed in that run.

"""


def page() -> str:
    parts = [HEAD, *_counts(), "\n## Deviations\n\n| id | it says | Muster differs, because |\n|---|---|---|\n"]
    parts += [_row(e.id, _text(e.says), _text(e.because)) for e in entries() if e.status is Status.DEVIATED]
    for source in sources():
        parts.append(f"\n## {source.title}\n\n| id | it says | status | shown by |\n|---|---|---|---|\n")
        parts += [_row(e.id, _text(e.says), e.status, _shown(e)) for e in source.entries]
    return "".join(parts)


def _counts() -> Iterator[str]:
    yield _row("source", *Status, "all")
    yield "|---" * (len(Status) + 2) + "|\n"
    for source in sources():
        yield _row(source.title, *_numbers(source))
    yield _row("all", *_numbers(*sources()))


def _numbers(*counted: Source) -> list[str]:
    by_status = Counter(entry.status for source in counted for entry in source.entries)
    return [str(by_status[status]) for status in Status] + [str(by_status.total())]


def _shown(entry: Entry) -> str:
    tests = [f"`{str(test).removeprefix('tests/')}`" for test in entry.tests]
    return "<br>".join([_text(entry.because), *tests] if entry.because else tests)


def _text(sentence: str) -> str:
    return sentence.replace("<", "&lt;")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


Outcomes = dict[tuple[str, str], list[tuple[str, str]]]
"""(module and class, function) to (case, outcome) of each of its cases."""


def outcomes(*results: Path) -> Outcomes:
    found: Outcomes = defaultdict(list)
    files = [ElementTree.parse(each) for each in results]  # noqa: S314  the files are written by pytest
    for case in (case for file in files for case in file.iter("testcase")):
        function, _, parameters = case.get("name", "").partition("[")
        ended = {child.tag for child in case} & {"failure", "error", "skipped"}
        place = (case.get("classname", ""), function)
        found[place].append((parameters, "failed" if ended & {"failure", "error"} else "".join(ended) or "passed"))
    return found


def unproven(tests: set[Reference], ran: Outcomes) -> Iterator[str]:
    """A test is proven if at least one case passed and none failed. Servers without a feature skip its cases."""
    for test in sorted(tests, key=str):
        *within, function = test.function.split("::")
        place = ".".join([test.path.removesuffix(".py").replace("/", "."), *within])
        ended = {outcome for case, outcome in ran.get((place, function), ()) if test.case in case}
        if "failed" in ended or "passed" not in ended:
            yield f"{test}: {', '.join(sorted(ended)) or 'did not run'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only verify that the page is up to date")
    parser.add_argument(
        "--results", type=Path, nargs="+", help="verify that every test on the page passed in these runs"
    )
    given = parser.parse_args()
    if given.results:
        tests = {test for entry in entries() for test in entry.tests}
        if lacking := list(unproven(tests, outcomes(*given.results))):
            sys.exit("\n".join([f"{len(lacking)} of {len(tests)} tests on the page did not pass:", *lacking]))
        print(f"all {len(tests)} tests on the page passed")
    elif not given.check:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit("docs/conformance.md is stale: run `make generate`")


if __name__ == "__main__":
    main()
