"""Detection on Spark over W1 from Parquet, against the plan without detection and against hand-written SQL.

    python bench/spark.py --events 1000000      # while developing
    python bench/spark.py --events 10000000     # the figure that counts

All in one session on `local[2]`, taking turns, every answer compared with what the stream has by construction; the
SQL is correct for repeated ids too. Times are wall and CPU (JVM and Python workers included), the best of all turns.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import queries
from ratio import WrongAnswerError
from streams import Workload, prepare

import etalis

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}
WANTED = {"to pass-through": 0.6, "to SQL": 1.0, "2 shards to 1": 1.3}


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    wall: float
    cpu: float


def descendants(root: int) -> Iterator[int]:
    """Yield a process and all below it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting.extend(children.get(process, ()))


def cpu_seconds() -> float:
    """Return the CPU time of this process, the JVM and the workers, ended ones included."""
    total = 0
    for process in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def timed(run: Callable[[], int], expected: int, what: str) -> Cost:
    wall, cpu = time.perf_counter(), cpu_seconds()
    found = run()
    cost = Cost(time.perf_counter() - wall, cpu_seconds() - cpu)
    if found != expected:
        raise WrongAnswerError(f"{what}: {found} rows instead of {expected}")
    return cost


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def plans(spark: Any, workload: Workload) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return what is compared: a DataFrame to count, and its number of rows."""
    df = spark.read.parquet(str(workload.parquet()))
    df.createOrReplaceTempView("events")
    program = etalis.compile(workload.text).on(spark)

    def detected(shards: int) -> Any:
        return program.detect(df, time="ts", event="type", policy=workload.policy, shards=shards)

    return {
        "pass-through": (lambda: df.repartition(2, "id").mapInArrow(identity, df.schema), workload.events),
        "SQL": (lambda: spark.sql(queries.GENERAL["W1"]), workload.expected),
        "detect, 2 shards": (lambda: detected(2), workload.expected),
        "detect, 1 shard": (lambda: detected(1), workload.expected),
    }


def check_answers(found: dict[str, tuple[Callable[[], Any], int]]) -> None:
    """Compare all matches of both, attributes and intervals."""
    ours = found["detect, 2 shards"][0]().select("Id", "X", "Y", "Z", "start", "end")
    wrong = ours.exceptAll(found["SQL"][0]()).count()
    if wrong:
        raise WrongAnswerError(f"{wrong} matches are in one answer and not in the other")


def session(master: str = "local[2]") -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("etalis bench")
    for name, value in {**OPTIONS, "spark.sql.shuffle.partitions": "2"}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measure(events: int, repetitions: int) -> None:
    workload = prepare("W1", events)
    spark = session()
    found = plans(spark, workload)
    check_answers(found)
    best: dict[str, list[Cost]] = {name: [] for name in found}
    for _ in range(repetitions):
        for name, (frame, expected) in found.items():
            best[name].append(timed(lambda frame=frame: frame().count(), expected, name))
    spark.stop()
    wall = {name: min(cost.wall for cost in costs) for name, costs in best.items()}
    cpu = {name: min(cost.cpu for cost in costs) for name, costs in best.items()}
    print(f"W1, {workload.events:,} events, local[2], {os.getloadavg()[0]:.1f} processes busy\n")
    for name in found:
        rate = workload.events / wall[name] / 1e6
        print(f"{name:18} {wall[name]:7.2f} s wall {cpu[name]:7.2f} s CPU {rate:6.2f} million events/s")
    print()
    for name, (over, under) in {
        "to pass-through": ("pass-through", "detect, 2 shards"),
        "to SQL": ("SQL", "detect, 2 shards"),
        "2 shards to 1": ("detect, 1 shard", "detect, 2 shards"),
    }.items():
        ratio = wall[over] / wall[under]
        mark = "" if ratio >= WANTED[name] else " !"
        print(f"{name:18} {ratio:7.2f} by wall {cpu[over] / cpu[under]:7.2f} by CPU, wanted {WANTED[name]}{mark}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    chosen = parser.parse_args()
    measure(chosen.events, chosen.repetitions)
