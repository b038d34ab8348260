"""What a match is made of, kept as a rope: every step adds one small piece and copies nothing.

A rope is one of

- the number of an input; None for a point in time;
- `(left, right)`: both sides of a join, in the order of the text;
- `(None, branch, rope)`: the branch of an `or`, counted from 0;
- a derived event as it was made, `(end, start, kind, *attributes, rope)`;
- a piece of the classes below.

Read along its rule it is the first derivation of the match. A rope may be nested by the hundred thousand: it is never
compared, hashed, printed or pickled, and every walk over it is a loop.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Rope: TypeAlias = Any


class RunRope:
    """A repetition: after `left`, those of the elements (start, end, rope) from `first` up to `count`.

    The list grows and is shared by all matches of a run; each reads as far as it had come.
    """

    __slots__ = ("count", "elements", "first", "left")

    def __init__(self, left: Rope, elements: list[tuple[int, int, Rope]], first: int, count: int) -> None:
        self.left = left
        self.elements = elements
        self.first = first
        self.count = count


class FollowedRun:
    """A repetition without upper bound that something follows: all up to `count` that end before its start."""

    __slots__ = ("before", "count", "run")

    def __init__(self, run: RunRope, before: int) -> None:
        self.run = run
        self.before = before
        self.count = len(run.elements)


class FoldRope:
    """An aggregate: after `opener`, the elements (ropes) from `first` up to `count` of a list that grows."""

    __slots__ = ("count", "elements", "first", "opener")

    def __init__(self, opener: Rope, elements: list[Rope], first: int, count: int) -> None:
        self.opener = opener
        self.elements = elements
        self.first = first
        self.count = count


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


class CutRope:
    """So many inputs that are not told."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


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
        case tuple():  # a branch, or a derived event
            return [rope[-1]]
        case RunRope(left=left, elements=elements, first=first, count=count):
            return [left, *(rope for _, _, rope in elements[first:count])]
        case FollowedRun(run=run, count=count, before=before):
            return [run.left, *(rope for _, end, rope in run.elements[run.first : count] if end < before)]
        case FoldRope(opener=opener, elements=elements, first=first, count=count):
            return [opener, *elements[first:count]]
        case SeveralRopes(ropes=ropes):
            return ropes
        case RaisedRope(cause=cause):
            return [cause]
        case _:
            return []
