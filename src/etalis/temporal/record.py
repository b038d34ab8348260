"""An event as a record: the shape that `Event.to_dict` writes, and older ones, read back.

`{"event": "fraud", "Card": "c7", "start": 0, "end": 9, "rule": "1"}`, or with `at` for an instant; attributes may also
stand in a list, `"args": [...]`, or in an object of their own, `"attributes": {...}`. What a row of results has beside
its attributes (`match_id`, say) is told from them only where a `rule` says that it is one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.data.scalars import show
from etalis.errors import EventError, Problem
from etalis.temporal.attribute_names import ATOM, CONTRIBUTORS, END, EVENT, ID, RULE, START, name_columns, place_name

SIGN = "sign"
ADDED = (RULE, ID, ATOM, CONTRIBUTORS, SIGN)
_SHAPE = 'it looks like {"event": "a", "x": 1, "start": 0, "end": 0, "rule": null}, or has "at" for its time'


@dataclass(frozen=True, slots=True)
class Record:
    """An event as it is written: `names` is empty where its attributes have only places."""

    name: str
    names: tuple[str, ...]
    values: tuple[Any, ...]
    at: Any
    rule: str | None
    sign: int


def open_record(record: Mapping[str, Any]) -> Record:
    """Take a record apart; refuse what is no event."""
    fields = {str(key): value for key, value in record.items()}
    name = fields.pop(EVENT, None)
    if not isinstance(name, str):
        raise _refuse(f"not an event: {show(record)}")
    if START in fields and END in fields:
        rule, sign = drop_added(fields)
        at = fields.pop(START), fields.pop(END)
    elif "at" in fields:
        rule, sign, at = None, 1, fields.pop("at")
    else:
        raise EventError(Problem("E303", f"no time is given for {name}", hint=_SHAPE))
    flatten(fields)
    args = fields.get("args")
    if isinstance(args, list):
        if len(fields) > 1:
            raise _refuse(f"{name} has attributes besides its `args`: {', '.join(fields.keys() - {'args'})}")
        return Record(name, (), tuple(args), at, rule, sign)
    return Record(name, () if are_places(fields) else tuple(fields), tuple(fields.values()), at, rule, sign)


def drop_added(fields: dict[str, Any], attributes: Collection[str] = ()) -> tuple[str | None, int]:
    """Drop from the fields of an interval what results have beside their attributes; return the rule and the sign."""
    if not is_added(fields, attributes):
        return None, 1
    rule, sign = fields[RULE], fields.get(SIGN)
    for name in ADDED:
        if name not in attributes:
            fields.pop(name, None)
    return rule, -1 if sign == -1 and SIGN not in attributes else 1


def is_added(fields: Mapping[str, Any], attributes: Collection[str] = ()) -> bool:
    """Tell whether the rule of a record with a start and an end is that of a result, and no attribute."""
    rule = fields.get(RULE, 0)
    return RULE not in attributes and (rule is None or isinstance(rule, str))


def known_as(field: str, attributes: Sequence[str]) -> str:
    """Return the declared attribute that a field is, if it has its name, or the name that results have for it.

    >>> [known_as(field, ["card", "start"]) for field in ("card", "Card", "start_2", "x")]
    ['card', 'card', 'start', 'x']
    """
    if field in attributes:
        return field
    columns = name_columns(tuple(attributes), len(attributes))
    ways = [name for name, column in zip(attributes, columns, strict=True) if field == column]
    ways = ways or [name for name in attributes if name.casefold() == field.casefold()]
    return ways[0] if len(ways) == 1 else field


def flatten(fields: dict[str, Any], attributes: Collection[str] = ()) -> None:
    """Put attributes that stand in an object of their own among the fields."""
    inner = fields.get("attributes")
    if isinstance(inner, Mapping) and "attributes" not in attributes:
        del fields["attributes"]
        fields.update((str(key), value) for key, value in inner.items())


def are_places(fields: Collection[str]) -> bool:
    """Tell whether fields are called by their places: a1, a2, ..."""
    return all(field == place_name(place) for place, field in enumerate(fields))


def _refuse(message: str) -> EventError:
    return EventError(Problem("E306", message, hint=_SHAPE))
