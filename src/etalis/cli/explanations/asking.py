"""What the commands that explain have in common: the events are run anew, and the answer is shown or stored."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from etalis.cli.common import load, refuse, reporting, write_text
from etalis.cli.event_source import EventStream, stopping, wall_clock
from etalis.cli.exit_codes import ExitCode
from etalis.cli.knowledge import KnowledgeOptions
from etalis.engine import Engine
from etalis.errors import EtalisError, OptionError, ProgramError
from etalis.formats import Bad, feed
from etalis.formats.row import reading_of
from etalis.formats.written import TimeForm
from etalis.temporal.time_input import to_instant, to_interval
from etalis.why.justification import Justification
from etalis.why.why_not import WhyNot

Question = Annotated[str, typer.Argument(help="The event: a pattern such as 'fraud(c1, _)'.")]
At = Annotated[str | None, typer.Option(metavar="TIME", help="When it ended: seconds, or a date of ISO 8601.")]
Interval = Annotated[
    tuple[str, str] | None, typer.Option(metavar="START END", help="When it began and ended, instead of --at.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Write the answer as JSON.")]
AsManual = Annotated[bool, typer.Option("--manual", help="Write the answer as the manual's write_justification does.")]
SvgFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Store a picture of the answer as SVG.")]
HtmlFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Store a page with a picture of the answer.")]
DotFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Store the graph as Graphviz text.")]
UdgFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Store the graph as the manual's viewer reads it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """How an answer is shown: on standard output as text, or stored as pictures."""

    json: bool = False
    manual: bool = False
    svg: Path | None = None
    html: Path | None = None
    udg: Path | None = None
    dot: Path | None = None
    whole: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether it goes to files."""
        return any(path is not None for path in (self.svg, self.html, self.udg, self.dot))

    def show(self, answer: Justification | WhyNot, times: TimeForm) -> None:
        """Show an answer."""
        found = replace(answer, dates=times.dates)
        if self.svg is not None:
            write_text(found.to_svg(), self.svg)
        if self.html is not None:
            write_text(found.to_html(), self.html)
        if self.udg is not None:
            write_text(found.to_udraw(), self.udg)
        if self.dot is not None:
            write_text(found.to_dot(), self.dot)
        if self.json:
            print(found.to_json())
        elif self.manual or not self.is_stored:
            style = "manual" if self.manual else "tree"
            print(found.to_text(style=style, all=self.whole))


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run that is over and can be asked, and how its times came."""

    engine: Engine
    times: TimeForm


@contextmanager
def as_asked() -> Iterator[None]:
    """Refuse a question that cannot be put in this way as a wrong call of the command."""
    try:
        yield
    except (ProgramError, OptionError) as error:
        raise refuse(error, ExitCode.USAGE) from None


@contextmanager
def asking(
    program: Path, events: str, knowledge: KnowledgeOptions, *, policy: str | None, format_: str | None,
    event: str | None, time: str | None, unit: str, encoding: str | None, sort: bool, times: str | None,
    skip_broken: bool,
) -> Iterator[AskedRun]:  # fmt: skip
    """Run a program on events to their end at level `full`; afterwards say what was not taken."""
    with reporting(), stopping() as asked:
        compiled = load(program, knowledge, encoding=encoding, skip_broken=skip_broken)
        found = reading_of(compiled.compiled, event=event, time=time, unit=unit, encoding=encoding)
        reading = replace(found, retracts=compiled.compiled.settings.revision)
        stream = EventStream(address=events, format=format_, reading=reading, now=wall_clock(), sorts=sort)
        stream.check(compiled)
        engine = compiled.engine(
            policy=policy, justification="full", output=lambda _: None, on_dead_letter=lambda _: None
        )
        bad: list[Bad] = []
        items = stream.near(engine, stream.items(engine, asked))
        deque(feed(engine, items, on_bad=bad.append, as_given=True), maxlen=0)
        if asked.by is not None:
            raise typer.Exit(128 + asked.by)
        engine.close()
        _tell_letters(engine)
        yield AskedRun(engine, TimeForm(reading.seen, times))
        if bad:
            print(f"{len(bad)} rows were not taken; the first: {bad[0].problem}", file=sys.stderr)
            raise typer.Exit(ExitCode.INPUT)


def _tell_letters(engine: Engine) -> None:
    """Say how many events were rejected, which is often why others did not occur."""
    dead = engine.core.dead_letters
    if dead.count:
        last = dead.letters[-1]
        number = "1 event was" if dead.count == 1 else f"{dead.count:,} events were"
        advice = "; sort them by time: --sort" if last.cause == "late" else ""
        print(f"{number} rejected, the last: {last.name}: {last.reason}{advice}", file=sys.stderr)


def read_moment(text: str | None, option: str) -> int | float | str | None:
    """Read a time: a number of seconds, or a date.

    >>> read_moment("120", "--at"), read_moment("0.5", "--at"), read_moment(None, "--at")
    (120, 0.5, None)
    >>> read_moment("2026-01-01T00:00:00Z", "--at")
    '2026-01-01T00:00:00Z'
    """
    if text is None:
        return None
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    with _as_option(option):
        to_instant(text)
    return text


def read_interval(given: tuple[str, str] | None, option: str) -> tuple[object, object] | None:
    """Read two times, the first one first."""
    if given is None:
        return None
    found = read_moment(given[0], option), read_moment(given[1], option)
    with _as_option(option):
        to_interval(found)
    return found


@contextmanager
def _as_option(option: str) -> Iterator[None]:
    """Refuse a time that is none as a wrong value of an option."""
    try:
        yield
    except EtalisError as error:
        problem = error.problems[0]
        raise typer.BadParameter(f"{problem.message}: {problem.hint}", param_hint=option) from None
