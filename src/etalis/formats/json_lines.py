"""JSON lines: one event per line.

Three shapes: `{"event": "a", "at": 1, "card": "c1", ...}` with declared attributes by name, `{"event": "a", "at": 1,
"args": [..]}` (also what `Event.to_json` writes, so a result can be an input), and `["a", arg, ..., at]`.
A compound term is `{"name": "f", "args": [..]}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from etalis.errors import EtalisError
from etalis.formats.row import Bad, Place, Reading, Row, interval_of, parse_time, read_row, time_of
from etalis.formats.table import EVENT_COLUMNS, TIME_COLUMNS
from etalis.language.attributes import convert_one
from etalis.language.spelling import suggest
from etalis.logic.term import Struct, Value, to_value
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds

_SHAPE = 'a line looks like {"event": "a", "at": 1, "args": [2, "x"]}'


def read_json_lines(lines: Iterable[str], source: str, reading: Reading) -> Iterator[Row | Bad]:
    """Yield the rows of a stream of JSON texts, one per line; empty lines are passed over."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        yield read_row(_event, text, reading, place=Place(source, number, text))


def _event(text: str, reading: Reading, place: Place) -> Event:
    record = _load(text, place)
    if isinstance(record, dict):
        return _from_object(record, reading, place)
    if isinstance(record, list):
        return _from_array(record, reading, place)
    raise place.refuse("E402", f"expected an object, found {text.strip()[:40]}", _SHAPE)


def _load(text: str, place: Place) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        at = min(error.pos, max(0, len(text) - 1))
        raise place.refuse("E402", f"not JSON: {error.msg}", _SHAPE, (at, at + 1)) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise place.refuse("E402", f"not JSON: {reason}", "see the documentation of JSON lines (docs/cli.md)") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value; null stands for a missing number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} stands twice in one object")
    return record


def _from_object(record: dict[str, Any], reading: Reading, place: Place) -> Event:
    name = _take_name(record, reading, place)
    interval = _take_interval(record, reading, place)
    if isinstance(record.get("args"), list):
        args = record.pop("args")
        record.pop("rule", None)
        _refuse_unknown(record, ("event", "at", "start", "end", "args"), name, place)
        values: Sequence[Value] = [_value(arg, place) for arg in args]
    else:
        values = _take_attributes(record, name, reading, place)
    return Event.make(name, tuple(values), *interval)


def _from_array(record: list[Any], reading: Reading, place: Place) -> Event:
    if len(record) < 2 or not isinstance(record[0], str):
        raise place.refuse("E403", "expected [name, attribute, ..., time]", _SHAPE)
    moment = time_of(record[-1], "time", reading, place, find)
    return Event.make(record[0], tuple(_value(arg, place) for arg in record[1:-1]), moment, moment)


def _take_name(record: dict[str, Any], reading: Reading, place: Place) -> str:
    keys = EVENT_COLUMNS if reading.event is None or reading.event not in record else (reading.event,)
    for key in keys if reading.event is None or reading.event in record else ():
        if key in record:
            name = record.pop(key)
            if not isinstance(name, str) or not name:
                raise place.refuse(
                    "E403", f"{key}: expected the event's name, found {name!r}", _SHAPE, find(place, key)
                )
            return name
    if reading.event is None:
        raise place.refuse("E403", "the line names no event", _SHAPE)
    return reading.event


def _take_interval(record: dict[str, Any], reading: Reading, place: Place) -> tuple[int, int]:
    for wanted in TIME_COLUMNS if reading.time is None else ((reading.time,),):
        if all(key in record for key in wanted):
            moments = [time_of(record.pop(key), key, reading, place, find) for key in wanted]
            return interval_of(moments[0], moments[-1], place)
    raise place.refuse("E404", "the line has no time", 'add "at": seconds, or "start" and "end"')


def _take_attributes(record: dict[str, Any], name: str, reading: Reading, place: Place) -> Sequence[Value]:
    declared = reading.schema.get(name)
    if declared is None:
        if not record:
            return ()
        hint = (
            f'write "args": [...], or declare the event: :- event({name}({", ".join(f"{k}: term" for k in record)})).'
        )
        raise place.refuse("E406", f"{name} is not declared, so its attributes have no order", hint)
    names = [attribute for attribute, _ in declared]
    _refuse_unknown(record, names, name, place)
    missing = [attribute for attribute in names if attribute not in record]
    if missing:
        raise place.refuse("E406", f"attribute {missing[0]} of {name} is missing", "use null for an unknown value")
    return [_attribute(name, attribute, kind, record[attribute], place) for attribute, kind in declared]


def _attribute(event: str, attribute: str, kind: str, given: Any, place: Place) -> Value:
    try:
        moment = to_seconds(parse_time(given, "s")) if kind == "time" and isinstance(given, str) else from_json(given)
        return convert_one(event, attribute, kind, moment)
    except EtalisError as error:
        raise place.blame(error, find(place, attribute)) from None
    except ValueError:
        message = f"{attribute}: expected a time, found {given!r}"
        raise place.refuse("E405", message, f"{attribute} is declared time", find(place, attribute)) from None


def _refuse_unknown(record: Mapping[str, Any], known: Sequence[str], event: str, place: Place) -> None:
    for key in record:
        if key not in known:
            hint = suggest(key, known, f"known: {', '.join(known)}")
            raise place.refuse("E406", f"{event} has no attribute {key}", hint, find(place, key))


def _value(x: Any, place: Place) -> Value:
    try:
        return to_value(from_json(x))
    except EtalisError as error:
        raise place.blame(error) from None


def from_json(x: Any) -> Any:
    """Turn compound terms back into structures, at any depth."""
    if isinstance(x, list):
        return [from_json(item) for item in x]
    if isinstance(x, dict):
        if x.keys() == {"name", "args"} and isinstance(x["name"], str) and isinstance(x["args"], list) and x["args"]:
            return Struct(x["name"], [to_value(from_json(item)) for item in x["args"]])
        return {key: from_json(item) for key, item in x.items()}
    return x


def find(place: Place, key: str) -> tuple[int, int] | None:
    """Return where a key stands in its line, to be underlined."""
    quoted = json.dumps(key, ensure_ascii=False)
    at = -1 if place.text is None else place.text.find(quoted)
    return None if at < 0 else (at, at + len(quoted))
