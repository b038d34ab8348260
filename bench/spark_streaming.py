"""Streaming on Spark: detection against the plan without it, and what a large state adds to a micro-batch.

Batches of W1 (a, b, c in turn for every key) as Parquet files; the plan without detection reads, shuffles by the same
key and passes rows through `mapInArrow`. Both write nowhere. Seconds per batch, the median without the first; the
number of matches is checked.

    PYTHONPATH=src python bench/spark_streaming.py [--rows 1000000] [--keys 100000] [--batches 5] [--open 1000000]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import etalis
import etalis.spark

PROGRAM = "d(Id, X, Y, Z) <- a(Id, X) seq b(Id, Y) seq c(Id, Z)."
SCHEMA = "event string, id bigint, x bigint, ts bigint"
FILES = 2  # per batch, so that two cores read


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--open", type=int, default=1_000_000)
    chosen = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = etalis.spark.session()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        matches = write_batches(home / "events", chosen.rows, chosen.keys, chosen.batches)
        passed = [run(home, "pass", pass_through(read(spark, home / "events")))]
        found = [run(home, "first", detect(spark, home, "first", home / "events"))]
        found.append(run(home, "again", detect(spark, home, "again", home / "events")))
        passed.append(run(home, "pass again", pass_through(read(spark, home / "events"))))
        counts = [count_matches(home / f"{name} state", chosen.batches) for name in ("first", "again")]
        assert counts == [matches, matches], f"{counts} matches instead of {matches}"
        plain, detecting = (statistics.median(chain.from_iterable(times)) for times in (passed, found))
        print(f"without detection {plain:.2f} s a batch, with {detecting:.2f} s: {plain / detecting:.2f} of the speed")
        write_batches(home / "more", chosen.rows, chosen.keys, chosen.batches, waiting=chosen.open)
        loaded = statistics.median(run(home, "open", detect(spark, home, "open", home / "more")))
        print(f"{chosen.open} more open instances: {loaded:.2f} s a batch, {loaded - detecting:+.2f} s")
    spark.stop()


def write_batches(folder: Path, rows: int, keys: int, batches: int, waiting: int = 0) -> int:
    """Write files of events, `waiting` keys with an `a` alone before them; return how many matches are settled."""
    folder.mkdir()
    random = np.random.default_rng(1)
    count = rows * batches
    ids = random.integers(0, keys, count)
    order = np.argsort(ids, kind="stable")
    sizes = np.bincount(ids, minlength=keys)
    turn = np.empty(count, np.int64)
    turn[order] = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kinds = turn % 3
    if waiting:
        ids = np.concatenate([np.arange(keys, keys + waiting), ids])
        kinds = np.concatenate([np.zeros(waiting, np.int64), kinds])
    ts = np.arange(len(ids))
    names = np.array(["a", "b", "c"], object)[kinds]
    cuts = [0, *range(waiting + rows, len(ids) + 1, rows)] if waiting else list(range(0, count + 1, rows))
    number = 0
    for low, high in pairwise(cuts):
        for part in np.array_split(np.arange(low, high), FILES):
            table = pa.table({"event": names[part], "id": ids[part], "x": ts[part] % 97, "ts": ts[part]})
            number += 1
            pq.write_table(table, folder / f"{number:05}.parquet")
            os.utime(folder / f"{number:05}.parquet", (number, number))
    return int((kinds[:-1] == 2).sum())  # the last row waits for the watermark


def read(spark: Any, folder: Path) -> Any:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES).parquet(str(folder))


def pass_through(df: Any) -> Any:
    return df.repartition(2, "id").mapInArrow(lambda batches: batches, SCHEMA)


def detect(spark: Any, home: Path, name: str, folder: Path) -> Any:
    state = str(home / f"{name} state")
    return etalis.compile(PROGRAM).on(spark).detect(read(spark, folder), state=state, shards=2, policy="chronological")


def used() -> float:
    """Return the processor time of this process and all that it has started."""
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    mine, total = [os.getpid()], 0.0
    while mine:
        process = mine.pop()
        total += found[process][1]
        mine += [child for child, (parent, _) in found.items() if parent == process]
    return total


def run(home: Path, name: str, df: Any, settled: int | None = None) -> list[float]:
    """Run a query over all files; return the seconds of its batches but the first.

    If it observes its `matches`, they must be those that are settled, or one more, if it does not hold the last row.
    """
    before = used()
    query = df.writeStream.format("noop").option("checkpointLocation", str(home / f"{name} checkpoint"))
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    if settled is not None:
        told = sum(p["observedMetrics"]["matches"]["made"] for p in started.recentProgress if p["numInputRows"])
        assert told - settled in (0, 1), f"{told} matches instead of {settled}"
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in started.recentProgress if p["numInputRows"]]
    print(f"{name}: {' '.join(f'{t:.2f}' for t in times)} s, {used() - before:.1f} s of the processors", flush=True)
    return times[1:]


def count_matches(state: Path, batches: int) -> int:
    """Return how many matches the shards of a query have counted."""
    from etalis.spark.stream.state_store import Store

    (query,) = [path.name for path in state.iterdir() if path.name != "late"]
    return sum(header["counts"]["made"] for _, header, _ in Store(str(state)).headers(query, batches - 1))


if __name__ == "__main__":
    main()
