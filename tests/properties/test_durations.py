"""Random lengths in random notations are their seconds, at every place of a program and as text."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.language.printer import print_pattern
from etalis.language.read.parser import parse_rule, parse_term
from etalis.language.syntax import Const, Within
from etalis.temporal.duration import UNITS, to_duration

pytestmark = pytest.mark.property

LENGTHS = {
    f: [name for name, length in UNITS.items() if length == f] for f in sorted(set(UNITS.values()), reverse=True)
}
MICROSECOND = Fraction(1, 10**6)


def decimal(number: Fraction) -> str:
    """Write a number of at most nine digits behind the point."""
    whole, rest = divmod(number * 10**9, 10**9)
    return f"{whole}.{int(rest):09}".rstrip("0").rstrip(".")


@st.composite
def written(draw: st.DrawFn) -> tuple[Fraction, str]:
    """Draw a length, with its text in some units, larger ones first; blanks and spellings vary."""
    units = [length for length in LENGTHS if length >= MICROSECOND and draw(st.booleans())] or [Fraction(1)]
    seconds, parts = Fraction(0), []
    for length in units:
        most = 10**6 if length < 60 else 3_000
        number = Fraction(draw(st.integers(0, most)))
        if length >= 1 and draw(st.booleans()):
            number += Fraction(draw(st.integers(0, 9)), 10)
        seconds += number * length
        blank = draw(st.sampled_from(["", " ", "  "]))
        parts.append(f"{decimal(number)}{blank}{draw(st.sampled_from(LENGTHS[length]))}")
    return seconds, " ".join(parts)


@st.composite
def iso(draw: st.DrawFn) -> tuple[Fraction, str]:
    """Draw a length with its text in ISO 8601."""
    seconds, date, time = Fraction(0), "", ""
    for sign, length in (("W", 604_800), ("D", 86_400), ("H", 3_600), ("M", 60), ("S", 1)):
        if not draw(st.booleans()):
            continue
        number = Fraction(draw(st.integers(0, 500)))
        if sign == "S":
            number += Fraction(draw(st.integers(0, 999_999)), 10**6)
        seconds += number * length
        part = f"{decimal(number)}{sign}"
        date, time = (date + part, time) if sign in "WD" else (date, time + part)
    return (seconds, f"P{date}T{time}" if time else f"P{date}") if date or time else (Fraction(0), "PT0S")


def in_microseconds(seconds: Fraction) -> int:
    assert (seconds * 10**6).denominator == 1
    return int(seconds * 10**6)


@given(written() | iso())
def test_text(found: tuple[Fraction, str]) -> None:
    seconds, text = found
    assert to_duration(text) == in_microseconds(seconds)
    assert to_duration(text.upper() if text[0] != "P" else text.lower()) == in_microseconds(seconds)


@given(written() | iso(), st.booleans())
def test_window(found: tuple[Fraction, str], quoted: bool) -> None:
    seconds, text = found
    rule = parse_rule("d <- a seq b within " + (f'"{text}"' if quoted else text))
    assert isinstance(rule.pattern, Within)
    assert rule.pattern.duration == in_microseconds(seconds)
    assert parse_rule(f"d <- {print_pattern(rule.pattern)}") == rule


@given(written(), st.booleans())
def test_term(found: tuple[Fraction, str], negative: bool) -> None:
    seconds, text = found
    meant = -seconds if negative else seconds
    value = meant.numerator if meant.denominator == 1 else float(meant)
    term = parse_term(f"f({'-' if negative else ''}{text}, [{text} | X])")
    assert term == parse_term(f"f({value!r}, [{abs(value)!r} | X])")
    first = term.args[0]  # type: ignore[union-attr]
    assert isinstance(first, Const)
    assert type(first.value) is type(value)
