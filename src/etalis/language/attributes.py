"""Values of attributes, converted to their declared types: from the host, a file, or a goal."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from types import UnionType
from typing import Any
from uuid import UUID

from etalis.data.scalars import is_numpy_time, show, to_python
from etalis.data.values import MAX_DIGITS, Real, Struct, Value, format_atom, format_value, real, to_value
from etalis.errors import EventError, Problem
from etalis.language.check.spelling import nearest, suggest
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS, TimeRangeError, to_time

_LOG = logging.getLogger("etalis")

Signature = tuple[tuple[str, str], ...]  # (attribute, type) of a declared event
PLAIN = frozenset((int, str, float, bool, type(None), Real, Struct, list, tuple, dict))


def to_int(value: Value) -> Value:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int):
        return value
    raise TypeError


def to_float(value: Value) -> Value:
    if isinstance(value, int):
        return real(float(value))
    if isinstance(value, float):
        return value
    raise TypeError


def to_string(value: Value) -> Value:
    if isinstance(value, str):
        return value
    raise TypeError


def to_bool(value: Value) -> Value:
    if value in ("true", "false"):
        return value
    raise TypeError


def same(value: Value) -> Value:
    return value


CONVERSIONS: Mapping[str, Callable[[Value], Value]] = {
    "int": to_int, "float": to_float, "string": to_string, "bool": to_bool, "term": same, "any": same,
}  # fmt: skip
_AS_IT_IS: Mapping[str, type] = {"int": int, "string": str}  # what is a value of its declared type already
TYPES = ("int", "float", "string", "bool", "time", "term", "any")


def declaration_text(name: str, attributes: Iterable[tuple[str, str]]) -> str:
    """Write the declaration of an event; names that are no plain atoms are quoted.

    >>> print(declaration_text("w", [("card", "string"), ("My col", "float")]))
    :- event(w(card: string, 'My col': float)).
    """
    listed = ", ".join(f"{_attribute_text(attribute)}: {kind}" for attribute, kind in attributes)
    return f":- event({format_atom(name)}({listed}))." if listed else f":- event({format_atom(name)})."


def _attribute_text(name: str) -> str:
    """Write the name of an attribute; a sign in front of a colon would become one with it."""
    text = format_atom(name)
    return text if text[0] == "'" or text[0].isalnum() else f"({text})"


def guess_type(given: Any) -> str:
    """Return the type that an attribute with this value would be declared with.

    >>> guess_type(True), guess_type(2.5), guess_type([1])
    ('bool', 'float', 'term')
    """
    kinds: tuple[tuple[str, type | UnionType], ...] = (
        ("bool", bool), ("int", int), ("float", float | Decimal), ("string", str | UUID), ("time", date),
    )  # fmt: skip
    plain = to_python(given)
    return next((name for name, kind in kinds if isinstance(plain, kind)), "time" if is_numpy_time(plain) else "term")


def arrange(name: str, signature: Signature, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Put named attributes into their places, behind those that are given by position."""
    if not signature:
        declared = [*(("attribute", guess_type(x)) for x in args), *((a, guess_type(x)) for a, x in named.items())]
        hint = f"declare the attributes: `{declaration_text(name, declared)}`, or give them by position"
        raise EventError(Problem("E302", f"{name} has no declared attributes, so none can be given by name", hint=hint))
    places = [attribute for attribute, _ in signature]
    for given in named:
        if given not in places:
            near = suggest(given, places, f"{name} has {', '.join(places)}")
            raise EventError(Problem("E302", f"{name} has no attribute {given}", hint=near))
        if places.index(given) < len(args):
            raise EventError(
                Problem("E302", f"{name}: {given} is given twice", hint="by position or by name, not both")
            )
    missing = [attribute for attribute in places[len(args) :] if attribute not in named]
    if missing:
        raise EventError(Problem("E302", f"{name} lacks {', '.join(missing)}", hint="give None for what is not known"))
    return (*args, *(named[attribute] for attribute in places[len(args) :]))


def arrange_terms(name: str, signature: Signature, args: Sequence[Value]) -> tuple[Value, ...]:
    """Put attributes that are written as terms `attribute: value` into their places; leave others where they are.

    >>> from etalis.data.values import Struct
    >>> arrange_terms(
    ...     "w", (("card", "any"), ("amount", "any")), [Struct(":", ["amount", 5]), Struct(":", ["card", "c"])]
    ... )
    ('c', 5)
    """
    if Struct not in map(type, args):
        return tuple(args)
    pairs = [arg.args for arg in args if isinstance(arg, Struct) and arg.name == ":" and len(arg.args) == 2]
    names = [given for given, _ in pairs if isinstance(given, str)]
    if len(names) != len(args) or not {attribute for attribute, _ in signature}.intersection(names):
        return tuple(args)
    twice = next((given for given in names if names.count(given) > 1), None)
    if twice is not None:
        raise EventError(Problem("E302", f"{name}: {twice} is given twice", hint="name each attribute once"))
    return arrange(name, signature, (), dict(pairs))


def place_event(event: Event, signature: Signature) -> tuple[Value, ...]:
    """Return the attributes of an event in their places: of one that was received, by their names if it has some."""
    names = event.kind.attributes if event.rule is None and signature else ()
    return arrange(event.name, signature, (), dict(zip(names, event.args, strict=True))) if names else event.args


def refuse_order(name: str, signature: Signature) -> EventError:
    """Return the refusal of attributes by position where only the names that patterns give them are known."""
    hint = f"give them by name ({', '.join(attribute for attribute, _ in signature)}), or declare the event"
    return EventError(Problem("E302", f"the attributes of {name} have names and no order", hint=hint))


def find_surplus(given: Iterable[str], known: Collection[str]) -> tuple[list[str], tuple[str, str] | None]:
    """Return the fields of a row that are no attributes, and one that seems to be a missing attribute misspelt.

    >>> find_surplus(["card", "amuont", "region"], ["card", "amount"])
    (['amuont', 'region'], ('amuont', 'amount'))
    """
    fields = list(given)
    surplus = [one for one in fields if one not in known]
    missing = [one for one in known if one not in fields] if surplus else []
    slips = ((one, nearest(one, missing)) for one in surplus)
    return surplus, next(((one, near) for one, near in slips if near is not None), None)


class Notes:
    """Says once of each event which fields of its rows are ignored, and which variables are null."""

    def __init__(self) -> None:
        self._told: set[tuple[str, frozenset[str]]] = set()

    def ignored(self, event: str, fields: Collection[str]) -> None:
        """Note that fields are no attributes of an event."""
        key = event, frozenset(fields)
        if key not in self._told:
            self._told.add(key)
            noun = "attributes" if len(fields) > 1 else "attribute"
            _LOG.warning("%s has no %s %s: ignored", event, noun, ", ".join(fields))

    def unbound(self, event: str, variables: Collection[str]) -> None:
        """Note that variables of an event have no value."""
        key = event, frozenset(f"?{name}" for name in variables)
        if key not in self._told:
            self._told.add(key)
            shown = ", ".join("_" if name.startswith("_#") else name for name in variables)
            _LOG.warning("%s has no value for %s: null; quote a name that begins with a capital", event, shown)


def exact_to_int(number: Decimal | Fraction) -> int:
    if isinstance(number, Fraction):
        is_whole = number.denominator == 1
    else:
        is_whole = number.is_finite() and number.adjusted() <= MAX_DIGITS and number == number.to_integral_value()
    if not is_whole:
        raise TypeError
    return int(number)


def exact_to_float(number: Decimal | Fraction) -> float:
    nearest = float(number)
    if math.isinf(nearest) and not (isinstance(number, Decimal) and number.is_infinite()):
        raise OverflowError
    return nearest


# what a Decimal or a Fraction is as an attribute of a declared type; others take it as if it were not declared
EXACT: Mapping[str, Callable[[Decimal | Fraction], Any]] = {
    "int": exact_to_int, "float": exact_to_float, "string": str,
}  # fmt: skip


def convert(name: str, signature: Signature, args: tuple[Any, ...]) -> tuple[Value, ...]:
    """Turn attributes into values, of their declared types where there are some."""
    if not signature:
        return tuple(map(to_value, args))
    if len(args) != len(signature):
        hint = f"declared: {name}({', '.join(a for a, _ in signature)})"
        raise EventError(Problem("E302", f"{name} takes {len(signature)} attributes, not {len(args)}", hint=hint))
    for (_, kind), given in zip(signature, args, strict=True):
        if type(given) is not _AS_IT_IS.get(kind):
            break
    else:
        return args
    return tuple(convert_one(name, attribute, kind, a) for (attribute, kind), a in zip(signature, args, strict=True))


def convert_one(name: str, attribute: str, kind: str, given: Any) -> Value:
    """Turn one attribute into a value of its declared type; null passes everywhere."""
    if kind == "time":
        return time_value(name, attribute, given)
    try:
        if type(given) not in PLAIN:
            given = to_python(given)
            if isinstance(given, Decimal) and given.is_nan():
                given = math.nan
            if isinstance(given, Decimal | Fraction) and kind in EXACT:
                given = EXACT[kind](given)
        value = to_value(given)
        return value if value == "null" else CONVERSIONS[kind](value)
    except (TypeError, OverflowError):
        hint = f"the event is declared with {attribute}: {kind}"
        found = show(given) if isinstance(given, Decimal | Fraction) else format_value(to_value(given))
        raise EventError(
            Problem("E305", f"{name}: {attribute} should be of type {kind}, not {found}", hint=hint)
        ) from None


def time_value(name: str, attribute: str, given: Any) -> Value:
    """Turn a time attribute into seconds: whole ones as an integer."""
    given = to_python(given)
    if given is None or (isinstance(given, str) and given == "null"):
        return "null"
    try:
        seconds, rest = divmod(to_time(given), MICROSECONDS)
    except ValueError as error:
        hint = f"the event is declared with {attribute}: time"
        found = f"{error}" if isinstance(error, TimeRangeError) else f"not {show(given)}"
        raise EventError(Problem("E305", f"{name}: {attribute} should be a time, {found}", hint=hint)) from None
    return seconds if not rest else real(seconds + rest / MICROSECONDS)
