"""A streaming job on a standalone cluster survives the sudden end of its driver, of executors and of workers.

One master and two workers on the loopback interface, started from the pip install. Victims and moments are drawn with a
seed: a moment is a batch whose first state file is being written. Afterwards the sink holds exactly the expected rows.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.temporal.event import Event, sort_key
from etalis.temporal.json_values import to_plain

HERE = Path(__file__).parent
VICTIMS = ("driver", "executor", "worker")
PATIENCE = 120  # seconds without any progress
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"  # what lives for seconds is not worth optimizing
Row = tuple[str, int, int, int]


def make_batches(chance: random.Random, count: int) -> list[list[Row]]:
    """Rows in batches, some of them later than is allowed; then time ends."""
    batches = []
    for number in range(count - 1):
        rows = [(chance.choice("aab"), 20 * number + chance.randrange(-9, 20), n % 40, n) for n in range(300)]
        batches.append(rows)
    return [*batches, [("z", 10_000, 0, 0)]]


def write_batch(folder: Path, number: int, rows: list[Row]) -> None:
    names, types = ("event", "ts", "k", "x"), (pa.string(), pa.int64(), pa.int64(), pa.int64())
    columns = [pa.array(list(c), t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    path = folder / f"{number:03}.parquet"
    pq.write_table(pa.table(columns, names=list(names)), path)
    os.utime(path, (number + 1, number + 1))


def expected(batches: list[list[Row]]) -> Counter[Any]:
    """What one engine finds on the rows that are not late: five seconds are allowed."""
    from spark.stream_driver import PROGRAM

    latest, events = -(10**9), []
    for rows in batches:
        events += [Event.make(n, (k, x), t * 10**6, t * 10**6) for n, t, k, x in rows if n != "z" and t >= latest - 5]
        latest = max(latest, *(row[1] for row in rows))
    engine = etalis.compile(PROGRAM).engine()
    found = [*engine.run(sorted(events, key=sort_key)), *engine.close()]
    return Counter((e.name, json.dumps([to_plain(a) for a in e.args]), e.start, e.end) for e in found)


class Cluster:
    """A master and two workers, in processes of our own."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        paths = [str(Path(etalis.__file__).parents[1]), str(HERE)]
        self.environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1"}
        self.environment |= {"PYTHONPATH": os.pathsep.join(paths), "SPARK_LOCAL_IP": "127.0.0.1"}
        self.environment |= {"SPARK_WORKER_DIR": str(folder / "work"), "SPARK_LOCAL_DIRS": str(folder / "local")}
        self.environment |= {"JAVA_TOOL_OPTIONS": BRIEF, "SPARK_DAEMON_MEMORY": "256m"}
        self.running: list[subprocess.Popen[str]] = []
        options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.master, log = self._start("master.Master", options)
        self.address = wait_for(log, r"Starting Spark master at (spark://\S+)")
        self.workers = self.start_workers(2)

    def start_workers(self, count: int) -> list[subprocess.Popen[str]]:
        """Start workers, all at once, and wait until the master knows them."""
        options = ("--host", "127.0.0.1", "-c", "1", "-m", "600m", "--webui-port", "0", self.address)
        started = [self._start("worker.Worker", options) for _ in range(count)]
        for _, log in started:
            wait_for(log, r"(Successfully registered with master)")
        return [process for process, _ in started]

    def _start(self, name: str, options: tuple[str, ...]) -> tuple[subprocess.Popen[str], Path]:
        command = [self.spark_class, f"org.apache.spark.deploy.{name}", *options]
        log = self.folder / f"{name} {len(self.running)}.log"
        return self._run(command, log, self.folder), log

    def _run(self, command: list[str], log: Path, folder: Path) -> subprocess.Popen[str]:
        with log.open("a") as file:
            process = subprocess.Popen(
                command, env=self.environment, stdout=file, stderr=file, text=True, start_new_session=True, cwd=folder
            )
        self.running.append(process)
        return process

    def start_driver(self, home: Path) -> subprocess.Popen[str]:
        command = [sys.executable, str(HERE / "stream_driver.py"), self.address, str(home)]
        return self._run(command, home / "driver.log", home)

    def stop(self) -> None:
        for process in self.running:
            kill_group(process)


def wait_for(log: Path, said: str) -> str:
    """Wait until a process says something; return the part of it that is asked for."""
    pause = threading.Event()
    for _ in range(PATIENCE * 50):
        if found := re.search(said, log.read_text()):
            return found[1]
        pause.wait(0.02)
    raise AssertionError(f"nothing said {said}:\n{log.read_text()}")


def kill_group(process: subprocess.Popen[str]) -> None:
    """End a process that we started, and its children of the same group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def executors(worker: subprocess.Popen[str]) -> list[int]:
    """Return the executors that a worker has started."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    return children.get(worker.pid, [])


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    started = Cluster(folder)
    try:
        yield started
    finally:
        started.stop()


def kill(victim: str, cluster: Cluster, driver: subprocess.Popen[str], chance: random.Random) -> None:
    if victim == "driver":
        kill_group(driver)
        return
    place = chance.choice([i for i, worker in enumerate(cluster.workers) if executors(worker)])
    for executor in executors(cluster.workers[place]):
        os.kill(executor, signal.SIGKILL)
    if victim == "worker":
        kill_group(cluster.workers[place])
        (cluster.workers[place],) = cluster.start_workers(1)


def wait_for_batch(home: Path, batch: int, driver: subprocess.Popen[str]) -> bool:
    """Wait until a batch has begun to write its state; False if the driver has ended first."""
    pause = threading.Event()
    for _ in range(PATIENCE * 50):
        if any(path for hidden in ("", ".") for path in home.glob(f"state/*/*/*/{hidden}{batch}.state*")):
            return True
        if driver.poll() is not None:
            return False
        pause.wait(0.02)
    raise AssertionError(f"batch {batch} does not come:\n{(home / 'driver.log').read_text()[-4000:]}")


def run_with_kills(cluster: Cluster, home: Path, victims: list[str], seed: int, count: int) -> None:
    chance = random.Random(seed)
    batches = make_batches(chance, count)
    (home / "source").mkdir(parents=True)
    for number, rows in enumerate(batches):
        write_batch(home / "source", number, rows)
    moments = sorted(chance.sample(range(1, count - 1), len(victims)))
    driver = cluster.start_driver(home)
    for victim, moment in zip(victims, moments, strict=True):
        if wait_for_batch(home, moment, driver):
            kill(victim, cluster, driver, chance)
        if driver.poll() is not None:
            driver = cluster.start_driver(home)
    assert driver.wait(PATIENCE) == 0, (home / "driver.log").read_text()[-4000:]
    assert found_in(home / "sink") == expected(batches)


def found_in(sink: Path) -> Counter[Any]:
    """Return what readers of the sink see: the files that its log names."""
    logs = sorted((path for path in (sink / "_spark_metadata").iterdir() if path.name[0] != "."), key=_number)
    whole = [path for path in logs if path.suffix == ".compact"]
    names: dict[str, None] = {}
    for log in logs[logs.index(whole[-1]) :] if whole else logs:
        names.update((json.loads(line)["path"], None) for line in log.read_text().splitlines()[1:])
    paths = [unquote(urlparse(name).path) for name in names]
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return Counter((row["event"], row["args"], row["start"], row["end"]) for row in rows)


def _number(path: Path) -> int:
    return int(path.stem)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java on the PATH or in JAVA_HOME")
    pytest.importorskip("pyspark", reason="pyspark is not installed: etalis[spark]")
    return tmp_path


@pytest.mark.spark
def test_two_kills(home: Path) -> None:
    with cluster(home) as started:
        run_with_kills(started, home / "job", ["executor", "driver"], seed=1, count=5)


@pytest.mark.nightly
def test_many_kills(home: Path) -> None:
    chance = random.Random(20)
    with cluster(home) as started:
        for seed in range(7):
            victims = [chance.choice(VICTIMS) for _ in range(3 if seed < 6 else 2)]
            run_with_kills(started, home / f"job {seed}", victims, seed, count=12)
