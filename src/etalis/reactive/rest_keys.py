"""What equal rests of actions have in common, whatever their variables are called.

What follows in sequence is most of a rest, and the same for many: a tail without unbound variables has a number, found
again by the tail itself while its bindings stand. Law: keys are equal exactly if rests are, with their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etalis.logic.terms.unify import Term, Trail, Variable, flatten_key, undo

_END = -1


class RestKeys:
    """Keys of the rests in one search, whose bindings are on its trail."""

    __slots__ = ("_known", "_marks", "_numbers", "trail")

    def __init__(self, trail: Trail) -> None:
        self.trail = trail
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[Term, int]] = {}  # by the identity of tails: they themselves, and their numbers
        self._marks: list[tuple[int, int]] = []  # how many variables were bound when a tail was numbered, and which

    def undo(self, mark: int) -> None:
        """Take back all bindings since the trail had a length."""
        self.forget(mark)
        undo(self.trail, mark)

    def forget(self, mark: int) -> None:
        """Forget the tails that bindings since then may have closed: others will come in their place."""
        marks = self._marks
        while marks and marks[-1][0] > mark:
            del self._known[marks.pop()[1]]

    def key(self, rest: Term, answers: Sequence[Variable]) -> Any:
        """Return the key of a rest, and of the values of variables."""
        tail, waiting = self._split(rest)
        while waiting:
            node = waiting[-1]
            part = flatten_key(_first(node))
            if any(each.__class__ is tuple and len(each) == 1 for each in part):  # an unbound variable
                break
            waiting.pop()
            tail = self._numbers.setdefault((part, tail), len(self._numbers))
            self._known[id(node)] = node, tail
            self._marks.append((len(self.trail), id(node)))
        return flatten_key(("", *map(_first, waiting), *answers)), tail

    def _split(self, rest: Term) -> tuple[int, list[Term]]:
        """Return the number of the longest tail that has one, and what is in front of it, the first first."""
        found: list[Term] = []
        while True:
            known = self._known.get(id(rest))
            if known is not None:
                return known[1], found
            found.append(rest)
            if not _is_sequence(rest):
                return _END, found
            rest = rest[2]


def _is_sequence(rest: Term) -> bool:
    return rest.__class__ is tuple and rest[0] == "seq"


def _first(rest: Term) -> Term:
    return rest[1] if _is_sequence(rest) else rest
