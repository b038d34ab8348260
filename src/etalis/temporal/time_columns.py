"""Columns of time to microseconds, whatever their type: time stamps of any unit and zone, dates, numbers, text.

Law: a cell has the time that `to_time` gives for it as a Python object, so that every way in agrees. A time without
a zone is UTC, parts of a microsecond are rounded to the nearest, ties to even, and what lies outside the years 1 to
9999 is no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS, UNITS, TimeRangeError, to_time

_DAY = 86_400 * MICROSECONDS
_STAMPS = {"s": MICROSECONDS, "ms": 1_000, "us": 1}  # a nanosecond is less than one
_ISO = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?"
_WHOLE = r"^-?[0-9]{1,18}$"
_ZONE = r"(Z|[+-]\d\d:\d\d)$"


@dataclass(frozen=True, slots=True)
class Times:
    """Microseconds, and which of them mean nothing because the cell holds no time; None if all do."""

    micros: Any
    bad: Any = None


def read_times(column: Any, unit: str) -> Times:
    """Turn a column into microseconds; numbers are counted in a unit.

    >>> read_times(pa.array([1, None]), "ms")
    Times(micros=array([1000,    0]), bad=array([False,  True]))
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # of no chunks, or of some that do not fit into one
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        return _of_dictionary(array, unit)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    gone = np.asarray(array.is_null()) if array.null_count else None
    read = next((read for fits, read in _READERS if fits(array.type)), _one_by_one)
    return _within(read(array, unit), gone)


def to_micros(column: Any, unit: str) -> Any:
    """Turn a column of time into microseconds, or refuse it.

    >>> to_micros(pa.chunked_array([[1, 2]]), "ms").tolist()
    [1000, 2000]
    """
    times = read_times(column, unit)
    if times.bad is None:
        return times.micros
    reason, hint = explain_time(column, int(np.argmax(times.bad)), unit)
    rows = int(times.bad.sum())
    more = "" if rows == 1 else f" ({rows} rows have no time that can be read)"
    raise InputError(Problem("E606", f"{reason}{more}", hint=hint))


def explain_time(column: Any, row: int, unit: str) -> tuple[str, str]:
    """Say why a cell of a column is no time, and what to do."""
    scalar = column[row]
    if not scalar.is_valid or (is_text(scalar.type) and not scalar.as_py().strip()):
        return "it has no time", "fill in the column of time, or leave the row out"
    if pa.types.is_temporal(scalar.type):  # which Python has no object for
        return "its time lies outside the years 1 to 9999", "is the column written in another unit?"
    try:
        to_time(scalar.as_py(), unit)
    except TimeRangeError as error:
        return str(error), f"say in which unit times are counted: {', '.join(UNITS)}"
    except ValueError as error:
        return str(error), "give numbers, time stamps, or text such as 2026-01-31T12:00:00Z"
    raise AssertionError(scalar)


def _within(micros: Any, bad: Any) -> Times:
    """Return times, of which those outside the years that there are mean nothing."""
    if len(micros) and not (micros.min() >= EARLIEST and micros.max() <= LATEST):
        outside = (micros < EARLIEST) | (micros > LATEST)
        bad = outside if bad is None else bad | outside
    if bad is None or not bad.any():
        return Times(micros)
    return Times(np.where(bad, 0, micros), bad)


def _of_dictionary(array: Any, unit: str) -> Times:
    """Read each different cell once."""
    known = read_times(array.dictionary, unit)
    gone = np.asarray(array.is_null())
    codes = np.asarray(array.indices.fill_null(0)) if len(array.dictionary) else np.zeros(len(array), np.int64)
    micros = known.micros[codes] if len(array.dictionary) else np.zeros(len(array), np.int64)
    bad = gone if known.bad is None else gone | known.bad[codes]
    return _within(micros, bad)


def _of_stamps(array: Any, _: str) -> Any:
    numbers = _integers(array.view(pa.int64()) if not array.null_count else array.cast(pa.int64()))
    scale = _STAMPS.get(array.type.unit)
    return round_half_even(numbers, 1_000) if scale is None else _scaled(numbers, scale)


def _of_dates(array: Any, _: str) -> Any:
    days = pa.types.is_date32(array.type)
    numbers = _integers(array.cast(pa.int32() if days else pa.int64()))
    return _scaled(numbers.astype(np.int64), _DAY if days else 1_000)


def _of_integers(array: Any, unit: str) -> Any:
    numbers, scale = _integers(array), UNITS[unit]
    if numbers.dtype == np.uint64:
        numbers = np.minimum(numbers, np.uint64(np.iinfo(np.int64).max))
    numbers = numbers.astype(np.int64, copy=False)
    return round_half_even(numbers, scale.denominator) if scale.denominator > 1 else _scaled(numbers, scale.numerator)


def _of_floats(array: Any, unit: str) -> Any:
    numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    scale = UNITS[unit]
    with np.errstate(over="ignore", invalid="ignore"):
        micros = np.rint(numbers * scale.numerator if scale.denominator == 1 else numbers / scale.denominator)
        far = ~(np.abs(micros) <= 2.0 * LATEST)  # not a number is far too
    return np.where(far, 2 * LATEST, np.where(far, 0, micros).astype(np.int64))


def _of_text(array: Any, unit: str) -> Any:
    """Read text: all in one form of ISO 8601 by Arrow, everything else cell by cell, each different one once."""
    plain = array.cast(pa.string())
    if pc.all(pc.match_substring_regex(plain, _WHOLE), min_count=0).as_py():
        return _of_integers(plain.cast(pa.int64()), unit)
    for pattern, kind in ((_ISO + _ZONE, pa.timestamp("us", "UTC")), (_ISO + "$", pa.timestamp("us"))):
        if pc.all(pc.match_substring_regex(plain, pattern), min_count=0).as_py():
            try:
                return _integers(plain.cast(kind).cast(pa.int64()))
            except pa.ArrowInvalid:  # a month of 13, say, of which the cell is told
                break
    coded = plain.dictionary_encode()
    known = _one_by_one(coded.dictionary, unit)
    return known[np.asarray(coded.indices.fill_null(0))] if len(known) else np.zeros(len(array), np.int64)


def _one_by_one(array: Any, unit: str) -> Any:
    """Read cells as Python objects; what is no time is too far away."""
    found = np.empty(len(array), np.int64)
    for place, cell in enumerate(array.to_pylist()):
        try:
            found[place] = 0 if cell is None else to_time(cell, unit)
        except ValueError:
            found[place] = 2 * LATEST
    return found


def _integers(array: Any) -> Any:
    return (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)


def _scaled(numbers: Any, by: int) -> Any:
    """Multiply; what leaves the years that there are stays outside of them."""
    if by == 1:
        return numbers
    least, most = 2 * EARLIEST // by, 2 * LATEST // by
    if len(numbers) and not (numbers.min() >= least and numbers.max() <= most):
        numbers = np.clip(numbers, least, most)
    return numbers * by


def round_half_even(numbers: Any, by: int) -> Any:
    """Divide, to the nearest whole number, of two to the even one.

    >>> round_half_even(np.array([1499, 1500, 2500]), 1000).tolist()
    [1, 2, 2]
    """
    whole, rest = np.divmod(numbers.astype(np.int64), by)
    return whole + ((2 * rest > by) | ((2 * rest == by) & (whole % 2 == 1)))


def is_text(kind: Any) -> bool:
    """Tell whether a type of Arrow is one of text."""
    return any(is_one(kind) for is_one in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Any]], ...] = (
    (pa.types.is_timestamp, _of_stamps),
    (pa.types.is_date, _of_dates),
    (pa.types.is_integer, _of_integers),
    (pa.types.is_floating, _of_floats),
    (is_text, _of_text),
)
