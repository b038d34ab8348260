"""`etalis compare`: what a changed program finds in the same events, and what it finds no more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from etalis.cli.common import (
    EventName,
    Format,
    Policy,
    ProgramFile,
    Sort,
    TimeColumn,
    Times,
    Unit,
    in_time_order,
    load,
    reporting,
)
from etalis.cli.dead_letters import DeadLetterLog
from etalis.cli.exit_codes import ExitCode
from etalis.cli.findings import show_failures
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, with_knowledge
from etalis.formats import feed, in_order, read
from etalis.formats.row import reading_of
from etalis.formats.seen import Seen
from etalis.formats.written import TimeForm, record_of, text_of
from etalis.runtime.comparison import GAINED, compare_matches
from etalis.runtime.reporting.failures import Failures
from etalis.runtime.reporting.report import Report, failed_of
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_text


@with_knowledge
def compare(
    old: ProgramFile,
    new: ProgramFile,
    events: Annotated[Path, typer.Argument(help="File of events.", exists=True, dir_okay=False, readable=True)],
    *,
    policy: Policy = None,
    format_: Format = None,
    event: EventName = None,
    time: TimeColumn = None,
    unit: Unit = "s",
    sort: Sort = False,
    times: Times = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Show which matches a changed program gains and loses."""
    with reporting():
        form = TimeForm(Seen(), times)
        failures = Failures(None)

        def matches(path: Path, letters: DeadLetterLog) -> Iterator[Event]:
            program = load(path, knowledge)
            engine = program.engine(
                policy=policy, output=lambda _: None, on_dead_letter=letters.add, on_error=failures.add
            )
            reading = replace(reading_of(program.compiled, event=event, time=time, unit=unit), seen=form.seen)
            items = read(events, reading, format=format_)
            ordered = in_time_order(items) if sort else in_order(items)
            yield from feed(engine, letters.following(ordered), on_bad=letters.add_bad, as_given=True)
            yield from engine.close()

        before, after = DeadLetterLog(), DeadLetterLog()
        differences = compare_matches(matches(old, before), matches(new, after))
        for difference in differences:
            record = {"change": difference.change, **record_of(difference.match, form)}
            print(to_text(record) if as_json else f"{difference.change} {text_of(difference.match, form)}")
        gained = sum(difference.change == GAINED for difference in differences)
        print(f"{gained:,} gained, {len(differences) - gained:,} lost", file=sys.stderr)
        if before.report() or after.report():
            raise typer.Exit(ExitCode.INPUT)
        if show_failures(Report(failed=failed_of(failures))):
            raise typer.Exit(ExitCode.CONDITIONS)
