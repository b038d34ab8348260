"""Ropes in generated code: the expression of what a match is made of, and the slots that hold it.

How joins and alternatives put ropes together is known when the code is written. So an instance that waits, and an
event, hold the ropes of what they are made of side by side, in slots, and no container is made for a pair: one less for
Python's cyclic collector to walk. `temporal.rope` puts them together by the shape when someone asks. More than a few
slots become one, so that a step never depends on the length of a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from etalis.plan import algebra as p
from etalis.temporal.rope import BRANCH, CHOICE, PAIR, SLOT, count_slots

MOST = 6  # slots


class RopeText(str):
    """The expression of a rope whose pieces have expressions of their own."""

    __slots__ = ("shape", "slots")

    shape: str
    slots: tuple[str, ...]

    @staticmethod
    def of(text: str, shape: str, slots: tuple[str, ...]) -> RopeText:
        """Return an expression with the shape that its slots are put together by."""
        found = RopeText(text)
        found.shape, found.slots = shape, slots
        return found


def slots_of(rope: str) -> tuple[str, ...]:
    """Return the expressions of a rope's slots."""
    return rope.slots if isinstance(rope, RopeText) else (rope,)


def shape_of(rope: str) -> str:
    """Return how a rope's slots are put together."""
    return rope.shape if isinstance(rope, RopeText) else SLOT


def write_pair(left: str, right: str) -> str:
    """Return the rope of a pair, in the order of the text."""
    text, shape = f"({left}, {right})", _pair_shape(shape_of(left), shape_of(right))
    return text if shape == SLOT else RopeText.of(text, shape, (*slots_of(left), *slots_of(right)))


def write_choice(branch: int, rope: str) -> str:
    """Return the rope of a match of one branch."""
    return RopeText.of(f"(None, {branch}, {rope})", BRANCH + SLOT + CHOICE, (str(branch), str(rope)))


def write_rope(shape: str, slots: Sequence[str]) -> str:
    """Return the rope that slots hold."""
    stack: list[str] = []
    rest = iter(slots)
    for step in shape:
        if step in (SLOT, BRANCH):
            stack.append(next(rest))
            continue
        last, first = stack.pop(), stack.pop()
        stack.append(f"({first}, {last})" if step == PAIR else f"(None, {first}, {last})")
    (text,) = stack
    return text if shape == SLOT else RopeText.of(text, shape, tuple(slots))


def change_slots(rope: str, change: Callable[[str], str]) -> str:
    """Return a rope with all its pieces changed."""
    steps = [step for step in shape_of(rope) if step in (SLOT, BRANCH)]
    slots = [change(x) if step == SLOT else x for step, x in zip(steps, slots_of(rope), strict=True)]
    return write_rope(shape_of(rope), slots)


def _pair_shape(left: str, right: str) -> str:
    shape = left + right + PAIR
    return shape if count_slots(shape) <= MOST else SLOT


def node_shape(node: p.Node) -> str:
    """Return the shape of the ropes of a node's matches."""
    match node:
        case p.Join(alone=None, policy=policy) if policy.select == "together":  # of either side there may be several
            return SLOT + SLOT + PAIR
        case p.Join(alone="left" | "right"):  # a pair, or one side alone
            return BRANCH + SLOT + CHOICE
        case p.Join(left=left, right=right):
            return _pair_shape(node_shape(left), node_shape(right))
        case p.Filter(child=child):
            return node_shape(child)
        case p.Union():
            return BRANCH + SLOT + CHOICE
    return SLOT


def slot_names(shape: str) -> list[str]:
    """Return what the slots of a rope are called among the columns of an instance."""
    return ["$parts", *(f"$parts{i}" for i in range(1, count_slots(shape)))]


def with_slots(columns: Sequence[str], node: p.Node) -> list[str]:
    """Return the columns of a node's instances, with all slots of its ropes."""
    return [name for v in columns for name in (slot_names(node_shape(node)) if v == "$parts" else [v])]


def spread(names: Mapping[str, str]) -> dict[str, str]:
    """Return the values of an instance by the names of its columns, those of slots, too."""
    rope = names.get("$parts")
    return (
        dict(names) if rope is None else {**names, **dict(zip(slot_names(shape_of(rope)), slots_of(rope), strict=True))}
    )


def together(values: Mapping[str, str], node: p.Node) -> dict[str, str]:
    """Return the values of an instance of a node by the names of its variables, its slots as one rope."""
    if "$parts" not in values:
        return dict(values)
    shape = node_shape(node)
    slots = slot_names(shape)
    rope = write_rope(shape, [values[name] for name in slots])
    return {**{v: x for v, x in values.items() if v not in slots}, "$parts": rope}
