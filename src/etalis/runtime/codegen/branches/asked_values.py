"""What one attribute of an event must be for a leaf to do anything with it: constants and bounds of its first tests.

`tick('S7', P)` and `tick(S, P) where (S = 'S7', P > 17.3)` both ask for 'S7', the second for at least 17.3, too. Law:
an event that has not all of this neither matches nor makes a condition report an error, as long as the attributes at
the places of `numbers` are numbers: what a comparison says of anything else is an error, so that its leaf must see it.
An attribute may equal a constant that is another value: what is found is asked all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from etalis.data.values import Real, Value
from etalis.language import syntax as s
from etalis.language.check.goals import conjuncts
from etalis.plan import algebra as p
from etalis.runtime.codegen.branches.segments import after
from etalis.runtime.codegen.network import Wired

_NO_VALUES: Mapping[int, Any] = MappingProxyType({})
NUMBERS = frozenset((int, float, Real))  # the types of values that compare with each other
Side = Literal["above", "below"]
SIDES: tuple[Side, ...] = ("above", "below")
_EQUAL = frozenset(("=", "=="))
_BOUNDS: dict[str, Side] = {">": "above", ">=": "above", "<": "below", "=<": "below"}
_STRICT = frozenset("<>")
_OTHER: dict[Side, Side] = {"above": "below", "below": "above"}
_PLAIN_COMPARISONS = frozenset((*_BOUNDS, "=:=", "=\\="))


def no_values() -> Mapping[int, Any]:
    """Return that nothing is asked, which is one object for all rules."""
    return _NO_VALUES


@dataclass(slots=True)
class AskedValues:
    """Constants by place, of the pattern and of conditions; least and most; what must be a number for these."""

    pattern: Mapping[int, Value] = field(default_factory=no_values)
    equal: Mapping[int, Value] = field(default_factory=no_values)
    above: Mapping[int, float] = field(default_factory=no_values)
    below: Mapping[int, float] = field(default_factory=no_values)
    without: frozenset[tuple[int, Side]] = frozenset()  # the bounds that are not among what they bound
    numbers: frozenset[int] = frozenset()
    # the numbers that a constant of a condition follows
    before: Mapping[int, frozenset[int]] = field(default_factory=no_values)
    is_plain: bool = False  # whether the pattern itself takes every event
    is_one_constant: bool = False  # whether the pattern takes every event that has its only constant
    is_bounds_alone: bool = False  # whether nothing but bounds is asked, of plain events

    @property
    def is_conditional(self) -> bool:
        """Whether a condition asks for anything."""
        return bool(self.equal or self.above or self.below)

    @property
    def is_any(self) -> bool:
        """Whether anything is asked, by which an index finds the leaf."""
        return bool(self.pattern) or self.is_conditional

    @property
    def bounded(self) -> Collection[int]:
        """The places that have a bound."""
        return self.above.keys() | self.below.keys()

    def start(self, place: int) -> float | None:
        """Return the number from which on an attribute may be what is asked, None if there is none."""
        bound = self.above.get(place)
        if bound is None or (place, "above") not in self.without:
            return bound
        start = after(bound)
        return bound if start is None else start

    def end(self, place: int) -> float | None:
        """Return the number before which an attribute must be, None if there is none."""
        bound = self.below.get(place)
        return bound if bound is None or (place, "below") in self.without else after(bound)

    @property
    def is_interval(self) -> bool:
        """Whether the numbers from a start on and before an end are exactly what is asked, of plain events."""
        if not self.is_bounds_alone or len(self.bounded) != 1 or self.above.keys() != self.below.keys():
            return False
        (place,) = self.bounded
        starts = (place, "above") not in self.without or after(self.above[place]) is not None
        return starts and self.end(place) is not None

    def side(self, side: Side) -> Mapping[int, float]:
        """Return the bounds of one side by their places."""
        return self.above if side == "above" else self.below


def asked_values(leaf: Wired) -> AskedValues:
    """Return what is asked of an event by a leaf, and by its reader if it has no other."""
    assert isinstance(leaf.node, p.Source)
    args = leaf.node.args
    constants = {place: term.value for place, term in enumerate(args) if isinstance(term, s.Const)}
    found = AskedValues(constants or _NO_VALUES)
    places: dict[str, int] = {}
    for place, term in enumerate(args):
        if isinstance(term, s.Var):
            places.setdefault(term.name, place)
    found.is_plain = len(places) == len(args)
    found.is_one_constant = len(found.pattern) == 1 and len(places) == len(args) - 1
    reader = leaf.readers[0]
    if len(leaf.readers) == 1 and reader.kind == "input" and isinstance(reader.target.node, p.Filter):
        known = {reader.renames.get(name, name): place for name, place in places.items() if name in leaf.node.exports}
        is_whole = _ask_tests(found, reader.target.node.tests, known)
        found.is_bounds_alone = found.is_plain and is_whole and all(map(_is_bounds, reader.target.node.tests))
    return found


def _is_bounds(test: p.Test) -> bool:
    """Tell whether a test that asks for values asks for bounds alone, each of one attribute."""
    if not isinstance(test, p.GoalTest | p.Prefilter):
        return isinstance(test, p.Window)
    goals = [goal for goal in conjuncts(test.goal) if isinstance(goal, s.Compound)]
    return all(goal.name in _BOUNDS and any(isinstance(arg, s.Const) for arg in goal.args) for goal in goals)


def _ask_tests(found: AskedValues, tests: tuple[p.Test, ...], places: Mapping[str, int]) -> bool:
    """Add what tests ask, up to the first that may do anything else; tell whether none does."""
    for test in tests:
        match test:
            case p.Window():
                continue
            case p.GoalTest(kind="where" | "check", goal=goal) | p.Prefilter(goal=goal):
                if not all(_ask(found, each, places) for each in conjuncts(goal)):
                    return False
            case _:
                return False
    return True


def _ask(found: AskedValues, goal: s.Term, places: Mapping[str, int]) -> bool:
    """Add what a conjunct asks; tell whether it does nothing else."""
    match goal:
        case s.Compound(name=name, args=(s.Var(name=variable), s.Const(value=value))) if variable in places:
            return _compare(found, name, places[variable], value)
        case s.Compound(name=name, args=(s.Const(value=value), s.Var(name=variable))) if variable in places:
            return _compare(found, name, places[variable], value, is_turned=True)
        case s.Compound(name=name, args=(s.Var(name=a), s.Var(name=b))) if a in places and b in places:
            if name in _PLAIN_COMPARISONS:
                found.numbers |= {places[a], places[b]}
            return name in _PLAIN_COMPARISONS or name in _EQUAL
    return False


def _compare(found: AskedValues, name: str, place: int, value: Value, *, is_turned: bool = False) -> bool:
    if name in _EQUAL:
        if place not in found.equal:
            found.equal = {**found.equal, place: value}
            found.before = {**found.before, place: found.numbers}
        return True
    if name not in _PLAIN_COMPARISONS or type(value) not in NUMBERS:
        return False
    assert isinstance(value, int | float)
    found.numbers |= {place}
    side = _BOUNDS.get(name)
    if side is not None and is_turned:
        side = _OTHER[side]
    if side is not None:
        bounds = found.side(side)
        known = bounds.get(place)
        if known is None or (value > known if side == "above" else value < known):
            bounds = {**bounds, place: value}
            found.without -= {(place, side)}
            if side == "above":
                found.above = bounds
            else:
                found.below = bounds
        if name in _STRICT and bounds[place] == value:
            found.without |= {(place, side)}
    return True
