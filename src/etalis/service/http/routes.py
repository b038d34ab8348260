"""The table of routes: from it the router, `/openapi.json` and the table of docs/service.md are made."""

from __future__ import annotations

from http import HTTPStatus

from etalis.service.expressions.reading import EXPRESSION_TYPES, SIGNAL_TYPES
from etalis.service.http import bodies_of_calls as bodies
from etalis.service.http import engine_calls, match_calls, openapi, pages, question_calls, service_calls, snoop_calls
from etalis.service.http.call import JSON
from etalis.service.http.endpoint import Endpoint
from etalis.service.intake.bodies import READERS

_OK, _MADE, _DONE = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT
_EVENTS = ("event", "time", "unit", "matches")
_NAMED = "/engines/{name}"
_EXPRESSION = "/snoop/expressions/{number}"
_BOTH = (JSON, snoop_calls.XML)
_TEXT, _SVG = "text/plain", "image/svg+xml"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", "/engines", engine_calls.create_engine, "write", "make an engine of a program", (_MADE,),
        body=bodies.NewEngine, takes=(engine_calls.TEXT,), query=(*engine_calls.WORDS, "scratch"),
    ),
    Endpoint("GET", "/engines", engine_calls.list_engines, "read", "list the engines"),
    Endpoint("GET", _NAMED, engine_calls.show_engine, "read", "tell of an engine, and of the kinds of its events"),
    Endpoint("DELETE", _NAMED, engine_calls.delete_engine, "write", "delete an engine", (_DONE,), gives=()),
    Endpoint(
        "POST", _NAMED + "/events", engine_calls.send_events, "signal", "send events; what they cause comes back",
        takes=tuple(READERS), query=_EVENTS,
    ),
    Endpoint(
        "GET", _NAMED + "/matches", match_calls.list_matches, "read", "read matches, wait for one, or stream them",
        gives=(JSON, match_calls.EVENT_STREAM), query=("after", "kinds", "wait", "limit"),
    ),
    Endpoint("POST", _NAMED + "/query", question_calls.ask, "write", "ask a goal", body=bodies.GoalText),
    Endpoint("GET", _NAMED + "/state", question_calls.show_state, "read", "say what waits, by rule and operator"),
    Endpoint(
        "GET", _NAMED + "/partial", question_calls.show_partial, "read", "list the patterns that have begun",
        query=("rule", "limit"),
    ),
    Endpoint(
        "GET", _NAMED + "/explain", question_calls.explain, "read", "show the plan, and what waits in it",
        gives=(_TEXT, _SVG, JSON), query=("form",),
    ),
    Endpoint("POST", _NAMED + "/why", question_calls.why, "read", "say why a match occurred", body=bodies.WhyQuestion),
    Endpoint(
        "POST", _NAMED + "/why-not", question_calls.why_not, "read", "say why an event did not occur",
        body=bodies.WhyNotQuestion,
    ),
    Endpoint(
        "POST", _NAMED + "/rules", question_calls.insert_rules, "write", "add rules", (_MADE,), body=bodies.RuleText
    ),
    Endpoint("DELETE", _NAMED + "/rules/{label}", question_calls.delete_rule, "write", "delete the rules of a label"),
    Endpoint("POST", _NAMED + "/advance", question_calls.advance, "signal", "let time pass", body=bodies.NewTime),
    Endpoint("POST", _NAMED + "/close", question_calls.close, "write", "end the stream: all deadlines pass"),
    Endpoint(
        "POST", _NAMED + "/reset", question_calls.reset, "write", "drop what waits; rules and time stay", (_DONE,),
        gives=(),
    ),
    Endpoint(
        "GET", _NAMED + "/snapshot", question_calls.snapshot, "write", "return all that an engine knows",
        gives=("application/octet-stream",),
    ),
    Endpoint(
        "POST", "/snoop/expressions", snoop_calls.register, "write", "register an expression", (_MADE,),
        takes=EXPRESSION_TYPES, gives=_BOTH, query=("callback",),
    ),
    Endpoint("GET", "/snoop/expressions", snoop_calls.list_expressions, "read", "list the expressions of the client"),
    Endpoint(
        "GET", _EXPRESSION, snoop_calls.show_expression, "read", "tell of an expression: leaves, what waits, callbacks",
        gives=_BOTH,
    ),
    Endpoint("DELETE", _EXPRESSION, snoop_calls.unregister, "write", "unregister an expression", (_DONE,), gives=()),
    Endpoint(
        "GET", _EXPRESSION + "/results", snoop_calls.list_results, "read", "read results, wait for one, or stream them",
        gives=(*_BOTH, match_calls.EVENT_STREAM), query=("after", "wait", "limit"),
    ),
    Endpoint(
        "GET", _EXPRESSION + "/results/{result}", snoop_calls.show_result, "read", "return one result", gives=_BOTH
    ),
    Endpoint(
        "POST", "/snoop/signals", snoop_calls.signal, "signal", "signal instances, ends and failures",
        takes=SIGNAL_TYPES, gives=_BOTH,
    ),
    Endpoint(
        "POST", "/snoop/advance", snoop_calls.advance_signals, "signal", "say that nothing earlier comes", (_DONE,),
        body=bodies.NewTime, gives=(),
    ),
    Endpoint("GET", "/snoop/graph", snoop_calls.show_graph, "read", "return the event graph of the expressions"),
    Endpoint(
        "GET", "/snoop/knowledge", snoop_calls.show_knowledge, "read", "return the knowledge of goals", gives=(_TEXT,)
    ),
    Endpoint(
        "PUT", "/snoop/knowledge", snoop_calls.replace_knowledge, "write", "replace the knowledge of goals",
        takes=(_TEXT,),
    ),
    Endpoint(
        "POST", "/snoop/convert", snoop_calls.convert, "read", "write an expression in another notation",
        takes=EXPRESSION_TYPES, gives=(*_BOTH, _TEXT), query=("to", "check"),
    ),
    Endpoint(
        "GET", "/schema/snoop-r.xsd", snoop_calls.show_schema, None, "return the schema of expressions and messages",
        gives=(snoop_calls.XML,),
    ),
    Endpoint("POST", "/check", service_calls.check, "read", "list the problems of a program", body=bodies.ProgramText),
    Endpoint("GET", "/health", service_calls.health, None, "say that the service runs"),
    Endpoint(
        "GET", "/metrics", service_calls.metrics, "read", "return the figures of all engines, for Prometheus",
        gives=(_TEXT,),
    ),
    Endpoint("GET", "/language.json", service_calls.language, None, "return the words of the language"),
    Endpoint("GET", "/openapi.json", lambda call: openapi.show(call, ENDPOINTS), None, "describe all routes"),
    Endpoint("GET", "/", pages.show_page, None, "return the page", gives=("text/html",)),
    Endpoint("GET", "/{file}", pages.show_file, None, "return a file of the page", gives=tuple(pages.MEDIA.values())),
)  # fmt: skip
