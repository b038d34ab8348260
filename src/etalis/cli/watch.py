"""`etalis watch`: the patterns that have begun, live while a stream is read, and as they are when it ends."""

from __future__ import annotations

import sys
import time as timing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from etalis.cli.common import (
    Encoding,
    EventName,
    Format,
    Policy,
    ProgramFile,
    SkipBroken,
    Sort,
    TimeColumn,
    Unit,
    load,
    reporting,
)
from etalis.cli.event_source import EventStream, stopping, wall_clock
from etalis.cli.exit_codes import ExitCode
from etalis.cli.explanations.asking import as_asked, read_moment
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, with_knowledge
from etalis.engine import Engine
from etalis.formats import STANDARD_INPUT, Bad, Item, Row, feed
from etalis.formats.row import reading_of
from etalis.language.ground_terms import ground
from etalis.language.read.parser import parse_term
from etalis.temporal.interval import to_microseconds, to_seconds
from etalis.temporal.json_values import to_text
from etalis.temporal.time_input import to_instant
from etalis.why.forms.wording import Wording
from etalis.why.partial import LIMIT, PartialMatches

_PAUSE = 0.2  # seconds between two pictures
_WIDTH = 10  # of a bar
_WIDE = 120  # columns of a terminal, from which on bars are drawn

Label = Annotated[str | None, typer.Option(help="Only the rule with this label or number.")]
Keys = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Only where a variable has this value.")]
At = Annotated[str | None, typer.Option(help="Show what waits at this time, not at the end of the events.")]


@with_knowledge
def watch(
    program: ProgramFile,
    events: Annotated[str, typer.Argument(help="File of events; - is standard input.")] = STANDARD_INPUT,
    *,
    rule: Label = None,
    key: Keys = None,
    at: At = None,
    limit: Annotated[int, typer.Option(min=1, help="How many rows to show, the fullest first.")] = LIMIT,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on reading the file as it grows.")] = False,
    policy: Policy = None,
    format_: Format = None,
    event: EventName = None,
    time: TimeColumn = None,
    unit: Unit = "s",
    encoding: Encoding = None,
    sort: Sort = False,
    skip_broken: SkipBroken = False,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Show the patterns that have begun, and what they await."""
    with reporting(), stopping() as asked:
        with as_asked():
            wanted = read_keys(key or [])
        compiled = load(program, knowledge, encoding=encoding, skip_broken=skip_broken)
        reading = reading_of(compiled.compiled, event=event, time=time, unit=unit, encoding=encoding)
        stream = EventStream(
            address=events, format=format_, now=wall_clock(), sorts=sort, follows=follow,
            reading=replace(reading, retracts=compiled.compiled.settings.revision),
        )  # fmt: skip
        stream.check(compiled)
        engine = compiled.engine(policy=policy, parts=True)
        given = read_moment(at, "--at")
        moment = None if given is None else to_instant(given)
        with as_asked():
            engine.partial(rule, wanted, limit)
        items = until(stream.near(engine, stream.items(engine, asked)), moment)
        if sys.stdout.isatty() and not json:
            items = live(items, lambda: draw(engine, engine.partial(rule, wanted, limit), reading.seen.stamps))
        bad: list[Bad] = []
        deque(feed(engine, items, on_bad=bad.append, as_given=True), maxlen=0)
        if moment is not None:
            engine.advance(to=to_seconds(moment))
        found = engine.partial(rule, wanted, limit)
        if json:
            for row in found:
                print(to_text(row.to_dict()))
        else:
            Console().print(draw(engine, found, reading.seen.stamps))
        if bad:
            print(f"{len(bad)} rows were not taken; the first: {bad[0].problem.message}", file=sys.stderr)
            raise typer.Exit(ExitCode.INPUT)


def live(items: Iterable[Item], picture: Callable[[], Table]) -> Iterator[Item]:
    """Yield items, and draw a picture between two of them now and then."""
    shown = 0.0
    with Live(auto_refresh=False, transient=True) as screen:
        for item in items:
            yield item
            if timing.monotonic() - shown > _PAUSE:
                screen.update(picture(), refresh=True)
                shown = timing.monotonic()


def until(items: Iterable[Item], moment: int | None) -> Iterator[Item]:
    """Yield the rows that end up to a moment, of a stream in order."""
    if moment is None:
        return iter(items)
    return takewhile(lambda item: not isinstance(item, Row) or item.event.end_time <= moment, items)


def read_keys(texts: list[str]) -> dict[str, Any]:
    """Read values of variables.

    >>> read_keys(["Card=c1", "Amount=2"])
    {'Card': 'c1', 'Amount': 2}
    """
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"{text!r} gives no variable a value: write Card=c1", param_hint="--key")
        found[name] = ground(parse_term(value))
    return found


def draw(engine: Engine, found: PartialMatches, dates: bool) -> Table:
    """Draw partial matches as a table, the fullest first."""
    wording, is_wide = Wording(dates), Console().width >= _WIDE
    now = "" if engine.now is None else f" at {wording.moment(to_microseconds(engine.now))}"
    more = len(found) - len(found.rows)
    table = Table(title=f"{len(found)} begun{now}", caption=f"and {more} more" if more else None, title_justify="left")
    for name in ("rule", "share"):
        table.add_column(name, no_wrap=True)
    for name in ("present", "awaited", "still open", "until"):
        table.add_column(name, overflow="fold", min_width=10)
    for row in found:
        ends = "" if row.until is None else wording.moment(to_microseconds(row.until))
        share = bar(row.share) if is_wide else percent(row.share)
        cells = (row.rule, share, ", ".join(row.present), ", ".join(row.awaited), ", ".join(row.open), ends)
        table.add_row(*map(Text, cells))
    return table


def percent(share: float) -> str:
    """Write a share.

    >>> percent(2 / 3)
    '67 %'
    """
    return f"{round(100 * share)} %"


def bar(share: float) -> str:
    """Draw a share.

    >>> bar(0.5)
    '█████░░░░░ 50 %'
    """
    full = int(share * _WIDTH)
    return f"{'█' * full}{'░' * (_WIDTH - full)} {percent(share)}"
