"""The driver of a streaming query, as a process of its own that tests can kill: master, then a folder for everything.

It takes all files of the source, one per batch, and ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

import etalis

PROGRAM = """
pair(K, X, Y) <- a(K, X) seq b(K, Y).
quiet(K, X) <- a(K, X) seq (not b(K, _) within 30).
many(K, N) <- aggregate(count, b(K, _), N) within 40.
"""
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.task.maxFailures": "8",
    "spark.locality.wait": "0s",
    "spark.log.level": "ERROR",
}


def main(master: str, folder: Path) -> None:
    """Run the query to its end."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("etalis streams")
    for option, value in OPTIONS.items():
        builder = builder.config(option, value)
    spark = builder.getOrCreate()
    source = spark.readStream.schema("event string, ts bigint, k bigint, x bigint").option("maxFilesPerTrigger", 1)
    found = etalis.compile(PROGRAM).on(spark).detect(
        source.parquet(str(folder / "source")), time="ts", lateness=5, state=str(folder / "state"), shards=2,
        envelope=True,
    )  # fmt: skip
    sink = found.writeStream.format("parquet").option("path", str(folder / "sink"))
    query = sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
