"""`etalis why`: an event that occurred, and what it is made of."""

from __future__ import annotations

from typing import Annotated

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
    DotFile,
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
from etalis.errors import EventError, Problem

EventFile = Annotated[str, typer.Argument(help="File of events; - is standard input.")]
AllDerivations = Annotated[bool, typer.Option("--all", help="Show every derivation of the event, not the first alone.")]
Most = Annotated[int, typer.Option(min=1, help="With --all: how many derivations to show.")]
NOT_OCCURRED = "E341"


@with_knowledge
def why(
    program: ProgramFile,
    events: EventFile,
    question: Question,
    *,
    at: At = None,
    interval: Interval = None,
    all_: AllDerivations = False,
    limit: Most = 100,
    json: AsJson = False,
    manual: AsManual = False,
    svg: SvgFile = None,
    html: HtmlFile = None,
    udg: UdgFile = None,
    dot: DotFile = None,
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
    """Say why an event occurred: what it is made of."""
    form = AnswerForm(json=json, manual=manual, svg=svg, html=html, udg=udg, dot=dot)
    if all_ and form.is_stored:
        raise typer.BadParameter("a picture shows one derivation: leave out --all", param_hint="--all")
    end, hull = read_moment(at, "--at"), read_interval(interval, "--interval")
    with asking(
        program, events, knowledge, policy=policy, format_=format_, event=event, time=time, unit=unit,
        encoding=encoding, sort=sort, times=times, skip_broken=skip_broken,
    ) as told:  # fmt: skip
        try:
            with as_asked():
                first = told.engine.justify(question, at=end, interval=hull)
        except EventError as error:
            raise _hinting(error, str(program), events, question) from None
        if not all_:
            form.show(first, told.times)
            return
        found = told.engine.justify(question, at=end, interval=hull, all=True, limit=limit)
        for place, one in enumerate(found):
            if place and not json:
                print()
            form.show(one, told.times)


def _hinting(error: EventError, program: str, events: str, question: str) -> EventError:
    """Return the error that an event did not occur with the command that says why not."""
    problem = error.problems[0]
    if problem.code != NOT_OCCURRED:
        return error
    return EventError(
        Problem(problem.code, problem.message, hint=f"ask: etalis why-not {program} {events} '{question}'")
    )
