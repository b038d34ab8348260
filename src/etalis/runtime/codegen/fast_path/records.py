"""Attributes that are given by name, in generated code: the named arguments of `push`, and rows that are dicts.

What has just the names of a kind's attributes is read in line. A row with other fields besides, or with the names that
results give to attributes, is read by a plan that is made once for its fields; `Inputs` says what fields mean. What
neither can read goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from etalis.errors import EventError
from etalis.language.attributes import Signature, find_surplus
from etalis.runtime.codegen.fast_path.choice import choose
from etalis.runtime.codegen.source import Code
from etalis.runtime.inputs import Inputs
from etalis.temporal.attribute_names import place_name
from etalis.temporal.json_values import from_plain
from etalis.temporal.record import are_places, known_as
from etalis.temporal.time_input import to_interval

_OWN = frozenset(("event", "at"))  # fields of a row that are no attributes
_APART = frozenset(("args", "attributes"))  # fields that may hold all attributes
_MOST_PLANS = 1_000

MISSING = object()  # an attribute that is not given
Fields = tuple[str, ...]


class NameAlone:
    """What a kind is called where its attributes have names and no order, so that nothing by position is of it."""


class NamedReader:
    """Reads what is given by name, of kinds whose attributes have names."""

    def __init__(self, inputs: Inputs, kinds: Sequence[tuple[str, int]], *, in_line: bool) -> None:
        self._inputs = inputs
        self._in_line = in_line
        self.labels: dict[str, Any] = {name: NameAlone() if name in inputs.implied else name for name, _ in kinds}
        self.named: dict[str, Signature] = {
            name: inputs.signatures[name] for name, arity in kinds if arity and name in inputs.signatures
        }
        self.renames = any(label is not name for name, label in self.labels.items())
        self._rows = {name: fields for name, s in self.named.items() if _is_regular(fields := tuple(a for a, _ in s))}
        self._plans: dict[str, dict[Fields, Fields | None]] = {name: {} for name in self._rows}
        self._wider: dict[str, set[Fields]] = {name: set() for name in self._rows}  # with fields that do not count
        self._by_plan = self.read_row

    # named arguments

    def write_named(self, code: Code, places: list[str], refuse: str) -> None:
        """Write that named arguments come to their places, or that they are refused."""
        if not self._in_line:
            code(f"found = {code.constant(partial(self._read_named, len(places)))}(name, named)")
            with code.block("if found is None:"):
                code(refuse)
            code(f"({', '.join([*places, 'name'])}) = found")
            return
        with code.block("try:"):
            choose(code, "name", [(name, partial(self._write_places, code, name)) for name in self.named])
        with code.block("except KeyError:"):
            code(refuse)
        with code.block(f"if x0 is {code.constant(MISSING)}:"):
            code(refuse)

    def _write_places(self, code: Code, name: str) -> None:
        signature = self.named[name]
        with code.block(f"if len(named) == {len(signature)}:"):
            for place, (attribute, _) in enumerate(signature):
                code(f"x{place} = named[{code.constant(attribute)}]")
            code.add([f"name = {code.constant(self.labels[name])}"] if self.labels[name] is not name else [])

    def _read_named(self, most: int, name: Any, named: dict[str, Any]) -> tuple[Any, ...] | None:
        signature = self.named.get(name) if type(name) is str else None
        if signature is None or len(named) != len(signature) or any(a not in named for a, _ in signature):
            return None
        return (*(named[a] for a, _ in signature), *[MISSING] * (most - len(signature)), self.labels[name])

    # rows

    def write_row(self, code: Code, tell: Callable[[int], None]) -> None:
        """Write how a dict is read: then `row` is None, and `tell` has written how many attributes it has.

        One that is not read in line becomes a tuple (name, *attributes, at), empty if it goes the general way.
        """
        if self._rows and self._in_line:
            with code.block("try:"):
                code("name = given['event']")
                code("at = given['at']")
                choose(code, "name", [(name, partial(self._write_fields, code, name, tell)) for name in self._rows])
            with code.block("except KeyError:"):
                code("row = ()")
        with code.block("if row is not None:"):
            code(f"row = {code.constant(self._by_plan)}(given)")

    def _write_fields(self, code: Code, name: str, tell: Callable[[int], None]) -> None:
        fields = self._rows[name]
        with code.block(f"if len(given) == {len(fields) + 2} or tuple(given) in {code.constant(self._wider[name])}:"):
            for place, field in enumerate(fields):
                code(f"x{place} = given[{code.constant(field)}]")
            code.add([f"name = {code.constant(self.labels[name])}"] if self.labels[name] is not name else [])
            tell(len(fields))
            code("row = None")

    def read_row(self, given: dict[Any, Any]) -> tuple[Any, ...]:
        """Return a dict as a tuple (name, *attributes, at), by a plan for its fields; an empty one if there is none."""
        name = given.get("event")
        if type(name) is not str or name not in self._rows:
            return ()
        plans = self._plans[name]
        fields = tuple(given)
        if fields not in plans:
            if len(plans) >= _MOST_PLANS:
                plans.clear()
                self._wider[name].clear()
            plan = plans[fields] = self._plan(name, given)
            if plan == (*self._rows[name], "at"):
                self._wider[name].add(fields)
        plan = plans[fields]
        return () if plan is None else (self.labels[name], *[given[field] for field in plan])

    def _plan(self, name: str, given: dict[Any, Any]) -> Fields | None:
        """Return which fields are the attributes and the time of a row with these, None if values tell it, too."""
        fields = [field for field in given if field not in _OWN]
        if "at" not in given or any(type(field) is not str or field in _APART for field in given) or are_places(fields):
            return None
        known = self._rows[name]
        attributes = [known_as(field, known) for field in fields]
        if len(set(attributes)) < len(attributes) or not set(known).issubset(attributes):
            return None
        surplus, _ = find_surplus(attributes, known)
        if surplus and name not in self._inputs.implied:
            try:
                to_interval(given["at"])
            except EventError:
                return None
            self._inputs.notes.ignored(name, surplus)
        return (*(fields[attributes.index(attribute)] for attribute in known), "at")


def _is_regular(attributes: Fields) -> bool:
    """Tell whether a field of an attribute's name is always that attribute."""
    by_place = tuple(map(place_name, range(len(attributes))))
    return _OWN.isdisjoint(attributes) and (attributes == by_place or set(attributes) != set(by_place))


def from_row(given: Any, attribute: Any) -> Any:
    """Return an attribute of a row as it was before it was written as plain data, if the row is a dict."""
    return from_plain(attribute) if type(given) is dict else attribute
