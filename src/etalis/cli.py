"""The command line: `etalis run`, `detect`, `check`, `explain`, `compare`.

Results go to standard output, everything else to standard error, so that results can be piped. Exit codes tell a script
what went wrong: see `ExitCode` and docs/cli.md.
"""

from __future__ import annotations

import json
import sys
import time as clock
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import etalis
from etalis.cli_compare import compare
from etalis.cli_declare import declare
from etalis.cli_detect import detect
from etalis.cli_knowledge import NOTHING, Entailment, Facts, Given, Prefix, Rdf, Relation, Transitive
from etalis.cli_pipeline import app as pipeline_app
from etalis.cli_report import (
    EventName,
    ExitCode,
    Format,
    Policy,
    ProgramFile,
    Sort,
    TimeColumn,
    Unit,
    count,
    in_time_order,
    load,
    read_program,
    report_conditions,
    report_late,
    reporting,
    write_text,
)
from etalis.errors import Problem, ProgramError
from etalis.formats import STANDARD_INPUT, Item, Row, feed, read, write
from etalis.formats.row import Place, reading_of
from etalis.logic.term import format_value
from etalis.runtime.order import DeadLetter
from etalis.temporal.event import Event
from etalis.timeline import draw_timeline


class Output(StrEnum):
    """How matches are shown."""

    TEXT = "text"
    JSON = "json"
    TABLE = "table"


_STYLES = {"axis": "dim", "received": "cyan", "match": "bold green"}
_REPORT_EVERY = 1_000

app = typer.Typer(
    name="etalis",
    help="Detect complex events described by logic rules.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(compare)
app.command()(declare)
app.command()(detect)
app.add_typer(pipeline_app, name="pipeline")


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
    policy: Policy = None,
    format_: Format = None,
    event: EventName = None,
    time: TimeColumn = None,
    unit: Unit = "s",
    sort: Sort = False,
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
        reading = reading_of(compiled, event=event, time=time, unit=unit)
        items = read(events, reading, format=format_)
        started = clock.monotonic()
        visible = to is not None or output is Output.TABLE or not sys.stdout.isatty()
        counted = show_progress(tally, tally.count_inputs(in_time_order(items) if sort else items), visible)
        show(tally.count_matches(feed(engine, counted)), output, to, live=events == STANDARD_INPUT)
        if timeline:
            show_timeline(tally, Console(stderr=output is Output.JSON))
        say_summary(tally, clock.monotonic() - started)
        report_late(tally.late, dead_letters)
        report_conditions(engine.errors)


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
    policy: Policy = None,
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


def find_problems(path: Path, given: Given) -> tuple[Problem, ...]:
    """Return the errors and warnings of a program that is given some knowledge."""
    try:
        return given.add_to(etalis.compile(read_program(path), name=str(path), imports=path.parent)).problems
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


def main() -> None:
    """Run the command line."""
    app()
