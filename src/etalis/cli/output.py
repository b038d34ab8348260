"""What a run shows: matches as they come or as a table, a time line, how far it is, and what it came to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from etalis.cli.common import ResultDisplay, count
from etalis.data.values import format_value
from etalis.errors import InputError, Problem
from etalis.formats import Item, Row, write
from etalis.formats.written import TimeForm, json_of, moment_of, text_of
from etalis.pictures.paint.terminal import paint_lines
from etalis.pictures.scenes.stream import draw_stream
from etalis.temporal.event import Event

_STYLES = {"axis": "dim", "received": "cyan", "match": "bold green"}
_REPORT_EVERY = 1_000


@dataclass(slots=True)
class Tally:
    """What a run has seen so far; the events themselves only if a time line is to be drawn."""

    keep: bool
    received: int = 0
    matched: int = 0
    inputs: list[Event] = field(default_factory=list)
    matches: list[Event] = field(default_factory=list)

    def count_inputs(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if isinstance(item, Row):
                self.received += 1
                if self.keep:
                    self.inputs.append(item.event)
            yield item

    def count_matches(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self.matched += 1
            if self.keep:
                self.matches.append(event)
            yield event

    def describe(self, seconds: float) -> str:
        return f"{count(self.received, 'event')}, {count(self.matched, 'match')}, {seconds:.2f} s"


def show(
    matches: Iterable[Event],
    output: ResultDisplay,
    to: Path | None,
    times: TimeForm,
    *,
    live: bool,
    append: bool = False,
) -> None:
    """Store matches, or print them: as they come, a table at the end."""
    if to is not None:
        try:
            write(matches, to, live=live, append=append, times=times)
        except OSError as error:
            raise InputError(Problem("E401", f"cannot write {to}: {error.strerror}", hint="check its name")) from None
    elif output is ResultDisplay.TABLE:
        Console(soft_wrap=not sys.stdout.isatty()).print(draw_table(matches, times))
    else:
        write_one = json_of if output is ResultDisplay.JSON else text_of
        for match in matches:
            print(write_one(match, times), flush=live)
        sys.stdout.flush()


def draw_table(matches: Iterable[Event], times: TimeForm) -> Table:
    table = Table("event", "attributes", "start", "end", "rule", box=None, pad_edge=False)
    for match in list(matches):  # what is read last, too, says in which form times came
        attributes = ", ".join(map(format_value, match.args))
        moments = (moment_of(time, times) for time in (match.start_time, match.end_time))
        table.add_row(*map(Text, (match.name, attributes, *moments, match.rule or "")))
    return table


def as_dates(times: TimeForm) -> bool | None:
    """Tell whether pictures show times as dates; None if nothing is known of them."""
    return True if times.dates else None if times.asked is None else False


def show_timeline(tally: Tally, times: TimeForm, console: Console) -> None:
    scene = draw_stream(tally.inputs, tally.matches, dates=as_dates(times))
    for line in paint_lines(scene, width=min(console.width, 120)):
        console.print(Text(line.text, _STYLES[line.kind]), soft_wrap=True)


def show_progress(tally: Tally, items: Iterable[Item], visible: bool) -> Iterator[Item]:
    """Yield the rows and tell on standard error, if a person watches, how many there were."""
    if not (visible and sys.stderr.isatty()):
        yield from items
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("0 events", total=None)
        for item in items:
            if tally.received % _REPORT_EVERY == 0:
                progress.update(task, description=f"{count(tally.received, 'event')}, {count(tally.matched, 'match')}")
            yield item
