"""What waits on the sides of joins: under which key, with which values, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED, retention, window_of
from etalis.runtime.codegen.keys.join_keys import JoinKeys
from etalis.runtime.codegen.network import Wired, own_names
from etalis.runtime.codegen.ropes import with_slots
from etalis.runtime.codegen.rule_code import RuleCode
from etalis.runtime.codegen.source import Code

MOST_KEYS = 64  # that are kept: of fifty thousand rules they would take more room than the text


class JoinStores:
    """The stores of the joins of a rule set; `place` 0 is the left side."""

    def __init__(self, base: RuleCode) -> None:
        self.base = base
        self._shared: dict[int, list[str]] = {}  # by ids of joins: to find one among a thousand readers takes long
        self._keys: dict[int, JoinKeys] = {}  # likewise, of the joins that were last written: each asks many times

    def probes(self, join: Wired, place: int) -> bool:
        """Tell whether an instance on this side can find partners that wait."""
        return self.retention(join, 1 - place) != NEVER_STORED

    def retention(self, join: Wired, place: int) -> int | None:
        """Return how long after its end an instance of one side can still be used: None for ever, -1 not at all."""
        assert isinstance(join.node, p.Join)
        return retention(join.node.relation, place, window_of(join.node.tests))

    def side(self, join: Wired, place: int) -> dict[Any, Any]:
        """Return the store of one side of a join."""
        found: dict[Any, Any] = self.base.remember(join, f"side{place}", self.join_keys(join).make_store)
        return found

    # keys

    def keys(self, join: Wired) -> list[str]:
        """Return the names of the parts of a join's key: variables that both sides always bind, then computed keys."""
        return self.join_keys(join).names

    def join_keys(self, join: Wired) -> JoinKeys:
        """Return the key of a join."""
        found = self._keys.get(id(join))
        if found is None:
            assert isinstance(join.node, p.Join)
            if len(self._keys) == MOST_KEYS:
                self._keys.clear()
            found = self._keys[id(join)] = JoinKeys(join.node, self.shared_key(join), self.base.computed)
        return found

    def key_function(self, join: Wired, place: int) -> Callable[..., Any] | None:
        """Return what makes the key of the values that an instance brings to one side; None where none is computed."""
        keys = self.join_keys(join)
        if not keys.pairs:
            return None
        carried = self.values_carried(join, place)
        code = Code([f"v{i}" for i in range(len(carried))])
        code(f"return {keys.write(code, place, dict(zip(carried, code.parameters, strict=True)))}")
        return code.function()

    def shared_key(self, join: Wired) -> list[str]:
        """Return the variables that both sides of a join always bind."""
        if id(join) not in self._shared:
            left, right = join.inputs
            names = own_names(join)
            both = set(names[0]) & set(names[1])
            firm = _sure_of(left, join, 0) & _sure_of(right, join, 1) if both else both
            self._shared[id(join)] = sorted(v for v in both & firm if v[0] != "$")
        return self._shared[id(join)]

    def sure_of_pairs(self, join: Wired) -> frozenset[str]:
        """Return the variables that every pair of a join binds; a match without a partner binds fewer."""
        if not isinstance(join.node, p.Join) or join.node.alone is None:
            return join.sure
        left, right = join.inputs
        return _sure_of(left, join, 0) | _sure_of(right, join, 1)

    # instances

    def carried(self, join: Wired, place: int) -> tuple[str, ...]:
        """Return the variables that an instance brings to one side of a join."""
        return p.children(join.node)[place].exports

    def values_carried(self, join: Wired, place: int) -> tuple[str, ...]:
        """Return the variables, without marks, that an instance brings to one side of a join."""
        return tuple(v for v in self.carried(join, place) if v[0] != "$")

    def passed(self, join: Wired, place: int) -> list[str]:
        """Return what an instance brings to one side of a join, one name for each value."""
        return with_slots(self.carried(join, place), p.children(join.node)[place])

    def columns(self, join: Wired, place: int) -> list[str]:
        """Return what a waiting instance of one side holds besides its key."""
        keys = self.join_keys(join)
        return [*(v for v in self.passed(join, place) if v not in keys.shared), *keys.marks]


def _sure_of(child: Wired, parent: Wired, place: int) -> frozenset[str]:
    """Return what a child is sure to bind, in the parent's names."""
    for reader in child.readers:
        if reader.kind == "input" and reader.target is parent and reader.place == place:
            return frozenset(reader.renames.get(v, v) for v in child.sure)
    raise AssertionError("a child is read by its parent")
