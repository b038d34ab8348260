"""`old.on(spark).compare(new, df)`: the same as comparing two engines in the process."""

from __future__ import annotations

import json
from typing import Any

import pytest

import etalis
from etalis.errors import InputError
from etalis.temporal.json_values import to_plain

pytestmark = pytest.mark.spark

OLD = "d(X, Y) <- (a(X, Y) seq b(X, _)) within 8. e(X) <- a(X, _)."
NEW = "other rule: d(X, Y) <- (a(X, Y) seq b(X, _)) within 5. f(X) <- b(X, _) where X > 3. e(X) <- a(X, _)."
ROWS = [("ab"[i % 2], i * i % 7, 1.0 * i, i) for i in range(40)]


def test_compare(spark: Any) -> None:
    old, new = (etalis.compile(text, event_consumption_policy="unrestricted") for text in (OLD, NEW))
    df = spark.createDataFrame(ROWS, "event string, x int, y double, ts int").repartition(3)
    found = old.on(spark).compare(new, df, time="ts", shards=2)
    assert found.columns == ["change", "event", "args", "start", "end", "rule", "match_id"]
    wanted = [
        (d.change, d.match.name, json.dumps([to_plain(a) for a in d.match.args]), d.match.start, d.match.end)
        for d in old.compare(new, ROWS)
    ]
    rows = [tuple(row) for row in found.collect()]
    assert {change for change, *_ in wanted} == {"gained", "lost"}
    assert sorted(row[:5] for row in rows) == sorted(wanted)
    assert {row[5] for row in rows} == {"1", "2"}
    typed = old.on(spark).compare(new, df, time="ts", select="d")
    assert typed.dtypes == [
        ("change", "string"), ("X", "bigint"), ("Y", "double"), ("start", "bigint"), ("end", "bigint"),
        ("rule", "string"),
        ("match_id", "string"),
    ]  # fmt: skip
    assert sorted(tuple(row)[:5] for row in typed.collect()) == sorted(
        (d.change, *d.match.args, d.match.start, d.match.end) for d in old.compare(new, ROWS) if d.match.name == "d"
    )


def test_results_of_other_columns(spark: Any) -> None:
    df = spark.createDataFrame([("a", 1, 1)], "event string, x int, ts int")
    old, new = etalis.compile("d(X) <- a(X)."), etalis.compile("d(Y) <- a(Y).")
    with pytest.raises(InputError, match="X is bigint in the old results and missing in the new ones"):
        old.on(spark).compare(new, df, time="ts", select="d")
    assert old.on(spark).compare(new, df, time="ts").collect() == []
