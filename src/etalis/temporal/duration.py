"""Durations as people write them: `10 min`, `1 h 30 min`, `1.5 h`, `500ms`, ISO 8601 `PT10M`; a number is seconds.

One definition for the literal of the language, flags, options, pipelines and Spark. Law: what is read is exact, so
every notation of a length gives the same microseconds, and what is finer than one is refused, not rounded. Months and
years have no fixed length and are refused, and so is `m`, which is minutes to some and months or metres to others.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from types import MappingProxyType

from etalis.data.scalars import show
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS, to_microseconds

_LENGTHS: Mapping[Fraction, str] = MappingProxyType(
    {
        Fraction(1, 10**9): "ns nanosecond nanoseconds",
        Fraction(1, 10**6): "us \N{MICRO SIGN}s \N{GREEK SMALL LETTER MU}s microsecond microseconds",
        Fraction(1, 10**3): "ms millisecond milliseconds",
        Fraction(1): "s sec secs second seconds",
        Fraction(60): "min mins minute minutes",
        Fraction(3_600): "h hr hrs hour hours",
        Fraction(86_400): "d day days",
        Fraction(604_800): "week weeks",
    }
)
UNITS: Mapping[str, Fraction] = MappingProxyType(
    {name: length for length, names in _LENGTHS.items() for name in names.split()}
)
_NO_LENGTH = MappingProxyType(
    dict.fromkeys(("mo", "mon", "month", "months"), "month")
    | dict.fromkeys(("quarter", "quarters"), "quarter")
    | dict.fromkeys(("y", "yr", "yrs", "year", "years"), "year")
)
NO_UNITS = frozenset(_NO_LENGTH) | {"m"}
LONGEST = Fraction(LATEST - EARLIEST, MICROSECONDS)
HINT = "write a number of seconds, or a number with its unit: 90, 500 ms, 10 min, 1 h 30 min, PT10M"

_NUMBER = r"\d+(?:[.,]\d+)?"
_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s*([^\W\d_]+)\s*")
_TEXT = re.compile(r"(?:\d+(?:\.\d+)?\s*[^\W\d_]+\s*)+")
_BARE = re.compile(r"\d+(?:\.\d+)?")
_ISO = re.compile(rf"P(?=[\dT])((?:{_NUMBER}[YMWD])*)(?:T((?:{_NUMBER}[HMS])+))?(?!\w)", re.ASCII)
_ISO_PART = re.compile(rf"({_NUMBER})([A-Z])")
_DATE_UNITS = MappingProxyType({"Y": "year", "M": "month", "W": "week", "D": "day"})
_TIME_UNITS = MappingProxyType({"H": "hour", "M": "minute", "S": "second"})
_SHOWN = (("d", 86_400), ("h", 3_600), ("min", 60))
_MOST = 200  # characters of a duration


class DurationError(ValueError):
    """A duration that cannot be; `code` is that of the finding where it stands in a program."""

    def __init__(self, code: str, message: str, hint: str = HINT) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def to_duration(given: object) -> int:
    """Turn seconds, a timedelta or a text into microseconds; a ValueError says why it cannot be one.

    >>> to_duration("1 h 30 min"), to_duration("PT1H30M"), to_duration(1.5), to_duration(timedelta(minutes=1))
    (5400000000, 5400000000, 1500000, 60000000)
    """
    if isinstance(given, str):
        return int(parse_duration(given) * MICROSECONDS)
    if not isinstance(given, int | float | timedelta) or isinstance(given, bool):
        raise DurationError("E115", f"{show(given)} is no duration")
    length = to_microseconds(given)
    if length < 0:
        raise DurationError("E115", "a duration cannot be negative")
    return length


def parse_duration(text: str) -> Fraction:
    """Read a duration; return its seconds, a whole number of microseconds.

    >>> parse_duration("1.5h"), parse_duration("PT0.5S"), parse_duration("90"), parse_duration("1 Day 2 hours")
    (Fraction(5400, 1), Fraction(1, 2), Fraction(90, 1), Fraction(93600, 1))
    """
    stripped = text.strip()
    if stripped[:1] == "-":
        raise DurationError("E115", "a duration cannot be negative")
    if len(stripped) <= _MOST:
        if _BARE.fullmatch(stripped):
            return _checked(Fraction(stripped))
        if _TEXT.fullmatch(stripped):
            return add_up([(Fraction(number), unit) for number, unit in _PARTS.findall(stripped)])
        if iso_end(stripped.upper()) == len(stripped):
            return parse_iso(stripped.upper())
    raise DurationError("E115", f"{show(text)} is no duration")


def iso_end(text: str, start: int = 0) -> int | None:
    """Return where a duration of ISO 8601 ends that begins at a place of a text, None if none does.

    >>> iso_end("PT10M"), iso_end("within P1DT2H.", 7), iso_end("PT"), iso_end("Price")
    (5, 13, None, None)
    """
    found = _ISO.match(text, start)
    return None if found is None or not (found[1] or found[2]) or found.end() - start > _MOST else found.end()


def parse_iso(text: str) -> Fraction:
    """Return the seconds of a duration of ISO 8601, all of whose text it is."""
    found = _ISO.fullmatch(text)
    assert found is not None
    if "M" in found[1]:
        raise DurationError(
            "E126", "a month has no fixed length", "minutes are written behind a T, PT10M; or say how many days, P30D"
        )
    return add_up([*_iso_parts(found[1], _DATE_UNITS), *_iso_parts(found[2] or "", _TIME_UNITS)])


def _iso_parts(text: str, units: Mapping[str, str]) -> Iterator[tuple[Fraction, str]]:
    return ((Fraction(number.replace(",", ".")), units[sign]) for number, sign in _ISO_PART.findall(text))


def add_up(parts: Sequence[tuple[Fraction, str]]) -> Fraction:
    """Return the seconds of numbers with their units, the larger unit first.

    >>> add_up([(Fraction(1), "h"), (Fraction(30), "min")])
    Fraction(5400, 1)
    """
    lengths = [length_of(unit) for _, unit in parts]
    for (_, before), (_, unit), longer, shorter in zip(parts, parts[1:], lengths, lengths[1:], strict=False):
        if shorter >= longer:
            message = f"`{unit}` cannot follow `{before}`"
            raise DurationError("E127", message, "name the larger unit first, each once: 1 h 30 min")
    return _checked(sum((number * length for (number, _), length in zip(parts, lengths, strict=True)), Fraction(0)))


def length_of(unit: str) -> Fraction:
    """Return the seconds of a unit, in any case; refuse a word that is none.

    >>> length_of("Hours")
    Fraction(3600, 1)
    """
    word = unit.lower()
    if word in UNITS:
        return UNITS[word]
    if word == "m":
        hint = "write min for minutes; months have no fixed length"
        raise DurationError("E126", f"the unit `{unit}` can be minutes or months", hint)
    if word in _NO_LENGTH:
        hint = "say how many days: 30 d, 365 d"
        raise DurationError("E126", f"a {_NO_LENGTH[word]} has no fixed length", hint)
    near = difflib.get_close_matches(word, UNITS, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else "the units are us, ms, s, min, h, d and week"
    raise DurationError("E125", f"`{unit}` is no unit of time", hint)


def _checked(seconds: Fraction) -> Fraction:
    """Refuse what microseconds cannot tell, and what is longer than time."""
    if MICROSECONDS % seconds.denominator:
        raise DurationError(
            "E128", "time is counted in microseconds, and this duration is finer", "round it: 1 us, 0.5 ms"
        )
    if seconds > LONGEST:
        raise DurationError("E127", "this duration is longer than all time, the years 1 to 9999", "is the unit right?")
    return seconds


def show_duration(length: int) -> str | None:
    """Write microseconds with units; None if they are best told in seconds.

    >>> show_duration(5_400_000_000), show_duration(86_400_500_000), show_duration(59_000_000)
    ('1 h 30 min', '1 d 0.5 s', None)
    """
    if length < 60 * MICROSECONDS:
        return None
    parts = []
    for unit, seconds in _SHOWN:
        count, length = divmod(length, seconds * MICROSECONDS)
        parts += [f"{count} {unit}"] if count else []
    whole, rest = divmod(length, MICROSECONDS)
    if length:
        parts.append(f"{whole}.{rest:06}".rstrip("0").rstrip(".") + " s")
    return " ".join(parts)
