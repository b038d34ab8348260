"""Who takes part: for each way of finding the matches of a workload, the work that is timed, and what it found.

Ways over columns start from one Arrow table in memory, or from one Parquet file, and end with a table of all matches in
memory; ways over rows start from a list of Python tuples and end with a list of all matches. The joins by id are right
only because every id comes once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import feeding
import hand
import hand_more
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import queries
import ratio
from streams import CHAIN, DIFFERENCES, LARGEST_CONDITION, USUAL, Row, Workload

import etalis

Answer = tuple[Any, ...]
Work = Callable[[], Any]
Begin = Callable[[], Work]  # what is not timed: a new engine

ROWS = ("push", "run", "hand, Python")
UNIQUE = ("DuckDB, joins by id", "Polars, joins by id")
TABLES = ("columns", "hand, Numba", "DuckDB", "Polars", "Spark SQL", *UNIQUE)
FILES = {"columns, from Parquet": USUAL, "columns, from differences": DIFFERENCES}
NAMES = {"W6": "tc", "W8": "trend", "W11": "e"}
ATTRIBUTES = {
    "W1": ("id", "x", "y", "z"), "W2": ("id", "x", "y"), "W3": ("id", "x", "y"), "W4": ("id", "x", "y", "z"),
    "W5": ("id", "x", "y"), "W6": ("x", "y"), "W7": ("id", "x", "y", "z"), "W8": ("a", "b"), "W10": ("id",),
}  # fmt: skip
SPARK = ("W1", "W2", "W3", "W4", "W5")
NOT_IN_TABLES = {"W11": "a retraction names an event, which no column holds"}


def ways(name: str) -> list[str]:
    """Return the ways there are for a workload."""
    found = ["columns"] if name not in NOT_IN_TABLES else []
    found += ROWS
    found += ["hand, Numba"] if name in ("W1", "W2", "W3", "W5") else []
    found += ["DuckDB"] if name in queries.GENERAL else []
    found += ["DuckDB, joins by id"] if name in queries.UNIQUE else []
    found += ["Polars"] if queries.polars_general(name) else []
    found += ["Polars, joins by id"] if queries.polars_unique(name) else []
    return found + (["Spark SQL"] if name in SPARK else [])


def contender(way: str, workload: Workload, source: str, threads: int) -> Begin:
    """Return how a way begins its work, its input at hand."""
    if way in ROWS:
        return row_work(way, workload)
    work = table_work(way, workload, source, threads)
    return lambda: work


def table_work(way: str, workload: Workload, source: str, threads: int) -> Work:
    pa.set_cpu_count(threads)
    from_file = source == "parquet" or way in FILES
    given = workload.parquet(FILES.get(way, USUAL)) if from_file else workload.columns()
    match way:
        case "columns" | "columns, from Parquet" | "columns, from differences":
            return columns_work(workload, given, threads)
        case "hand, Numba":
            return numba_work(workload.name, given)
        case "DuckDB" | "DuckDB, joins by id":
            return duckdb_work(way, workload, given, threads)
        case "Polars" | "Polars, joins by id":
            return polars_work(way, workload.name, given)
        case _:
            return spark_work(workload, threads)


def program_of(workload: Workload, *, over_columns: bool = False) -> etalis.Program:
    """Return the program of a workload; its events are declared where a table has more columns than they have."""
    options: dict[str, Any] = {"revision_flag": "on"} if workload.name == "W11" else {}
    declared = ":- event(stockIcr(id: int)).\n" if over_columns and workload.name == "W8" else ""
    program = etalis.compile(declared + workload.text, event_consumption_policy=workload.policy, **options)
    if workload.links:
        program.load_facts("linked", [(i, i + 1) for i in range(workload.links)])
    return program


def columns_work(workload: Workload, given: Any, threads: int) -> Work:
    program = program_of(workload, over_columns=True)
    options = {"threads": threads} if "threads" in inspect.signature(etalis.Program.detect).parameters else {}
    return lambda: program.detect(given, time="ts", event="type", **options)


def numba_work(name: str, given: Any) -> Work:
    """Return the loop written by hand; it takes columns and gathers its results as columns."""
    import hand_columns

    loop: Any = getattr(hand_columns, name.lower())

    def work() -> dict[str, Any]:
        table = pq.read_table(given, read_dictionary=["type"]) if isinstance(given, Path) else given
        coded = table["type"].unify_dictionaries().combine_chunks()
        kinds = np.array(["abc".index(kind) for kind in coded.dictionary.to_pylist()])[coded.indices.to_numpy()]
        ids, values, times = (table[column].to_numpy() for column in ("id", "v", "ts"))
        found = loop(kinds, ids, values, int(LARGEST_CONDITION)) if name == "W2" else loop(kinds, ids)
        gathered = {letter: values[found[:, i]] for i, letter in enumerate(ATTRIBUTES[name][1:])}
        return {"id": ids[found[:, 0]], **gathered, "t1": times[found[:, 0]], "t2": times[found[:, -1]]}

    return work


def duckdb_work(way: str, workload: Workload, given: Any, threads: int) -> Work:
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    if isinstance(given, Path):
        connection.execute(f"CREATE VIEW events AS SELECT * FROM '{given}'")
    else:
        connection.register("events", given)
    links = range(workload.links)
    connection.register("linked", pa.table({"a": list(links), "b": [i + 1 for i in links]}))
    query = (queries.UNIQUE if way in UNIQUE else queries.GENERAL)[workload.name]
    return lambda: connection.sql(query).to_arrow_table()


def polars_work(way: str, name: str, given: Any) -> Work:
    import polars as pl

    query = (queries.polars_unique if way in UNIQUE else queries.polars_general)(name)
    assert query is not None
    events = pl.scan_parquet(given) if isinstance(given, Path) else pl.from_arrow(given).lazy()
    wanted = [*(["event"] if name == "W7" else []), *ATTRIBUTES[name], "t1", "t2"]
    return lambda: query(events).select(wanted).collect().to_arrow()


def spark_work(workload: Workload, threads: int) -> Work:
    """Return the query on Spark; it is counted, which spares Spark to hand its results over."""
    from spark import session

    spark = session(f"local[{threads}]")
    spark.read.parquet(str(workload.parquet())).createOrReplaceTempView("events")
    found = spark.sql(queries.GENERAL[workload.name])
    return lambda: found.count()


# over rows


def engine_rows(workload: Workload) -> list[Any]:
    """Return the rows that an engine takes."""
    match workload.name:
        case "W8" | "W9":
            return [(kind, key, at) for kind, key, _, at in workload.rows()]
        case "W11":
            return [
                ("rev", etalis.Struct("a", (key, value)), at) if kind == "rev_a" else (kind, key, value, at)
                for kind, key, value, at in workload.rows()
            ]
        case _:
            return list(workload.rows())


def row_work(way: str, workload: Workload) -> Begin:
    """Return how a way over rows begins; it keeps its matches."""
    if way == "hand, Python":
        rows = list(workload.rows())
        loop = by_hand(workload)
        return lambda: lambda: loop(rows)
    rows = engine_rows(workload)
    program = program_of(workload)
    feed = feeding.run_rows if way == "run" else feeding.push_rows

    def begin() -> Work:
        engine = program.engine()
        return lambda: feed(engine, rows)

    return begin


def by_hand(workload: Workload) -> Callable[[list[Row]], list[Answer]]:
    """Return the loop written by hand."""
    match workload.name:
        case "W8":  # the chain is a row: a company reaches all behind it
            return lambda rows: hand_more.w8(rows, lambda a, b: a < b)
        case "W9":
            return lambda rows: hand_more.w9(rows, CHAIN)
        case name:
            return getattr(hand_more if name in ("W10", "W11") else hand, name.lower())


# answers


def count(found: Any) -> int:
    """Return how many matches a way has found."""
    match found:
        case int():
            return found
        case list():
            return len(found)
        case dict():
            return len(found["t1"])
        case _:
            return found.num_rows


def answers(way: str, workload: Workload, source: str, threads: int) -> list[Answer]:
    """Return all matches as a way tells them: event, attributes, start, end; on W11 the sign as well."""
    if way in ROWS:
        return sorted(row_answers(way, workload))
    work = table_work(way, workload, source, threads)
    found = spark_answers(workload) if way == "Spark SQL" else pa.table(work())
    names = ["event"] if "event" in found.column_names else []
    names += [n for n in found.column_names if n not in ("event", "rule")] if way.startswith("columns") else [
        *ATTRIBUTES[workload.name], "t1", "t2"
    ]  # fmt: skip
    columns = [found[name].to_pylist() for name in names]
    first = () if names[0] == "event" else (NAMES.get(workload.name, "d"),)
    return sorted((*first, *row) for row in zip(*columns, strict=True))


def spark_answers(workload: Workload) -> pa.Table:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    assert active is not None
    return active.sql(queries.GENERAL[workload.name]).toArrow()


def row_answers(way: str, workload: Workload) -> Iterable[Answer]:
    if way == "hand, Python":
        return hand_answers(workload)
    found = row_work(way, workload)()()
    signed = workload.name == "W11"
    return [(m.name, *m.args, m.start, m.end, *((m.sign,) if signed else ())) for m in found]


def hand_answers(workload: Workload) -> Iterable[Answer]:
    found = by_hand(workload)(list(workload.rows()))
    match workload.name:
        case "W9":
            return found
        case "W8" | "W11" as name:
            return [(NAMES[name], *answer) for answer in found]
        case name:
            return ratio.spelled(name, found)
