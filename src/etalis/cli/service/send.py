"""`etalis send`: the events of a file, sent to a service as lines; each is answered.

The file is read as `etalis run` reads one; what attributes are called and of which types they are, the service tells.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from etalis.cli.common import Encoding, EventName, Format, TimeColumn, Unit, count, reporting
from etalis.cli.exit_codes import ExitCode
from etalis.cli.service.extras import needing
from etalis.client.connection import LineConnection, connect
from etalis.client.errors import ServiceError
from etalis.errors import Problem
from etalis.formats import STANDARD_INPUT, Bad, Item, Pause, Place, Reading, Row, exact_seconds, read
from etalis.formats.roles import Signature
from etalis.temporal.event import Event
from etalis.temporal.interval import to_iso
from etalis.temporal.json_values import to_plain, to_text

AHEAD = 1_000  # lines that may be sent without an answer
SHOWN = 10  # problems that are shown
_LOST = "the service ended the connection; what it answered was taken, nothing else"


def send(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="Port for lines of a service, or its URL.")],
    events: Annotated[str, typer.Argument(help="File of events; - is standard input.")] = STANDARD_INPUT,
    *,
    engine: Annotated[str | None, typer.Option(help="Engine that takes them, if the service has several.")] = None,
    token: Annotated[str | None, typer.Option(envvar="ETALIS_TOKEN", help="Token of the service.")] = None,
    kinds: Annotated[
        str | None, typer.Option(metavar="NAME/ARITY,...|all", help="Show matches of these kinds, as JSON lines.")
    ] = None,
    format_: Format = None,
    event: EventName = None,
    time: TimeColumn = None,
    unit: Unit = "s",
    encoding: Encoding = None,
) -> None:
    """Send the events of a file to a service."""
    how = {"event": event, "time": time, "unit": unit, "encoding": encoding}
    with reporting(), needing("service"):
        sent = asyncio.run(_send(address, events, engine, token, kinds, format_, how))
        sent.report()
        if sent.problems:
            raise typer.Exit(ExitCode.INPUT)


@dataclass(slots=True)
class Sending:
    """What has been sent, and what became of it."""

    taken: int = 0
    refused: int = 0
    matched: int = 0
    problems: list[Problem] = field(default_factory=list)
    waiting: deque[Place | None] = field(default_factory=deque)  # where the lines stand that are not answered yet

    def refuse(self, problem: Problem) -> None:
        """Note a row that was not taken."""
        self.refused += 1
        if len(self.problems) < SHOWN:
            self.problems.append(problem)

    def report(self) -> None:
        """Say what has become of the rows."""
        sys.stdout.flush()
        for problem in self.problems:
            print(problem, file=sys.stderr)
        left = self.refused - len(self.problems)
        if left > 0:
            print(f"and {left:,} more", file=sys.stderr)
        told = f"{count(self.taken, 'event')} taken, {self.refused:,} not taken"
        print(told + (f", {count(self.matched, 'match')}" if self.matched else ""), file=sys.stderr)


async def _send(
    address: str, events: str, engine: str | None, token: str | None, kinds: str | None, format_: str | None,
    how: dict[str, Any],
) -> Sending:  # fmt: skip
    sent = Sending()
    async with connect(address, token) as connection:
        lines = _Lines(connection)
        # the first byte of the session tells that it is JSON
        for name, value in (("token", token if _is_tcp(address) else None), ("use", engine)):
            if value is not None:
                await lines.ask({name: value})
        reading = reading_of_kinds((await lines.ask({"kinds": True}))["answer"], how)
        if kinds is not None:
            await lines.ask({"subscribe": True if kinds == "all" else kinds})
        hearing = asyncio.create_task(_hear(lines, sent))
        try:
            await _send_rows(connection, reading, read(events, reading, format=format_), sent, hearing)
            sent.waiting.append(None)
            await connection.send('{"halt":true}\n')
            await hearing
        except ConnectionError:
            await hearing
        finally:
            hearing.cancel()
    return sent


def _is_tcp(address: str) -> bool:
    return "://" not in address or address.startswith("tcp:")


async def _send_rows(
    connection: LineConnection, reading: Reading, items: Iterable[Item], sent: Sending, hearing: asyncio.Task[None]
) -> None:  # fmt: skip
    """Send rows, many of them before the first is answered."""
    lines: list[str] = []
    for item in items:
        match item:
            case Bad(place, problem):
                sent.refuse(problem)
                continue
            case Pause(to, place):
                line: dict[str, Any] = {"advance": float(exact_seconds(to))}
            case Row(event, place):
                line = record_of(event, [name for name, _ in reading.schema.get(event.name, ())])
        lines.append(f"{to_text(line)}\n")
        sent.waiting.append(place)
        if len(lines) == AHEAD:
            await connection.send("".join(lines))
            lines.clear()
            while len(sent.waiting) > AHEAD and not hearing.done():
                await asyncio.sleep(0.001)
    await connection.send("".join(lines) or "\n")


async def _hear(lines: _Lines, sent: Sending) -> None:
    """Take the answers, each for the row that was sent first, and show matches."""
    async for record in lines:
        if "match" in record:
            sent.matched += 1
            print(to_text(record))
        elif "gap" in record or "end" in record:
            continue
        else:
            place = sent.waiting.popleft()
            if place is None:
                return
            if "error" in record:
                sent.refuse(problem_at(place, record["error"]))
            else:
                sent.taken += 1
    raise ServiceError(Problem("E855", f"{_LOST}: {sent.taken:,} taken", hint="look at the log of the service"))


def problem_at(place: Place, told: dict[str, Any]) -> Problem:
    """Return what the service said of a row as a problem of the place where the row stands."""
    found = place.refuse(told["code"], told["message"], told.get("hint"))
    return found.problems[0]


def record_of(event: Event, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return an event as it is sent: its attributes by these names, or in their order.

    >>> record_of(Event("a", 1, at=2)), record_of(Event("a", 1, at=2), ["x"])["x"]
    ({'event': 'a', 'args': [1], 'at': '1970-01-01T00:00:02Z'}, 1)
    """
    values = [None if value == "null" else to_plain(value) for value in event.args]
    fields = dict(zip(names, values, strict=True)) if names else {"args": values}
    times = {"start": to_iso(event.start_time), "end": to_iso(event.end_time)}
    return {"event": event.name, **fields, **(times if event.start_time != event.end_time else {"at": times["end"]})}


def reading_of_kinds(kinds: list[dict[str, Any]], how: dict[str, Any]) -> Reading:
    """Return how rows are read for an engine that reads these kinds of events."""
    schema: dict[str, tuple[tuple[str, str], ...]] = {}
    known: dict[str, tuple[Signature, ...]] = {}
    for kind in kinds:
        name = kind["name"]
        declared = None if kind["attributes"] in (None, "null") else tuple((a, t) for a, t in kind["attributes"])
        variables = tuple(map(frozenset, kind["variables"]))
        signature = Signature((name, kind["arity"]), declared, False, variables, kind["by_name"] in (True, "true"))
        known[name] = (*known.get(name, ()), signature)
        if declared is not None:
            schema[name] = declared
    return Reading(schema=schema, known=known, **how)


class _Lines:
    """JSON lines of a session, one by one."""

    def __init__(self, connection: LineConnection) -> None:
        self._connection = connection
        self._ready: deque[str] = deque()
        self._rest = ""

    async def ask(self, record: dict[str, Any]) -> dict[str, Any]:
        """Send a line before all rows, and return its answer; raise what is refused."""
        await self._connection.send(f"{json.dumps(record)}\n")
        async for answer in self:
            if "error" in answer:
                told = answer["error"]
                raise ServiceError(Problem(told["code"], told["message"], hint=told.get("hint")))
            if "match" not in answer:
                return answer
        raise ServiceError(Problem("E855", "the service ended the connection", hint="is it the port for lines?"))

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> dict[str, Any]:
        while not self._ready:
            text = await self._connection.receive()
            if not text:
                raise StopAsyncIteration
            *lines, self._rest = (self._rest + text).split("\n")
            self._ready.extend(filter(None, lines))
        found: dict[str, Any] = json.loads(self._ready.popleft())
        return found
