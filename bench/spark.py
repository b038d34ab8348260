"""Detection on Spark from Parquet, against the plan without detection and against hand-written SQL.

    python bench/spark.py --events 1000000      # while developing
    python bench/spark.py --events 10000000     # the figure that counts
    python bench/spark.py W3 session_idle       # of the programs those with an absence: W1, W3 and the absences

All in one session on `local[2]`, taking turns, every answer compared with that of the SQL, which is correct for
repeated ids too. Times are wall and CPU (JVM and Python workers included), the best of all turns.
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

import programs.queries
import pyarrow as pa
import pyarrow.parquet as pq
import queries
from programs.contenders import program_of, table_of
from ratio import WrongAnswerError
from streams import DATA, prepare

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
ABSENCES = {"session_idle": ("user", "U"), "left_open": ("door", "D")}  # what is shuffled by, what the matches call it
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


@dataclass(frozen=True)
class Question:
    """What Spark is asked: a program over a Parquet file, the query of the same answer, and what both tell.

    What the matches call `ours`, the rows of the query call `told`.
    """

    text: str
    policy: str
    path: Path
    key: str
    events: int
    sql: str
    ours: tuple[str, ...]
    told: tuple[str, ...]


def workload_question(name: str, events: int) -> Question:
    """Return a workload, with a query that is right for repeated ids too."""
    workload = prepare(name, events)
    found = ("Id", "X", "Y", *(("Z",) if name == "W1" else ()), "start", "end")
    told = tuple({"start": "t1", "end": "t2"}.get(column, column.lower()) for column in found)
    path = workload.parquet()
    return Question(workload.text, workload.policy, path, "id", workload.events, queries.GENERAL[name], found, told)


def absence_question(name: str, events: int) -> Question:
    """Return a program of users that waits for what does not come: by keys of text, to the end of the stream."""
    case = programs.CASES[name]
    path = DATA / f"{name}_{events}.parquet"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        table = table_of(program_of(case), case.rows(events))
        pq.write_table(table.set_column(1, "type", table["type"].cast(pa.string())), path)
    key, found = ABSENCES[name]
    sql = programs.queries.SQL[name].replace('"', "`")
    return Question(case.text, case.policy, path, key, events, sql, (found, "start", "end"), ("a0", "start", "end"))


def question(name: str, events: int) -> Question:
    return (absence_question if name in ABSENCES else workload_question)(name, events)


def plans(spark: Any, asked: Question) -> dict[str, Callable[[], Any]]:
    """Return what is compared, as DataFrames to count."""
    df = spark.read.parquet(str(asked.path))
    df.createOrReplaceTempView("events")
    program = etalis.compile(asked.text).on(spark)

    def detected(shards: int) -> Any:
        return program.detect(df, time="ts", event="type", policy=asked.policy, shards=shards)

    return {
        "pass-through": lambda: df.repartition(2, asked.key).mapInArrow(identity, df.schema),
        "SQL": lambda: spark.sql(asked.sql),
        "detect, 2 shards": lambda: detected(2),
        "detect, 1 shard": lambda: detected(1),
    }


def checked_counts(asked: Question, found: dict[str, Callable[[], Any]]) -> dict[str, int]:
    """Compare all matches of both ways, attributes and intervals; return how many rows each plan has."""
    ours = found["detect, 2 shards"]().selectExpr(*(f"`{name}` as c{i}" for i, name in enumerate(asked.ours))).cache()
    told = found["SQL"]().selectExpr(*(f"`{name}` as c{i}" for i, name in enumerate(asked.told))).cache()
    wrong = ours.exceptAll(told).count() + told.exceptAll(ours).count()
    if wrong:
        raise WrongAnswerError(f"{wrong} matches are in one answer and not in the other")
    matches = ours.count()
    ours.unpersist(), told.unpersist()
    return {name: asked.events if name == "pass-through" else matches for name in found}


def session(master: str = "local[2]") -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("etalis bench")
    for name, value in {**OPTIONS, "spark.sql.shuffle.partitions": "2"}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measure(spark: Any, name: str, events: int, repetitions: int) -> None:
    asked = question(name, events)
    found = plans(spark, asked)
    expected = checked_counts(asked, found)
    best: dict[str, list[Cost]] = {way: [] for way in found}
    for _ in range(repetitions):
        for way, frame in found.items():
            best[way].append(timed(lambda frame=frame: frame().count(), expected[way], way))
    wall = {way: min(cost.wall for cost in costs) for way, costs in best.items()}
    cpu = {way: min(cost.cpu for cost in costs) for way, costs in best.items()}
    busy = os.getloadavg()[0]
    print(f"{name}, {asked.events:,} events, {expected['SQL']:,} matches, local[2], {busy:.1f} processes busy\n")
    for way in found:
        rate = asked.events / wall[way] / 1e6
        print(f"{way:18} {wall[way]:7.2f} s wall {cpu[way]:7.2f} s CPU {rate:6.2f} million events/s")
    print()
    for compared, (over, under) in {
        "to pass-through": ("pass-through", "detect, 2 shards"),
        "to SQL": ("SQL", "detect, 2 shards"),
        "2 shards to 1": ("detect, 1 shard", "detect, 2 shards"),
    }.items():
        ratio = wall[over] / wall[under]
        mark = "" if ratio >= WANTED[compared] else " !"
        print(
            f"{compared:18} {ratio:7.2f} by wall {cpu[over] / cpu[under]:7.2f} by CPU, wanted {WANTED[compared]}{mark}"
        )
    print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", default=["W1", "W3", *ABSENCES])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    chosen = parser.parse_args()
    started = session()
    for each in chosen.programs:
        measure(started, each, chosen.events, chosen.repetitions)
    started.stop()
