"""The workloads in SQL (DuckDB and Spark read the same text) and in Polars' expressions, over a table `events`.

`GENERAL` is right for ids that come again: `a seq b` under the chronological policy is a queue per id. With `balance`
the number of a less that of b so far and `low` its least value before a row, or 0, a b finds the queue empty if it
goes below `low`; any other b is the (b so far + low)-th that takes an a, and takes the a of that number. `UNIQUE` joins
by the id alone, which is right only where every id comes once. Results are columns: attributes, t1, t2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LARGE = 1 << 32  # more than any balance


def queue_sql(name: str, source: str, columns: str, key: str = "id") -> str:
    """Return queries that pair the rows of `source`: `is_first` tells those that wait from those that take them."""
    before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    return f"""
{name}_counted AS (
  SELECT *, sum(CASE WHEN is_first THEN 1 ELSE -1 END) OVER w AS balance,
    sum(CASE WHEN is_first THEN 0 ELSE 1 END) OVER w AS taking
  FROM {source} WINDOW w AS (PARTITION BY {key} ORDER BY ts)),
{name}_queued AS (
  SELECT *, least(0, coalesce(min(balance) OVER (PARTITION BY {key} ORDER BY ts {before}), 0)) AS low
  FROM {name}_counted),
{name} AS (
  SELECT {columns} FROM (
    SELECT *, CASE WHEN is_first THEN balance + taking ELSE taking + low END AS place
    FROM {name}_queued WHERE is_first OR balance >= low) numbered
  GROUP BY {key}, place HAVING count(*) = 2)"""


PAIR = """id, max(CASE WHEN is_first THEN v END) AS x, max(CASE WHEN is_first THEN NULL ELSE v END) AS y,
    min(ts) AS t1, max(ts) AS ts"""
PAIRED = "SELECT id, x, y, t1, ts AS t2 FROM ab"
IN_SEQUENCE = f"""
WITH first AS (SELECT id, ts, v, type = 'a' AS is_first FROM events WHERE type IN ('a', 'b')),
{queue_sql("ab", "first", PAIR)},
second AS (
  SELECT id, ts, TRUE AS is_first, x, y, t1, NULL AS z FROM ab
  UNION ALL SELECT id, ts, FALSE, NULL, NULL, NULL, v FROM events WHERE type = 'c'),
{queue_sql("abc", "second", "id, max(x) AS x, max(y) AS y, max(z) AS z, min(t1) AS t1, max(ts) AS t2")}
"""
MANY = "SELECT concat('d', k) AS event, abc.* FROM abc, heads"
NUMBERED = "SELECT *, row_number() OVER (PARTITION BY id, type ORDER BY ts) AS place FROM events"
EXTREMES = "least(a.ts, b.ts, c.ts) AS t1, greatest(a.ts, b.ts, c.ts) AS t2"

GENERAL: Mapping[str, str] = {
    "W1": f"{IN_SEQUENCE} SELECT id, x, y, z, t1, t2 FROM abc",
    "W2": f"""
WITH first AS (SELECT id, ts, v, type = 'a' AS is_first FROM events WHERE type = 'a' OR (type = 'b' AND v < 100)),
{queue_sql("ab", "first", PAIR)} {PAIRED}""",
    # A c ends the wait of every a before it: a queue per id and number of c so far.
    "W3": f"""
WITH parts AS (
  SELECT *, sum(CASE type WHEN 'c' THEN 1 ELSE 0 END) OVER (PARTITION BY id ORDER BY ts) AS part FROM events),
first AS (SELECT id, part, ts, v, type = 'a' AS is_first FROM parts WHERE type <> 'c'),
{queue_sql("ab", "first", PAIR, "id, part")} {PAIRED}""",
    # Of two kinds that wait for each other, the n-th meets the n-th.
    "W4": f"""
WITH numbered AS ({NUMBERED})
SELECT a.id, a.v AS x, b.v AS y, c.v AS z, {EXTREMES} FROM (SELECT * FROM numbered WHERE type = 'a') a
JOIN (SELECT * FROM numbered WHERE type = 'b') b ON a.id = b.id AND a.place = b.place
JOIN (SELECT * FROM numbered WHERE type = 'c') c ON a.id = c.id AND a.place = c.place""",
    "W5": f"""
WITH first AS (SELECT id, ts, v, type = 'a' AS is_first FROM events),
{queue_sql("ab", "first", PAIR)} {PAIRED}""",
    "W6": """
WITH RECURSIVE tc AS (
  SELECT id AS x, v AS y, ts AS t1, ts AS t2 FROM events
  UNION ALL SELECT tc.x, e.v, tc.t1, e.ts FROM tc JOIN events e ON tc.y = e.id AND tc.t2 < e.ts)
SELECT x, y, t1, t2 FROM tc""",
    "W7": f"{IN_SEQUENCE}, heads AS (SELECT unnest(range(1, 17)) AS k) {MANY}",
    "W8": """
WITH RECURSIVE reached AS (
  SELECT a, b FROM linked UNION SELECT reached.a, linked.b FROM reached JOIN linked ON reached.b = linked.a),
near AS (
  SELECT one.id AS a, two.id AS b, one.ts AS t1, two.ts AS t2
  FROM (SELECT *, unnest([ts // 10, ts // 10 + 1]) AS part FROM events) one
  JOIN events two ON one.part = two.ts // 10 AND two.ts > one.ts AND two.ts <= one.ts + 10)
SELECT near.a, near.b, t1, t2 FROM near JOIN reached ON near.a = reached.a AND near.b = reached.b""",
}

A, B, C = (f"(SELECT id, v, ts FROM events WHERE type = '{name}') {name}" for name in "abc")
UNIQUE: Mapping[str, str] = {
    "W1": f"""SELECT a.id, a.v AS x, b.v AS y, c.v AS z, a.ts AS t1, c.ts AS t2
FROM {A} JOIN {B} ON a.id = b.id JOIN {C} ON a.id = c.id WHERE a.ts < b.ts AND b.ts < c.ts""",
    "W2": f"""SELECT a.id, a.v AS x, b.v AS y, a.ts AS t1, b.ts AS t2
FROM {A} JOIN {B} ON a.id = b.id WHERE a.ts < b.ts AND b.v < 100""",
    "W3": f"""SELECT a.id, a.v AS x, b.v AS y, a.ts AS t1, b.ts AS t2
FROM {A} JOIN {B} ON a.id = b.id LEFT JOIN {C} ON a.id = c.id AND a.ts < c.ts AND c.ts < b.ts
WHERE a.ts < b.ts AND c.id IS NULL""",
    "W4": f"""SELECT a.id, a.v AS x, b.v AS y, c.v AS z, {EXTREMES}
FROM {A} JOIN {B} ON a.id = b.id JOIN {C} ON a.id = c.id""",
    "W5": f"""SELECT a.id, a.v AS x, b.v AS y, a.ts AS t1, b.ts AS t2
FROM {A} JOIN (SELECT id, v, ts FROM events WHERE type <> 'a') b ON a.id = b.id WHERE a.ts < b.ts""",
    "W10": f"""SELECT a.id, min(a.ts) AS t1, max(c.ts) AS t2
FROM {A} JOIN {B} ON a.id = b.id JOIN {C} ON a.id = c.id WHERE a.ts < b.ts AND b.ts < c.ts GROUP BY a.id""",
}


def polars_general(name: str) -> Callable[[Any], Any] | None:
    """Return a workload as a function from events to matches, both lazy frames; right for repeated ids."""
    import polars as pl

    kind = pl.col("type")

    def pairs(events: Any, *key: str) -> Any:
        a, b = {"x": "v", "t1": "ts"}, {"y": "v", "ts": "ts"}
        return queue_polars(events.with_columns(is_first=kind == "a"), a, b, ["id", *key]).with_columns(t2="ts")

    def sequence(events: Any) -> Any:
        ab = pairs(events.filter(kind.is_in(["a", "b"]))).with_columns(is_first=pl.lit(True))
        c = events.filter(kind == "c").select("id", "ts", z="v", is_first=pl.lit(False))
        both = pl.concat([ab.drop("t2"), c], how="diagonal")
        return queue_polars(both, {"x": "x", "y": "y", "t1": "t1"}, {"z": "z", "t2": "ts"}, ["id"])

    def parted(events: Any) -> Any:
        parts = events.sort("id", "ts").with_columns(part=(kind == "c").cum_sum())
        return pairs(parts.filter(kind != "c"), "part")

    def numbered(events: Any) -> Any:
        ordered = events.sort("id", "type", "ts").with_columns(
            row=pl.int_range(pl.len()), group=pl.struct("id", "type")
        )
        return together(ordered.with_columns(place=since_start("row", pl.col("group").rle_id())), ["id", "place"])

    heads = pl.LazyFrame({"event": [f"d{k}" for k in range(1, 17)]})
    found: dict[str, Callable[[Any], Any]] = {
        "W1": sequence,
        "W2": lambda events: pairs(events.filter((kind == "a") | ((kind == "b") & (pl.col("v") < 100)))),
        "W3": parted,
        "W4": numbered,
        "W5": pairs,
        "W7": lambda events: heads.join(sequence(events), how="cross"),
    }
    return found.get(name)


def since_start(column: str, group: Any) -> Any:
    """Return a column less its value in the first row of each group of neighbours."""
    import polars as pl

    starts = (group != group.shift(1)).fill_null(True)
    return pl.col(column) - pl.when(starts).then(pl.col(column)).forward_fill()


def queue_polars(rows: Any, waiting: Mapping[str, str], taking: Mapping[str, str], key: list[str]) -> Any:
    """Pair rows as `queue_sql` does, in running sums over rows sorted by key: `over` would cost several times that.

    The running minimum of one group is that of all rows, where each group lies below the one before.
    """
    import polars as pl

    first, group = pl.col("is_first"), pl.col("group")
    starts = (group != group.shift(1)).fill_null(True)
    counted = rows.sort(*key, "ts").with_columns(
        group=pl.struct(*key).rle_id().cast(pl.Int64) if len(key) > 1 else pl.col(*key).rle_id().cast(pl.Int64),
        balance=pl.when(first).then(1).otherwise(-1).cum_sum() - pl.when(first).then(1).otherwise(-1),
        taking=(~first).cum_sum().cast(pl.Int64) - (~first).cast(pl.Int64),
    )  # before each row
    counted = counted.with_columns(balance=since_start("balance", group), taking=since_start("taking", group))
    low = (pl.when(starts).then(0).otherwise(pl.col("balance")) - group * LARGE).cum_min() + group * LARGE
    queued = counted.with_columns(low=pl.min_horizontal(low, 0))
    a = queued.filter(first).select(*key, place=pl.col("balance") + pl.col("taking"), **renamed(waiting))
    takes = ~first & (pl.col("balance") - 1 >= pl.col("low"))
    b = queued.filter(takes).select(*key, place=pl.col("taking") + pl.col("low"), **renamed(taking))
    return a.join(b, on=[*key, "place"]).drop("place")


def renamed(columns: Mapping[str, str]) -> dict[str, Any]:
    import polars as pl

    return {new: pl.col(old) for new, old in columns.items()}


def together(events: Any, key: list[str]) -> Any:
    """Join a, b and c of equal keys."""
    import polars as pl

    def part(kind: str, value: str) -> Any:
        return events.filter(pl.col("type") == kind).select(*key, pl.col("v").alias(value), pl.col("ts").alias(kind))

    joined = part("a", "x").join(part("b", "y"), on=key).join(part("c", "z"), on=key)
    times = pl.col("a", "b", "c")
    return joined.with_columns(t1=pl.min_horizontal(times), t2=pl.max_horizontal(times))


def polars_unique(name: str) -> Callable[[Any], Any] | None:
    """Return a workload as joins by the id alone."""
    import polars as pl

    def part(events: Any, chosen: Any, value: str, at: str) -> Any:
        return events.filter(chosen).select("id", pl.col("v").alias(value), pl.col("ts").alias(at))

    kind, in_order = pl.col("type"), pl.col("t1") < pl.col("t2")

    def pairs(events: Any, second: Any) -> Any:
        a, b = part(events, kind == "a", "x", "t1"), part(events, second, "y", "t2")
        return a.join(b, on="id").filter(in_order)

    def sequence(events: Any) -> Any:
        ab = pairs(events, kind == "b").rename({"t2": "tb"})
        return ab.join(part(events, kind == "c", "z", "t2"), on="id").filter(pl.col("tb") < pl.col("t2"))

    def unblocked(events: Any) -> Any:
        c = events.filter(kind == "c").select("id", pl.col("ts").alias("tc"))
        between = (pl.col("tc") > pl.col("t1")) & (pl.col("tc") < pl.col("t2"))
        return pairs(events, kind == "b").join(c, on="id", how="left").filter(~between.fill_null(False))

    found: dict[str, Callable[[Any], Any]] = {
        "W1": sequence,
        "W2": lambda events: pairs(events, (kind == "b") & (pl.col("v") < 100)),
        "W3": unblocked,
        "W4": lambda events: together(events, ["id"]),
        "W5": lambda events: pairs(events, kind != "a"),
    }
    return found.get(name)
