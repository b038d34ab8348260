"""What the routes of engines do: make, list and delete them, and send them events."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

import msgspec
from starlette.responses import Response

from etalis.service.host import EngineSpec, HostedEngine
from etalis.service.http.bodies_of_calls import NewEngine
from etalis.service.http.call import RouteCall, answer, raw_answer
from etalis.service.intake.batches import Taken
from etalis.service.intake.bodies import BodyOptions
from etalis.service.matches import MatchEntry, encode
from etalis.service.problems import MalformedError, describe
from etalis.service.programs import kinds_of

TEXT = "text/plain"
_AT_ONCE = 200  # matches that are written before others are answered
WORDS = ("name", "language", "policy", "time")


async def create_engine(call: RouteCall) -> Response:
    """Make an engine of a program."""
    given = _program_text(call) if call.media == TEXT else call.read(NewEngine)
    engine = await call.service.create(EngineSpec(**msgspec.structs.asdict(given)), call.client)
    made = describe_engine(call, engine) | {
        "kinds": [asdict(kind) for kind in kinds_of(engine.program)],
        "warnings": [describe(problem) for problem in engine.program.problems],
    }
    return answer(made, 201, {"Location": made["url"]})


def _program_text(call: RouteCall) -> NewEngine:
    """Return the engine that a program alone asks for: the rest stands in the query."""
    given: dict[str, Any] = {name: value for name, value in call.query.items() if name in WORDS}
    scratch = call.query.get("scratch", "no") in ("yes", "true")
    try:
        return NewEngine(program=call.body.decode("utf-8-sig"), scratch=scratch, **given)
    except UnicodeDecodeError as error:
        raise MalformedError("E402", f"the program is not UTF-8: {error.reason}", "send UTF-8 text") from None


def describe_engine(call: RouteCall, engine: HostedEngine) -> dict[str, Any]:
    """Return what is told of an engine."""
    return {
        "name": engine.name,
        "url": f"{call.service.public_url}/engines/{engine.name}",
        "policy": engine.program.compiled.settings_under(engine.spec.policy).policy,
        "language": engine.spec.language,
        "time": engine.spec.time,
        "scratch": engine.spec.scratch,
        "matches": engine.matches.last,
    }


async def list_engines(call: RouteCall) -> Response:
    """List the engines that the client sees."""
    return answer({"engines": [describe_engine(call, e) for e in call.service.engines(call.client)]})


async def show_engine(call: RouteCall) -> Response:
    """Tell of an engine: also its program, and the kinds of its events."""
    engine = engine_of(call)
    more = {"program": engine.spec.program, "kinds": [asdict(kind) for kind in kinds_of(engine.program)]}
    return answer(describe_engine(call, engine) | more)


async def delete_engine(call: RouteCall) -> Response:
    """Delete an engine."""
    await call.service.delete(call.params["name"], call.client)
    return Response(status_code=204)


async def send_events(call: RouteCall) -> Response:
    """Take the events of a body, in order."""
    engine = engine_of(call)
    options = BodyOptions(event=call.query.get("event"), time=call.query.get("time"), unit=call.query.get("unit", "s"))
    wanted = call.query.get("matches", "yes") != "no"
    taken = await engine.take_body(call.media, call.body, options, wanted)
    await prepare(taken.matches)
    return raw_answer(write_taken(taken, wanted=wanted))


async def prepare(entries: list[MatchEntry]) -> None:
    """Write many matches as JSON, some at a time, so that others are answered in between."""
    for start in range(0, len(entries), _AT_ONCE):
        for entry in entries[start : start + _AT_ONCE]:
            entry.write()
        await asyncio.sleep(0)


def write_taken(taken: Taken, *, wanted: bool) -> bytes:
    """Return what became of a batch as JSON."""
    counts: dict[str, Any] = {"taken": taken.taken, "late": taken.late, "repeated": taken.repeated}
    counts["rejected"] = [asdict(row) for row in taken.rejected]
    if taken.more_rejected:
        counts["more_rejected"] = taken.more_rejected
    written = encode(counts)
    return written[:-1] + b',"matches":' + write_entries(taken.matches) + b"}" if wanted else written


def write_entries(entries: list[MatchEntry]) -> bytes:
    """Return matches as a list in JSON."""
    return b"[" + b",".join(entry.json for entry in entries) + b"]"


def engine_of(call: RouteCall) -> HostedEngine:
    """Return the engine that the path names."""
    return call.service.engine(call.params["name"], call.client)


def own_engine(call: RouteCall) -> HostedEngine:
    """Return the engine that the path names, which is the client's own."""
    return call.service.own(call.params["name"], call.client)
