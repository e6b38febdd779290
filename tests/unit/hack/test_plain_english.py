"""The check of the words: it finds each of them, on its line."""

from pathlib import Path

import pytest

from plain_english import found_in, is_checked, is_for_users, problems

WORDS = (
    "told",
    "mended",
    "Heeded",
    "whoever",
    "for ever",
    "cannot be had",
    "the very",
    "says so",
    "whom",
    "shall",
    "mending",
    "to be had",
    "stands in the way",
    "puts right",
    "being left",
    "is at work",
    "who asked",
    "of its own accord",
    "errands",
    "whatsoever",
    "ought to",
    "lest",
    "upon",
    "thereof",
    "hitherto",
    "goes on",
    "living pods",
    "living gangs",
    "pod-gate",
    "pod gates",
    "pod_gate",
    "is made again",
    "for good",
    "it speaks",
    "passed over",
    "came and went",
    "all the same",
    "tells of",
    "trips over",
    "half characters",
    "asleep",
)


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_found_on_its_line(word: str) -> None:
    ((line, found, instead),) = found_in(f"first\nsecond {word} third\n")
    assert (line, found) == (2, word)
    assert instead


@pytest.mark.parametrize(
    "text", ["waits for\never\n", '"""For\n    ever."""', "    # For\n    # ever.\n", "- for\n  ever"]
)
def test_a_phrase_can_be_broken_by_the_end_of_a_line(text: str) -> None:
    ((line, word, _),) = found_in(text)
    assert (line, word.lower()) == (1, "for ever")


@pytest.mark.parametrize("word", ["nobody", "Somebody", "anybody", "everybody", "beside", "comes back", "meanwhile"])
def test_some_words_are_only_found_in_text_for_users(word: str) -> None:
    assert list(found_in(word)) == []
    ((line, found, instead),) = found_in(word, for_users=True)
    assert (line, found) == (1, word)
    assert instead


def test_text_for_users_is_what_is_shipped() -> None:
    assert all(map(is_for_users, ("README.md", "docs/install.md", "src/muster/a.py", "charts/muster/values.yaml")))
    assert is_for_users("hack/demo_show/promises.py"), "`make demo` prints its sentences"
    assert not any(map(is_for_users, ("docs/conformance.md", "tests/oracles.py", "hack/setup")))


@pytest.mark.parametrize("text", ["forever", "untold", "recommend", "It takes some minutes.", "it takes 5 s", "every"])
def test_other_words_pass(text: str) -> None:
    assert list(found_in(text)) == []


def test_only_text_for_people_and_code_is_checked() -> None:
    checked = (
        "README.md",
        "src/a.py",
        "charts/a.yaml",
        "charts/a.tpl",
        "Makefile",
        "hack/setup",
        "Dockerfile",
        ".ci/run",
        ".github/workflows/ci.yml",
        "charts/NOTES.txt",
        "charts/values.schema.json",
        "pyproject.toml",
    )
    assert all(is_checked(path) for path in checked)
    assert not any(is_checked(path) for path in ("uv.lock", "hack/a/go.sum", "LICENSE", "hack/plain_english.py"))


def test_the_tables_of_the_changelog_quote_old_names(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("the pod-gate\n| `pod-gate` | `pods` |\n")
    assert list(problems(tmp_path, ["CHANGELOG.md"])) == ["CHANGELOG.md:1: pod-gate: pod webhook"]


def test_each_line_with_a_word_is_reported(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("as told\nplain\nfor ever\n")
    expected = ["page.md:1: told: reported, or name who learns it: 'the event says'", "page.md:3: for ever: forever"]
    assert list(problems(tmp_path, ["page.md"])) == expected
