"""Absences until a deadline in generated code: how a left side waits, and how it is judged when its time has passed."""

from __future__ import annotations

from collections.abc import Callable

from etalis.plan import algebra as p
from etalis.runtime.codegen.absences import Absences
from etalis.runtime.codegen.deadlines.timer import write_timer
from etalis.runtime.codegen.emission import Emission
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.deadlines.timers import Lane, OwnLane
from etalis.runtime.deadlines.waiter import Waiter


class Deadlines:
    """Writes the absences of a rule set that are known at a deadline."""

    def __init__(self, base: RuleCode, absences: Absences, tests: MatchTests, emission: Emission) -> None:
        self.base = base
        self.absences = absences
        self.tests = tests
        self.emission = emission
        self._built: dict[int, Waiter] = {}

    def waiter(self, entry: Wired) -> Waiter:
        """Return what judges the left sides of an absence, its code compiled anew."""
        if id(entry) not in self._built:
            node = entry.node
            assert isinstance(node, p.Deadline)
            fresh = Waiter(
                duration=node.duration, place=entry.key, stage=self.base.stages.get(id(node), 0),
                holds=self._judge(entry), emit=self._emitter(entry),
            )  # fmt: skip
            kept: Waiter = self.base.remember(entry, "operator", lambda: fresh)
            kept.holds, kept.emit, kept.stage = fresh.holds, fresh.emit, fresh.stage
            self._built[id(entry)] = kept
        return self._built[id(entry)]

    def lane(self, entry: Wired) -> Lane | OwnLane | None:
        """Return where the left sides of an absence wait, if they need not stand in the heap."""
        waiter, timers = self.waiter(entry), self.base.state.timers
        own = timers.own_lane(waiter)
        return own if own is not None else timers.lane(waiter.duration, waiter.level, waiter.stage)

    def wait(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write that a left side waits until its deadline."""
        waiter, lane = self.waiter(entry), self.lane(entry)
        due = f"{t2} + {code.constant(waiter.duration)}"
        payload = tuple_of([*(names[v] for v in p.children(entry.node)[0].exports), t1, t2])
        write_timer(
            code, self.base.state, lane, due, t2, waiter, waiter.stage, payload, is_parted=self.base.corrects
        )  # fmt: skip

    def write_due(self, code: Code, entry: Wired, payload: str, t2: str, before: Callable[[], None]) -> None:
        """Write that a left side is handed on if nothing has blocked it, behind other lines; `t2` is its deadline."""
        names, start = self._unpack(code, entry, payload)
        with code.block(f"if {self._test(code, entry, names, t2)}:"):
            before()
            self._hand_on(code, entry, names, start, t2)

    def _unpack(self, code: Code, entry: Wired, payload: str) -> tuple[Names, str]:
        names = {v: code.fresh("v") for v in p.children(entry.node)[0].exports}
        start, end = code.fresh("s"), code.fresh("e")
        code(f"{tuple_of([*names.values(), start, end])} = {payload}")
        names["$end"] = end
        return names, start

    def _test(self, code: Code, entry: Wired, names: Names, due: str) -> str:
        node = entry.node
        assert isinstance(node, p.Deadline)
        return self.absences.unblocked_until(code, entry, node, names, names["$end"], due)

    def _hand_on(self, code: Code, entry: Wired, names: Names, start: str, due: str) -> None:
        own = {v: name for v, name in names.items() if v != "$end"}
        low, high = own.get("$first", start), own.get("$last", due)
        passing = self.tests.write(code, entry, own, entry.sure, start, due, low, high, None)
        self.emission.guarded(code, entry, passing, own, start, due)

    def _judge(self, entry: Wired) -> Callable[..., bool]:
        """Return the function (left side, deadline) that tells whether nothing has blocked it."""
        code = Code(["payload", "due"])
        names, _ = self._unpack(code, entry, "payload")
        code(f"return {self._test(code, entry, names, 'due')}")
        return self.base.finish(code, "absence")

    def _emitter(self, entry: Wired) -> Callable[..., None]:
        """Return the function (left side, deadline) that hands on what nothing has blocked."""
        code = Code(["payload", "due"])
        names, start = self._unpack(code, entry, "payload")
        self._hand_on(code, entry, names, start, "due")
        return self.base.finish(code, "deadline")
