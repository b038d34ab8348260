"""Right justifications made wrong: one thing said in them is changed, now here, now there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from etalis.why import justification as j

Change = Callable[[Any, Sequence[j.Received], Random], Any]


def _other_input(node: Any, inputs: Sequence[j.Received], random: Random) -> Any:
    return random.choice(inputs) if inputs else node


def _longer(node: Any, inputs: Sequence[j.Received], random: Random) -> Any:
    return replace(node, end=node.end + 1) if random.random() < 0.5 else replace(node, start=node.start - 1)


def _dropped(node: Any, inputs: Sequence[j.Received], random: Random) -> Any:
    place = random.randrange(len(node.elements)) if node.elements else 0
    return replace(node, elements=(*node.elements[:place], *node.elements[place + 1 :]))


def _swapped(node: j.PairOf, inputs: Sequence[j.Received], random: Random) -> j.PairOf:
    return replace(node, left=node.right, right=node.left)


def _untested(node: Any, inputs: Sequence[j.Received], random: Random) -> Any:
    place = random.randrange(len(node.tests)) if node.tests else 0
    return replace(node, tests=(*node.tests[:place], *node.tests[place + 1 :]))


CHANGES: dict[type, list[tuple[str, Change]]] = {
    j.Received: [
        ("another input", _other_input),
        ("another number", lambda node, inputs, random: replace(node, number=node.number + random.choice((-1, 1)))),
        ("another name", lambda node, *_: replace(node, name=f"{node.name}x")),
        ("another value", lambda node, *_: replace(node, args=(*node.args[:-1], "elsewhere"))),
        ("another interval", _longer),
    ],
    j.Derived: [
        ("another rule", lambda node, *_: replace(node, rule=f"{node.rule}x")),
        ("another name", lambda node, *_: replace(node, name=f"{node.name}x")),
        ("another value", lambda node, *_: replace(node, args=(*node.args[:-1], "elsewhere"))),
        ("another interval", _longer),
        ("another binding", lambda node, *_: replace(node, bindings={**node.bindings, "X": "elsewhere"})),
        ("a test left out", _untested),
        ("an input in its place", _other_input),
    ],
    j.Tested: [("a test left out", _untested)],
    j.PairOf: [
        ("sides swapped", _swapped),
        ("another operator", lambda node, *_: replace(node, relation="meets" if node.relation != "meets" else "seq")),
    ],
    j.ChosenBranch: [("another branch", lambda node, *_: replace(node, which=node.which + 1))],
    j.RepeatedRun: [("an element left out", _dropped)],
    j.FoldedValue: [
        ("an element left out", _dropped),
        ("another value", lambda node, *_: replace(node, value="elsewhere")),
        ("another kind", lambda node, *_: replace(node, kind="max" if node.kind != "max" else "min")),
    ],
    j.PointReached: [("another moment", lambda node, *_: replace(node, time=node.time + 1))],
    j.Rung: [("another moment", lambda node, *_: replace(node, due=node.due + 1))],
    j.WithinWindow: [("another length", lambda node, *_: replace(node, actual=node.actual + 1))],
    j.Nothing: [("another bound", lambda node, *_: replace(node, high=node.high + 1))],
    j.AloneBetween: [("another bound", lambda node, *_: replace(node, low=node.low - 1))],
    j.ConditionHeld: [("another value", lambda node, *_: replace(node, solution={**node.solution, "X": "elsewhere"}))],
}


def mutate(root: j.Derived, inputs: Sequence[j.Received], random: Random) -> tuple[str, j.Derived] | None:
    """Return a justification in which one node is another, and what was changed; None if it came out the same."""
    nodes = [node for node in j.nodes(root) if type(node) in CHANGES]
    chosen = random.choice(nodes)
    what, change = random.choice(CHANGES[type(chosen)])
    changed = change(chosen, inputs, random)
    if not isinstance(changed, j.Derived) and chosen is root:
        return None
    if _same(chosen, changed):
        return None
    made: dict[int, Any] = {id(chosen): changed}
    for node in j.nodes(root):
        if id(node) not in made:
            made[id(node)] = _rebuilt(node, made)
    return f"{what} in {type(chosen).__name__}", made[id(root)]


def _same(one: Any, other: Any) -> bool:
    """Tell whether a node says the same as another, what is below them by identity."""
    return type(one) is type(other) and all(
        getattr(one, name) is getattr(other, name) or getattr(one, name) == getattr(other, name)
        for name in one.__dataclass_fields__
    )


def _rebuilt(node: Any, made: dict[int, Any]) -> Any:
    """Return a node over the new ones below it, itself if none of them is new."""
    if all(made[id(child)] is child for child in j.below(node)):
        return node
    return replace(node, **{name: _put(getattr(node, name), made) for name in node.__dataclass_fields__})


def _put(value: Any, made: dict[int, Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(made.get(id(one), one) for one in value)
    return made.get(id(value), value)
