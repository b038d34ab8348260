"""How many instances wait at each place of an expression.

The plan of the rule has a store for each side of a join, and for each constituent of an ANY. Which part of the
expression waits there is told by the instances that it carries along, `N1`, `N2_1`, ...: those of the leaves of the
part, whatever form the plan gave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from etalis.plan import algebra as p
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.reporting.inspection import count_stores
from etalis.snoop.detection.rules import number_of, parts_of
from etalis.snoop.expression import Expression, Path, leaves

Names: TypeAlias = frozenset[str]


def count_waiting(expression: Expression, engine: RuntimeEngine) -> dict[Path, int]:
    """Return how many instances of each part wait for partners; no part of a sequence waits but behind those before.

    What the first two parts of a sequence of three have detected waits at the place of the second.
    """
    counts = count_stores(engine.core.rules)
    places = _places(expression, ())
    found = dict.fromkeys(places.values(), 0)
    for planned, _ in engine.core.rules.rules:
        for names, node, side in _stores(planned.head.body):
            path = places.get(names)
            if path is not None:
                found[path] = max(found[path], counts.get((node, side), 0))
    return found


def _places(node: Expression, path: Path) -> Mapping[Names, Path]:
    """Return where each part waits that its operator may keep, by the instances that it carries."""
    if node.is_leaf:
        return {}
    found: dict[Names, Path] = {}
    before: Names = frozenset()
    for place, argument in parts_of(node, path):
        names = frozenset(number_of((*place, *below)) for below, _ in leaves(argument.expression))
        before |= names
        if node.operator != "OR":
            found[names] = place
        if node.operator in ("SEQ", "ASTAR"):
            found[before] = place
        found |= _places(argument.expression, place)
    return found


def _stores(node: p.Node) -> Iterator[tuple[Names, int, str]]:
    """Yield the stores of a plan: what is carried along there, the node, the side."""
    for side, child in enumerate(p.children(node)):
        place = "operator" if isinstance(node, p.Fold) else f"side{side}"
        yield frozenset(name for name in child.exports if name.startswith("N")), id(node), place
        yield from _stores(child)
