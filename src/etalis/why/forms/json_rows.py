"""How each class of an explanation is written as plain data and read back: a table of fields, keys and codecs.

A field that has its default is left out. Nodes refer to each other by number; what stands inside a node, such as the
body and the tests of a derived event, is named by its first key. Times are seconds, bounds `after` and `before` where
they are open, `from` and `to` where they are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from math import isfinite
from typing import Any

from etalis.data.values import Value, to_value
from etalis.language.ground_terms import ground
from etalis.language.printer import print_pattern, print_term, seconds
from etalis.language.read.parser import parse_event, parse_rule, parse_term
from etalis.language.syntax import Pattern
from etalis.runtime.state import BEGINNING, NEVER
from etalis.temporal.interval import EARLIEST, LATEST, to_microseconds, to_seconds
from etalis.temporal.json_values import from_plain, to_plain
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.bound_terms import bind_pattern
from etalis.why.repairing import data as r

Numbers = Mapping[int, int]  # the number of a node by its identity
Nodes = Mapping[int, Any]  # the node of a number
Bound = tuple[int, bool] | None


@dataclass(frozen=True, slots=True)
class FieldCodec:
    """How a field is written and read."""

    write: Callable[[Any, Numbers], Any]
    read: Callable[[Any, Nodes], Any]


def _plain(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> FieldCodec:
    """Return the codec of what refers to no node; None is null."""
    return FieldCodec(lambda x, _: None if x is None else write(x), lambda x, _: None if x is None else read(x))


def _all(codec: FieldCodec) -> FieldCodec:
    return FieldCodec(lambda xs, n: [codec.write(x, n) for x in xs], lambda xs, n: tuple(codec.read(x, n) for x in xs))


def _both(first: FieldCodec, second: FieldCodec) -> FieldCodec:
    return FieldCodec(
        lambda x, n: [first.write(x[0], n), second.write(x[1], n)],
        lambda x, n: (first.read(x[0], n), second.read(x[1], n)),
    )


def _write_time(time: int) -> int | float | str:
    """Return seconds; as text where no float is so exact."""
    found = to_seconds(time)
    return found if to_microseconds(found) == time else seconds(time)


def _read_time(found: float | str) -> int:
    return to_microseconds(Decimal(found) if isinstance(found, str) else found)


def _read_pattern(text: str) -> Pattern:
    return parse_rule(f"x <- {text}").pattern


RAW = _plain(lambda x: x, lambda x: x)
TUPLE = _plain(list, tuple)
TIME = _plain(_write_time, _read_time)
VALUE = _plain(to_plain, lambda x: to_value(from_plain(x)))
BINDINGS = _plain(
    lambda found: {name: to_plain(value) for name, value in found.items()},
    lambda found: {name: VALUE.read(value, {}) for name, value in found.items()},
)
TERM = _plain(print_term, parse_term)
PATTERN = _plain(print_pattern, _read_pattern)
NODE = FieldCodec(lambda x, n: None if x is None else n[id(x)], lambda x, n: None if x is None else n[x])
NODES = _all(NODE)
INLINE = FieldCodec(
    lambda x, n: None if x is None else write_inline(x, n), lambda x, n: None if x is None else read_inline(x, n)
)
SIDE = FieldCodec(
    lambda x, n: (NODES if isinstance(x, tuple) else INLINE if isinstance(x, j.Nothing) else NODE).write(x, n),
    lambda x, n: (NODES if isinstance(x, list) else INLINE if isinstance(x, dict) else NODE).read(x, n),
)
INLINES = _all(INLINE)
BODY = FieldCodec(
    lambda x, n: (NODE if isinstance(x, j.Occurred) else INLINE).write(x, n),
    lambda x, n: (INLINE if isinstance(x, dict) else NODE).read(x, n),
)


def write_bounds(low: Bound, high: Bound) -> dict[str, Any]:
    """Write two bounds, each a time and whether it is open, None for no bound."""
    plain = {}
    for bound, (closed, opened) in ((low, ("from", "after")), (high, ("to", "before"))):
        if bound is not None and EARLIEST <= bound[0] <= LATEST:
            plain[opened if bound[1] else closed] = _write_time(bound[0])
    return plain


def read_bounds(plain: Mapping[str, Any]) -> tuple[Bound, Bound]:
    """Read two bounds."""
    low, high = (
        next(((_read_time(plain[key]), key == opened) for key in (closed, opened) if key in plain), None)
        for closed, opened in (("from", "after"), ("to", "before"))
    )
    return low, high


def _write_range(found: w.TimeRange, _: Numbers) -> dict[str, Any]:
    return write_bounds(*((b.time, b.open) if b is not None else None for b in (found.after, found.before)))


def _read_range(plain: Mapping[str, Any], _: Nodes) -> w.TimeRange:
    return w.TimeRange(*(None if bound is None else w.TimeBound(*bound) for bound in read_bounds(plain)))


RANGE = FieldCodec(
    lambda x, n: None if x is None else _write_range(x, n), lambda x, n: None if x is None else _read_range(x, n)
)


def _write_nothing(found: j.Nothing, _: Numbers) -> dict[str, Any]:
    pattern, looked = print_pattern(found.pattern), print_pattern(bind_pattern(found.pattern, found.bindings))
    low = None if found.low is None else (found.low, found.open_low)
    bounds = write_bounds(low, (found.high, found.open_high))
    plain = {"nothing": looked, **bounds, "where": found.where}
    return plain if pattern == looked else {**plain, "pattern": pattern, "bindings": BINDINGS.write(found.bindings, {})}


def _read_nothing(plain: Mapping[str, Any], _: Nodes) -> j.Nothing:
    pattern, bindings = _read_pattern(plain.get("pattern", plain["nothing"])), plain.get("bindings", {})
    low, high = read_bounds(plain)
    first, last = low or (None, True), high or (NEVER, True)
    return j.Nothing(pattern, BINDINGS.read(bindings, {}), first[0], last[0], plain["where"], first[1], last[1])


def _write_alone(found: j.AloneBetween, _: Numbers) -> dict[str, Any]:
    return {"alone": found.where, **write_bounds((found.low, True), (found.high, True))}


def _read_alone(plain: Mapping[str, Any], _: Nodes) -> j.AloneBetween:
    low, high = read_bounds(plain)
    return j.AloneBetween(*(BEGINNING if low is None else low[0], NEVER if high is None else high[0]), plain["alone"])


def _write_attempt(found: w.Attempt, numbers: Numbers) -> dict[str, Any]:
    places = {id(part): place for place, part in enumerate(found.parts)}
    causes = [
        {"missing": places[id(cause.part)]} if isinstance(cause, w.MissingPart) else write_inline(cause, numbers)
        for cause in found.causes
    ]
    bindings = {"bindings": BINDINGS.write(found.bindings, {})} if found.bindings else {}
    return {
        "attempt": list(found.deficit), **bindings, "parts": INLINES.write(found.parts, numbers), "causes": causes,
    }  # fmt: skip


def _read_attempt(plain: Mapping[str, Any], nodes: Nodes) -> w.Attempt:
    parts = INLINES.read(plain["parts"], nodes)
    causes = [
        w.MissingPart(parts[cause["missing"]]) if "missing" in cause else read_inline(cause, nodes)
        for cause in plain["causes"]
    ]
    return w.Attempt(parts, tuple(causes), tuple(plain["attempt"]), BINDINGS.read(plain.get("bindings", {}), {}))


@dataclass(frozen=True, slots=True)
class JsonRow:
    """How a class is written: its name, its fields in order with key and codec."""

    cls: type
    kind: str
    fields: tuple[tuple[str, str, FieldCodec], ...]


def _row(cls: type, kind: str, **codecs: FieldCodec) -> JsonRow:
    """Return the row of a class: its fields in their order, each as `field` or `field__key`."""
    keyed = [(name.partition("__")[0], name.partition("__")[2] or name, codec) for name, codec in codecs.items()]
    return JsonRow(cls, kind, tuple(keyed))


ROWS = (
    _row(j.Occurred, "match"),
    _row(j.Received, "received", number__input=RAW, source=RAW, offset=RAW),
    _row(j.Raised, "raised", by=NODE),
    _row(
        j.Derived, "derived", rule=RAW, text=RAW, bindings=BINDINGS, body=BODY, tests=INLINES, arrival=TUPLE, note=RAW,
    ),
    _row(j.Tested, "tested", body__tested=NODE, tests=INLINES),
    _row(j.PairOf, "pair", relation__pair=RAW, left=SIDE, right=SIDE),
    _row(j.ChosenBranch, "choice", which__choice=RAW, body=NODE),
    _row(j.RepeatedRun, "run", elements__run=NODES, left=NODE),
    _row(j.PutTogether, "together", bodies__together=NODES),
    _row(j.FoldedValue, "folded", kind__folded=RAW, opener=NODE, elements=NODES, value=VALUE),
    _row(j.PointReached, "moment", time__moment=TIME),
    _row(j.Awaited, "awaited", left__awaited=NODE, nothing__no=INLINE),
    _row(j.Rung, "rung", body__rung=NODE, due=TIME),
    _row(j.WithinWindow, "window", allowed__window=TIME, actual=TIME),
    _row(j.ConditionHeld, "held", goal__held=TERM, kind__by=RAW, solution=BINDINGS, proof=NODES, note=RAW),
    _row(j.TakenUnder, "taken", policy__taken=RAW),
    _row(j.KnownFact, "fact", atom=TERM, since=TIME, by=NODE),
    _row(j.ByClause, "clause", head=TERM, premises=NODES),
    _row(j.BuiltIn, "built_in", goal=TERM),
    _row(j.HostCall, "called", goal=TERM, now=RAW),
    _row(j.DeeperProof, "deeper", goal=TERM),
    _row(j.Justification, "justification", root=NODE, program=RAW, level=RAW, complete=RAW, notes=TUPLE),
    _row(w.NearestMiss, "nearest", event__nearest=NODE, variable=RAW, wanted=VALUE, found=VALUE),
    _row(
        w.AttemptPart, "part", text__part=RAW, event=NODE, start=RANGE, end=RANGE, nearest=INLINE, because=NODE,
        note=RAW, count=RAW, pattern=PATTERN,
    ),
    _row(w.OutOfOrder, "order", relation__order=RAW, left=NODE, right=NODE, by=TIME),
    _row(w.TooLong, "too_long", allowed__too_long=TIME, actual=TIME),
    _row(w.Refuted, "condition", goal__condition=TERM, failing=TERM, bindings=BINDINGS, error=RAW),
    _row(w.KnownLater, "knowledge", goal__knowledge=TERM, facts=_all(_both(TERM, TIME))),
    _row(w.WrongValue, "value", wanted__value=RAW, found=_all(_both(VALUE, TIME))),
    _row(w.BlockedBy, "blocked", by__blocked=NODES),
    _row(w.Withheld, "withheld", kind__withheld=RAW, part=NODE, by=NODES),
    _row(w.Affair, "affair", kind__affair=RAW, text=RAW, event=NODE),
    _row(w.StillPending, "pending", until__pending=TIME),
    _row(w.RuleAnswer, "rule", rule=RAW, text=RAW, attempts=INLINES, more=RAW, affairs=INLINES),
    _row(
        w.WhyNot, "why_not", question=RAW, rules=INLINES, occurred=INLINE, unknown=RAW, affairs=INLINES, complete=RAW,
        steps=RAW, events=NODES, repair=INLINE,
    ),
    _row(r.AddEvent, "add"),
    _row(r.RemoveEvent, "remove", event__remove=NODE),
    _row(r.MoveEvent, "move", event__move=NODE, start=TIME, end=TIME),
    _row(r.AddFact, "add_fact", atom__add_fact=TERM, since=TIME),
    _row(r.Repair, "repair", changes__repair=INLINES, status=RAW, gained=NODES, lost=NODES, runs=RAW),
)  # fmt: skip
BY_CLASS = {row.cls: row for row in ROWS}
BY_KIND = {row.kind: row for row in ROWS}
SPECIAL: Mapping[type, tuple[str, FieldCodec]] = {
    j.Nothing: ("nothing", FieldCodec(_write_nothing, _read_nothing)),
    j.AloneBetween: ("alone", FieldCodec(_write_alone, _read_alone)),
    w.Attempt: ("attempt", FieldCodec(_write_attempt, _read_attempt)),
}
_READERS = {kind: codec.read for kind, codec in SPECIAL.values()}


def write_inline(found: Any, numbers: Numbers) -> dict[str, Any]:
    """Write what stands inside a node: its first key tells what it is, or `kind` does."""
    if type(found) in SPECIAL:
        return SPECIAL[type(found)][1].write(found, numbers)  # type: ignore[no-any-return]
    row, plain = BY_CLASS[type(found)], write_fields(found, numbers)
    return plain if row.kind in plain else {"kind": row.kind, **plain}


def write_fields(found: Any, numbers: Numbers) -> dict[str, Any]:
    """Write the fields of an object, but for those that have their defaults."""
    defaults = {field.name: field.default for field in fields(found)}
    plain = write_atom(found) if isinstance(found, j.Occurred) else {}
    for name, key, codec in BY_CLASS[type(found)].fields:
        value = getattr(found, name)
        if value is not defaults[name] and (value != () or defaults[name] != ()):
            plain[key] = codec.write(value, numbers)
    return plain


def read_inline(plain: Mapping[str, Any], nodes: Nodes) -> Any:
    """Read an object that `write_inline` has written, or a node."""
    kind = plain.get("kind") or next(key for key in plain if key in BY_KIND or key in _READERS)
    if kind in _READERS:
        return _READERS[kind](plain, nodes)
    row = BY_KIND[kind]
    found = {name: codec.read(plain[key], nodes) for name, key, codec in row.fields if key in plain}
    return row.cls(**(read_atom(plain) if issubclass(row.cls, j.Occurred) else {}), **found)


def write_atom(found: j.Occurred) -> dict[str, Any]:
    """Write the atom and the interval of an event; one that text does not hold, such as inf, has its values too."""
    plain = {"atom": None if found.name is None else found.atom}
    times = {"start": _write_time(found.start), "end": _write_time(found.end)}
    if found.name is None or all(map(_has_text, (found.name, *found.args))):
        return {**plain, **times}
    return {**plain, "name": found.name, "args": to_plain(found.args), **times}


def read_atom(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Read the atom and the interval of an event."""
    name, args = None, ()
    if "args" in plain:
        name, args = plain["name"], VALUE.read(plain["args"], {})
    elif plain["atom"] is not None:
        name, args = _parse_atom(plain["atom"])
    return {"name": name, "args": args, "start": _read_time(plain["start"]), "end": _read_time(plain["end"])}


def _has_text(value: Value) -> bool:
    """Tell whether a program's text holds a value: none holds infinite numbers or half of a surrogate pair."""
    match value:
        case str():
            return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
        case float():
            return isfinite(value)
        case int():
            return True
        case tuple():
            return all(map(_has_text, value))
        case _:
            return _has_text(value.name) and all(map(_has_text, value.args))


def _parse_atom(text: str) -> tuple[str, tuple[Value, ...]]:
    event = parse_event(text)
    return event.name, tuple(ground(arg) for arg in event.args)
