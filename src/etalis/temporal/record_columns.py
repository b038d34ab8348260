"""Events as columns: a list per field of a record, turned into the rows that an engine takes.

`{"event": "trade", "sym": ["a", "b"], "price": [2.5, 3.0], "at": [0, 1]}` is the two rows that `zip` makes of it. The
event may be a column, too: then each row has the attributes of its own kind. Where attributes and order are known a row
is a tuple, else a dict, which says of itself what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter, length_hint
from typing import Any

from etalis.data.scalars import show, to_python
from etalis.errors import InputError, Problem
from etalis.temporal.record import known_as

Known = Callable[[str], Sequence[str]]  # the attributes of an event in order; none if they have no order

_HINT = 'give a list per attribute, {"event": "trade", "sym": ["a", "b"], "price": [2.5, 3.0], "at": [0, 1]}'


class ColumnRows:
    """The rows of columns, read once; `place` is the index of the row that was read last."""

    def __init__(self, columns: Mapping[str, Any], known: Known) -> None:
        fields = {str(name): column for name, column in columns.items()}
        event = fields.pop("event", None)
        if event is None:
            raise _refuse(f"columns without `event`: {show(columns)}")
        names = event if isinstance(event, str) else _as_list("event", event)
        lists = {name: _as_list(name, column) for name, column in fields.items()}
        sizes = {name: len(column) for name, column in lists.items()}
        sizes |= {} if isinstance(names, str) else {"event": len(names)}
        if len(set(sizes.values())) > 1:
            raise _refuse(f"columns of different lengths: {', '.join(f'{n} has {size}' for n, size in sizes.items())}")
        self.size = max(sizes.values(), default=0)
        if "at" in lists:
            times = lists.pop("at")
        elif "start" in lists and "end" in lists:
            times = list(zip(lists.pop("start"), lists.pop("end"), strict=True))
        else:
            raise _refuse(f"columns without a time: {', '.join(fields) or 'none but event'}")
        self._read = iter(times)
        if isinstance(names, str):
            self.rows = _of_one(names, lists, self._read, known(names))
        else:
            self.rows = _of_several(names, lists, self._read, known)

    @property
    def place(self) -> int:
        """The index of the row that was read last."""
        return self.size - length_hint(self._read) - 1


def _of_one(
    name: str, lists: Mapping[str, Sequence[Any]], times: Iterator[Any], attributes: Sequence[str]
) -> Iterator[Any]:  # fmt: skip
    own = {known_as(field, attributes): column for field, column in lists.items()}
    if attributes and own.keys() == set(attributes) and len(own) == len(lists):
        return zip(repeat(name), *(own[attribute] for attribute in attributes), times, strict=False)
    rows = zip(times, *lists.values(), strict=True)
    return ({"event": name, "at": at, **dict(zip(lists, values, strict=True))} for at, *values in rows)


def _of_several(
    names: Sequence[Any], lists: Mapping[str, Sequence[Any]], times: Iterator[Any], known: Known
) -> Iterator[Any]:  # fmt: skip
    """Yield rows that have the attributes of their own kind; of one that declares none, what is not None."""
    fields, places = list(lists), {}
    for name in {name for name in names if isinstance(name, str)}:
        attributes = known(name)
        found = {known_as(field, attributes): place for place, field in enumerate(fields, 1)}
        if attributes and found.keys() >= set(attributes):
            places[name] = itemgetter(0, *(found[attribute] for attribute in attributes), len(fields) + 1)
    for row in zip(names, *lists.values(), times, strict=True):
        read = places.get(row[0]) if isinstance(row[0], str) else None
        if read is not None:
            yield read(row)
        else:
            name, *values, at = row
            given = {field: value for field, value in zip(fields, values, strict=True) if value is not None}
            yield {"event": name, "at": at, **given}


def _as_list(name: str, column: Any) -> Sequence[Any]:
    """Return a column as a list, its elements as Python's own."""
    if isinstance(column, list | tuple | range):
        return column
    kind = getattr(getattr(column, "dtype", None), "kind", "")
    if type(column).__module__ == "numpy" and kind in "iufbU" and kind and column.dtype.char != "g":
        column = column.tolist()
    found = to_python(column)
    if not isinstance(found, list):
        raise _refuse(f"{name} is no column: {show(column)}")
    return found if found is column else [to_python(element) for element in found]


def _refuse(message: str) -> InputError:
    return InputError(Problem("E306", message, hint=_HINT))
