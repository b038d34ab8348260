"""Where shards keep their state on Spark: in files of their own, or in Spark's state store; by the same engine.

    PYTHONPATH=src python bench/spark_state.py [--rows 1000000] [--keys 100000] [--batches 5] [--open 1000000]

Batches of W1 as in spark_streaming.py, two shards. Own files: `detect` as it is. Spark's: `transformWithStateInPandas`
by shard, the snapshot of the engine as one binary value, rows taken over columns by `engine.detect`. Seconds per batch,
the median without the first; then again with so many instances more open. Both take turns; the matches of each are
counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users know it
from pyspark.sql.streaming import StatefulProcessor
from spark_streaming import PROGRAM, count_matches, detect, read, run, write_batches

import etalis
import etalis.spark

RESULT = "Id bigint, X bigint, Y bigint, Z bigint, start bigint, end bigint"
SHARDS = 2
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Shard(StatefulProcessor):  # type: ignore[misc]
    """A shard whose engine comes from the state store with every batch, and goes there."""

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("engine", "snapshot binary")
        self.program = etalis.compile(PROGRAM)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        """Take the rows of a batch in order of time."""
        known = self.state.get()
        engine = self.program.restore(bytes(known[0])) if known else self.program.engine(policy="chronological")
        table = pa.Table.from_pandas(pd.concat(list(rows)), preserve_index=False).sort_by("ts")
        found = engine.detect(table.drop_columns("shard"), time="ts", event="event", batch=table.num_rows)
        self.state.update((engine.snapshot(),))
        yield found.select(["Id", "X", "Y", "Z", "start", "end"]).to_pandas()

    def close(self) -> None:
        """Do nothing: all that is kept is in the store."""


def with_store(spark: Any, folder: Path) -> Any:
    """Return the query whose state is Spark's; its matches are counted as it runs."""
    shard = F.expr(f"cast(pmod(hash(id), {SHARDS}) as int)").alias("shard")
    grouped = read(spark, folder).select("*", shard).groupBy("shard")
    found = grouped.transformWithStateInPandas(Shard(), RESULT, "Append", "None")
    return found.observe("matches", F.count(F.lit(1)).alias("made"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--open", type=int, default=1_000_000)
    chosen = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = etalis.spark.session()
    spark.conf.set("spark.sql.shuffle.partitions", SHARDS)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORE)
    with tempfile.TemporaryDirectory() as folder:
        for title, waiting in (("few", 0), ("many", chosen.open)):
            home = Path(folder) / title
            home.mkdir()
            matches = write_batches(home / "events", chosen.rows, chosen.keys, chosen.batches, waiting=waiting)
            compare(spark, home, matches, chosen.batches, f"{chosen.keys + waiting:,} instances open")
    spark.stop()


def compare(spark: Any, home: Path, matches: int, batches: int, title: str) -> None:
    """Let both take turns, twice."""
    events = home / "events"
    seconds: dict[str, list[float]] = {"own files": [], "state store": []}
    for turn in ("first", "again"):
        seconds["own files"] += run(home, f"{turn} own files", detect(spark, home, turn, events))
        seconds["state store"] += run(home, f"{turn} state store", with_store(spark, events), settled=matches)
        told = count_matches(home / f"{turn} state", batches)
        assert told == matches, f"{told} matches instead of {matches}"
    own, store = (statistics.median(times) for times in seconds.values())
    print(f"{title}: own files {own:.2f} s a batch, state store {store:.2f} s, {store / own:.1f} times", flush=True)


if __name__ == "__main__":
    main()
