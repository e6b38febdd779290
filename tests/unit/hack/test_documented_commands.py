"""Every command of the pages about installing is run by a test, or says why not."""

import re
from pathlib import Path

import pytest

from documented_commands import Block, blocks, file, script

ROOT = Path(__file__).parents[3]
PAGES = ("docs/install.md", "docs/managed-clusters.md")
PAGE = """\
<!-- test: one -->
```sh
first REGISTRY
```

words

```sh
unmarked
```
<!-- not tested: needs a cloud -->
```sh
cloud
```

<!-- test: one -->
```sh
second
```
<!-- test: settings -->
```yaml
a: 1
```
"""


def test_blocks_know_their_test_or_their_reason() -> None:
    assert blocks(PAGE) == [
        Block("first REGISTRY\n", "one", None),
        Block("unmarked\n", None, None),
        Block("cloud\n", None, "needs a cloud"),
        Block("second\n", "one", None),
    ]


def test_a_script_is_all_blocks_of_a_name() -> None:
    assert script(PAGE, "one", {"REGISTRY": "registry.example"}) == "first registry.example\nsecond\n"
    with pytest.raises(KeyError, match="no block is marked `test: two`"):
        script(PAGE, "two", {})


def test_a_file_is_the_block_of_its_name() -> None:
    assert file(PAGE, "settings") == "a: 1\n"


def test_the_install_page_has_the_kustomization_that_tests_use() -> None:
    assert "resources:" in file((ROOT / "docs/install.md").read_text(), "kustomization")
    for test in ("tests/kind/test_leaving.py", "tests/release/test_install_page.py"):
        assert '"kustomization")' in (ROOT / test).read_text()


@pytest.mark.parametrize("page", PAGES)
def test_no_command_is_without_a_mark(page: str) -> None:
    found = blocks((ROOT / page).read_text())
    assert found
    assert [block.text for block in found if not block.test and not block.reason] == []


def test_the_readme_installs_by_a_tested_command() -> None:
    section = (ROOT / "README.md").read_text().partition("## Install it")[2].partition("\n## ")[0]
    assert [block.test for block in blocks(section)] == ["readme install"]


def test_every_script_has_its_test() -> None:
    names = {block.test for page in (*PAGES, "README.md") for block in blocks((ROOT / page).read_text()) if block.test}
    tests = "".join(path.read_text() for path in (ROOT / "tests/release").rglob("test_*.py"))
    followed = set(re.findall(r'\.follow\(\w+, "([a-z ]+)"', tests))
    assert names == followed
