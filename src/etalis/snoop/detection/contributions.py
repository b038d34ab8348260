"""From a match of the engine to a result: bindings by name, and the instances nested as the expression.

An instance that fits several branches of an OR with equal bindings gives one result, of the first: events are offered
to the first branch only, and of matches that differ in nothing but the branch the first is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from etalis.snoop.detection.leaf import Values
from etalis.snoop.detection.results import Contribution, Stamped
from etalis.snoop.detection.rules import MOST_WAITING, ExpressionProgram, parts_of
from etalis.snoop.expression import Expression, Path, leaves, name_path, read_path, walk
from etalis.snoop.values import Bound, bound
from etalis.temporal.event import Event

Detected: TypeAlias = tuple[dict[str, Bound], int, int, Contribution]
Parts: TypeAlias = Mapping[Path, list[Stamped]]
_ABSENT = "null"
_LAST = 1 << 62


class MatchReader:
    """Reads the matches of one expression."""

    def __init__(self, expression: Expression, translation: ExpressionProgram) -> None:
        self.cumulates = expression.context == "cumulative"
        self._expression = expression
        self._variables = translation.variables
        self._leaves = translation.contributing
        self._binders = {
            name: tuple(
                i
                for i, path in enumerate(self._leaves)
                if name in translation.leaves[path].outputs and path not in translation.gathered
            )
            for name in translation.variables
        }
        self._outputs = {path: columns.outputs for path, columns in translation.leaves.items()}
        self._told = result_variables(expression, translation.variables)
        self._branches = _branches(expression)
        self._notes: dict[int, tuple[Stamped, tuple[Path, ...]]] = {}
        self._pushed = 0

    # before the engine

    def without_repetition(self, fills: Mapping[Path, Values]) -> Mapping[Path, Values]:
        """Return what an instance fills without later branches of an OR that it fits with equal bindings."""
        if len(fills) < 2 or not self._branches:
            return fills
        kept: dict[Path, Values] = {}
        seen: set[Any] = set()
        for path in sorted(fills):
            if path in self._branches:
                key = self._branches[path], frozenset(zip(self._outputs[path], fills[path], strict=True))
                if key in seen:
                    continue
                seen.add(key)
            kept[path] = fills[path]
        return kept

    def note(self, stamped: Stamped, fills: Mapping[Path, Values]) -> None:
        """Keep what an event is, for contexts whose matches name events by number."""
        self._pushed += 1
        if self.cumulates:
            self._notes[self._pushed] = stamped, tuple(fills)
            if len(self._notes) > 4 * MOST_WAITING:
                for number in list(islice(self._notes, MOST_WAITING)):
                    del self._notes[number]

    # behind it

    def read(self, events: Sequence[Event]) -> Iterator[Detected]:
        """Yield what the matches of one arrival tell, by the instances that they are of."""
        seen: set[Any] = set()
        for event in sorted(events, key=self._order) if len(events) > 1 else events:
            values, numbers = event.args[: len(self._variables)], event.args[len(self._variables) :]
            parts = self._parts(event, numbers)
            found = {
                name: value
                for name, value in zip(self._variables, values, strict=True)
                if name in self._told and (value != _ABSENT or any(numbers[i] != _ABSENT for i in self._binders[name]))
            }
            key = tuple(found.items()), _without_branches(self._expression, (), parts)
            if key in seen:
                continue
            seen.add(key)
            (occurrence,) = occurrences(self._expression, (), parts)
            bindings = {name: bound(value) for name, value in found.items()}
            yield bindings, event.start_time, event.end_time, occurrence

    def _order(self, event: Event) -> Any:
        told = (_read(cell) for cell in event.args[len(self._variables) :])
        return [tuple(map(int, found[-1].number.split("."))) if found else (_LAST,) for found in told]

    def _parts(self, event: Event, numbers: tuple[Any, ...]) -> Parts:
        """Return the instances that each leaf contributed."""
        found = {path: _read(cell) for path, cell in zip(self._leaves, numbers, strict=True) if cell != _ABSENT}
        if self.cumulates:
            for number in event.parts:
                stamped, paths = self._notes.get(number, (None, ()))
                for path in paths:
                    if stamped is not None and stamped not in found.setdefault(path, []):
                        found[path].append(stamped)
            for each in found.values():
                each.sort(key=lambda stamped: (stamped.end, stamped.start))
        return found

    # as plain data

    def notes(self) -> list[Any]:
        """Return what the reader keeps."""
        kept = [[n, stamped.write(), [name_path(p) for p in paths]] for n, (stamped, paths) in self._notes.items()]
        return [self._pushed, kept]

    def take_notes(self, notes: list[Any]) -> None:
        """Go on from what `notes` has returned."""
        self._pushed, kept = notes
        self._notes = {n: (Stamped.read(text), tuple(map(read_path, paths))) for n, text, paths in kept}


def _read(cell: Any) -> list[Stamped]:
    """Return the instances that the head tells of a leaf: one, those of a list, or none."""
    if cell == _ABSENT:
        return []
    return [Stamped.read(text) for text in cell] if isinstance(cell, tuple) else [Stamped.read(cell)]


def result_variables(expression: Expression, variables: Iterable[str]) -> frozenset[str]:
    """Return the variables that results tell: those that a composite root declares, else all."""
    chosen = [v.name for v in expression.variables if v.mode == "bind"]
    return frozenset(variables if expression.is_leaf or not chosen else chosen)


def occurrences(node: Expression, path: Path, parts: Parts) -> list[Contribution]:
    """Return what a node contributed: of a leaf each of its instances, of an operator itself if any part of it did."""
    if node.is_leaf:
        return [
            Contribution(node.operator, each.start, each.end, node.language, each.number, each.at)
            for each in parts.get(path, [])
        ]
    below = [
        (argument.name or "", found)
        for place, argument in parts_of(node, path)
        for found in occurrences(argument.expression, place, parts)
    ]
    if not below:
        return []
    start, end = min(found.start for _, found in below), max(found.end for _, found in below)
    return [Contribution(node.operator, start, end, arguments=tuple(below))]


def _branches(expression: Expression) -> dict[Path, Path]:
    """Return, for leaves that are branches of an OR, which OR that is; one within another is the outer."""
    found: dict[Path, Path] = {}
    outer: dict[Path, Path] = {}
    for path, node in walk(expression):
        if path and path[:-1] in outer:
            found[path] = outer[path[:-1]]
        if node.kind == "composite" and node.operator == "OR":
            outer[path] = found.get(path, path)
    own = {path for path, _ in leaves(expression)}
    return {path: top for path, top in found.items() if path in own}


def _without_branches(node: Expression, path: Path, parts: Parts) -> Any:
    """Return which instances a match is of, and where, but for the branches of an OR."""
    if node.is_leaf:
        return tuple(each.number for each in parts.get(path, []))
    found: list[Any] = []
    for place, argument in parts_of(node, path):
        below = _without_branches(argument.expression, place, parts)
        if node.operator != "OR":
            found.append(below)
        elif _holds_any(below):
            found += below if argument.expression.operator == "OR" else [below]
    return tuple(found)


def _holds_any(tree: Any) -> bool:
    return any(map(_holds_any, tree)) if isinstance(tree, tuple) else True
