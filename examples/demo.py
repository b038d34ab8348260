"""Watches withdrawals for cards used in two cities at once: the program, its input, its matches, a time line of both.

With --spark it runs the same program on the same events in the process and on Spark, and compares the results.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import etalis
from etalis.data.values import to_value
from etalis.formats import Reading, Row, feed, read
from etalis.formats.row import parse_time
from etalis.pictures.paint.terminal import paint_lines
from etalis.pictures.scenes.stream import draw_stream
from etalis.temporal.event import Event, sort_key

FOLDER = Path(__file__).parent / "fraud"
STYLES = {"axis": "dim", "received": "cyan", "match": "bold green"}
CITIES = ("basel", "zurich", "bern", "geneva", "lugano", "chur")
CARDS, WITHDRAWALS, TURNS = 1_000, 100_000, 3


def main() -> int:
    console = Console(width=min(max(Console().width, 80), 120))
    text = (FOLDER / "fraud.etalis").read_text(encoding="utf-8")
    program = etalis.compile(text, name="fraud.etalis")
    rows = [
        item for item in read(FOLDER / "withdrawals.csv", Reading(schema=program.signatures)) if isinstance(item, Row)
    ]
    if "--spark" in sys.argv[1:]:
        return show_spark(console, program, [row.event for row in rows])
    show_program(console, text)
    show_run(console, program, rows)
    is_same = show_speed(console, program)
    show_reasons(console, program, rows)
    return 0 if is_same else 1


def title(console: Console, text: str) -> None:
    console.print()
    console.rule(Text(text, "bold"), align="left", style="dim")


def show_program(console: Console, text: str) -> None:
    title(console, "The program: examples/fraud/fraud.etalis")
    console.print(Syntax(text.strip(), "prolog", theme="ansi_light", background_color="default", word_wrap=True))


def show_run(console: Console, program: etalis.Program, rows: list[Row]) -> None:
    title(console, "The input: examples/fraud/withdrawals.csv")
    console.print(table_of([row.event for row in rows], matched=False))
    title(console, "The matches")
    matches = list(feed(program.engine(), rows))
    console.print(table_of(matches, matched=True))
    title(console, "Both over time")
    for line in paint_lines(draw_stream([row.event for row in rows], matches), width=console.width):
        console.print(Text(line.text, STYLES[line.kind]), soft_wrap=True)


def table_of(events: list[Event], *, matched: bool) -> Table:
    """Show inputs with their time, matches with their interval and rule."""
    table = Table(
        "event", *(("from", "to", "rule") if matched else ("at",)), box=None, pad_edge=False, header_style="dim"
    )
    for event in events:
        cells = [f"{event.start_datetime:%H:%M:%S}"]
        if matched:
            cells += [f"{event.end_datetime:%H:%M:%S}", event.rule or ""]
        table.add_row(Text(event.atom), *cells)
    return table


def show_reasons(console: Console, program: etalis.Program, rows: list[Row]) -> None:
    """Ask why an event occurred, and why another did not."""
    engine = program.engine(justification="full")
    deque(feed(engine, rows), maxlen=0)
    title(console, 'Why? engine.justify("block(c2)")')
    console.print(Text(engine.justify("block(c2)").to_text(dates=True)), soft_wrap=True)
    title(console, 'Why not? engine.why_not("block(c3)", repair=True)')
    console.print(Text(engine.why_not("block(c3)", repair=True).to_text(dates=True)), soft_wrap=True)


def show_speed(console: Console, program: etalis.Program) -> bool:
    """Run a longer stream, made by arithmetic, and a loop written by hand for the same rules; compare and time both."""
    title(console, f"The same rules on {WITHDRAWALS:,} withdrawals")
    stream = [withdrawal(i) for i in range(WITHDRAWALS)]
    works = {"etalis, run": lambda: list(program.engine().run(stream)), "a loop by hand": lambda: find_by_hand(stream)}
    found = {name: timed(work) for name, work in works.items()}
    (engine_seconds, matches), (loop_seconds, wanted) = found.values()
    same = sorted((m.name, m.args, m.start, m.end) for m in matches) == sorted(wanted)
    table = Table("", "events", "matches kept", "processor s", "events per second", box=None, header_style="dim")
    for name, (seconds, kept) in found.items():
        cells = (f"{WITHDRAWALS:,}", f"{len(kept):,}", f"{seconds:.3f}", f"{WITHDRAWALS / seconds:,.0f}")
        table.add_row(name, *cells)
    console.print(table)
    verdict = "the same matches" if same else "DIFFERENT matches"
    console.print(
        f"Events given in, on one core, the median of {TURNS} runs. Both found {verdict}; "
        f"the engine took {engine_seconds / loop_seconds:.1f} times as long as the loop. More figures: docs/speed.md"
    )
    return same


def timed(work: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    """Return the median processor time of some runs, and what the last one found."""
    seconds, found = [], []
    for _ in range(TURNS):
        started = time.process_time()
        found = work()
        seconds.append(time.process_time() - started)
    return median(seconds), found


NEAR = {("basel", "weil"), ("basel", "lorrach"), ("zurich", "winterthur")}


def find_by_hand(stream: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the matches of both rules as the loop finds them that one would write instead."""
    recent: dict[str, deque[tuple[str, float, float]]] = {}
    confirmed: dict[str, float] = {}
    found: list[tuple[Any, ...]] = []
    for row in stream:
        if row[0] == "confirmed":
            confirmed[row[1]] = row[2]
            continue
        _, card, city, amount, at = row
        window = recent.setdefault(card, deque())
        while window and at - window[0][2] > 600:
            window.popleft()
        for other, paid, start in window:
            if start < at and other != city and (other, city) not in NEAR and (city, other) not in NEAR:
                found.append(("fraud", (card, other, city, paid + amount), start, at))
                if not start < confirmed.get(card, start) < at:
                    found.append(("block", (card,), start, at))
        window.append((city, amount, at))
    return found


def withdrawal(i: int) -> tuple[str, str, str, float, float]:
    """Return the i-th withdrawal of a long stream: each card has its city, one time in 97 it is used in another."""
    card = i * 7919 % CARDS
    city = CITIES[(card + (i % 97 == 0)) % len(CITIES)]
    return "withdrawal", f"c{card}", city, float(i % 500), i / 4


def show_spark(console: Console, program: etalis.Program, events: list[Event]) -> int:
    """Run the events in the process and on Spark, and compare."""
    from etalis.spark import session

    title(console, "The same program on the same events, on Spark")
    started = time.perf_counter()
    spark = session(cores=2)
    df = spark.createDataFrame(to_table(events))
    found = from_table(program.on(spark).detect(df, time="ts", event="event").toArrow())
    spark.stop()
    expected = sorted(program.engine().run(events), key=sort_key)
    console.print(table_of(found, matched=True))
    same = found == expected
    verdict = "the same as" if same else f"NOT those ({', '.join(map(str, expected))}) of"
    seconds = time.perf_counter() - started
    console.print(f"{len(found)} matches, {verdict} the run in the process; {seconds:.0f} s with the start of Spark")
    return 0 if same else 1


def to_table(events: list[Event]) -> pa.Table:
    """Return the events as one table with a column per attribute."""
    rows = [
        {"event": e.name, "ts": e.start_datetime} | dict(zip(("card", "city", "amount"), e.args, strict=False))
        for e in events
    ]
    kinds = {"event": pa.string(), "ts": pa.timestamp("us", "UTC"), "card": pa.string()}
    return pa.Table.from_pylist(rows, pa.schema(kinds | {"city": pa.string(), "amount": pa.float64()}))


def from_table(table: pa.Table) -> list[Event]:
    """Return the rows of a table of matches as events in order."""
    matches = []
    for row in table.to_pylist():
        name, start, end, rule, _ = (row.pop(key, None) for key in ("event", "start", "end", "rule", "match_id"))
        args = tuple(to_value(value) for value in row.values() if value is not None)
        matches.append(Event.make(name, args, parse_time(start, "s"), parse_time(end, "s"), rule))
    return sorted(matches, key=sort_key)


if __name__ == "__main__":
    sys.exit(main())
