"""What the routes that ask an engine, or change it, do."""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import Response

from etalis.data.values import format_atom
from etalis.service.hosted_engine import HostedEngine
from etalis.service.http.bodies_of_calls import GoalText, NewTime, RuleText, WhyNotQuestion, WhyQuestion
from etalis.service.http.call import RouteCall, answer, raw_answer
from etalis.service.http.engine_calls import engine_of, own_engine, write_entries
from etalis.service.matches import MatchEntry, read_kind
from etalis.service.plans import EXPLAINED
from etalis.service.problems import NotFoundError, UnprocessableError
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_plain

_MEDIA = {"text": "text/plain", "svg": "image/svg+xml"}


async def ask(call: RouteCall) -> Response:
    """Return the first answers to a goal."""
    given = call.read(GoalText)
    found = await own_engine(call).query(given.goal, given.limit + 1)
    rows = [{name: to_plain(value) for name, value in row.items()} for row in found[: given.limit]]
    return answer({"answers": rows, "more": len(found) > given.limit})


async def show_state(call: RouteCall) -> Response:
    """Say what waits, by rule and operator."""
    found = await engine_of(call).state()
    return answer({"waiting": [asdict(row) for row in found]})


async def show_partial(call: RouteCall) -> Response:
    """Return the patterns that have begun."""
    limit = int(call.number("limit", 100, least=1, most=1_000))
    found = await engine_of(call).partial(call.query.get("rule"), limit)
    rows = [row.to_dict() for row in found]
    return answer({"partial": rows, "counts": dict(found.counts)})


async def explain(call: RouteCall) -> Response:
    """Return the plan with what waits in it."""
    form = call.query.get("form", "text")
    if form not in EXPLAINED:
        raise UnprocessableError("E823", f"there is no form {form}", f"one of {', '.join(EXPLAINED)}")
    found = await engine_of(call).explain(form)
    return Response(found, media_type=_MEDIA[form]) if isinstance(found, str) else answer(found)


async def why(call: RouteCall) -> Response:
    """Say why a match occurred."""
    given, engine = call.read(WhyQuestion), engine_of(call)
    if (given.number is None) == (given.match is None):
        raise UnprocessableError("E823", "the match is not told", 'send {"number": 3}, or {"match": {...}}')
    event = _numbered(engine, given.number) if given.match is None else Event.from_dict(given.match)
    found = await engine.why(event)
    return answer({"text": str(found), "tree": found.to_dict()})


def _numbered(engine: HostedEngine, number: int | None) -> Event:
    """Return the event of a match by its number."""
    entry: MatchEntry | None = None if number is None else engine.matches.get(number)
    if entry is None:
        raise NotFoundError("E820", f"there is no match {number}", "GET .../matches has those that are kept")
    return entry.event


async def why_not(call: RouteCall) -> Response:
    """Say why an event did not occur."""
    given, engine = call.read(WhyNotQuestion), engine_of(call)
    question = given.kind
    if "(" not in question and "/" in question:
        name, arity = read_kind(question)
        question = format_atom(name) + (f"({', '.join('_' * arity)})" if arity else "")
    if (given.from_ is None) != (given.to is None):
        raise UnprocessableError("E823", "from and to stand together", "give both, or none for any time")
    between = None if given.from_ is None else (given.from_, given.to)
    found = await engine.why_not(question, between, repair=given.repair)
    return answer({"text": str(found), "answer": found.to_dict()})


async def snapshot(call: RouteCall) -> Response:
    """Return all that the engine knows, as bytes."""
    return Response(await own_engine(call).snapshot(), media_type="application/octet-stream")


async def advance(call: RouteCall) -> Response:
    """Let time pass."""
    return _changed(await engine_of(call).advance(call.read(NewTime).to))


async def close(call: RouteCall) -> Response:
    """End the stream."""
    return _changed(await own_engine(call).close())


def _changed(entries: list[MatchEntry]) -> Response:
    return raw_answer(b'{"matches":' + write_entries(entries) + b"}")


async def reset(call: RouteCall) -> Response:
    """Drop what waits."""
    await own_engine(call).reset()
    return Response(status_code=204)


async def insert_rules(call: RouteCall) -> Response:
    """Add rules."""
    return answer({"labels": await own_engine(call).insert_rules(call.read(RuleText).rules)}, 201)


async def delete_rule(call: RouteCall) -> Response:
    """Delete the rules of a label."""
    return answer({"deleted": await own_engine(call).delete_rule(call.params["label"])})
