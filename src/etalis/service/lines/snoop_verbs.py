"""What a session can ask of expressions of SNOOP-R: register, signal, results, unregister; terms or JSON.

    register('shop = "http://shop.example/events". shop:newCD(title: T)').
    signal(newCD, 'http://shop.example/events', [title = 'Boy', year = 2006]).
    results(1, 0).          unregister(1).

In JSON the messages are those of HTTP: `{"register": {...}}`, `{"signal": {...}}`, `{"signals": [...]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from etalis.data.values import format_value
from etalis.language import syntax as s
from etalis.service.access import Client
from etalis.service.expressions.hosted_expression import HostedExpression
from etalis.service.expressions.reading import read_register, read_signals, to_operations
from etalis.service.expressions.snoop_service import SnoopService, no_expression
from etalis.service.problems import MalformedError
from etalis.snoop.messages import ResultMessage
from etalis.snoop.values import write_bound

_JSON, _TEXT = "application/json", "text/plain"
_MOST_RESULTS = 1_000
Answers = tuple[Sequence[Mapping[str, Any]], bool]


class SnoopSession(Protocol):
    """A session, as these verbs see it."""

    client: Client

    @property
    def snoop(self) -> SnoopService:
        """The expressions of the service."""


async def register(on: SnoopSession, media: str, document: str) -> Answers:
    """Register an expression; answer with its evaluation and leaves."""
    asked = read_register(media, document.encode("utf-8", "surrogateescape"))
    hosted = await on.snoop.register(asked.expression, on.client.name, callback=asked.callback)
    on.snoop.begin(hosted)
    leaves = tuple(on.snoop.uris.leaf(hosted.number, path) for path in hosted.paths())
    return [{"Number": hosted.number, "Evaluation": on.snoop.uris.expression(hosted.number), "Leaves": leaves}], False


async def signal(on: SnoopSession, document: str) -> Answers:
    """Take signals; answer with what became of them."""
    read = read_signals(_JSON, document.encode("utf-8", "surrogateescape"))
    told = await on.snoop.signal(to_operations(read, on.snoop, on.client))
    discarded = tuple(each["reason"] for each in told.pop("discarded"))
    return [{name.capitalize(): count for name, count in told.items()} | {"Discarded": discarded}], False


async def results(on: SnoopSession, number: int, after: int = 0) -> Answers:
    """Answer with the results after a number."""
    hosted = _own(on, number)
    found, reached = on.snoop.results[hosted.number].after(after, None, _MOST_RESULTS)
    rows = []
    for entry in found:
        message = entry.message
        bound = message.bindings or {} if isinstance(message, ResultMessage) else {}
        shown = {name: write_bound(value)[0] for name, value in bound.items()}
        rows.append({"Number": entry.number, "Kind": entry.kind, **shown})
    return rows, reached < on.snoop.results[hosted.number].last


async def unregister(on: SnoopSession, number: int) -> None:
    """Unregister an expression."""
    await on.snoop.unregister(_own(on, number).number)


def _own(on: SnoopSession, number: int) -> HostedExpression:
    return on.snoop.find(number, on.client)


# how their arguments are read


def text_to_register(term: s.Term) -> dict[str, Any]:
    """Read `register('...')`."""
    return {"media": _TEXT, "document": _text(term)}


def plain_to_register(given: Any, _: Mapping[str, Any]) -> dict[str, Any]:
    """Read `{"register": ...}`: a text, or the message of HTTP."""
    if isinstance(given, str):
        return {"media": _TEXT, "document": given}
    return {"media": _JSON, "document": json.dumps({"register": given})}


def terms_to_signal(operator: s.Term, language: s.Term, parameters: s.Term) -> dict[str, Any]:
    """Read `signal(Operator, Language, [name = Value, ...])`."""
    row = {"operator": _text(operator), "language": _text(language), "parameters": _pairs(parameters)}
    return {"document": json.dumps(row)}


def plain_to_signal(given: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """Read `{"signal": ...}` and `{"signals": ...}`."""
    return {"document": json.dumps(record.get("signals", {"signal": given}))}


def number_of(term: s.Term) -> int:
    """Read the number of an expression, or of a result."""
    match term:
        case s.Const(value=int() as number) if number >= 0:
            return number
    raise MalformedError("E864", "a number was expected", "the answer to `register` has it")


def plain_number(snoop_uri: Any, _: Mapping[str, Any]) -> dict[str, Any]:
    """Read the number of an expression, or its evaluation."""
    given = snoop_uri.get("evaluation") if isinstance(snoop_uri, dict) else snoop_uri
    text = str(given).rpartition("/")[2]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise no_expression(str(given)[:80])
    return {"number": int(text)}


def plain_results(given: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """Read `{"results": 1, "after": 0}`."""
    after = record.get("after", 0)
    if isinstance(after, bool) or not isinstance(after, int) or after < 0:
        raise MalformedError("E864", "after is no number of a result", '{"results": 1, "after": 0}')
    return {**plain_number(given, record), "after": after}


def _text(term: s.Term) -> str:
    match term:
        case s.Const(value=value):
            return value if isinstance(value, str) else format_value(value)
    raise MalformedError("E864", "a text was expected", "write it in quotes: 'http://shop.example/events'")


def _pairs(term: s.Term) -> dict[str, str]:
    match term:
        case s.ListTerm(items=items, tail=None):
            return dict(map(_pair, items))
    raise MalformedError("E864", "parameters are a list", "[title = 'Boy', year = 2006]")


def _pair(term: s.Term) -> tuple[str, str]:
    match term:
        case s.Compound(name="=", args=(name, value)):
            return _text(name), _text(value)
    raise MalformedError("E864", "a parameter is a name and a value", "[title = 'Boy', year = 2006]")
