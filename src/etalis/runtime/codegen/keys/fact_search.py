"""Partners by a fact: what arrives asks the relation for the values of the other side, and these for what waits.

Facts are those of the moment at which the later part arrives, so they are asked for then. Where there are no plain
facts to ask, or fewer groups wait than facts were found, all that waits is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.logic.machine.database import Database
from etalis.logic.machine.predicate import Predicate
from etalis.plan import algebra as p
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.gathering import Gathered, gather_all
from etalis.runtime.operators.store import Group, Store

Found = tuple[Any, Group | None]  # the key of a group and the group; any key for several groups; None if unproven
_NONE: Found = (None, None)


def proves(pair: p.KeyPair) -> bool:
    """Tell whether a fact that is found says all that the goal asks: of each variable only once, and of no other."""
    assert pair.fact is not None
    variables = [arg for arg in pair.fact.args if isinstance(arg, s.Var)]
    return sorted(x.name for x in variables) == sorted(x.name for x in (pair.left, pair.right) if isinstance(x, s.Var))


@dataclass(frozen=True, slots=True)
class FactSearch:
    """How a value of one side asks for the values of the other one: at `positions`, with what is `fixed` there."""

    predicate: Predicate
    database: Database
    positions: tuple[int, ...]
    fixed: tuple[Value | None, ...]
    mine: tuple[int, ...]
    wanted: int

    @staticmethod
    def of(pair: p.KeyPair, place: int, database: Database) -> FactSearch:
        """Return the search of one side of a pair."""
        goal = pair.fact
        assert goal is not None
        own, theirs = (pair.left, pair.right) if place == 0 else (pair.right, pair.left)
        known = [(i, arg) for i, arg in enumerate(goal.args) if arg == own or isinstance(arg, s.Const)]
        return FactSearch(
            database.predicate(goal.name, len(goal.args)), database, tuple(i for i, _ in known),
            tuple(arg.value if isinstance(arg, s.Const) else None for _, arg in known),
            tuple(i for i, (_, arg) in enumerate(known) if arg == own), goal.args.index(theirs),
        )  # fmt: skip

    def write(self, code: Code, value: str, at: str, other: str, group: str) -> None:
        """Write the search: in line where one fact is found in the relation that there is now, else as a call."""
        call = f"{at}, {group} = {code.constant(self.find)}({other}, {value})"
        relation = self.predicate.relation
        if relation is None or self.database.versions is not None or len(self.positions) > 1:
            code(call)
            return
        predicate, number = code.constant(self.predicate), code.fresh("n")
        code(f"{number} = {code.constant(relation.index(self.positions))}.get({value})")
        known, rows = code.constant(relation), code.constant(relation.rows)
        stands = f"{predicate}.relation is {known} and {known}.rows is {rows} and not {code.constant(relation.died)}"
        with code.block(f"if not ({stands}):"):
            code(call)
        with code.block(f"elif {number}.__class__ is int:"):
            code(f"{at} = {rows}[{number}][{code.constant(self.wanted)}]")
            code(f"{group} = {other}.get({at})")
        with code.block("else:"):
            code(call)

    def find(self, store: Store, value: Any) -> Found:
        """Return what waits for a value."""
        predicate, versions = self.predicate, self.database.versions
        relation = predicate.relation
        if relation is None or not predicate.defined or (versions is not None and versions.changed):
            return gather_all(store)
        if len(self.positions) > 1:
            value = tuple([value if i in self.mine else x for i, x in enumerate(self.fixed)])
        found = relation.find(self.positions, value)
        if not found:
            return _NONE
        if len(found) > len(store):
            return gather_all(store)
        rows, died = relation.rows, relation.died
        keys = dict.fromkeys(rows[number][self.wanted] for number in found if number not in died)
        groups = [(key, store[key]) for key in keys if key in store]
        if len(groups) < 2:
            return groups[0] if groups else _NONE
        return True, Gathered(groups)
