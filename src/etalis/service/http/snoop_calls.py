"""What the routes of expressions do: register, signal, read results, unregister; in XML for those who speak it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import Response

from etalis.errors import EtalisError
from etalis.service.expressions import describing
from etalis.service.expressions.hosted_expression import HostedExpression
from etalis.service.expressions.reading import (
    XML_TYPES,
    decode_text,
    read_expression,
    read_register,
    read_signals,
    to_operations,
)
from etalis.service.expressions.result_log import ResultEntry
from etalis.service.expressions.snoop_service import SnoopService, no_expression
from etalis.service.http.bodies_of_calls import NewTime
from etalis.service.http.call import JSON, RouteCall, answer, media_of, raw_answer
from etalis.service.http.match_calls import EVENT_STREAM, MOST_AT_ONCE, MOST_WAIT, NumberedStream, first_number
from etalis.service.kept import Ended, LostMatches
from etalis.service.problems import DoorError, MalformedError, NotFoundError, status_of
from etalis.snoop import write_json, write_text, write_xml
from etalis.snoop.markup import messages_json, messages_xml
from etalis.snoop.markup.xml_document import schema_text
from etalis.snoop.messages import FailureMessage, RegisteredMessage, read_moment

XML = "application/xml"
Handler = Callable[[RouteCall], Awaitable[Response]]
_WRITERS: dict[str, tuple[Callable[[Any], str], str]] = {
    "xml": (write_xml, XML),
    "json": (partial(write_json, indent=2), JSON),
    "text": (write_text, "text/plain; charset=utf-8"),
}


def wants_xml(headers: Mapping[str, str]) -> bool:
    """Tell whether a client speaks XML: it accepts it, or sends it and does not say what it accepts."""
    accepted = headers.get("accept", "")
    if "xml" in accepted or "json" in accepted or EVENT_STREAM in accepted:
        return "xml" in accepted
    return media_of(headers) in XML_TYPES


def tell_in_xml(error: EtalisError) -> Response:
    """Return an error as `failure`, for who speaks XML."""
    told = FailureMessage(error.problems[0].code, "\n".join(map(str, error.problems)))
    headers = dict(error.headers) if isinstance(error, DoorError) else {}
    return Response(messages_xml.write_message(told), int(status_of(error)), headers, media_type=XML)


def in_its_language(handler: Handler) -> Handler:
    """Tell errors as `failure` to who speaks XML."""

    @wraps(handler)
    async def respond(call: RouteCall) -> Response:
        try:
            return await handler(call)
        except EtalisError as error:
            if not wants_xml(call.request.headers):
                raise
            return tell_in_xml(error)

    return respond


def snoop_of(call: RouteCall) -> SnoopService:
    """Return the expressions of the service."""
    return call.service.snoop


@in_its_language
async def register(call: RouteCall) -> Response:
    """Register an expression; its evaluators begin when the answer has gone out."""
    snoop = snoop_of(call)
    asked = read_register(call.media, call.body)
    form = "xml" if wants_xml(call.request.headers) else "json"
    callback = asked.callback or call.query.get("callback")
    hosted = await snoop.register(asked.expression, call.client.name, callback=callback, form=form)
    response = tell_registered(snoop, hosted)
    response.background = BackgroundTask(_begin, snoop, hosted)
    return response


def tell_registered(snoop: SnoopService, hosted: HostedExpression) -> Response:
    """Return the answer to a registration."""
    uri = snoop.uris.expression(hosted.number)
    made = RegisteredMessage(uri, tuple((path, snoop.uris.leaf(hosted.number, path)) for path in hosted.paths()))
    if hosted.form == "xml":
        response = Response(messages_xml.write_message(made), 201, media_type=XML)
    else:
        response = answer(messages_json.to_plain_message(made)["registered"], 201)
    response.headers["Location"] = uri
    return response


async def _begin(snoop: SnoopService, hosted: HostedExpression) -> None:
    snoop.begin(hosted)


@in_its_language
async def list_expressions(call: RouteCall) -> Response:
    """List the client's expressions."""
    snoop = snoop_of(call)
    return answer({"expressions": [describing.brief(snoop, hosted) for hosted in snoop.list(call.client)]})


@in_its_language
async def show_expression(call: RouteCall) -> Response:
    """Tell of an expression: its tree, the state of each leaf, counts."""
    snoop = snoop_of(call)
    hosted = snoop.find(_number(call), call.client)
    if wants_xml(call.request.headers):
        return Response(write_xml(hosted.registration.expression), media_type=XML)
    return answer(await snoop.ask(lambda: describing.whole(snoop, hosted)))


@in_its_language
async def unregister(call: RouteCall) -> Response:
    """Unregister an expression, after what was signalled before."""
    snoop = snoop_of(call)
    await snoop.unregister(snoop.find(_number(call), call.client).number)
    return Response(status_code=204)


@in_its_language
async def signal(call: RouteCall) -> Response:
    """Take signals, in order; the answer comes when all of them were detected."""
    snoop = snoop_of(call)
    operations = to_operations(read_signals(call.media, call.body), snoop, call.client)
    found = await snoop.signal(operations, call.request.headers.get("traceparent"))
    if not wants_xml(call.request.headers):
        return answer(found)
    discarded = [(each["index"], each["reason"]) for each in found["discarded"]]
    counts = {name: count for name, count in found.items() if name != "discarded"}
    return Response(messages_xml.write_reception(counts, discarded), media_type=XML)


@in_its_language
async def list_results(call: RouteCall) -> Response:
    """Return the results after a number, or wait for one, or stream them."""
    snoop = snoop_of(call)
    log = snoop.results[snoop.find(_number(call), call.client).number]
    if EVENT_STREAM in call.request.headers.get("accept", ""):
        return NumberedStream(call, log, first_number(call), None, write_result_event)
    after = int(call.number("after", 0, most=1e15))
    limit = int(call.number("limit", MOST_AT_ONCE, least=1, most=MOST_AT_ONCE))
    seconds = call.number("wait", 0, most=MOST_WAIT)
    if not seconds:
        found, reached = log.after(after, None, limit)
    else:
        with call.service.streaming(call.client):
            found, reached = await log.wait(after, None, limit, seconds)
    if wants_xml(call.request.headers):
        return Response(messages_xml.write_results([entry.message for entry in found], reached), media_type=XML)
    results = b",".join(entry.json for entry in found)
    return raw_answer(b'{"results":[' + results + b'],"next":%d}' % reached)


@in_its_language
async def show_result(call: RouteCall) -> Response:
    """Return one result."""
    snoop = snoop_of(call)
    hosted = snoop.find(_number(call), call.client)
    text = call.params["result"]
    found = snoop.results[hosted.number].get(int(text)) if text.isascii() and text.isdigit() else None
    if found is None:
        raise NotFoundError("E860", f"there is no result {text}", "results are numbered from 1, and kept for a while")
    return Response(found.xml, media_type=XML) if wants_xml(call.request.headers) else raw_answer(found.json)


def write_result_event(event: ResultEntry | LostMatches | Ended) -> bytes:
    """Return a result, a failure, that some are lost, or the end, as a server-sent event.

    >>> write_result_event(LostMatches(101))
    b'event: gap\\ndata: {"first":101}\\n\\n'
    """
    match event:
        case ResultEntry():
            return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.number, event.kind.encode(), event.json)
        case LostMatches(first):
            return b'event: gap\ndata: {"first":%d}\n\n' % first
        case Ended():
            return b"event: end\ndata: {}\n\n"


@in_its_language
async def advance_signals(call: RouteCall) -> Response:
    """Say that nothing up to a time is to come."""
    await snoop_of(call).advance(read_moment(str(call.read(NewTime).to)))
    return Response(status_code=204)


@in_its_language
async def show_graph(call: RouteCall) -> Response:
    """Return 004's event graph of the client's expressions."""
    snoop = snoop_of(call)
    return answer(await snoop.ask(lambda: describing.graph(snoop, call.client)))


@in_its_language
async def show_knowledge(call: RouteCall) -> Response:
    """Return the knowledge that goals in Prolog are asked of."""
    knowledge = snoop_of(call).expressions.knowledge
    headers = {"ETag": f'"{knowledge.version}"'}
    return Response(knowledge.text, headers=headers, media_type="text/plain")


@in_its_language
async def replace_knowledge(call: RouteCall) -> Response:
    """Put a text of clauses in the place of the knowledge."""
    return answer({"version": await snoop_of(call).replace_knowledge(decode_text(call.body))})


@in_its_language
async def convert(call: RouteCall) -> Response:
    """Return an expression in another notation, or the problems that it has."""
    wanted = call.query.get("to", "")
    if wanted not in _WRITERS:
        raise MalformedError("E864", f"to is {wanted!r}", f"one of {', '.join(_WRITERS)}")
    expression = read_expression(call.media, call.body)
    if call.query.get("check", "yes") != "no":
        snoop_of(call).check(expression)
    write, media = _WRITERS[wanted]
    return Response(write(expression), media_type=media)


async def show_schema(_call: RouteCall) -> Response:
    """Return the schema of all documents about expressions."""
    return Response(schema_text(), media_type=XML)


def _number(call: RouteCall) -> int:
    text = call.params["number"]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise no_expression(text)
    return int(text)
