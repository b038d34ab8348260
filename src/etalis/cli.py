"""The command line: `etalis run`, `check`, `explain`.

Results go to standard output, everything else to standard error, so that results can be piped. Exit codes tell a script
what went wrong: see `ExitCode` and docs/cli.md.
"""

from __future__ import annotations

import json
import os
import sys
import time as clock
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import etalis
from etalis.cli_knowledge import NOTHING, Entailment, Facts, Given, Prefix, Rdf, Relation, Transitive
from etalis.errors import EtalisError, InputError, LimitError, Problem, ProgramError
from etalis.formats import FORMATS, STANDARD_INPUT, Item, Reading, Row, feed, read, write
from etalis.formats.row import UNITS, Place
from etalis.logic.term import format_value
from etalis.runtime.order import DeadLetter
from etalis.temporal.event import Event, sort_key
from etalis.temporal.policy import POLICIES
from etalis.timeline import draw_timeline


class ExitCode(IntEnum):
    """What a script sees."""

    OK = 0
    PROGRAM = 1
    USAGE = 2
    INPUT = 3
    LIMIT = 4
    CONDITIONS = 5
    INTERRUPTED = 130


class Output(StrEnum):
    """How matches are shown."""

    TEXT = "text"
    JSON = "json"
    TABLE = "table"


def one_of(names: Iterable[str], text: str, *declared: str) -> Any:
    """Return an option that takes one of the names of a table."""
    known = tuple(names)

    def check_name(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}")
        return value

    return typer.Option(*declared, help=text, metavar="|".join(known), callback=check_name)


_STYLES = {"axis": "dim", "received": "cyan", "match": "bold green"}
_MOST_LATE = 10
_REPORT_EVERY = 1_000

app = typer.Typer(
    name="etalis",
    help="Detect complex events described by logic rules.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ProgramFile = Annotated[Path, typer.Argument(help="File of event rules.", exists=True, dir_okay=False, readable=True)]


@dataclass(slots=True)
class Tally:
    """What a run has seen so far; the events themselves only if a time line is to be drawn."""

    keep: bool
    received: int = 0
    matched: int = 0
    inputs: list[Event] = field(default_factory=list)
    matches: list[Event] = field(default_factory=list)
    place: Place | None = None
    late: list[tuple[Place | None, DeadLetter]] = field(default_factory=list)

    def note_late(self, letter: DeadLetter) -> None:
        self.late.append((self.place, letter))

    def count_inputs(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self.place = item.place
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


@app.command()
def run(
    program: ProgramFile,
    events: Annotated[str, typer.Argument(help="File of events; - is standard input.")] = STANDARD_INPUT,
    *,
    policy: Annotated[str | None, one_of(POLICIES, "Consumption policy of rules that name none.")] = None,
    format_: Annotated[
        str | None, one_of(FORMATS, "Format of events, if the file's name does not tell.", "--format")
    ] = None,
    event: Annotated[str | None, typer.Option(help="Column that names the event, or the event of every row.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of time.")] = None,
    unit: Annotated[str, one_of(UNITS, "Unit of times given as numbers.")] = "s",
    sort: Annotated[bool, typer.Option("--sort", help="Read all events first and sort them by time.")] = False,
    output: Annotated[Output, typer.Option(help="How to show matches.")] = Output.TEXT,
    to: Annotated[Path | None, typer.Option(help="Store matches in this file instead of showing them.")] = None,
    dead_letters: Annotated[
        Path | None, typer.Option(help="Store events that came too late in this file, as JSON lines.")
    ] = None,
    timeline: Annotated[bool, typer.Option("--timeline", help="Draw events and matches over a time line.")] = False,
    facts: Facts = None,
    rdf: Rdf = None,
    prefix: Prefix = None,
    relation: Relation = None,
    entailment: Entailment = None,
    transitive: Transitive = None,
) -> None:
    """Run a program on a stream of events and show the complex events it detects."""
    with reporting():
        compiled = load(program, Given(facts, rdf, prefix, relation, entailment, transitive))
        tally = Tally(keep=timeline)
        told = (sys.stderr if output is Output.JSON else sys.stdout).write
        engine = compiled.engine(policy=policy, output=told, on_dead_letter=tally.note_late)
        reading = Reading(schema=compiled.signatures, event=event, time=time, unit=unit)
        items = read(events, reading, format=format_)
        started = clock.monotonic()
        visible = to is not None or output is Output.TABLE or not sys.stdout.isatty()
        counted = show_progress(tally, tally.count_inputs(in_time_order(items) if sort else items), visible)
        show(tally.count_matches(feed(engine, counted)), output, to, live=events == STANDARD_INPUT)
        if timeline:
            show_timeline(tally, Console(stderr=output is Output.JSON))
        say_summary(tally, clock.monotonic() - started)
        report_late(tally.late, dead_letters)
        report_conditions(engine)


@app.command()
def check(
    programs: Annotated[list[Path], typer.Argument(help="Files of event rules.", exists=True, dir_okay=False)],
    *,
    output: Annotated[Output, typer.Option(help="text, or json: one object per problem.")] = Output.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as problems.")] = False,
    facts: Facts = None,
    rdf: Rdf = None,
    prefix: Prefix = None,
    relation: Relation = None,
    entailment: Entailment = None,
    transitive: Transitive = None,
) -> None:
    """Report every problem of a program: code, place, hint."""
    with reporting():
        given = Given(facts, rdf, prefix, relation, entailment, transitive)
        problems = [(path, problem) for path in programs for problem in find_problems(path, given)]
        for _, problem in problems:
            print(json.dumps(describe(problem), ensure_ascii=False) if output is Output.JSON else problem)
        wrong = sum(problem.is_error for _, problem in problems)
        if output is not Output.JSON:
            print(
                f"{count(len(programs), 'program')}: {count(wrong, 'error')}, {count(len(problems) - wrong, 'warning')}"
            )
        if wrong or (strict and problems):
            raise typer.Exit(ExitCode.PROGRAM)


@app.command()
def explain(
    program: ProgramFile,
    *,
    policy: Annotated[str | None, one_of(POLICIES, "Consumption policy of rules that name none.")] = None,
    code: Annotated[bool, typer.Option("--code", help="Show the Python code that the plan becomes.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Draw the plan into this SVG file.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the plan into this Graphviz file.")] = None,
) -> None:
    """Show how a program is run: its plan as text or picture, the code it becomes."""
    with reporting():
        compiled = load(program, NOTHING)
        for path, draw in ((svg, compiled.explain_svg), (dot, compiled.explain_dot)):
            if path is not None:
                write_text(draw(policy=policy), path)
        if code:
            print(compiled.code(policy=policy))
        elif svg is None and dot is None:
            print(compiled.explain(policy=policy))


def write_text(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(Problem("E401", f"cannot write {path}: {error.strerror}", hint="check its name")) from None


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors into messages on standard error and exit codes."""
    try:
        yield
    except ProgramError as error:
        raise refuse(error, ExitCode.PROGRAM) from None
    except LimitError as error:
        raise refuse(error, ExitCode.LIMIT) from None
    except EtalisError as error:
        raise refuse(error, ExitCode.INPUT) from None
    except BrokenPipeError:
        # Whoever reads the matches has seen enough; keep the interpreter from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.OK) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def refuse(error: EtalisError, exit_code: ExitCode) -> typer.Exit:
    sys.stdout.flush()
    for problem in error.problems:
        print(problem, file=sys.stderr)
    return typer.Exit(exit_code)


def load(path: Path, given: Given) -> etalis.Program:
    """Compile a program and add what it is given to know; its warnings go to standard error."""
    compiled = given.add_to(etalis.compile(read_program(path), name=str(path)))
    for problem in compiled.problems:
        print(problem, file=sys.stderr)
    return compiled


def read_program(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "convert the file to UTF-8"
        raise InputError(Problem("E402", f"{path}: not UTF-8 text: {error.reason}", hint=hint)) from None
    except OSError as error:
        raise InputError(Problem("E401", f"cannot read {path}: {error.strerror}", hint="check its name")) from None


def find_problems(path: Path, given: Given) -> tuple[Problem, ...]:
    """Return the errors and warnings of a program that is given some knowledge."""
    try:
        return given.add_to(etalis.compile(read_program(path), name=str(path))).problems
    except ProgramError as error:
        return error.problems


def describe(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON-ready data."""
    source, place = (
        (None, None)
        if problem.span is None
        else (
            problem.span.source.name,
            problem.span.source.place(problem.span.start),
        )
    )
    line, column = place or (None, None)
    return {
        "code": problem.code,
        "message": problem.message,
        "file": source,
        "line": line,
        "column": column,
        "hint": problem.hint,
    }


def in_time_order(items: Iterable[Item]) -> list[Item]:
    """Return all rows sorted by end and start; equal ones in their given order."""
    return sorted(items, key=lambda item: sort_key(item.event)[:2] if isinstance(item, Row) else (item.to, item.to))


def show(matches: Iterable[Event], output: Output, to: Path | None, *, live: bool) -> None:
    """Store matches, or print them: as they come, a table at the end."""
    if to is not None:
        write(matches, to)
    elif output is Output.TABLE:
        Console(soft_wrap=not sys.stdout.isatty()).print(draw_table(matches))
    else:
        for match in matches:
            print(match.to_json() if output is Output.JSON else match, flush=live)
        sys.stdout.flush()


def draw_table(matches: Iterable[Event]) -> Table:
    table = Table("event", "attributes", "start", "end", "rule", box=None, pad_edge=False)
    for match in matches:
        attributes = ", ".join(map(format_value, match.args))
        table.add_row(*map(Text, (match.name, attributes, str(match.start), str(match.end), match.rule or "")))
    return table


def show_timeline(tally: Tally, console: Console) -> None:
    for line in draw_timeline(tally.inputs, tally.matches, width=min(console.width, 120)):
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


def say_summary(tally: Tally, seconds: float) -> None:
    if sys.stderr.isatty():
        line = f"{count(tally.received, 'event')}, {count(tally.matched, 'match')}, {seconds:.2f} s"
        print(line, file=sys.stderr)


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> count(1, "event"), count(2000, "match")
    ('1 event', '2,000 matches')
    """
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def report_late(late: list[tuple[Place | None, DeadLetter]], path: Path | None) -> None:
    """Store the events that came too late, or say which; without a file for them a script should know."""
    if path is not None:
        write_text("".join(letter.to_json() + "\n" for _, letter in late), path)
    elif late:
        for place, letter in late[:_MOST_LATE]:
            where = "" if place is None else f"{place.source}:{place.line}:1: "
            print(f"{where}{letter.name} came too late: {letter.reason}", file=sys.stderr)
        hint = "use --sort, or set the flags out_of_order and ooo_window; --dead-letters keeps what is too late"
        print(f"{count(len(late), 'event')} came too late\n  hint: {hint}", file=sys.stderr)
        raise typer.Exit(ExitCode.INPUT)


def report_conditions(engine: etalis.Engine) -> None:
    """Say which conditions and actions raised; the run went on, but a script should know."""
    for error in engine.errors:
        print(error, file=sys.stderr)
    if engine.errors:
        raise typer.Exit(ExitCode.CONDITIONS)


def main() -> None:
    """Run the command line."""
    app()
