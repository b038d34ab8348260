"""The order of the world: when an occurrence is processed to completion, its reactions take their turns.

They come by (end, start, place of the reaction in the program, bindings in standard order, number), and each sees the
state that those before it left. What they raise occurs afterwards (`run_loop`). Law: two equal matches are two turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Protocol

from etalis.data.values import order_key
from etalis.errors import LimitError, Problem
from etalis.reactive.effects.transaction import Transaction
from etalis.runtime.state import Raw, State

Turn = Callable[[Raw], None]
_NAMED = 100  # turns before the limit, of which the error names the reactions


class Reacting(Protocol):
    """One reaction: where it stands among those of the program, what it is called, and its turn for a match."""

    place: tuple[int, ...]
    label: str
    number: int

    def take(self, raw: Raw) -> None:
        """React to a match."""
        ...

    def take_back(self, transaction: Transaction, now: int) -> bool:
        """Undo what a transaction did with facts; tell whether that was possible."""
        ...


class Reactor:
    """The reactions of one engine, by the numbers of their hidden rules, and how many had their turn."""

    def __init__(self, state: State, reactions: Mapping[int, Reacting], most: int) -> None:
        self.state = state
        self.reactions = reactions
        self.most = most
        self.turns = 0
        self._cycle: dict[str, None] = {}
        self.places = {number: reaction.place for number, reaction in reactions.items()}

    def find(self, label: str, number: int) -> Reacting | None:
        """Return the reaction of a label, by its number among those of the label."""
        each = (turn for turn in self.reactions.values() if (turn.label, turn.number) == (label, number))
        return next(each, None)

    def begin(self, turns: int = 0) -> None:
        """Begin to count anew: with an input, or a moment at which something falls due."""
        self.turns = turns
        if self._cycle:
            self._cycle.clear()

    def react(self) -> None:
        """Let the reactions to an occurrence take their turns; those of a match that waits no more are forgotten."""
        matches = self.state.reacting[:]
        self.state.reacting.clear()
        if len(matches) > 1:
            self.sort(matches)
        for raw in matches:
            self.count(raw[2].rule)
            raw[2].react(raw)

    def sort(self, matches: list[Raw]) -> None:
        """Put matches in the order of their turns.

        Plain comparison is that order where the bindings are of one type; else standard order is spelled out.
        """
        places = self.places
        try:
            keyed = sorted((raw[0], raw[1], places[raw[2].number], *_bindings(raw)) for raw in matches)
            if all(a < b for a, b in pairwise(keyed)):
                matches.sort(key=lambda raw: (raw[0], raw[1], places[raw[2].number], *_bindings(raw)))
                return
        except TypeError:
            pass
        matches.sort(key=lambda raw: (raw[0], raw[1], places[raw[2].number], *map(order_key, _bindings(raw))))

    def count(self, label: str) -> None:
        """Count a turn, and stop at the limit: what was done stays, what was asked for is dropped."""
        self.turns += 1
        if self.turns > self.most - _NAMED:
            self._cycle[label] = None
        if self.turns <= self.most:
            return
        names = ", ".join(sorted(self._cycle))
        self.state.drop_unsettled()
        hint = "bound the cycle by a condition or a fact, or raise max_reactions"
        raise LimitError(
            Problem("E322", f"one input caused more than {self.most} reactions; the last: {names}", hint=hint)
        )


def _bindings(raw: Raw) -> tuple[Any, ...]:
    """Return the bindings of a match with its number."""
    kind = raw[2]
    return raw[3 : 3 + kind.arity]
