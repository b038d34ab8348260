"""`etalis run`: a program on a stream of events, from a file or live, event at a time.

Live are standard input and a file that is followed: rows are taken as they come, and a match is shown with the row that
completes it. Law: whatever ends a run, what was read is processed and what was found is written.
"""

from __future__ import annotations

import sys
import time as timing
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from etalis.cli.common import (
    Encoding,
    EventName,
    Format,
    Policy,
    ProgramFile,
    ResultDisplay,
    SkipBroken,
    Sort,
    StreamIri,
    TimeColumn,
    Times,
    Unit,
    Until,
    end_with,
    load,
    one_of,
    reporting,
    write_text,
)
from etalis.cli.dead_letters import DeadLetterLog
from etalis.cli.detect import State, open_engine, put
from etalis.cli.event_source import NO_BOUND, EventStream, Stopping, stopping, wall_clock
from etalis.cli.exit_codes import ExitCode
from etalis.cli.findings import Failing, Strict, show_failures, show_findings
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, with_knowledge
from etalis.cli.output import Tally, as_dates, show, show_progress, show_timeline
from etalis.cli.reactive.effects import Effects, where_effects_go
from etalis.engine import Engine
from etalis.errors import EtalisError
from etalis.formats import STANDARD_INPUT, feed
from etalis.formats.row import reading_of
from etalis.formats.written import TimeForm
from etalis.logic.rdf.exact_terms import UNBOUND
from etalis.sparql import SparqlProgram
from etalis.temporal.duration import DurationError, to_duration
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS, to_seconds

DATES = "dates"  # a note of an engine: times have been shown as dates
_NONE = "none"
RESULT_FORMATS = {ResultDisplay.SPARQL: "json", ResultDisplay.TRIG: "trig"}
FOR_PEOPLE = (ResultDisplay.TEXT, ResultDisplay.TABLE)
AS_THEY_COME = (ResultDisplay.TEXT, ResultDisplay.JSON)


def read_ahead(text: str | None) -> int | float | None:
    """Read a bound on how far ahead rows may be, in seconds.

    >>> read_ahead("10 min"), read_ahead("90"), read_ahead("PT0.5S"), read_ahead("none"), read_ahead(None)
    (600, 90, 0.5, -1, None)
    """
    if text is None:
        return None
    if text == _NONE:
        return NO_BOUND
    try:
        seconds = to_seconds(to_duration(text))
    except DurationError as error:
        raise typer.BadParameter(f"{error.message}: {error.hint}, or none", param_hint="--ahead") from None
    if not seconds:
        raise typer.BadParameter(f"{text!r} is no time at all: write 90, 10min, 1h or none", param_hint="--ahead")
    return seconds


Ahead = Annotated[
    str | None, typer.Option(metavar="DURATION|none", help="How far ahead rows may end: 90, 10min, 1h, none.")
]
Clock = Annotated[str, one_of(("events", "wall"), "What moves time: events alone, or also the clock on the wall.")]
DeadLetterFile = Annotated[
    Path | None, typer.Option(help="Store what cannot be read or is rejected in this file, as JSON lines.")
]
MostBad = Annotated[int | None, typer.Option(min=0, help="End the run when more rows than this cannot be read.")]
Follow = Annotated[bool, typer.Option("--follow", help="Go on reading the file as it grows, until stopped.")]
Close = Annotated[bool, typer.Option("--close", help="With --state: the stream ends with the input.")]


@with_knowledge
def run(
    program: ProgramFile,
    events: Annotated[str, typer.Argument(help="File of events; - is standard input.")] = STANDARD_INPUT,
    *,
    policy: Policy = None,
    format_: Format = None,
    event: EventName = None,
    time: TimeColumn = None,
    until: Until = None,
    stream_: StreamIri = None,
    unit: Unit = "s",
    encoding: Encoding = None,
    sort: Sort = False,
    follow: Follow = False,
    clock: Clock = "events",
    ahead: Ahead = None,
    state: State = None,
    close: Close = False,
    output: Annotated[
        ResultDisplay, typer.Option(help="How to show matches; of queries also sparql (Results JSON), trig.")
    ] = ResultDisplay.TEXT,
    to: Annotated[Path | None, typer.Option(help="Store matches in this file instead of showing them.")] = None,
    times: Times = None,
    effects: Effects = None,
    dead_letters: DeadLetterFile = None,
    max_bad: MostBad = None,
    skip_broken: SkipBroken = False,
    strict: Strict = False,
    timeline: Annotated[bool, typer.Option("--timeline", help="Draw events and matches over a time line.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Draw the run into this page: events over time; a click shows why one occurred.")
    ] = None,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Run a program on a stream and show the complex events in it."""
    goes_on = state is not None and state.exists()
    with reporting(), stopping() as asked, where_effects_go(effects, append=goes_on) as sink:
        compiled = load(program, knowledge, encoding=encoding, skip_broken=skip_broken)
        if output in RESULT_FORMATS and (to is not None or not isinstance(compiled, SparqlProgram)):
            raise typer.BadParameter(f"--output {output} shows results of queries (.rq, .epsparql), and stores none")
        found = reading_of(
            compiled.compiled, event=event, time=time, unit=unit, encoding=encoding, until=until,
            stream=UNBOUND if stream_ is None else f"<{stream_.strip('<>')}>",
        )  # fmt: skip
        reading = replace(found, needs_time=clock == "events", retracts=compiled.compiled.settings.revision)
        stream = EventStream(
            address=events, format=format_, reading=reading, now=wall_clock(), sorts=sort, follows=follow,
            by_clock=clock == "wall", ahead=read_ahead(ahead),
        )  # fmt: skip
        stream.check(compiled)
        form = TimeForm(reading.seen, times, by_clock=stream.by_clock)
        letters = DeadLetterLog(dead_letters, append=goes_on, most=max_bad, is_endless=stream.is_live, times=form)
        told = partial(print, end="", flush=stream.is_live, file=sys.stderr if output not in FOR_PEOPLE else sys.stdout)
        options = engine_options(stream, letters) | {"output": told, "effects": sink}
        options |= {} if html is None else {"justification": "full"}
        engine = open_engine(compiled, state, policy, options)
        form = letters.times = replace(form, before=bool(engine.notes.get(DATES)))
        closes = state is None or close
        session = Session(engine, stream, letters, Tally(keep=timeline), asked, closes=closes, strict=strict)
        visible = to is not None or output not in AS_THEY_COME or not sys.stdout.isatty()
        try:
            found_here = session.matches(visible)
            if isinstance(compiled, SparqlProgram) and output in RESULT_FORMATS:
                found_all = list(found_here)
                engine.core.inputs.shown.dates |= form.dates
                print(compiled.results(found_all, format=RESULT_FORMATS[output]))
            else:
                show(found_here, output, to, form, live=stream.is_live, append=goes_on)
        except EtalisError:
            letters.report()
            raise
        if state is not None:
            engine.notes.update({DATES: 1} if form.dates else {})
            session.store(state)
        if timeline:
            show_timeline(session.tally, form, Console(stderr=output not in FOR_PEOPLE))
        if html is not None:
            write_text(engine.timeline(title=program.name, dates=as_dates(form)).to_html(), html)
        session.finish()


def engine_options(stream: EventStream, letters: DeadLetterLog) -> dict[str, Any]:
    """Return the options of an engine for a stream; rows of a live one are held against the clock before they come."""
    options: dict[str, Any] = {"on_dead_letter": letters.add, "ahead": NO_BOUND if stream.is_live else stream.ahead}
    if stream.is_live:
        options["on_error"] = Failing().tell
    if stream.by_clock:
        options["clock"] = lambda: Fraction(stream.now(), MICROSECONDS)
    return options


class Session:
    """One run of an engine over a stream."""

    def __init__(
        self, engine: Engine, stream: EventStream, letters: DeadLetterLog, tally: Tally, asked: Stopping, *,
        closes: bool, strict: bool,
    ) -> None:  # fmt: skip
        self.engine = engine
        self.stream = stream
        self.letters = letters
        self.tally = tally
        self.asked = asked
        self.closes = closes
        self.strict = strict
        self.started = timing.monotonic()

    def matches(self, visible: bool) -> Iterator[Event]:
        """Yield what rows cause, and what the end of the stream does, if this is its end."""
        items = self.letters.following(self.stream.items(self.engine, self.asked))
        counted = show_progress(self.tally, self.tally.count_inputs(items), visible)
        near = self.stream.near(self.engine, counted)
        yield from self.tally.count_matches(feed(self.engine, near, on_bad=self.letters.add_bad, as_given=True))
        if self.closes and self.asked.by is None:
            yield from self.tally.count_matches(self.engine.close())

    def store(self, state: Path) -> None:
        """Store where the stream has got to; one that has ended leaves nothing to go on from."""
        if self.closes and self.asked.by is None:
            state.unlink(missing_ok=True)
        else:
            put(state, self.engine.snapshot())

    def finish(self) -> None:
        """Say what the run came to, and end with the code for it."""
        told = self.tally.describe(timing.monotonic() - self.started)
        if self.asked.by is not None:
            print(f"stopped by {self.asked.by.name}: {told}", file=sys.stderr)
        elif sys.stderr.isatty():
            print(told, file=sys.stderr)
        for note in self.stream.reading.seen.notes():
            print(f"note: {note}", file=sys.stderr)
        report = self.engine.report()
        refused, failed = self.letters.report(), show_failures(report, told=self.stream.is_live)
        ended = self.closes and not (self.letters.bad and report.is_empty)
        findings = show_findings(report, strict=self.strict, ended=ended)
        if self.asked.by is not None:
            raise typer.Exit(128 + self.asked.by)
        end_with({ExitCode.INPUT: refused, ExitCode.CONDITIONS: failed, ExitCode.FINDINGS: findings})
