"""JSON lines: one event per line.

Three shapes: `{"event": "a", "card": "c1", "at": 1}` with attributes by name (also what `Event.to_json` writes, so a
result can be an input: with `start` and `end`, and the `rule`, which is nothing to a reader), `{"event": "a", "at": 1,
"args": [..]}`, and `["a", arg, ..., at]`. A compound term is `{"name": "f", "args": [..]}`. A line with `turtle` or
`@graph` that names no event is an element of a stream of RDF: `rdf_documents`; one with `s`, `p` and `o` is a triple, a
row of a table of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from etalis.data.values import Value
from etalis.errors import EtalisError, InputError
from etalis.formats.rdf_documents import GRAPH, TURTLE, is_document, read_document
from etalis.formats.rdf_tables import PARTS, TripleTable, has_triples
from etalis.formats.roles import UnboundError, bind_one_of, find_event, find_fields, find_times, without_added
from etalis.formats.row import ARRIVAL, Bad, Place, Reading, Row, interval_of, parse_time, read_row, time_of
from etalis.formats.table import check_event
from etalis.language.attributes import convert, convert_one, declaration_text, find_surplus, place_event, refuse_order
from etalis.language.check.spelling import suggest
from etalis.temporal.attribute_names import END, RULE, START
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import to_seconds
from etalis.temporal.json_values import from_plain
from etalis.temporal.record import are_places, drop_added, flatten

Layout: TypeAlias = tuple[tuple[str, str, str], ...]  # the field, the name and the type of every attribute

_MARKS = tuple(f'"{name}"' for name in (TURTLE, GRAPH))  # of lines that may be elements of RDF
_SHAPE = 'a line looks like {"event": "a", "at": 1, "args": [2, "x"]}'


def read_json_lines(lines: Iterable[str], source: str, reading: Reading) -> Iterator[Row | Bad]:
    """Yield the rows of a stream of JSON texts, one per line; empty lines are passed over."""
    reader = LineReader(source, reading)
    for number, line in enumerate(lines, 1):
        yield from reader.read(number, line)


class LineReader:
    """Reads the lines of a stream of JSON texts one by one."""

    def __init__(self, source: str, reading: Reading) -> None:
        self.source = source
        self.reading = reading
        self.records = Records(reading)
        self._is_first = True

    def read(self, number: int, line: str) -> Sequence[Row | Bad]:
        """Return the rows of a line: one, none of an empty line, several of an element of RDF."""
        text = line.rstrip("\r\n")
        if not text.strip():
            return ()
        place = Place(self.source, number, text)
        if any(mark in text for mark in _MARKS):
            element = _element(text, self.reading, place)
            if element is not None:
                return element
        if self._is_first:
            self._is_first = False
            with suppress(ValueError, RecursionError):
                _check_first(json.loads(text), self.reading)
        return (read_row(_event, text, self.records, place=place),)


def _element(text: str, reading: Reading, place: Place) -> Sequence[Row | Bad] | None:
    """Return the events of a line that is an element of RDF; None if it is something else."""
    try:
        place.check_text()
        record = _load(text, place)
        if reading.event is not None or not is_document(record) or find_event(record, None) is not None:
            return None
        return read_document(record, reading, place)
    except InputError as error:
        return (Bad(place, error.problems[0]),)


def read_records(rows: Iterable[Any], source: str, reading: Reading) -> Iterator[Row | Bad]:
    """Yield rows that are Python objects: dicts as JSON objects are, tuples and lists (name, attribute, ..., time)."""
    records = Records(reading)
    for number, row in enumerate(rows, 1):
        if number == 1:
            _check_first(row, reading)
        yield read_row(_read_record, row, records, place=Place(source, number))


def _check_first(record: Any, reading: Reading) -> None:
    """Refuse a source where `reading.event` is neither a field of its first record nor an event of the program."""
    fields = tuple(record) if isinstance(record, Mapping) else ()
    if find_event(fields, reading.event) is None:
        check_event(reading, fields)


def _event(text: str, records: Records, place: Place) -> Event | Row:
    record = _load(text, place)
    if isinstance(record, dict | list):
        return _read_record(record, records, place)
    raise place.refuse("E402", f"expected an object, found {text.strip()[:40]}", _SHAPE)


def _read_record(record: Any, records: Records, place: Place) -> Event | Row:
    match record:
        case Retraction():
            return _taken_back(_placed(record.reported, records), records.reading, place)
        case Event():
            return _placed(record, records)
        case Mapping():
            fields = {str(key): value for key, value in record.items()}
            triples = records.triples_with(fields, place)
            return records.from_object(fields, place) if triples is None else triples.row([*fields.values()], place)
        case list() | tuple():
            return _from_array(record, records.reading, place)
    hint = 'give (name, *attributes, at), an Event, or {"event": name, "at": time, ...}'
    raise place.refuse("E306", f"not a row of events: {str(record)[:40]}", hint)


def _placed(event: Event, records: Records) -> Event:
    values = place_event(event, records.reading.schema.get(event.name, ()))
    return Event.make(event.name, values, event.start_time, event.end_time)


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
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} occurs twice in one object")
    return record


class Records:
    """Reads objects; which of their fields are the attributes of an event is found once per set of fields."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.layouts: dict[tuple[str, frozenset[str], bool], Layout] = {}
        self.reads_triples = bool(reading.known) and has_triples(PARTS, reading)
        self.tables: dict[tuple[str, ...], TripleTable] = {}

    def triples_with(self, record: Mapping[str, Any], place: Place) -> TripleTable | None:
        """Return what reads an object with such fields as a triple; None where it is something else."""
        if not self.reads_triples or "s" not in record or not has_triples(record, self.reading):
            return None
        columns = tuple(record)
        if columns not in self.tables:
            self.tables[columns] = TripleTable(columns, self.reading, place.source)
        return self.tables[columns]

    def from_object(self, record: dict[str, Any], place: Place) -> Event:
        """Return the event of one object, which is used up."""
        name = _take_name(record, self.reading, place)
        interval, is_result = self._take_interval(record, place)
        is_result = is_result and self._is_result(name, record)
        sign = drop_added(record, self._attributes(name))[1] if is_result else 1
        flatten(record, self._attributes(name))
        if isinstance(record.get("args"), list):
            _refuse_order(name, self.reading, place)
            args = record.pop("args")
            record.pop("rule", None)
            _refuse_unknown(record, ("event", "at", "start", "end", "args"), name, place)
            values: Sequence[Value] = _in_order(name, args, self.reading, place)
        else:
            layout = self._layout(name, record, place, is_result)
            values = [_attribute(name, attribute, kind, record[field], place) for field, attribute, kind in layout]
            if name not in self.reading.schema:
                for (field, _, _), value in zip(layout, values, strict=True):
                    self.reading.seen.note_value(name, field, value)
        event = Event.make(name, tuple(values), *interval)
        return event if sign > 0 else _taken_back(event, self.reading, place)

    def _take_interval(self, record: dict[str, Any], place: Place) -> tuple[tuple[int, int], bool]:
        """Take the times from a record; tell whether it may be a result, which has a start, an end and a rule."""
        keys = find_times(record, self.reading.time)
        if keys is None and not self.reading.needs_time:
            return (ARRIVAL, ARRIVAL), False
        if keys is None:
            raise place.refuse("E404", "the line has no time", 'add "at": seconds, or "start" and "end"')
        moments = [time_of(record.pop(key), key, self.reading, place, find) for key in keys]
        return interval_of(moments[0], moments[-1], place), keys == (START, END) and RULE in record

    def _is_result(self, name: str, record: dict[str, Any]) -> bool:
        """Tell whether the rule of a record is no attribute of its event."""
        fields = list(record)
        return without_added(self.reading.known.get(name, ()), fields, (START, END)) != fields

    def _attributes(self, name: str) -> list[str]:
        return [attribute for attribute, _ in self.reading.schema.get(name, ())]

    def _layout(self, name: str, record: Mapping[str, Any], place: Place, is_result: bool) -> Layout:
        """Return the field, the name and the type of every attribute of an event."""
        key = name, frozenset(record), is_result
        if key not in self.layouts:
            self.layouts[key] = self._find_layout(name, record, place, is_result)
        return self.layouts[key]

    def _find_layout(self, name: str, record: Mapping[str, Any], place: Place, is_result: bool) -> Layout:
        declared = self.reading.schema.get(name)
        if declared is not None:
            names = self._attributes(name)
            if names and len(record) == len(names) and are_places(record):
                _refuse_order(name, self.reading, place)
                return tuple((field, *each) for field, each in zip(record, declared, strict=True))
            fields = {field: attribute for attribute, field in find_fields(names, record).items() if field is not None}
            surplus, slip = find_surplus([fields.get(field, field) for field in record], names)
            if slip is not None:
                hint = f"did you mean {slip[1]}?"
                raise place.refuse("E406", f"{name} has no attribute {slip[0]}", hint, find(place, slip[0]))
            if surplus:
                self.reading.note_ignored(name, surplus)
            missing = [attribute for attribute in names if attribute not in fields.values()]
            if missing:
                hint = "use null for an unknown value"
                raise place.refuse("E406", f"attribute {missing[0]} of {name} is missing", hint)
            found = {attribute: field for field, attribute in fields.items()}
            return tuple((found[attribute], attribute, kind) for attribute, kind in declared)
        signatures = self.reading.known.get(name, ())
        if signatures:
            try:
                _, bound = bind_one_of(signatures, list(record))
            except UnboundError as error:
                raise place.refuse("E406", error.message, error.hint) from None
            return tuple((field, field, "term") for field in bound)
        if is_result or are_places(record) or self.reading.known:  # of an event that no rule reads nothing is asked
            return tuple((field, field, "term") for field in record)
        fitting = declaration_text(name, [(field, "any") for field in record])
        hint = f'write "args": [...], or declare the event: {fitting}'
        raise place.refuse("E406", f"{name} is not declared, so its attributes have no order", hint)


def _from_array(record: Sequence[Any], reading: Reading, place: Place) -> Event:
    if len(record) < 2 or not isinstance(record[0], str):
        raise place.refuse("E403", "expected [name, attribute, ..., time]", _SHAPE)
    _refuse_order(record[0], reading, place)
    moment = time_of(record[-1], "time", reading, place, find)
    return Event.make(record[0], _in_order(record[0], record[1:-1], reading, place), moment, moment)


def _in_order(name: str, args: Sequence[Any], reading: Reading, place: Place) -> tuple[Value, ...]:
    """Return attributes that are given by their places."""
    try:
        return convert(name, reading.schema.get(name, ()), tuple(map(from_plain, args)))
    except EtalisError as error:
        raise place.blame(error) from None


def _refuse_order(name: str, reading: Reading, place: Place) -> None:
    if reading.is_by_name(name):
        raise place.blame(refuse_order(name, reading.schema[name]))


def _take_name(record: dict[str, Any], reading: Reading, place: Place) -> str:
    key = find_event(record, reading.event)
    if key is not None:
        name = record.pop(key)
        if not isinstance(name, str) or not name:
            raise place.refuse("E403", f"{key}: expected the event's name, found {name!r}", _SHAPE, find(place, key))
        return name
    if reading.event is None:
        raise place.refuse("E403", "the line names no event", _SHAPE)
    try:
        check_event(reading, tuple(record))
    except EtalisError as error:
        raise place.blame(error) from None
    return reading.event


def _taken_back(event: Event, reading: Reading, place: Place) -> Event:
    """Return that an event is taken back, where the program may hear of it."""
    if reading.retracts:
        return Retraction.of(event)
    raise place.refuse("E312", f"{event.name} is retracted (sign -1)", "add `:- set_flag(revision_flag, on).`")


def _attribute(event: str, attribute: str, kind: str, given: Any, place: Place) -> Value:
    try:
        moment = to_seconds(parse_time(given, "s")) if kind == "time" and isinstance(given, str) else from_plain(given)
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


def find(place: Place, key: str) -> tuple[int, int] | None:
    """Return where a key stands in its line, to be underlined."""
    quoted = json.dumps(key, ensure_ascii=False)
    at = -1 if place.text is None else place.text.find(quoted)
    return None if at < 0 else (at, at + len(quoted))
