"""Outer joins in generated code: how an instance without a partner waits until that is known, and is handed on."""

from __future__ import annotations

from collections.abc import Callable

from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.runtime.codegen.deadlines.timer import write_timer
from etalis.runtime.codegen.emission import Deliver
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.ropes import together, write_choice
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.deadlines.timers import Lane, OwnLane
from etalis.runtime.deadlines.unmatched import Unmatched


class OuterJoins:
    """Writes what is done with the instances of a rule set that have no partner."""

    def __init__(self, base: RuleCode, stores: JoinStores, deliver: Deliver) -> None:
        self.base = base
        self.stores = stores
        self._deliver = deliver
        self._built: dict[int, Unmatched] = {}

    def alone_at_once(self, join: Wired, place: int) -> bool:
        """Tell whether an instance of a side matches alone where it finds no partner on arrival."""
        return self._known(join.node, place) == "at once"

    def awaits(self, join: Wired, place: int) -> bool:
        """Tell whether an instance of a side may match alone later."""
        return self._known(join.node, place) not in ("at once", None)

    def _known(self, node: p.Node, place: int) -> str | None:
        """Return when it is known that an instance of a side has no partner; None where it does not match alone."""
        if not isinstance(node, p.Join) or node.alone != ("left", "right")[place] or node.relation.alone is None:
            return None
        return node.relation.alone[place]

    def unmatched(self, entry: Wired) -> Unmatched:
        """Return what has no partner yet of the side of a join that matches alone too, its emission compiled anew."""
        if id(entry) not in self._built:
            fresh = self._unmatched(entry)
            kept: Unmatched = self.base.remember(entry, "unmatched", lambda: fresh)
            kept.emit, kept.level, kept.stage = fresh.emit, fresh.level, fresh.stage
            self._built[id(entry)] = kept
        return self._built[id(entry)]

    def _unmatched(self, entry: Wired) -> Unmatched:
        node = entry.node
        assert isinstance(node, p.Join)
        assert node.relation.alone is not None
        place = 0 if node.alone == "left" else 1
        in_window = node.relation.alone[place] == "in its window"
        return Unmatched(
            side=f"side{place}", window=window_of(node.tests) if in_window else None,
            by_start=not node.relation.sequential,
            level=0 if node.relation.sequential else self.base.levels.get(id(node), 1),
            emit=self._lone_emitter(entry), timers=self.base.state.timers, place=entry.key,
            stage=self.base.stages.get(id(node), 0),
        )  # fmt: skip

    def wait(self, code: Code, entry: Wired, key: str, instance: str, t1: str, t2: str) -> None:
        """Write that an instance without a partner waits for one, until its timer falls due."""
        unmatched, state = self.unmatched(entry), self.base.state
        due = t2
        if unmatched.window is not None:
            due = f"{t1} + {code.constant(unmatched.window)}"
        since = t1 if unmatched.by_start else t2
        lane = self.lane(entry) if t1 == t2 else None
        write_timer(
            code, state, lane, due, since, unmatched, unmatched.stage, f"({key}, {instance})",
            is_parted=self.base.corrects,
        )  # fmt: skip

    def lane(self, entry: Wired) -> Lane | OwnLane | None:
        """Return where the timers of instants stand, which are due in the order in which they arrive."""
        unmatched, timers = self.unmatched(entry), self.base.state.timers
        own = timers.own_lane(unmatched)
        return own if own is not None else timers.lane(unmatched.window or 0, unmatched.level, unmatched.stage)

    def _lone_emitter(self, entry: Wired) -> Callable[..., None]:
        """Return the function (key, instance, end) that hands on an instance without a partner."""
        code = Code(["q", "y", "t2"])
        self.write_due(code, entry, "q", "y", "t2")
        return self.base.finish(code, "without a partner")

    def write_due(self, code: Code, entry: Wired, key: str, instance: str, t2: str) -> None:
        """Write that an instance without a partner is handed on, by its key and the moment when that is known."""
        node = entry.node
        assert isinstance(node, p.Join)
        place = 0 if node.alone == "left" else 1
        keys, columns = self.stores.join_keys(entry), self.stores.columns(entry, place)
        values = {v: key if len(keys.names) == 1 else f"{key}[{i}]" for i, v in enumerate(keys.shared)}
        values |= {v: code.fresh("y") for v in columns}
        code(f"{tuple_of([*(values[v] for v in columns), 't1', '_'])} = {instance}")
        self.deliver(code, entry, together(values, p.children(node)[place]), "t1", t2)

    def deliver(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write the code that hands on an instance of a join that has no partner."""
        full = {v: names.get(v, "None") for v in entry.node.exports}
        if "$parts" in full:
            full["$parts"] = write_choice(1, full["$parts"])
        self._deliver(code, entry, full, t1, t2)
