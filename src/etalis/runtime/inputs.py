"""Inputs: names, attributes and times in the forms a host may use become one kind of input."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from etalis.data.scalars import show
from etalis.data.values import to_value
from etalis.errors import EtalisError, EventError, InputError, Problem
from etalis.language.attributes import Notes, Signature, arrange, convert, find_surplus, place_event, refuse_order
from etalis.runtime.lateness.watermark import Stamp
from etalis.temporal.event import Event, Retraction, Shown
from etalis.temporal.json_values import from_plain
from etalis.temporal.record import are_places, drop_added, flatten, is_added, known_as
from etalis.temporal.time_input import are_dates, check_times, to_interval

_NAME_HINT = "give a name and attributes, push('a', 1, at=5); rows are accepted by run([row]), tables by detect(table)"
_ROW_HINT = 'a row is (name, *attributes, at), an Event, or {"event": name, "at": time, ...}; tables: detect(table)'
Input = tuple[str, tuple[Any, ...], int, int, Stamp | None]  # name, attributes, start, end, how it was stamped


class Inputs:
    """Reads events by the signatures of a program; those that come without a time get the clock's."""

    def __init__(
        self, signatures: Mapping[str, Signature], clock: Callable[[], Any] | None, implied: Collection[str] = (),
        shown: Shown | None = None,
    ) -> None:  # fmt: skip
        self.signatures = signatures
        self.clock = clock
        self.implied = implied
        self.shown = shown or Shown()
        self.notes = Notes()

    def event(self, name: str | Event, args: tuple[Any, ...], named: dict[str, Any], at: Any) -> Input:
        """Read the arguments of `push`."""
        if isinstance(name, Event):
            if args or named or at is not None:
                hint = "give the event alone, or a name, attributes and a time"
                raise EventError(Problem("E306", f"{name.name} is an event already", hint=hint))
            return self.row(name)
        name = _read_name(name)
        if at is None:
            at = self._read_clock(name)
        stamp, start, end = self._read_stamp(at)
        if name in self.implied:
            if args:
                raise refuse_order(name, self.signatures[name])
            named = self._without_surplus(name, named)
        return name, self.values(name, args, named), start, end, stamp

    def of_arrival(self, event: Any, at: Any) -> Input:
        """Read one event of an arrival, a tuple (name, *attributes)."""
        if isinstance(event, tuple) and not isinstance(event, Event) and event and isinstance(event[0], str):
            return self.event(event[0], tuple(event[1:]), {}, at)
        hint = "push_together([('a', 1), ('b',)], at=5): a tuple is a name and attributes, the time is that of all"
        raise EventError(Problem("E306", f"not an event of an arrival: {show(event)}", hint=hint))

    def row(self, row: Any) -> Input:
        """Read a tuple (name, *attributes, at), an Event, or a dict with `event`, `at` and the attributes."""
        match row:
            case Event():
                start, end = check_times(row.start_time, row.end_time)
                self.shown.dates |= row.kind.shown.dates
                placed = place_event(row, self.signatures.get(row.name, ()))
                return row.name, self.values(row.name, placed, {}), start, end, None
            case tuple() if row and isinstance(row[0], str) and len(row) > 1:
                stamp, start, end = self._read_stamp(row[-1])
                if row[0] in self.implied:
                    raise refuse_order(row[0], self.signatures[row[0]])
                return _read_name(row[0]), self.values(row[0], row[1:-1], {}), start, end, stamp
            case {"event": str(), "at": _} | {"event": str(), "start": _, "end": _}:
                return self._record(row)
        raise InputError(Problem("E306", f"not a row of events: {show(row)}", hint=_ROW_HINT))

    def _record(self, row: Mapping[Any, Any]) -> Input:
        """Read an event that is written as a dict: its attributes by name, or in their places."""
        fields = {str(key): value for key, value in row.items()}
        name = _read_name(fields.pop("event"))
        known = [attribute for attribute, _ in self.signatures.get(name, ())]
        is_result = False
        if "at" in fields:
            stamp, start, end = self._read_stamp(fields.pop("at"))
        else:
            stamp, start, end = self._read_stamp((fields.pop("start"), fields.pop("end")))
            is_result = is_added(fields, known)
            if is_result:
                drop_added(fields, known)
        flatten(fields, known)
        args: tuple[Any, ...] = ()
        given = fields.get("args")
        if isinstance(given, list) and "args" not in known and len(fields) == 1:
            args, fields = tuple(map(from_plain, given)), {}
        elif are_places(fields) or (is_result and not known):
            args, fields = tuple(map(from_plain, fields.values())), {}
        if args and name in self.implied:
            raise refuse_order(name, self.signatures[name])
        named = {known_as(field, known): from_plain(value) for field, value in fields.items()}
        return name, self.values(name, args, self._without_surplus(name, named)), start, end, stamp

    def _read_stamp(self, at: Any) -> tuple[Stamp | None, int, int]:
        if not self.shown.dates and are_dates(at.at if isinstance(at, Stamp) else at):
            self.shown.dates = True
        return _read_stamp(at)

    def takes_back(self, row: Any) -> bool:
        """Tell whether a row says that an event did not occur."""
        match row:
            case Retraction():
                return True
            case {"event": str(name), "start": _, "end": _, "sign": -1}:
                return is_added(row, [attribute for attribute, _ in self.signatures.get(name, ())])
        return False

    def outline(self, row: Any) -> tuple[str, tuple[Any, ...], int | None, int | None]:
        """Return name, attributes and times of a row that cannot be read, as far as they can be told."""
        match row:
            case Event():
                return row.name, tuple(map(_shown, row.args)), row.start_time, row.end_time
            case tuple() if row and isinstance(row[0], str):
                name, args, at = row[0], row[1:-1], row[-1] if len(row) > 1 else None
            case {"event": str(name), **named}:
                at = named.pop("at", (named.pop("start", None), named.pop("end", None)))
                args = tuple(named.values())
            case _:
                name, args, at = "", (row,), None
        try:
            _, start, end = _read_stamp(at)
        except EventError:
            return name, tuple(map(_shown, args)), None, None
        return name, tuple(map(_shown, args)), start, end

    def values(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return attributes in their places, converted to their types."""
        signature = self.signatures.get(name, ())
        if named:
            args = arrange(name, signature, args, named)
        return convert(name, signature, args)

    def attributes_in_order(self, name: str) -> tuple[str, ...]:
        """Return the attributes of an event, none if it is not declared or they have no order."""
        return () if name in self.implied else tuple(attribute for attribute, _ in self.signatures.get(name, ()))

    def _without_surplus(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Leave out the fields of a row that are no attributes of its event; one that seems misspelt stays."""
        known = [attribute for attribute, _ in self.signatures.get(name, ())]
        if not known:
            return fields
        surplus, slip = find_surplus(fields, known)
        if not surplus or slip is not None:
            return fields
        if name not in self.implied:
            self.notes.ignored(name, surplus)
        return {attribute: fields[attribute] for attribute in known if attribute in fields}

    def _read_clock(self, name: str) -> Any:
        if self.clock is None:
            hint = "give `at=` with the event, or `clock=` with the engine"
            raise EventError(Problem("E303", f"no time is given for {name}", hint=hint))
        return self.clock()


def _shown(given: Any) -> Any:
    """Return an attribute as a value; what is none as text."""
    try:
        return to_value(given)
    except EtalisError:
        return show(given)


def _read_name(name: Any) -> str:
    if type(name) is str:
        return name
    if isinstance(name, str):
        return str.__str__(name)
    raise EventError(Problem("E306", f"{show(name)} is not the name of an event", hint=_NAME_HINT))


def _read_stamp(at: Any) -> tuple[Stamp | None, int, int]:
    if isinstance(at, Stamp):
        return at, *to_interval(at.at)
    start, end = to_interval(at)
    return None, start, end
