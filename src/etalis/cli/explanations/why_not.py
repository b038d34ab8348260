"""`etalis why-not`: an event that did not occur, and how far each rule got."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from etalis.cli.common import (
    Encoding,
    EventName,
    Format,
    Policy,
    ProgramFile,
    SkipBroken,
    Sort,
    TimeColumn,
    Times,
    Unit,
)
from etalis.cli.explanations.asking import (
    AnswerForm,
    AsJson,
    AsManual,
    At,
    HtmlFile,
    Interval,
    Question,
    SvgFile,
    UdgFile,
    as_asked,
    asking,
    read_interval,
    read_moment,
)
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, with_knowledge

EventFile = Annotated[str, typer.Argument(help="File of events; - is standard input.")]
Between = Annotated[
    tuple[str, str] | None, typer.Option(metavar="FROM TO", help="It would have ended between these times.")
]
AllAttempts = Annotated[bool, typer.Option("--all", help="Show every attempt that was looked for, and whole trees.")]
Most = Annotated[int, typer.Option(min=1, help="How many attempts to look for, of each rule.")]
Depth = Annotated[int, typer.Option(min=0, help="How deep to ask why parts that rules derive are missing.")]
Budget = Annotated[int, typer.Option(min=1, help="How many steps the search may take.")]
Repair = Annotated[bool, typer.Option("--repair", help="Say which smallest change of the events would make it occur.")]


@with_knowledge
def why_not(
    program: ProgramFile,
    events: EventFile,
    question: Question,
    *,
    at: At = None,
    between: Between = None,
    interval: Interval = None,
    all_: AllAttempts = False,
    limit: Most = 3,
    depth: Depth = 5,
    budget: Budget = 100_000,
    repair: Repair = False,
    json: AsJson = False,
    manual: AsManual = False,
    svg: SvgFile = None,
    html: HtmlFile = None,
    udg: UdgFile = None,
    policy: Policy = None,
    format_: Format = None,
    event: EventName = None,
    time: TimeColumn = None,
    unit: Unit = "s",
    encoding: Encoding = None,
    sort: Sort = False,
    times: Times = None,
    skip_broken: SkipBroken = False,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Say why an event did not occur, and how far rules got."""
    form = AnswerForm(json=json, manual=manual, svg=svg, html=html, udg=udg, whole=all_)
    asked: dict[str, Any] = {
        "at": read_moment(at, "--at"),
        "between": read_interval(between, "--between"),
        "interval": read_interval(interval, "--interval"),
        "limit": limit,
        "depth": depth,
        "budget": budget,
    }
    with asking(
        program, events, knowledge, policy=policy, format_=format_, event=event, time=time, unit=unit,
        encoding=encoding, sort=sort, times=times, skip_broken=skip_broken,
    ) as told:  # fmt: skip
        with as_asked():
            found = told.engine.why_not(question, **asked, repair=repair)
        form.show(found, told.times)
        if repair and found.repair is None and found.occurred is None:
            print("no repair was found", file=sys.stderr)
