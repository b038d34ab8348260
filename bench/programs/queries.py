"""What a user would write in DuckDB and Polars for some of the programs, one thread each.

A query names the same matches as the loop. Its columns say what they hold: `name`, `a0`, `a1`, ... for the attributes,
`start`, `end`; a query need not tell all of them. Other programs have no query that is equal and as short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from programs.cards import CUSTOMERS, NEAR

AVERAGES = """
select sym a0, {fold}(price) over w a1, min(ts) over w as "start", ts as "end" from events
window w as (partition by sym order by ts range between {seconds} preceding and current row)
"""
SQL = {
    "moving_avg_30": AVERAGES.format(fold="avg", seconds=3_000),
    "moving_avg_1000": AVERAGES.format(fold="avg", seconds=100_000),
    "sliding_max_1000": AVERAGES.format(fold="max", seconds=100_000),
    "three_rises": """
select sym a0, p3 a1, price a2, s as "start", ts as "end" from
  (select sym, price, lag(price, 1) over w p1, lag(price, 2) over w p2, lag(price, 3) over w p3, lag(ts, 3) over w s, ts
   from events window w as (partition by sym order by ts))
where p3 < p2 and p2 < p1 and p1 < price and ts - s <= 5000
""",
    "fraud": """
with w as (select card, city, amount, ts, type,
                  max(case when type = 'confirmed' then ts end) over (partition by card order by ts) lc from events)
select x.card a0, x.city a1, y.city a2, x.amount + y.amount a3, x.ts as "start", y.ts as "end"
from w x join w y on x.card = y.card and x.ts < y.ts and y.ts - x.ts <= 20000
where x.type = 'withdrawal' and y.type = 'withdrawal' and x.city <> y.city and x.amount + y.amount > 1000
  and not (coalesce(y.lc, -1) > x.ts) and not exists (select 1 from near where a = x.city and b = y.city)
""",
    "session_idle": """
select "user" a0, ts as "start", ts + 1800 as "end"
from (select "user", ts, lead(ts) over (partition by "user" order by ts) nx from events)
where nx is null or nx - ts > 1800
""",
    "left_open": """
select door a0, ts as "start", ts + 700 as "end"
from (select type, door, ts, min(case when type <> 'open' then ts end) over w nx from events
      window w as (partition by door order by ts desc rows between unbounded preceding and 1 preceding))
where type = 'open' and (nx is null or nx - ts > 700)
""",
    "asof_join": """
select a.sym a0, b.price a1, a.price a2, b.ts as "start", a.ts as "end"
from (select * from events where type = 'trade') a
asof join (select * from events where type = 'quote') b on a.sym = b.sym and a.ts > b.ts
""",
    "reference_100k": """
select cust a0, seg a1, ts as "start", ts as "end" from events join customer using (cust) where amount > lim
""",
    "nokey_within20": """
select a.x0 a0, b.x0 a1, a.ts as "start", b.ts as "end"
from (select * from events where type = 'a') a join (select * from events where type = 'b') b
on a.ts < b.ts and a.ts >= b.ts - 20
""",
    "duration_check": """
select a.id a0, b.ts - a.ts a1, a.ts as "start", b.ts as "end"
from (select * from events where type = 'req') a join (select * from events where type = 'resp') b
on a.id = b.id and b.ts - a.ts > 10
""",
    "rules_100_filter": " union all ".join(
        f"""select 'r{k}' as name, sym a0, price a1, ts as "end" from events where price > {990 + k % 10}"""
        for k in range(100)
    ),
}


def duckdb_work(name: str, events: Any, threads: int) -> Callable[[], Any]:
    """Return the query over a table in memory; it gives a table."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(config={"threads": threads})
    connection.register("events", events)
    both = [*NEAR, *((b, a) for a, b in NEAR)]
    connection.register("near", pa.table({"a": [a for a, _ in both], "b": [b for _, b in both]}))
    connection.register("customer", customers())
    return lambda: connection.sql(SQL[name]).to_arrow_table()


def customers() -> Any:
    import pyarrow as pa

    return pa.table(dict(zip(("cust", "seg", "lim"), map(list, zip(*CUSTOMERS, strict=True)), strict=True)))


def rolling(fold: str, seconds: int) -> Callable[[Any], Any]:
    def query(events: Any) -> Any:
        import polars as pl

        period = f"{seconds + 1}i"
        found = events.rolling("ts", period=period, group_by="sym").agg(a1=getattr(pl.col("price"), fold)())
        return found.rename({"sym": "a0", "ts": "end"})

    return query


def rallies(events: Any) -> Any:
    import polars as pl

    def before(steps: int, column: str = "price") -> Any:
        return pl.col(column).shift(steps).over("sym")

    c = pl.col
    found = events.with_columns(p1=before(1), p2=before(2), p3=before(3), start=before(3, "ts"))
    found = found.filter((c.p3 < c.p2) & (c.p2 < c.p1) & (c.p1 < c.price) & (c.ts - c.start <= 5000))
    return found.select(a0="sym", a1="p3", a2="price", start="start", end="ts")


def idle(events: Any) -> Any:
    import polars as pl

    c = pl.col
    found = events.with_columns(following=c.ts.shift(-1).over("user"))
    found = found.filter(c.following.is_null() | (c.following - c.ts > 1800))
    return found.select(a0="user", start="ts")


def asof(events: Any) -> Any:
    import polars as pl

    trades, quotes = (events.filter(pl.col("type") == kind).sort("ts") for kind in ("trade", "quote"))
    found = trades.join_asof(quotes, on="ts", by="sym", strategy="backward", allow_exact_matches=False)
    return found.drop_nulls("price_right").select(a0="sym", a1="price_right", a2="price", end="ts")


def over_limit(events: Any) -> Any:
    import polars as pl

    found = events.join(pl.from_arrow(customers()).lazy(), on="cust").filter(pl.col("amount") > pl.col("lim"))
    return found.select(a0="cust", a1="seg", end="ts")


def filters(events: Any) -> Any:
    import polars as pl

    return pl.concat(
        events.filter(pl.col("price") > 990 + k % 10).select(name=pl.lit(f"r{k}"), a0="sym", a1="price", end="ts")
        for k in range(100)
    )


POLARS: dict[str, Callable[[Any], Any]] = {
    "moving_avg_30": rolling("mean", 3_000),
    "moving_avg_1000": rolling("mean", 100_000),
    "sliding_max_1000": rolling("max", 100_000),
    "three_rises": rallies,
    "session_idle": idle,
    "asof_join": asof,
    "reference_100k": over_limit,
    "rules_100_filter": filters,
}


def polars_work(name: str, events: Any) -> Callable[[], Any]:
    """Return the query over a table in memory; it gives a table."""
    import polars as pl

    query = POLARS[name](pl.from_arrow(events).lazy())
    return lambda: query.collect().to_arrow()
