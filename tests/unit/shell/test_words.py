"""What the console offers where somebody types."""

from __future__ import annotations

from pathlib import Path

import pytest

from etalis.shell.console import Vocabulary
from etalis.shell.local import LocalConsole
from etalis.shell.words import find_words
from etalis.shell.workspace import Workspace


@pytest.fixture
def known() -> Vocabulary:
    workspace = Workspace(lambda _: None, lambda: 0)
    console = LocalConsole(workspace, lambda _: None)
    workspace.load(Path(__file__).parents[3] / "examples" / "fraud" / "fraud.etalis")
    return console.vocabulary()


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("event(withd", "withdrawal"), ("why(fra", "fraud"), ("why_n", "why_not"), ("X = 1, memb", "member"),
        ("set_flag(event_c", "event_consumption_policy"), ("set_flag(shedding, o", "oldest"),
        ("set_flag(event_consumption_policy, chr", "chronological"), ("waiting(two", "two_cities"),
        ("help(shed", "shedding"),
    ],
)  # fmt: skip
def test_a_word_is_offered(known: Vocabulary, typed: str, word: str) -> None:
    assert word in [found for found, _, _ in find_words(known, typed)]


def test_nothing_is_offered_within_quotes_or_after_nothing(known: Vocabulary) -> None:
    assert list(find_words(known, "X = 'withd")) == []
    assert list(find_words(known, "foo(")) == []


def test_files_are_offered_by_their_folders(known: Vocabulary, tmp_path: Path) -> None:
    (tmp_path / "rules.etalis").touch()
    (tmp_path / "runs").mkdir()
    found = list(find_words(known, f"load('{tmp_path}/ru"))
    assert found == [("rules.etalis", "file", 2), ("runs/", "folder", 2)]
    assert list(find_words(known, "run('/no/such/folder/x")) == []
