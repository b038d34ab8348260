"""What a match is made of, kept as a rope: every step adds one small piece and copies nothing.

A rope is one of

- the number of an input; None for a point in time;
- `(left, right)`: both sides of a join, in the order of the text;
- `(None, branch, rope)`: the branch of an `or`, counted from 0;
- a derived event as it was made, `(end, start, kind, *attributes, *slots)`: `rope_of` returns its rope;
- a piece of the classes below.

Read along its rule it is the first derivation of the match. A rope may be nested by the hundred thousand: it is never
compared, hashed, printed or pickled, and every walk over it is a loop. An event holds the pieces of its rope side by
side; its kind has the shape by which they are put together, which is done anew whenever it is asked for: it is the
event, not its rope, that is the same wherever it is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Rope: TypeAlias = Any

# The steps of a shape, from left to right over a stack: the next slot is a rope, or the number of a branch; a pair of
# the last two, a choice of a branch and a rope.
SLOT, BRANCH, PAIR, CHOICE = "nbpc"


class RunRope:
    """A repetition: after `left`, those of the elements (start, end, rope) from `first` up to `count`.

    The list grows and is shared by all matches of a run; each reads as far as it had come. One that `is_open` has no
    upper bound: what follows it may read further (`FollowedRun`).
    """

    __slots__ = ("count", "elements", "first", "is_open", "left")

    def __init__(
        self, left: Rope, elements: list[tuple[int, int, Rope]], first: int, count: int, is_open: bool = False
    ) -> None:
        self.left = left
        self.elements = elements
        self.first = first
        self.count = count
        self.is_open = is_open

    def taken(self) -> list[tuple[int, int, Rope]]:
        """Return the elements that contribute, as (start, end, rope)."""
        return self.elements[self.first : self.count]


class FollowedRun:
    """A repetition without upper bound that something follows: all up to `count` that end before its start."""

    __slots__ = ("before", "count", "run")

    def __init__(self, run: RunRope, before: int) -> None:
        self.run = run
        self.before = before
        self.count = len(run.elements)

    @property
    def left(self) -> Rope:
        """What the repetition comes after."""
        return self.run.left

    def taken(self) -> list[tuple[int, int, Rope]]:
        """Return the elements that contribute, as (start, end, rope)."""
        return [element for element in self.run.elements[self.run.first : self.count] if element[1] < self.before]


class FoldRope:
    """An aggregate: after `opener`, the elements (ropes) from `first` up to `count` of a list that grows.

    Of those before them `cut` are not told.
    """

    __slots__ = ("count", "cut", "elements", "first", "opener")

    def __init__(self, opener: Rope, elements: list[Rope], first: int, count: int, cut: int = 0) -> None:
        self.opener = opener
        self.elements = elements
        self.first = first
        self.count = count
        self.cut = cut

    def taken(self) -> list[Rope]:
        """Return the elements that contribute and are told."""
        return self.elements[self.first : self.count]


class MixedFold(FoldRope):
    """An aggregate whose elements (start, rope) leave in another order than they came: the last of those since then."""

    __slots__ = ("last", "since")

    def __init__(self, elements: list[tuple[int, Rope]], first: int, count: int, since: int | None, last: int) -> None:
        super().__init__(None, elements, first, count)
        self.since = since
        self.last = last

    def taken(self) -> list[Rope]:
        """Return the elements that contribute."""
        since, some = self.since, self.elements[self.first : self.count]
        return [rope for start, rope in some if since is None or start >= since][-self.last :]


class SeveralRopes:
    """The candidates that a policy has put together into one match."""

    __slots__ = ("ropes",)

    def __init__(self, ropes: list[Rope]) -> None:
        self.ropes = ropes


class RaisedRope:
    """An event that an action has raised, and the match whose action it was; None if the host asked for it."""

    __slots__ = ("cause", "event")

    def __init__(self, event: tuple[Any, ...], cause: Rope) -> None:
        self.event = event
        self.cause = cause


class FlatRope:
    """The numbers of all inputs of a match that has come from elsewhere: how it was put together is not told."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers


class CutRope:
    """So many inputs that are not told; 0: nobody knows how many, as of what a snapshot without numbers brought."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


def follow(rope: Rope, token: object, before: int) -> Rope:
    """Return the rope of what has waited for something that starts at a moment: open runs are read up to there.

    What waits once for all matches of a repetition (definition 13.16) has a token; `or` and `cumulative` keep it.
    """
    if token is None:
        return rope
    branches = []
    while type(rope) is tuple and len(rope) == 3:
        branches.append(rope[1])
        rope = rope[2]
    if isinstance(rope, SeveralRopes):
        rope = SeveralRopes([_read_on(run, before) for run in rope.ropes])
    else:
        rope = _read_on(rope, before)
    for branch in reversed(branches):
        rope = (None, branch, rope)
    return rope


def _read_on(rope: Rope, before: int) -> Rope:
    return FollowedRun(rope, before) if isinstance(rope, RunRope) and rope.is_open else rope


def count_slots(shape: str) -> int:
    """Return how many slots a shape puts together."""
    return shape.count(SLOT) + shape.count(BRANCH)


def rope_of(event: tuple[Any, ...]) -> Rope:
    """Return what a derived event is made of; None if nobody has kept it."""
    end = 3 + tuple.__getitem__(event, 2).arity
    slots = tuple.__getitem__(event, slice(end, None))
    if len(slots) < 2:
        return slots[0] if slots else None
    stack: list[Rope] = []
    rest = iter(slots)
    for step in tuple.__getitem__(event, 2).shape:
        if step in (SLOT, BRANCH):
            stack.append(next(rest))
        else:
            last, first = stack.pop(), stack.pop()
            stack.append((first, last) if step == PAIR else (None, first, last))
    return stack[0]


def _slots_of(event: tuple[Any, ...]) -> list[Rope]:
    """Return the pieces that a derived event holds."""
    kind = tuple.__getitem__(event, 2)
    slots = tuple.__getitem__(event, slice(3 + kind.arity, None))
    if len(slots) < 2:
        return [*slots]
    return ropes_in(kind.shape, slots)


def ropes_in(shape: str, slots: Sequence[Rope]) -> list[Rope]:
    """Return those of the slots of a shape that are ropes."""
    steps = [step for step in shape if step in (SLOT, BRANCH)]
    return [slot for step, slot in zip(steps, slots, strict=True) if step == SLOT]


def flatten(rope: Rope) -> tuple[int, ...]:
    """Return the numbers of all inputs of a rope, sorted, each once."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [rope]
    while stack:
        piece = stack.pop()
        if isinstance(piece, int):
            found.add(piece)
        elif piece is not None and id(piece) not in seen:
            seen.add(id(piece))
            stack.extend(pieces(piece))
    return tuple(sorted(found))


def pieces(rope: Rope) -> list[Rope]:
    """Return what a piece of a rope is put together of, left to right."""
    match rope:
        case tuple() if len(rope) == 2:
            return [*rope]
        case tuple() if rope[0] is None:
            return [rope[2]]
        case tuple():
            return _slots_of(rope)
        case RunRope(left=left) | FollowedRun(left=left):
            return [left, *(element for _, _, element in rope.taken())]
        case FoldRope(opener=opener):
            return [opener, *rope.taken()]
        case SeveralRopes(ropes=ropes):
            return ropes
        case RaisedRope(cause=cause):
            return [cause]
        case FlatRope(numbers=numbers):
            return [*numbers]
        case _:
            return []
