"""What recursive rules keep, in the stores of the machine and in an engine: a run over batches begins and ends there.

Nodes of the plan have numbers in the machine and entries in the engine, so both are found by walking the rules. Law: as
for other rules (`state`), an engine whose state was taken over and put back goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.casts import UnfitError, to_column, to_integers
from etalis.columnar.data.columns import Column
from etalis.columnar.data.instances import Instances
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.component import Recursion
from etalis.columnar.recursion.lowering import StoreLayout
from etalis.columnar.state.base import Undo
from etalis.columnar.state.links import (
    Names,
    StoredSide,
    by_end,
    clear_blockers,
    read_blockers,
    read_made,
    write_blockers,
    write_made,
)
from etalis.columnar.state.wiring import below, joined_in, root_of, stored_in
from etalis.errors import EventError
from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.codegen.network import Wired
from etalis.runtime.operators.blockers import Blockers, LooseBlockers
from etalis.runtime.ruleset import RuleSet

Place: TypeAlias = tuple[int, int]  # a store of the machine: its number, and the side


class RecursionLinks:
    """The rules of a recursive component, and how what they keep is tied to an engine."""

    def __init__(self, component: Recursion, rules: RuleSet) -> None:
        self.component = component
        self.rules = rules
        self.sides: dict[Place, StoredSide] = {}
        self.blocked: dict[Place, tuple[Blockers | LooseBlockers, Mapping[str, str]]] = {}
        for number, head in component.heads.items():
            self._tie(head.body, *root_of(rules.rules[number][0], rules))

    def _tie(self, node: p.Node, entry: Wired, names: Names) -> None:
        """Tie the stores of a node, and of those below it."""
        machine, rules = self.component, self.rules
        for side in (0, 1) if isinstance(node, p.Join) else ():
            place = machine.store_numbers[id(node)], side
            if rules.compiler.stores.retention(entry, side) != NEVER_STORED:
                self.sides[place] = stored_in(entry, side, names, _types(machine.stores[place]), rules)
        for i, test in enumerate(test for test in p.tests(node) if isinstance(test, p.Absent)):
            place = machine.store_numbers[id(test)], 0
            types = _types(machine.stores[place])
            joined = {v: types[v] for v in joined_in(entry, i, names)}
            self.blocked[place] = rules.memory[entry.key, f"blockers{i}"], joined
        for i, child in enumerate(p.children(node)):
            self._tie(child, *below(entry, "input", i, names))
        for i, child in enumerate(p.negated(node)):
            self._tie(child, *below(entry, "negated", i, names))

    def load(self) -> None:
        """Read the state of the engine; refuse what the machine cannot hold."""
        machine = self.component
        machine.forget()
        try:
            found = {place: self._words(place, stored.read()) for place, stored in self.sides.items()}
            for place, (blockers, types) in self.blocked.items():
                found[place] = self._words(place, read_blockers(blockers, types))
            made = self._made()
        except EventError as error:
            raise UnfitError(error.problems[0].message) from None
        machine.wait(found)
        machine.remember(_word(self.rules.state.now), made)

    def _words(self, place: Place, rows: Instances) -> Any:
        """Return instances as the machine has them."""
        names = self.component.stores[place].names
        found = np.zeros((len(rows), t.C_WORDS + len(names)), np.int64)
        found[:, t.C_START], found[:, t.C_END] = rows.start, rows.end
        for i, name in enumerate(names):
            found[:, t.C_WORDS + i] = self.component.texts.words(rows.column(name))
        return found

    def _made(self) -> Any:
        """Return what the engine has made at the present moment as events of the machine."""
        machine, now = self.component, self.rules.state.now
        parts = [machine.events[:0]]
        for number, kind in enumerate(machine.kinds):
            seen = read_made(self.rules.heads.made[kind], kind[1], now) if kind in machine.made else []
            if not seen:
                continue
            rows = np.zeros((len(seen), machine.events.shape[1]), np.int64)
            start, *columns = zip(*seen, strict=True)
            rows[:, t.E_KIND], rows[:, t.E_START], rows[:, t.E_END] = number, to_integers(start), now
            for place, (values, type_) in enumerate(zip(columns, machine.types[kind], strict=True)):
                rows[:, t.E_WORDS + place] = machine.texts.words(to_column(values, type_))
            parts.append(rows)
        return np.concatenate(parts)

    def take_over(self) -> None:
        """Nothing here happens by itself."""

    def save(self, saved: set[Hashable]) -> None:
        """Put the state back into the engine, but for parts that have been `saved`: rules may share some."""
        machine, now = self.component, self.rules.state.now
        machine.let_go(_word(now))
        waiting = machine.waiting()
        for place, stored in self.sides.items():
            if id(stored.store) not in saved:
                saved.add(id(stored.store))
                stored.write(self._instances(waiting[place], machine.stores[place]))
        for place, (blockers, types) in self.blocked.items():  # these ask what waits
            if id(blockers) not in saved:
                saved.add(id(blockers))
                clear_blockers(blockers)
                write_blockers(blockers, types, self._instances(waiting[place], machine.stores[place]))
        latest = machine.latest()
        for number, kind in enumerate(machine.kinds):
            mine = latest[latest[:, t.E_KIND] == number]
            if len(mine) and machine.reg[t.NOW] == now:
                columns = self._columns(mine[:, t.E_WORDS :], machine.types[kind])
                write_made(self.rules.heads.made[kind], now, mine[:, t.E_START], columns)

    def _instances(self, rows: Any, store: StoreLayout) -> Instances:
        """Return rows of the machine in the order in which they ended."""
        columns = self._columns(rows[:, t.C_WORDS :], store.types)
        return by_end(rows[:, t.C_START], rows[:, t.C_END], dict(zip(store.names, columns, strict=True)))

    def _columns(self, words: Any, types: Sequence[str]) -> Iterable[Column]:
        return [self.component.texts.column(words[:, i], type_) for i, type_ in enumerate(types)]

    def mark(self) -> Undo:
        """Return what goes back to what is kept now."""
        return self.component.mark()

    def clear(self) -> None:
        """Keep nothing in the machine."""
        self.component.forget()


def _word(time: int) -> int:
    """Return a time that fits 64 bits, the beginning of all too."""
    return max(time, -(1 << 62))


def _types(store: StoreLayout) -> dict[str, str]:
    return dict(zip(store.names, store.types, strict=True))
