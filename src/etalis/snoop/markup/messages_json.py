"""Messages as JSON: an object whose one key says what it is, as in `{"end": {"evaluation": "..."}}`.

A signal may stand alone, several are a list or `{"signals": [...]}`; an expression alone is to be registered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from etalis.snoop.detection.results import Contribution
from etalis.snoop.markup.json_form import JsonShapes, Plain, expression_of, load_json, to_json
from etalis.snoop.messages import (
    EndMessage,
    FailureMessage,
    Message,
    RegisteredMessage,
    RegisterMessage,
    ResultMessage,
    SignalMessage,
    UnregisterMessage,
    check_signal,
    read_moment,
    write_moment,
)
from etalis.snoop.values import Bound, read_bound, write_bound

_SIGNAL = ("operator", "language", "parameters", "evaluation", "bindings", "at", "id")
_RESULT = ("evaluation", "next", "number", "bindings", "start", "end", "events")
_EVENT = ("operator", "language", "start", "end", "at", "signal", "arguments", "name")


def read_message(data: bytes | str) -> tuple[Message, ...]:
    """Read a document; a DocumentError says all that is out of shape."""
    return messages_of(load_json(data))


def messages_of(given: Any) -> tuple[Message, ...]:
    """Return the messages of plain data, as `load_json` makes it."""
    if isinstance(given, dict) and set(given) == {"signals"}:
        given = given["signals"]
    several = isinstance(given, list)
    reader = JsonShapes()
    items = reader.items(given, "signals") if several else [given]
    found = []
    for number, item in enumerate(items, 1):
        where = f"signal {number}" if several else "the document"
        message = _message(reader, item, where)
        found.append(message)
        if isinstance(message, SignalMessage) and not reader.problems:
            reader.problems += check_signal(message, where if several else "the signal")
    reader.finish()
    return tuple(found)


def _message(reader: JsonShapes, given: Any, where: str) -> Message:
    if isinstance(given, dict) and len(given) == 1:
        ((name, body),) = given.items()
        if name in _READERS:
            return _READERS[name](reader, body, f"{where}: {name}")
    if isinstance(given, dict) and ("expression" in given or _is_expression(given)):
        return _register(reader, given, where)
    return _signal(reader, given, where)


def _is_expression(given: Plain) -> bool:
    return not {"arguments", "having", "with", "literal", "context"}.isdisjoint(given)


def _register(reader: JsonShapes, given: Any, where: str) -> RegisterMessage:
    if isinstance(given, dict) and "expression" not in given:
        return RegisterMessage(expression_of(given, where))
    row = reader.mapping(given, where, ("expression", "callback"))
    return RegisterMessage(
        expression_of(row.get("expression"), "the expression"), reader.optional(row, "callback", where)
    )


def _registered(reader: JsonShapes, given: Any, where: str) -> RegisteredMessage:
    row = reader.mapping(given, where, ("evaluation", "leaves"))
    leaves = reader.mapping(row.get("leaves", {}), f"{where}: leaves")
    return RegisteredMessage(
        reader.text(row.get("evaluation"), f"{where}: evaluation"),
        tuple((path, reader.text(uri, f"{where}: leaf {path}")) for path, uri in leaves.items()),
    )


def _signal(reader: JsonShapes, given: Any, where: str) -> SignalMessage:
    row = reader.mapping(given, where, _SIGNAL)
    tuples = row.get("bindings", [])
    found = reader.items([tuples] if isinstance(tuples, dict) else tuples, f"{where}: bindings")
    return SignalMessage(
        reader.optional(row, "operator", where), reader.optional(row, "language", where),
        _texts(reader, row.get("parameters", {}), f"{where}: parameters"), reader.optional(row, "evaluation", where),
        tuple(_texts(reader, each, f"{where}: bindings") for each in found),
        reader.optional(row, "at", where), reader.optional(row, "id", where),
    )  # fmt: skip


def _texts(reader: JsonShapes, given: Any, where: str) -> dict[str, str]:
    """Return values by name; null is a value that is lacking."""
    row = reader.mapping(given, where)
    return {name: reader.text(value, f"{where}: {name}") for name, value in row.items() if value is not None}


def _end(reader: JsonShapes, given: Any, where: str) -> EndMessage:
    row = reader.mapping(given, where, ("evaluation",))
    return EndMessage(reader.text(row.get("evaluation"), f"{where}: evaluation"))


def _failure(reader: JsonShapes, given: Any, where: str) -> FailureMessage:
    row = reader.mapping(given, where, ("code", "text", "evaluation"))
    code, text = (reader.text(row.get(name, ""), f"{where}: {name}") for name in ("code", "text"))
    return FailureMessage(code, text, reader.optional(row, "evaluation", where))


def _unregister(reader: JsonShapes, given: Any, where: str) -> UnregisterMessage:
    return UnregisterMessage(_end(reader, given, where).evaluation)


def _result(reader: JsonShapes, given: Any, where: str) -> ResultMessage:
    row = reader.mapping(given, where, _RESULT)
    bindings = None
    if row.get("bindings") is not None:
        at = f"{where}: bindings"
        bindings = {
            name: _bound(reader, value, f"{at}: {name}") for name, value in reader.mapping(row["bindings"], at).items()
        }
    number = reader.text(row.get("number"), f"{where}: number")
    if not (number.isascii() and number.isdigit()):
        reader.note(f"{where}: number is a whole number, not {number}")
        number = "0"
    start, end = (_moment(reader, row, name, where) for name in ("start", "end"))
    events = None if row.get("events") is None else _occurrence(reader, row["events"], f"{where}: events")
    evaluation = reader.text(row.get("evaluation"), f"{where}: evaluation")
    return ResultMessage(evaluation, reader.optional(row, "next", where), int(number), bindings, start, end, events)


def _bound(reader: JsonShapes, given: Any, where: str) -> Bound:
    if isinstance(given, dict):
        row = reader.mapping(given, where, ("value", "type"))
        type = reader.text(row.get("type"), f"{where}: type")  # noqa: A001
        return read_bound(reader.text(row.get("value"), f"{where}: value"), type)
    return reader.text(given, where)


def _moment(reader: JsonShapes, row: Mapping[str, Any], name: str, where: str) -> int | None:
    text = reader.optional(row, name, where)
    return None if text is None else read_moment(text)


def _occurrence(reader: JsonShapes, given: Any, where: str) -> Contribution:
    row = reader.mapping(given, where, _EVENT)
    start, end = (_moment(reader, row, name, where) or 0 for name in ("start", "end"))
    operator, language, number, at = (
        reader.optional(row, name, where) for name in ("operator", "language", "signal", "at")
    )
    below = []
    for place, each in enumerate(reader.items(row.get("arguments", []), f"{where}: arguments"), 1):
        own = reader.optional(each, "name", where) if isinstance(each, dict) else None
        below.append((own or "", _occurrence(reader, each, f"{where}: argument {place}")))
    return Contribution(operator, start, end, language, number, at, tuple(below))


_READERS: Mapping[str, Callable[[JsonShapes, Any, str], Message]] = {
    "register": _register,
    "registered": _registered,
    "signal": _signal,
    "end": _end,
    "failure": _failure,
    "unregister": _unregister,
    "result": _result,
}


def write_message(message: Message) -> str:
    """Write a message as JSON."""
    return json.dumps(to_plain_message(message), ensure_ascii=False)


def to_plain_message(message: Message) -> Plain:
    """Return a message as plain data."""
    match message:
        case RegisterMessage(expression, callback):
            return {"register": _given({"expression": to_json(expression), "callback": callback})}
        case RegisteredMessage(evaluation, leaves):
            return {"registered": {"evaluation": evaluation, "leaves": dict(leaves)}}
        case SignalMessage():
            return {"signal": plain_signal(message)}
        case EndMessage(evaluation):
            return {"end": {"evaluation": evaluation}}
        case FailureMessage(code, text, evaluation):
            return {"failure": _given({"evaluation": evaluation, "code": code, "text": text})}
        case UnregisterMessage(evaluation):
            return {"unregister": {"evaluation": evaluation}}
        case ResultMessage():
            return {"result": plain_result(message)}
        case _:
            assert_never(message)


def plain_signal(signal: SignalMessage) -> Plain:
    """Return a signal as plain data, without what it leaves out."""
    found: Plain = {"operator": signal.operator, "language": signal.language, "evaluation": signal.evaluation}
    if signal.evaluation is None:
        found["parameters"] = dict(signal.parameters)
    else:
        found["bindings"] = list(map(dict, signal.tuples))
    return _given({**found, "at": signal.at, "id": signal.id})


def plain_result(result: ResultMessage) -> Plain:
    """Return a result as plain data: `next` is null for the last one, typed values say their type."""
    found: Plain = {"evaluation": result.evaluation, "next": result.next, "number": result.number}
    if result.bindings is not None:
        found["bindings"] = {name: plain_bound(value) for name, value in result.bindings.items()}
    if result.start is not None and result.end is not None:
        found |= {"start": write_moment(result.start), "end": write_moment(result.end)}
    if result.events is not None:
        found["events"] = plain_occurrence(result.events)
    return found


def plain_bound(value: Bound) -> Any:
    """Return a value as plain data: text is itself, others say their type.

    >>> plain_bound("Boy"), plain_bound(2006)
    ('Boy', {'value': '2006', 'type': 'xsd:integer'})
    """
    text, type = write_bound(value)  # noqa: A001
    return text if type is None else {"value": text, "type": type}


def plain_occurrence(occurrence: Contribution) -> Plain:
    """Return what contributed as plain data."""
    found = {
        "operator": occurrence.operator, "language": occurrence.language, "start": write_moment(occurrence.start),
        "end": write_moment(occurrence.end), "signal": occurrence.number, "at": occurrence.at,
    }  # fmt: skip
    below = [{"name": name, **plain_occurrence(each)} for name, each in occurrence.arguments]
    return _given(found) | ({"arguments": below} if below else {})


def _given(row: Plain) -> Plain:
    return {name: value for name, value in row.items() if value is not None}
