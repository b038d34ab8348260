"""A stream of the real world on Spark, killed on its way: every match of the clean rows, every bad row once, with why.

    PYTHONPATH=src python bench/spark_poison.py [--rows 100000] [--batches 20] [--kills 2] [--no-kill-at-close]

One row in a hundred is bad, for each way to be bad, one in twenty is late, one lies in the year 131,000. The driver is
ended by `kill -9` while a batch is written, drawn by the seed, and started again, and once more while the stream is
closed. What the sink and the dead letters hold then is compared with what one engine finds in the clean rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import etalis

PROGRAM = """
:- event(withdrawal(card: string, amount: float, count: int, ok: bool)).
:- event(confirmed(card: string, amount: float, count: int, ok: bool)).
pair rule: pair(Card, Total) <- (withdrawal(Card, A, _, _) seq withdrawal(Card, B, _, _)) within 30
    where Total is A + B.
quiet rule: quiet(Card) <- withdrawal(Card, _, _, _) seq (not confirmed(Card, _, _, _) within 60).
worse rule: worse(Card) <- pair(Card, _) seq confirmed(Card, _, _, _).
"""
SCHEMA = "event string, ts timestamp, card string, amount double, count double, ok string"
ARROW = pa.schema(
    [
        ("event", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("card", pa.string()), ("amount", pa.float64()),
        ("count", pa.float64()), ("ok", pa.string()),
    ]
)  # fmt: skip
SECOND = 10**6
START = 1_700_000_000 * SECOND
LENGTH = 600 * SECOND  # of what one batch brings
LATENESS = 60
YEAR = 31_556_952 * SECOND
PATIENCE = 300  # seconds without any progress


@dataclass(frozen=True)
class Row:
    event: str | None
    ts: int | None
    card: str
    amount: float
    count: float
    ok: str

    def values(self) -> tuple[object, ...]:
        return self.event, self.ts, self.card, self.amount, self.count, self.ok


# what is bad about a row: (how it is made from a clean one, under which cause it is found, the beginning of the reason)
BAD: dict[str, tuple[Callable[[Row], Row], str, str]] = {
    "no event": (lambda row: replace(row, event=None), "event", "it names no event"),
    "an event that rules make": (lambda row: replace(row, event="pair"), "event", "rows name the event pair"),
    "no time": (lambda row: replace(row, ts=None), "time", "it has no time"),
    "NaN": (lambda row: replace(row, amount=math.nan), "value", "E301"),
    "a wrong type": (lambda row: replace(row, count=1.5), "value", "E305"),
    "an integer too large": (lambda row: replace(row, count=1e300), "value", "E607"),
    "no truth value": (lambda row: replace(row, ok="maybe"), "value", "E305"),
    "the year 2090": (lambda row: replace(row, ts=row.ts + 67 * YEAR), "ahead", "it ends at 38"),
}  # fmt: skip
FAR = (lambda row: replace(row, ts=row.ts + 129_000 * YEAR), "time", "its time lies")
Letter = tuple[float | None, str, str]  # start, card, cause


@dataclass(frozen=True)
class Poisoned:
    """A stream in batches, its clean rows, and what is to be found among the dead letters, with how a reason begins."""

    batches: list[list[Row]]
    clean: list[Row]
    letters: dict[Letter, str]


def make_stream(rows: int, batches: int, seed: int) -> Poisoned:
    """Draw a stream."""
    chance = random.Random(seed)
    made = Poisoned([], [], {})
    each = rows // batches
    for number in range(batches):
        times = [START + number * LENGTH + t for t in chance.sample(range(LENGTH), each)]
        batch = [_clean(chance, time, i, rows) for i, time in enumerate(times)]
        made.batches.append([_spoil(chance, row, number, made) for row in batch])
    number = batches // 2
    far = replace(_clean(chance, START + number * LENGTH, rows, rows), card="far")
    made.batches[number].append(_note(FAR, far, made))
    return made


def _clean(chance: random.Random, ts: int, number: int, rows: int) -> Row:
    event = chance.choice(("withdrawal", "withdrawal", "confirmed"))
    return Row(event, ts, f"c{chance.randrange(max(rows // 40, 1))}", chance.randrange(1000) / 4, float(number), "true")


def _spoil(chance: random.Random, row: Row, batch: int, made: Poisoned) -> Row:
    """Return a row, or what becomes of it."""
    drawn = chance.random()
    for place, bad in enumerate(BAD.values()):
        if place / 100 <= drawn < (place + 1) / 100:
            return _note(bad, replace(row, card=f"bad {batch} {row.count:.0f}"), made)
    if batch > 1 and 0.5 <= drawn < 0.55:
        assert row.ts is not None
        late = replace(row, ts=row.ts - 2 * LENGTH, card=f"late {batch} {row.count:.0f}")
        return _note((lambda row: row, "late", "it ends at"), late, made)
    made.clean.append(row)
    return row


def _note(bad: tuple[Callable[[Row], Row], str, str], row: Row, made: Poisoned) -> Row:
    spoil, cause, reason = bad
    spoilt = spoil(row)
    start = None if spoilt.ts is None else round(spoilt.ts / SECOND, 5)
    made.letters[start, spoilt.card, cause] = reason
    return spoilt


def write_batches(stream: Poisoned, folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, rows in enumerate(stream.batches):
        columns = zip(*(row.values() for row in rows), strict=True)
        table = pa.table([pa.array(list(c), f.type) for c, f in zip(columns, ARROW, strict=True)], schema=ARROW)
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, path)
        os.utime(path, (number + 1, number + 1))


def expected(clean: list[Row]) -> Counter[str]:
    """What one engine finds, to the end of the stream."""
    engine = etalis.compile(PROGRAM).engine()
    rows = sorted(clean, key=lambda row: row.ts or 0)
    events = [(row.event, row.card, row.amount, int(row.count), row.ok, (row.ts or 0) / SECOND) for row in rows]
    return Counter(event.id for event in [*engine.run(events), *engine.close()])


# the driver, in a process of its own


def drive(folder: Path, close: bool) -> None:
    """Run the query over all that is there; with `close` to the end of the stream, then write down what was found."""
    from etalis.spark import session

    spark = session(cores=2, memory="1g")
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "source"))
    found = etalis.compile(PROGRAM).on(spark).detect(
        source, time="ts", event="event", lateness=LATENESS, state=str(folder / "state"), shards=2, envelope=True,
        checkpoint=str(folder / "checkpoint"), close=close, max_rejected=0.2,
    )  # fmt: skip
    writer = found.writeStream.format("parquet").option("path", str(folder / "sink"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    if close:
        pq.write_table(spark.read.parquet(str(folder / "sink")).toArrow(), folder / "matches.parquet")
    spark.stop()


def start(folder: Path, close: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--driver", str(folder), *(["--close"] if close else [])]
    with (folder / "driver.log").open("a") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def kill(driver: subprocess.Popen[bytes]) -> None:
    """End a driver, its JVM and its workers without a word."""
    with suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


def wait_for(folder: Path, batch: int, driver: subprocess.Popen[bytes]) -> None:
    """Wait until a batch has begun to write its state, or the driver has ended."""
    pause = threading.Event()
    for _ in range(PATIENCE * 50):
        begun = (path for hidden in ("", ".") for path in folder.glob(f"state/*/*/*/{hidden}{batch}.state*"))
        if any(begun) or driver.poll() is not None:
            return
        pause.wait(0.02)
    raise SystemExit(f"batch {batch} does not come:\n{(folder / 'driver.log').read_text()[-4000:]}")


def run(folder: Path, moments: list[int], close: bool) -> None:
    """Run a driver to its end, killed at some moments."""
    driver = start(folder, close)
    try:
        for moment in moments:
            wait_for(folder, moment, driver)
            kill(driver)
            driver = start(folder, close)
        if driver.wait(PATIENCE):
            raise SystemExit((folder / "driver.log").read_text()[-4000:])
    finally:
        kill(driver)


# what there is to find


def found_letters(folder: Path) -> Iterator[tuple[Letter, str]]:
    for row in pq.read_table(folder / "state" / "late").to_pylist():
        start_time = None if row["start"] is None else round(row["start"], 5)
        yield (start_time, json.loads(row["args"])[0], row["cause"]), row["reason"]


def check(stream: Poisoned, folder: Path) -> str:
    """Compare; return figures."""
    wanted = expected(stream.clean)
    found = Counter(pq.read_table(folder / "matches.parquet")["match_id"].to_pylist())
    assert found == wanted, (
        f"{sum((wanted - found).values())} matches are missing, {sum((found - wanted).values())} more"
    )
    letters = list(found_letters(folder))
    counts = Counter(letter for letter, _ in letters)
    due = Counter(stream.letters.keys())
    assert counts == due, (
        f"{sum((due - counts).values())} dead letters are missing, {sum((counts - due).values())} more: "
        f"{list(due - counts)[:3]}, {list(counts - due)[:3]}"
    )
    wrong = [reason for letter, reason in letters if not _fits(reason, stream.letters[letter])]
    assert not wrong, f"other reasons than expected: {wrong[:3]}"
    by_cause = Counter(cause for _, _, cause in counts)
    files = len(list((folder / "state" / "late").iterdir()))
    shown = ", ".join(f"{cause} {count:,}" for cause, count in sorted(by_cause.items()))
    return f"{sum(found.values()):,} matches, {len(letters):,} dead letters in {files} files ({shown})"


def _fits(reason: str, wanted: str) -> bool:
    return reason.startswith(wanted) or (wanted == "its time lies" and "year" in reason)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--kill-at-close", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--driver", type=Path)
    parser.add_argument("--close", action="store_true")
    given = parser.parse_args()
    if given.driver is not None:
        drive(given.driver, given.close)
        return
    stream = make_stream(given.rows, given.batches, given.seed)
    moments = sorted(random.Random(given.seed).sample(range(1, given.batches), given.kills))
    with tempfile.TemporaryDirectory() as name:
        folder, begin = Path(name), time.perf_counter()
        write_batches(stream, folder / "source")
        run(folder, moments, close=False)
        run(folder, [given.batches] if given.kill_at_close else [], close=True)
        seconds = time.perf_counter() - begin
        end = " and at the end" if given.kill_at_close else ""
        print(f"{sum(map(len, stream.batches)):,} rows in {given.batches} batches, killed at {moments}{end}")
        print(f"{check(stream, folder)}, as expected; {seconds:.0f} s in all")


if __name__ == "__main__":
    main()
