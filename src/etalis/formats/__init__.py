"""Sources and sinks: files and streams of events to rows, results to files.

`read` yields rows by the format that a file's name or the caller tells; `feed` runs them through an engine, and says of
a refused event where it was read; `write` stores results. Rows that end together are taken in order of their start, as
everywhere a finite stream is run.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, assert_never

from etalis.data.files import FORMATS, STANDARD_INPUT, File, find_files, format_of, reading_file
from etalis.data.values import format_value
from etalis.errors import EventError, InputError, Problem
from etalis.formats.comma_separated import read_csv
from etalis.formats.event_files import read_event_file
from etalis.formats.json_lines import read_json_lines
from etalis.formats.rdf_quads import read_nquads, read_trig
from etalis.formats.row import Bad, Item, Pause, Place, Reading, Row, Schema, reading_of
from etalis.formats.table import column_names
from etalis.formats.written import SECONDS, TimeForm, clause_of, json_of, moment_of
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.lateness.watermark import Stamp
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS

__all__ = [
    "FORMATS",
    "STANDARD_INPUT",
    "Bad",
    "Item",
    "Pause",
    "Place",
    "Reading",
    "Row",
    "Schema",
    "feed",
    "format_of",
    "read",
    "run_file",
    "write",
]

_TABLES = ("parquet", "arrow")
_QUADS = ("nquads", "trig")


def read(path: str | Path, reading: Reading | None = None, *, format: str | None = None) -> Iterator[Item]:  # noqa: A002
    """Yield the rows of files: one, a folder, a pattern, an address; `-` is standard input."""
    name, how = str(path), reading or Reading()
    if name == STANDARD_INPUT:
        return _read_standard_input(format_of(name, format), how)
    return chain.from_iterable(_read_file(file, how) for file in find_files(name, format))


def _read_standard_input(kind: str, reading: Reading) -> Iterator[Item]:
    if kind in _TABLES:
        raise InputError(Problem("E407", f"{kind} is not read from standard input", hint="give the file's name"))
    return reading_file("<stdin>", lambda: TEXT[kind](sys.stdin, "<stdin>", reading))


def _read_file(file: File, reading: Reading) -> Iterator[Item]:
    def rows() -> Iterator[Item]:
        if file.format in _TABLES:
            # PyArrow takes a while to import, and most runs read text.
            from etalis.formats.arrow_tables import read_table_file

            yield from read_table_file(file, reading)
            return
        if file.format == "events":
            yield from read_event_file([file.text(reading.encoding)], file.address, reading)
            return
        if file.format in _QUADS:
            with file.byte_lines(reading.encoding) as quads:
                yield from TEXT[file.format](quads, file.address, reading)
            return
        # A line that is not UTF-8 is bad by itself; of clauses, which need no line, the whole file is.
        with file.lines("surrogateescape", reading.encoding) as lines:
            yield from TEXT[file.format](lines, file.address, reading)

    return reading_file(file.address, rows)


TEXT: Mapping[str, Callable[[Iterable[str], str, Reading], Iterator[Item]]] = MappingProxyType(
    {
        "jsonl": read_json_lines,
        "csv": read_csv,
        "tsv": lambda lines, source, reading: read_csv(lines, source, reading, "\t"),
        "events": read_event_file,
        "nquads": read_nquads,
        "trig": read_trig,
    }
)


def parser_of(kind: str, source: str, reading: Reading) -> Callable[[Iterable[str]], Iterator[Item]]:
    """Return what turns lines of a text format into items."""
    if kind not in TEXT:
        raise InputError(Problem("E407", f"{kind} is not read while it is written", hint="give the file's name"))
    return lambda lines: TEXT[kind](lines, source, reading)


def in_order(items: Iterable[Item]) -> Iterator[Item]:
    """Yield rows that end at the same time in order of their start; everything else stays as it is."""
    together: list[Row] = []
    try:
        for item in items:
            if isinstance(item, Bad):  # parts no rows that end together
                yield item
                continue
            if together and not (isinstance(item, Row) and item.event.end_time == together[0].event.end_time):
                yield from _by_start(together)
                together = []
            if isinstance(item, Row):
                together.append(item)
            else:
                yield item
    except InputError:
        # What was read before the row that cannot be read still counts.
        yield from _by_start(together)
        raise
    yield from _by_start(together)


def _by_start(rows: list[Row]) -> list[Row]:
    return rows if len(rows) == 1 else sorted(rows, key=lambda row: row.event.start_time)


def raise_bad(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items up to the first that cannot be read, which is an error."""
    for item in items:
        if isinstance(item, Bad):
            raise InputError(item.problem)
        yield item


def feed(
    engine: RuntimeEngine, items: Iterable[Item], *, on_bad: Callable[[Bad], object] | None = None,
    as_given: bool = False,
) -> Iterator[Event]:  # fmt: skip
    """Run rows through an engine, and yield what they cause, and what the end of the stream does.

    What cannot be read or taken is handed to `on_bad`, without which it is an error. With `as_given`, rows that end
    together are taken in their order, and the stream is not closed.
    """
    known = raise_bad(items) if on_bad is None else items
    committer = engine.core.committer
    for item in known if as_given else in_order(known):
        try:
            match item:
                case Row(event, _, str(name)):
                    yield from engine.push(event.name, *event.args, at=Stamp(exact_interval(event), id=name))
                case Row(event, _) if event.name in engine.core.program.implied or event.sign < 0:
                    yield from RuntimeEngine.run(engine, (event,))  # its attributes have been found by their names
                case Row(event, _):
                    yield from engine.push(event.name, *event.args, at=exact_interval(event))
                case Pause(to, _):
                    yield from engine.advance(to=exact_seconds(to))
                case Bad():
                    assert on_bad is not None
                    on_bad(item)
                case _:
                    assert_never(item)
        except EventError as error:
            if on_bad is None:
                raise item.place.blame(error) from error
            on_bad(Bad(item.place, item.place.blame(error).problems[0]))
        if committer is not None and isinstance(item, Row):
            yield from committer.count(1)
    if not as_given:
        yield from engine.close()


def run_file(
    engine: RuntimeEngine, path: str | Path, *, format: str | None = None, stream: str | None = None,  # noqa: A002
    **how: Any,
) -> Iterator[Event]:  # fmt: skip
    """Run the events of a file through an engine, and yield what they cause; the stream is not closed.

    What cannot be read is a dead letter where someone takes these, otherwise an error.
    """
    core = engine.core
    reading = reading_of(core.program, stream=stream, **how)
    reading = replace(reading, retracts=core.program.settings.revision)

    def bury(bad: Bad) -> None:
        place = "" if bad.problem.span is None else f"{bad.place.source}, line {bad.place.line}: "
        core.dead_letters.add("", (), None, None, place + bad.problem.message)

    on_bad = bury if core.dead_letters.are_handed_on else None
    for event in feed(engine, in_order(read(path, reading, format=format)), on_bad=on_bad, as_given=True):
        core.inputs.shown.dates |= reading.seen.stamps
        yield event


def exact_interval(event: Event) -> int | Fraction | tuple[int | Fraction, int | Fraction]:
    """Return the time of an event in seconds without rounding: one, or a start and an end."""
    end = exact_seconds(event.end_time)
    return end if event.start_time == event.end_time else (exact_seconds(event.start_time), end)


def exact_seconds(time: int) -> int | Fraction:
    """Turn microseconds into seconds without rounding, whole ones as int."""
    seconds, rest = divmod(time, MICROSECONDS)
    return seconds if not rest else Fraction(time, MICROSECONDS)


def write(
    events: Iterable[Event],
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    live: bool = False,
    append: bool = False,
    times: TimeForm = SECONDS,
) -> int:
    """Store results in a file and return how many there were; if they end in an error, those that came before it.

    Lines and clauses are written as results come, if these are `live` each at once, and may be added to what a file
    has; tables are written at the end, since all results tell their columns.
    """
    name = str(path)
    kind = format_of(name, format)
    if kind in _QUADS:
        hint = "give .jsonl, .csv or .parquet; the triples of a CONSTRUCT as TriG: etalis.epsparql.results.to_trig"
        raise InputError(Problem("E407", f"results are not written as {kind}", hint=hint))
    if kind in ("jsonl", "events"):
        with open(name, "a" if append else "w", encoding="utf-8", newline="", buffering=1 if live else -1) as file:
            return _write_lines(events, file, json_of if kind == "jsonl" else clause_of, times)
    found: list[Event] = []
    try:
        found.extend(events)
    finally:
        _write_table(found, name, kind, times)
    return len(found)


def _write_lines(
    events: Iterable[Event], file: IO[str], write_one: Callable[[Event, TimeForm], str], times: TimeForm
) -> int:
    count = 0
    for event in events:
        count += 1
        file.write(write_one(event, times) + "\n")
    return count


def _write_table(events: list[Event], name: str, kind: str, times: TimeForm) -> None:
    if kind in ("csv", "tsv"):
        with open(name, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            _write_csv(events, csv.writer(file, delimiter="," if kind == "csv" else "\t"), times)
        return
    import pyarrow.feather
    import pyarrow.parquet

    from etalis.formats.arrow_tables import to_table

    if kind == "parquet":
        pyarrow.parquet.write_table(to_table(events, times), name)
    else:
        pyarrow.feather.write_feather(to_table(events, times), name)


def _write_csv(events: list[Event], writer: Any, times: TimeForm) -> None:
    names = column_names(events)
    writer.writerow(["event", "start", "end", *names])
    for event in events:
        cells = [arg if isinstance(arg, str) else format_value(arg) for arg in event.args]
        padding = [""] * (len(names) - len(cells))
        moments = (moment_of(time, times) for time in (event.start_time, event.end_time))
        writer.writerow([event.name, *moments, *cells, *padding])
