"""One conversion of times: whatever type tells a moment, it is the same microsecond, or refused in a sentence."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from etalis.temporal.interval import EARLIEST, LATEST, TimeRangeError, to_datetime, to_time

NEW_YEAR = 1_767_225_600  # 2026-01-01T00:00:00Z


class Number(IntEnum):
    NEW_YEAR = NEW_YEAR


class Text(str, Enum):  # noqa: UP042  not a StrEnum: its str() is another text
    NEW_YEAR = "2026-01-01"


ALIKE: tuple[Any, ...] = (
    *(NEW_YEAR, float(NEW_YEAR), Decimal(NEW_YEAR), Fraction(NEW_YEAR), str(NEW_YEAR), f" {NEW_YEAR}.0 "),
    *(np.int64(NEW_YEAR), np.uint32(NEW_YEAR), np.float64(NEW_YEAR), np.array(NEW_YEAR), pa.scalar(NEW_YEAR)),
    *(date(2026, 1, 1), datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=NEW_YEAR)),
    datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    *(np.datetime64("2026-01-01", unit) for unit in ("Y", "M", "D", "h", "m", "s", "ms", "us", "ns")),
    *(pd.Timestamp("2026-01-01").as_unit(unit) for unit in ("s", "ms", "us", "ns")),
    *(pd.Timestamp("2026-01-01", tz="UTC"), pd.Timestamp("2026-01-01T01:00", tz="Europe/Berlin")),
    *(pa.scalar(datetime(2026, 1, 1), pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    *(pa.scalar(date(2026, 1, 1)), pa.scalar(date(2026, 1, 1), pa.date64()), pa.scalar("2026-01-01")),
    *("2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00", "2026-01-01T02:00+02:00", "20260101T000000Z"),
    *("2026-01-01T00:00:00.000", "2026-W01-4", Text.NEW_YEAR, Number.NEW_YEAR, np.str_("2026-01-01")),
)  # fmt: skip


@pytest.mark.parametrize("moment", ALIKE, ids=lambda moment: type(moment).__name__)
def test_a_moment_is_one_moment_in_every_type(moment: Any) -> None:
    assert to_time(moment) == NEW_YEAR * 1_000_000


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_numbers_are_counted_in_their_unit(unit: str, factor: int) -> None:
    count = NEW_YEAR * factor
    for number in (count, Decimal(count), Fraction(count), str(count), np.int64(count), pa.scalar(count)):
        assert to_time(number, unit) == NEW_YEAR * 1_000_000
    assert to_time("2026-01-01", unit) == NEW_YEAR * 1_000_000


@pytest.mark.parametrize(
    ("nanoseconds", "rounded"), [(500, 0), (501, 1), (1_499, 1), (1_500, 2), (2_500, 2), (-500, 0)]
)
def test_what_is_finer_is_rounded_to_the_even_microsecond(nanoseconds: int, rounded: int) -> None:
    moments: list[Any] = [np.datetime64(nanoseconds, "ns"), np.datetime64(nanoseconds * 1_000, "ps")]
    moments += [pd.Timestamp(nanoseconds), pa.scalar(nanoseconds, pa.timestamp("ns")), Fraction(nanoseconds, 10**9)]
    moments += [np.timedelta64(nanoseconds, "ns"), pd.Timedelta(nanoseconds), f"{Decimal(nanoseconds) / 10**9:f}"]
    moments += [f"1970-01-01T00:00:00.{nanoseconds:09}Z"] * (nanoseconds > 0)
    assert [to_time(moment) for moment in moments] == [rounded] * len(moments)
    assert to_time(nanoseconds, "ns") == to_time(float(nanoseconds), "ns") == rounded


@pytest.mark.parametrize("moment", [
    *(None, True, np.bool_(True), "", "x", "nan", "1e", "2026-13-01", "10000-01-01", "٣", "1" * 5_000, "1e999999999"),
    *(float("nan"), float("inf"), Decimal("nan"), Decimal("-inf"), Decimal("1e9999"), 1j, b"1", time(1), object()),
    *(np.datetime64("NaT"), np.timedelta64(1, "Y"), np.timedelta64(1), pd.NaT, pd.NA, pa.scalar(None), np.ma.masked),
    *([1], (1, 2), {}, np.array([1, 2]), pa.array([1])),
], ids=lambda moment: type(moment).__name__)  # fmt: skip
def test_what_is_no_time_is_refused_in_a_sentence(moment: Any) -> None:
    with pytest.raises(ValueError, match=r"is not a time|is missing"):
        to_time(moment)


@pytest.mark.parametrize(("moment", "unit", "says"), [
    (1_767_225_600_000, "s", "lies in the year 57971: is it in milliseconds?"),
    (1_767_225_600_000_000, "s", "is it in microseconds?"),
    (1_767_225_600_000_000_000, "s", "is it in nanoseconds?"),
    ("1767225600000", "s", "is it in milliseconds?"),
    (1_767_225_600_000_000, "ms", "is it in microseconds?"),
    (1e300, "s", "lies far from the years 1 to 9999"),
    (10**30, "us", "lies far from the years 1 to 9999"),
    (10**5_000, "s", "lies far from the years 1 to 9999"),
    (-(10**12), "s", "lies in the year -29719"),
    (253_402_300_800, "s", "lies in the year 10000"),
    (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "s", "lies in the year 0"),
    (np.datetime64(10**15, "Y"), "s", "lies far from"),
    (np.datetime64(20_000, "s") + np.timedelta64(20_000 * 366, "D"), "s", "lies in the year"),
], ids=lambda given: type(given).__name__)  # fmt: skip
def test_what_lies_outside_the_years_1_to_9999_is_refused(moment: Any, unit: str, says: str) -> None:
    with pytest.raises(TimeRangeError) as caught:
        to_time(moment, unit)
    assert says in str(caught.value)


def test_the_limits_are_times() -> None:
    assert to_datetime(EARLIEST) == datetime.min.replace(tzinfo=UTC)
    assert to_datetime(LATEST) == datetime.max.replace(tzinfo=UTC)
    assert to_time(datetime.min) == to_time("0001-01-01") == EARLIEST
    assert to_time(datetime.max) == to_time("9999-12-31T23:59:59.999999Z") == LATEST


@pytest.mark.parametrize("moment", [1.7e302, -1.7e308])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_float_beyond_all_times_is_out_of_range(moment: float, unit: str) -> None:
    with pytest.raises(TimeRangeError):
        to_time(moment, unit)
