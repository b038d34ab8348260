"""Backtesting on Spark: two DataFrames of matches to one of those that were gained and lost.

Law: that of `runtime.comparison`: a match is its atom and interval, as often as it occurs, whatever rule made it.
"""

from __future__ import annotations

from typing import Any

from etalis.runtime.comparison import GAINED, LOST
from etalis.spark.plan.shards import quoted
from etalis.tables.results.output import END, ID, RULE, START
from etalis.tables.schema import refuse

CHANGE = "change"


def compare_frames(old: Any, new: Any) -> Any:
    """Return the rows that only one of two DataFrames of matches has, with a column that says which."""
    from pyspark.sql import functions as f

    _check_columns(dict(old.dtypes), dict(new.dtypes))
    told = [name for name in old.columns if name in (RULE, ID)]  # said of a match, but not what makes it one
    match = [quoted(name) for name in old.columns if name not in told]
    rows = old.withColumn("_weight", f.lit(-1)).unionByName(new.withColumn("_weight", f.lit(1)))
    weight = f.col("_weight")
    sides = {"_old": weight < 0, "_new": weight > 0}
    surplus = rows.groupBy(*match).agg(
        f.sum(weight).alias("_surplus"),
        *(
            f.min(f.when(is_there, f.col(name))).alias(f"{side}_{name}")
            for side, is_there in sides.items()
            for name in told
        ),
    )
    gained = f.col("_surplus") > 0
    return surplus.where(f.col("_surplus") != 0).select(
        f.when(gained, GAINED).otherwise(LOST).alias(CHANGE),
        *match,
        *(f.when(gained, f.col(f"_new_{name}")).otherwise(f.col(f"_old_{name}")).alias(name) for name in told),
        f.explode(f.expr("sequence(1, abs(_surplus))")).alias("_copy"),
    ).drop("_copy")  # fmt: skip


def _check_columns(old: dict[str, str], new: dict[str, str]) -> None:
    """Refuse matches whose columns differ; only times may be whole numbers on one side, and not on the other."""
    differing = [
        f"{name} is {old.get(name, 'missing')} in the old results and {new.get(name, 'missing')} in the new ones"
        for name in {**old, **new}
        if old.get(name) != new.get(name) and name not in (START, END)
    ]
    if differing:
        hint = "declare the event in both programs, or leave out select="
        raise refuse("E605", f"the results cannot be compared: {'; '.join(differing)}", hint)
