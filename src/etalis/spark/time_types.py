"""How columns of time travel to the workers.

Law: a time without zone is UTC, whatever the zone of the session, and no time is changed on its way. Spark's own casts
between times with and without zone go through that zone, where an hour of spring does not exist; so none is used.
"""

from __future__ import annotations

from typing import Any

from etalis.spark.plan.shards import quoted
from etalis.tables.column_types import DECIMAL_TIME, NAIVE, base_of

_EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"
_FIELDS = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))


def travel(column: Any, column_type: str, wire: str) -> Any:
    """Return a column of time as it travels."""
    if wire == "timestamp" and column_type in (NAIVE, "date"):
        return _in_utc(column.cast(NAIVE))
    if wire in (NAIVE, "string") and column_type == "timestamp":
        return _without_zone(column).cast(wire)
    if wire == "string" and column_type == "date":
        return column.cast(NAIVE).cast(wire)
    return column.try_cast(wire) if wire == DECIMAL_TIME else column.cast(wire)


def time_column(df: Any, name: str, wire: str) -> Any:
    """Return a column of time of a DataFrame as it travels."""
    from pyspark.sql import functions as f

    return travel(f.col(quoted(name)), base_of(dict(df.dtypes)[name]), wire)


def _in_utc(naive: Any) -> Any:
    """Return the moment that a time without zone is in UTC."""
    from pyspark.sql import functions as f

    passed = naive - f.expr(_EPOCH)
    parts = [
        (f.extract(f.lit(field), passed).cast("decimal(18,6)") * f.lit(micros)).cast("bigint")
        for field, micros in _FIELDS
    ]
    return f.timestamp_micros(parts[0] + parts[1] + parts[2] + parts[3])


def _without_zone(moment: Any) -> Any:
    """Return the time in UTC of a moment, without zone."""
    from pyspark.sql import functions as f

    seconds = (f.unix_micros(moment) * f.expr("0.000001BD")).cast("decimal(18,6)")
    return f.expr(_EPOCH) + f.make_dt_interval(secs=seconds)
