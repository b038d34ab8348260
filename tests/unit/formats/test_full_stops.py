"""Clauses out of a stream of text: the reader of a stream ends clauses where the reader of programs does."""

from __future__ import annotations

import random

import pytest

from etalis.errors import Source
from etalis.formats.full_stops import ClauseReader
from etalis.language.read.tokens import Tokenizer

PARTS = [
    "a", "X", "(", ")", ".", ". ", ".\n", "'", "''", '"', "0'", "0'.", "0'''", "1.5", "1", ".5", "=..", "%", "*/", "\n",
    " ", "\\", "\\n", "`", "16'FF", "..", "+", ",", "é", "\ufeff", "{", "1_000", "x0", "0x1f",
]  # fmt: skip


def by_tokenizer(text: str) -> list[str]:
    """Return the clauses of a whole text that have their full stop."""
    found, at = [], 0
    for tokens in Tokenizer(Source("", text)).clauses():
        if tokens[-1][0] == "end":
            end = tokens[-1][3]
            found.append(text[at:end].lstrip())
            at = end
    return found


@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_the_reader_of_programs_however_text_comes(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(400):
        text = "".join(draw.choice(PARTS) for _ in range(draw.randint(1, 14))) + "\n"
        whole, pieces = ClauseReader(), ClauseReader()
        wanted = by_tokenizer(text)
        assert whole.feed(text) == wanted, text
        assert [clause for piece in text for clause in pieces.feed(piece)] == wanted, text


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("a('. '). b.\n", ["a('. ').", "b."]),
        ("a(1.5). b(0'.). c.\n", ["a(1.5).", "b(0'.).", "c."]),
        ("a. /* b. /* c. */ d. */ e.\n", ["a.", "/* b. /* c. */ d. */ e."]),
        ("a. % b. c\nd.\n", ["a.", "% b. c\nd."]),
        ("X =.. [a]. b.\r\n", ["X =.. [a].", "b."]),
        ("a('open. b.\nc.\n", ["a('open. b.", "c."]),  # an open quote costs its line
        ("a", []),
        ("a.", []),  # it may go on: a.5
    ],
)
def test_full_stops(text: str, clauses: list[str]) -> None:
    assert ClauseReader().feed(text) == clauses


def test_what_is_left_at_the_end() -> None:
    reader = ClauseReader()
    assert reader.feed("a. b.") == ["a."]
    assert not reader.is_idle
    assert reader.close() == "b."
    assert reader.feed("% nothing\n /* more */ ") == []
    assert reader.close() == "% nothing\n /* more */"


@pytest.mark.parametrize("opening", ["'", "'''", "x", "1", "+", "/*", "/* a", "% a", " ", '"\\'])
def test_text_that_comes_in_small_pieces_is_looked_at_once(opening: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, looked = ClauseReader(), 0
    find_end = ClauseReader._find_end

    def counted(self: ClauseReader) -> int | None:
        nonlocal looked
        at = self._at
        found = find_end(self)
        looked += self._at - at
        return found

    monkeypatch.setattr(ClauseReader, "_find_end", counted)
    for piece in opening * 3_000:
        assert reader.feed(piece) == []
    assert looked <= 3_000 * len(opening)
