"""Clauses in colours: nothing is lost, and what is meant shows."""

from __future__ import annotations

import random

import pytest

from etalis.shell.colours import STYLES, colour_clause

PARTS = [
    "a",
    "X",
    "(",
    ")",
    ".",
    " ",
    "\n",
    "'",
    "''",
    '"',
    "0'a",
    "1.5",
    "<-",
    "seq",
    "%",
    "/*",
    "*/",
    "\\",
    "é",
    ";",
    "`",
]


def test_words_of_patterns_are_told_from_names() -> None:
    line = colour_clause("hit(X) <- a(X) seq 'b c'(1). % why")[0]
    assert ("class:word", "seq") in line
    assert ("class:functor", "a") in line
    assert ("class:quoted", "'b c'") in line
    assert ("class:number", "1") in line
    assert line[-1] == ("class:comment", "% why")


@pytest.mark.parametrize("seed", range(20))
def test_no_character_is_lost(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        text = "".join(draw.choice(PARTS) for _ in range(draw.randint(0, 12)))
        pieces = colour_clause(text)
        assert "\n".join("".join(piece for _, piece in line) for line in pieces) == text
        assert {style for line in pieces for style, _ in line} <= {"", *(f"class:{style}" for style in STYLES)}
