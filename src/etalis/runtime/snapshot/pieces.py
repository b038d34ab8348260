"""Ropes in a snapshot: every piece of one is written once, by number, however many ropes share it.

Pieces are written after those they are made of; only the lists of elements that grow may come back to themselves, by
way of what was made of earlier elements. So lists are made first, empty, and filled last. Walks are loops: ropes may be
nested by the hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from etalis.temporal.event import EventKind
from etalis.temporal.rope import CutRope, FlatRope, FoldRope, FollowedRun, MixedFold, RaisedRope, RunRope, SeveralRopes

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]


class RopeList:
    """A list of elements that grows, which is written as the same one wherever it is met."""

    __slots__ = ("elements",)

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements


class MadeKind(EventKind):
    """The kind of events that were made before the snapshot, and whether their rule was still there."""

    __slots__ = ("alive", "shape")

    def __init__(
        self, name: str, arity: int, rule: str | None, attributes: tuple[str, ...], shape: str, alive: bool
    ) -> None:
        super().__init__(name, arity, rule, attributes)
        self.shape = shape
        self.alive = alive


def describe_kind(kind: EventKind) -> tuple[Any, ...]:
    """Return a kind as data, of which a `MadeKind` is made."""
    is_alive = getattr(kind, "alive", True)
    return kind.name, kind.arity, kind.rule, tuple(kind.attributes), kind.shape, bool(is_alive)


_CLASSES = (RopeList, RunRope, FollowedRun, FoldRope, SeveralRopes, RaisedRope, FlatRope, CutRope)


def is_piece(x: object) -> bool:
    """Tell whether something is written as a piece of a rope: an event that rules made, or one of the classes."""
    if type(x) is tuple:
        return len(x) > 2 and isinstance(x[2], EventKind)
    return isinstance(x, _CLASSES)


class RopePieces:
    """Pieces by number, below zero: numbered when they are first met, found again when they are read."""

    def __init__(self) -> None:
        self._met: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._found: dict[int, Any] = {}
        self._kinds: dict[tuple[Any, ...], EventKind] = {}

    # writing

    def number(self, piece: Any) -> int:
        """Return the number of a piece."""
        key = _identity(piece)
        if key not in self._numbers:
            self._met.append(piece)  # so that its identity stays its own
            self._numbers[key] = -len(self._met)
        return self._numbers[key]

    def rows(self, encode: Encode) -> list[tuple[int, str, bytes]]:
        """Return all pieces that have been met, and those they are made of: number, what it is, and its content."""
        ordered = self._in_order()
        return [(self.number(piece), _form(piece), encode(_content(piece))) for piece in ordered]

    def _in_order(self) -> list[Any]:
        """Return the pieces, each after those it is made of, but for the elements of lists."""
        done: dict[int, Any] = {}
        at = 0
        while at < len(self._met):
            waiting = [self._met[at]]
            at += 1
            while waiting:
                top = waiting[-1]
                if _identity(top) in done:
                    waiting.pop()
                    continue
                below = list(_pieces_in(_content(top)))
                for piece in below:
                    self.number(piece)
                needed = [p for p in below if not isinstance(p, RopeList) and _identity(p) not in done]
                if needed and not isinstance(top, RopeList):
                    waiting += needed
                    continue
                done[_identity(top)] = top
                waiting.pop()
        return list(done.values())

    # reading

    def find(self, number: int) -> Any:
        """Return the piece of a number."""
        return self._found[number]

    def load(self, columns: Sequence[Sequence[Any]], decode: Decode) -> None:
        """Make the pieces that were written."""
        rows = list(zip(*columns, strict=True))
        lists = [(number, content) for number, form, content in rows if form == "list"]
        self._found.update((number, []) for number, _ in lists)
        for number, form, content in rows:
            if form != "list":
                self._found[number] = self._made(form, decode(content))
        for number, content in lists:
            self._found[number].extend(decode(content))

    def _made(self, form: str, content: tuple[Any, ...]) -> Any:
        match form:
            case "event":
                end, start, kind, *rest = content
                if kind not in self._kinds:
                    self._kinds[kind] = MadeKind(*kind)
                return (end, start, self._kinds[kind], *rest)
            case "run":
                return RunRope(*content)
            case "followed":
                run, before, count = content
                followed = FollowedRun(run, before)
                followed.count = count
                return followed
            case "fold":
                return FoldRope(*content)
            case "mixed":
                *arguments, cut = content
                mixed = MixedFold(*arguments)
                mixed.cut = cut
                return mixed
            case "several":
                return SeveralRopes([*content])
            case "raised":
                return RaisedRope(*content)
            case "flat":
                return FlatRope(content)
            case "cut":
                return CutRope(*content)
        raise ValueError(f"no piece of a rope is called {form}")


def _identity(piece: Any) -> int:
    return id(piece.elements if isinstance(piece, RopeList) else piece)


def _form(piece: Any) -> str:
    match piece:
        case tuple():
            return "event"
        case RopeList():
            return "list"
        case RunRope():
            return "run"
        case FollowedRun():
            return "followed"
        case MixedFold():
            return "mixed"
        case FoldRope():
            return "fold"
        case SeveralRopes():
            return "several"
        case RaisedRope():
            return "raised"
        case FlatRope():
            return "flat"
        case CutRope():
            return "cut"
    raise AssertionError("no piece of a rope")


def _content(piece: Any) -> tuple[Any, ...]:
    """Return what a piece is made of."""
    match piece:
        case tuple():
            end, start, kind, *rest = piece
            return (end, start, describe_kind(kind), *rest)
        case RopeList(elements=elements):
            return tuple(elements)
        case RunRope():
            return piece.left, RopeList(piece.elements), piece.first, piece.count, piece.is_open
        case FollowedRun():
            return piece.run, piece.before, piece.count
        case MixedFold():
            return RopeList(piece.elements), piece.first, piece.count, piece.since, piece.last, piece.cut
        case FoldRope():
            return piece.opener, RopeList(piece.elements), piece.first, piece.count, piece.cut
        case SeveralRopes(ropes=ropes):
            return tuple(ropes)
        case RaisedRope(event=event, cause=cause):
            return event, cause
        case FlatRope(numbers=numbers):
            return numbers
        case CutRope(count=count):
            return (count,)
    raise AssertionError("no piece of a rope")


def _pieces_in(content: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the pieces that stand in a content, also in pairs and branches."""
    waiting = list(content)
    while waiting:
        x = waiting.pop()
        if is_piece(x):
            yield x
        elif type(x) is tuple:
            waiting += x
