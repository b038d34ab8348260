"""The order of the world: when an occurrence is complete, the reactions whose patterns it has matched take their turns.

A match waits with its bindings (the named variables of the pattern, null where it gave them no value), its interval and
its number among equal ones of its stamp. What a turn does to the state is `reactive.meaning`. Law: turns come by (end,
start, place of the reaction in the text, bindings in standard order, number).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from etalis.data.values import Value, order_key
from etalis.errors import LimitError, Problem
from etalis.language import syntax as s
from etalis.language.rules import reaction_rules
from etalis.semantics.matches import Bindings, Instance, Numbers, ground


@dataclass(frozen=True, slots=True)
class ReactionMatch:
    """A match that a reaction reacts to: `place` is that of the reaction in the text, from 0."""

    place: int
    label: str
    values: tuple[Value, ...]
    start: int
    end: int
    number: int
    cause: Numbers

    def bindings(self, rule: s.Rule) -> Bindings:
        """Return the values by the names of the pattern's variables."""
        return {a.name: v for a, v in zip(rule.head.args, self.values, strict=False) if isinstance(a, s.Var)}


@dataclass(slots=True)
class ModelReactor:
    """The reactions of a run: their hidden rules, the matches that wait, and how many had their turn."""

    rules: tuple[s.Rule, ...]
    turn: Callable[[ReactionMatch], None]
    most: int
    waiting: list[ReactionMatch] = field(default_factory=list)
    stamp: int | None = None
    equal: Counter[tuple[object, ...]] = field(default_factory=Counter)
    turns: int = 0

    def note(self, rule: s.Rule, x: Instance, cause: Numbers) -> None:
        """Let a match wait for its turn."""
        place = next(i for i, known in enumerate(self.rules) if known is rule)
        values = tuple(ground(a, x.bindings) for a in rule.head.args[:-1])
        if x.end != self.stamp:
            self.stamp = x.end
            self.equal.clear()
        identity = (place, x.start, values)
        self.equal[identity] += 1
        match = ReactionMatch(place, str(rule.label), values, x.start, x.end, self.equal[identity], cause)
        self.waiting.append(match)

    def begin(self) -> None:
        """Begin to count turns anew: with an input, or a moment at which something falls due."""
        self.turns = 0

    def react(self) -> None:
        """Let all that wait take their turns."""
        matches = sorted(self.waiting, key=_rank)
        self.waiting.clear()
        for match in matches:
            self.turns += 1
            if self.turns > self.most:
                message = f"one input caused more than {self.most} reactions; the last: {match.label}"
                raise LimitError(Problem("E322", message, hint="bound the cycle, or raise max_reactions"))
            self.turn(match)


def _rank(match: ReactionMatch) -> tuple[object, ...]:
    return match.end, match.start, match.place, tuple(map(order_key, match.values)), match.number


def reactor_of(program: s.Tree, turn: Callable[[ReactionMatch], None], most: int) -> ModelReactor:
    """Return the reactions of a program."""
    return ModelReactor(reaction_rules(program), turn, most)
