"""The key of a join in generated code: shared variables, and what its conditions make equal (`KeyPair`).

A computed key is None for an instance that leaves its variable unbound, or of which the conditions may raise an error:
such an instance waits in a group of its own, which every probe looks at, and looks at all groups itself. What is put
together of several groups is in order of (end, start, arrival), as one group would be; so instances of these stores
carry the number of their arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from etalis.language import syntax as s
from etalis.logic.machine.database import Database
from etalis.plan import algebra as p
from etalis.runtime.codegen.keys.fact_search import FactSearch, proves
from etalis.runtime.codegen.keys.number_keys import write_guards, write_number
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.operators.gathering import ARRIVAL, ArrivalStore, gather, gather_all, gather_parts, next_arrival

Names = dict[str, str]
_LOOSE = ("number", "integer", "bound")  # where the key may be None


class JoinKeys:
    """The key of one join: `shared` variables that both sides always bind, then what the plan says must be equal.

    A predicate that is `computed` has no table of facts to search.
    """

    def __init__(self, node: p.Join, shared: Sequence[str], computed: Collection[p.Kind]) -> None:
        self.shared = list(shared)
        asked = {pair: pair.fact and (pair.fact.name, len(pair.fact.args)) for pair in node.keys_on}
        self.pairs = tuple(pair for pair, predicate in asked.items() if predicate not in computed)
        self.fact = next((pair for pair in self.pairs if pair.kind == "fact"), None)
        self.is_loose = any(pair.numbers or pair.kind in _LOOSE for pair in self.pairs)
        self.names = [*self.shared, *(f"$key{i}" for i in range(len(self.pairs)))]
        self.make_store: Callable[[], dict[Any, Any]] = ArrivalStore if self.gathers else dict

    @property
    def gathers(self) -> bool:
        """Whether a probe may look at several groups."""
        return self.is_loose or self.fact is not None

    @property
    def marks(self) -> dict[str, Any]:
        """What an instance carries beside its values, with what makes it."""
        return {ARRIVAL: next_arrival} if self.gathers else {}

    @property
    def proven(self) -> s.Term | None:
        """The goal that holds for what is found by a fact."""
        return self.fact.fact if self.fact is not None and not self.is_loose and proves(self.fact) else None

    def write(self, code: Code, place: int, names: Names) -> str:
        """Write the key of an instance of one side, and return its expression."""
        parts = [names[v] for v in self.shared]
        for pair in self.pairs:
            text = write_key(code, pair, place, names)
            if not text.isidentifier():
                local = code.fresh("q")
                code(f"{local} = {text}")
                text = local
            parts.append(text)
        if not parts:
            return "0"
        if len(parts) == 1:
            return parts[0]
        key = code.fresh("q")
        code(f"{key} = {tuple_of(parts)}")
        return key

    def find(
        self, code: Code, place: int, names: Names, key: str, at: str, other: str, group: str, database: Database, *,
        seldom: bool = False,
    ) -> None:  # fmt: skip
        """Write that a group of the other side's store is found, and its key `at` where that is another one.

        A store in which anything waits `seldom` is looked at before it is searched.
        """
        if self.fact is not None:
            own = (self.fact.left, self.fact.right)[place]
            assert isinstance(own, s.Var)
            search = FactSearch.of(self.fact, place, database)
            if not self.is_loose:
                search.write(code, names[own.name], at, other, group)
                return
            with code.block(f"if {key} is None or None in {other}:"):
                code(f"{at}, {group} = {code.constant(gather_all)}({other})")
            with code.block("else:"):
                search.write(code, names[own.name], at, other, group)
            return
        if not self.is_loose or len(self.pairs) == 1:
            code(f"{group} = {other}.get({key}){f' if {other} else None' if seldom else ''}")
        if not self.is_loose:
            return
        if len(self.names) == 1:
            with code.block(f"if {key} is None or None in {other}:"):
                code(f"{group} = {code.constant(gather)}({other}, {key})")
        elif len(self.pairs) == 1:
            loose = tuple_of([*(names[v] for v in self.shared), "None"])
            with code.block(f"if {key}[-1] is None or {loose} in {other}:"):
                code(f"{group} = {code.constant(gather_parts)}({other}, {key}, {len(self.shared)})")
        else:
            code(f"{group} = {code.constant(gather_parts)}({other}, {key}, {len(self.shared)})")


def write_key(code: Code, pair: p.KeyPair, place: int, names: Names) -> str:
    """Return the expression of one side of a pair: a variable that always has a value, or one that may be None."""
    term = (pair.left, pair.right)[place]
    if isinstance(term, s.Var) and pair.kind in ("value", "fact", "bound"):
        text = names[term.name]
    else:
        text = write_number(code, term, names, integers=pair.kind == "integer")
    guards = write_guards(code, pair.numbers, names)
    return f"({text} if {' and '.join(guards)} else None)" if guards else text
