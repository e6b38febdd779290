"""The check of the words: it finds each, on its line, and its list of exceptions can only shrink."""

from pathlib import Path

import pytest

from plain_english import Found, found_in, is_checked, problems

WORDS = ("told", "mended", "Heeded", "whoever", "for ever", "cannot be had", "the very", "says so", "whom", "shall")


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_found_on_its_line(word: str) -> None:
    ((line, found, instead),) = found_in(f"first\nsecond {word} third\n")
    assert (line, found) == (2, word)
    assert instead


def test_a_phrase_can_be_broken_by_the_end_of_a_line() -> None:
    assert list(found_in("waits for\never\n")) == [Found(1, "for ever", "forever")]


@pytest.mark.parametrize("text", ["forever", "untold", "recommend", "It takes some minutes.", "it takes 5 s", "every"])
def test_other_words_pass(text: str) -> None:
    assert list(found_in(text)) == []


def test_only_text_for_people_and_code_is_checked() -> None:
    checked = ("README.md", "src/a.py", "charts/a.yaml", "charts/a.tpl", "Makefile", "hack/setup")
    assert all(is_checked(path) for path in checked)
    assert not any(is_checked(path) for path in ("uv.lock", "hack/a/go.sum", "LICENSE", "hack/plain_english.py"))


@pytest.mark.parametrize(
    ("text", "allowed", "expected"),
    [
        ("as told\n", {}, ["page.md:1: told: reported, or name who learns it: 'the event says'"]),
        ("as told\n", {"page.md": 1}, []),
        ("as told\n", {"page.md": 2}, []),
        ("plain\n", {"page.md": 1}, ["page.md: clean or gone: take it off the list in hack/plain_english.py"]),
        ("plain\n", {}, []),
    ],
    ids=["new word", "listed", "shrunk", "clean but listed", "clean"],
)
def test_the_list(tmp_path: Path, text: str, allowed: dict[str, int], expected: list[str]) -> None:
    (tmp_path / "page.md").write_text(text)
    assert list(problems(tmp_path, ["page.md"], allowed)) == expected


def test_a_count_that_grows_is_shown_with_every_line(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("as told\nto whom\n")
    *lines, summary = problems(tmp_path, ["page.md"], {"page.md": 1})
    assert [line.split(":")[1] for line in lines] == ["1", "2"]
    assert summary == "page.md: 2 of these words, and 1 are allowed"


def test_a_file_that_is_gone_leaves_the_list(tmp_path: Path) -> None:
    assert len(list(problems(tmp_path, [], {"page.md": 1}))) == 1
