"""The registers of one clause: where arguments, constants, parts of the head and variables live in its frame.

Register n (the arity) holds the cut barrier. A variable is `known` at a point of the clause when its register holds a
term there on every path; before that a `BuildPlan` makes it fresh. Compound terms without variables are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from etalis.logic.terms.unify import Term, Variable, deref


@dataclass(slots=True)
class BuildPlan:
    """What to do before a goal: make variables fresh, then build compound terms, in this order."""

    fresh: list[int] = field(default_factory=list)
    builds: list[tuple[int, Callable[[Any], Any]]] = field(default_factory=list)


class FrameLayout:
    """Gives out registers while a clause is compiled."""

    __slots__ = ("_constants", "_fixed", "arity", "known", "slots", "template")

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.template: list[Term] = [None] * (arity + 1)
        self.slots: dict[Variable, int] = {}
        self.known: set[Variable] = set()
        self._constants: dict[tuple[type, Term], int] = {}
        self._fixed: set[int] = set()

    @property
    def barrier(self) -> int:
        return self.arity

    def reserve(self, count: int = 1) -> int:
        """Return the first of some new registers."""
        self.template.extend([None] * count)
        return len(self.template) - count

    def constant(self, value: Term) -> int:
        """Return the register of an atomic constant."""
        key = (value.__class__, value)
        slot = self._constants.get(key)
        if slot is None:
            slot = self._constants[key] = self._store(value)
        return slot

    def _store(self, value: Term) -> int:
        slot = self.reserve()
        self.template[slot] = value
        self._fixed.add(slot)
        return slot

    def adopt(self, variable: Variable) -> None:
        """Take a variable as it is, shared with the goal that brings it, instead of a fresh one per call."""
        if variable not in self.slots:
            slot = self.slots[variable] = self.reserve()
            self.template[slot] = variable
            self.known.add(variable)

    def slot(self, variable: Variable) -> int:
        """Return the register of a variable."""
        if variable not in self.slots:
            self.slots[variable] = self.reserve()
        return self.slots[variable]

    def touch(self, variable: Variable, plan: BuildPlan) -> int:
        """Return the register of a variable that must hold a term: unless known, the plan makes it fresh."""
        slot = self.slot(variable)
        if variable not in self.known:
            self.known.add(variable)
            plan.fresh.append(slot)
        return slot

    def build(self, term: Term, plan: BuildPlan) -> int:
        """Return the register that holds a term once the plan is carried out."""
        todo: list[Any] = [term]
        done: list[int] = []
        while todo:
            x = todo.pop()
            if x.__class__ is list:
                (size,) = x
                parts = done[-size:]
                del done[-size:]
                done.append(self._compound(parts, plan))
                continue
            x = deref(x)
            if x.__class__ is tuple and x:
                todo.append([len(x)])
                todo.extend(x[::-1])
            else:
                done.append(self.touch(x, plan) if x.__class__ is Variable else self.constant(x))
        return done[0]

    def _compound(self, parts: list[int], plan: BuildPlan) -> int:
        if self._fixed.issuperset(parts):
            return self._store(tuple(self.template[i] for i in parts))
        slot = self.reserve()
        plan.builds.append((slot, itemgetter(*parts)))
        return slot


def tuple_getter(slots: Sequence[int]) -> Callable[[Any], tuple[Term, ...]]:
    """Return a function that reads registers into a tuple."""
    if not slots:
        return lambda _: ()
    if len(slots) == 1:
        (only,) = slots
        return lambda registers: (registers[only],)
    return itemgetter(*slots)
