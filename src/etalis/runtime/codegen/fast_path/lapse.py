"""What falls due before an event, in generated code: absences that are decided, and instances without a partner.

All that is due is taken in one loop, in order; what sets a timer is written into it. Where nothing follows from the
matches they are gathered, else they are settled step by step. What the loop does not know (alarms, rules that are gone)
it leaves to the run loop. Law: what is due at one moment since one moment is one step, of which the matches are one
round.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any

from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.runtime.codegen.fast_path.matches import EventOffer
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import NEVER, Raw, sort_round

MOST_OWNERS = 8  # whose code stands in one loop
NOTHING = (NEVER, 0, 0, None, (), None)  # what is due where nothing is


def write_lapse(rules: RuleSet, run_loop: RunLoop, offer: EventOffer) -> Callable[[int], Any]:
    """Return the function that lets pass what is due before a moment, and returns what is reported."""
    entries = _owners(rules)
    if entries is None:
        return run_loop.reach_now
    return Lapse(rules, run_loop, entries, gathers=all(_is_reported(rules, offer, entry) for entry in entries)).write()


class Lapse:
    """Writes the loop over what is due of some entries; it `gathers` their matches where nothing follows from these."""

    def __init__(self, rules: RuleSet, run_loop: RunLoop, entries: list[Wired], *, gathers: bool) -> None:
        self.rules, self.run_loop, self.entries, self.gathers = rules, run_loop, entries, gathers
        self.timers, self.compiler = rules.state.timers, rules.compiler
        self.report = run_loop.report
        self.code = Code(["t"])

    def write(self) -> Callable[[int], Any]:
        """Return the function."""
        owners = [self._owner(entry) for entry in self.entries]
        code, timers, lanes = self.code, self.code.constant(self.timers), list(self.timers.lanes)
        code.add(["found = []", "due = since = None"])
        code("begin = 0" if self.gathers else "made = 0")
        clock = f"{code.constant(self.rules.state)}.clock"
        general = f"{code.constant(self.run_loop.reach_now)}(t)"
        others = f"len({code.constant(self.timers.lanes)}) > {len(lanes)}"
        if len(lanes) == 1 and self._all_in_lanes():
            others = f"{code.constant(self.timers.heap)} or {others}"
        with code.block(f"if {others}:"):
            code(f"return {general}")
        reported = f"{code.constant(self.report)}(found)"
        with code.block("while True:"):
            if len(lanes) == 1 and self._all_in_lanes():
                source = code.constant(lanes[0])
                nothing = code.constant(NOTHING)
                code(f"(ends, back, _, whose, place, _) = {source}[0] if {source} else {nothing}")
            else:
                source = "source"
                self._write_first(list(map(code.constant, lanes)))
                code("(ends, back, _, whose, place, _) = first")
            if not self.gathers:
                self._write_settling()
            with code.block("if ends >= t:"):
                code("break")
            for number, (entry, owner) in enumerate(zip(self.entries, owners, strict=True)):
                with code.block(f"{'el' if number else ''}if whose is {code.constant(owner)}:"):
                    code(f"{source}.popleft()")
                    if self.rules.watched or not self.gathers:
                        code(f"if {clock} < ends: {clock} = ends")
                    self._write_due(entry, owner)
            with code.block("else:"):  # the run loop knows
                self._write_end_of_step()
                code(f"{timers}.due = ends")
                code(f"return ({reported} + {general}) if found else {general}")
        self._write_end_of_step()
        code(f"{timers}.due = ends")
        code(f"return {reported} if found else ()")
        return self.compiler.base.finish(code, "lapse")

    def _all_in_lanes(self) -> bool:
        """Tell whether nothing is set in the heap."""
        lane = self.compiler.deadlines.lane
        return all(isinstance(entry.node, p.Deadline) and lane(entry) is not None for entry in self.entries)

    def _owner(self, entry: Wired) -> Waiter | Unmatched:
        if isinstance(entry.node, p.Deadline):
            return self.compiler.deadlines.waiter(entry)
        return self.compiler.outer.unmatched(entry)

    def _write_first(self, lanes: list[str]) -> None:
        """Write that what is due first is found, among lanes and the heap, and where it stands."""
        code, heap = self.code, self.code.constant(self.timers.heap)
        nothing = code.constant(NOTHING)
        code(f"first = {lanes[0]}[0] if {lanes[0]} else {nothing}" if lanes else f"first = {nothing}")
        code(f"source = {lanes[0]}" if lanes else "source = None")
        for lane in lanes[1:]:
            with code.block(f"if {lane} and {lane}[0] < first:"):
                code.add([f"first = {lane}[0]", f"source = {lane}"])
        with code.block(f"if {heap} and {heap}[0] < first:"):
            code.add([f"first = {heap}[0]", f"source = {code.constant(HeapSource(self.timers.heap))}"])

    def _write_settling(self) -> None:
        """Write that what a step has caused is settled before the next one."""
        code, state = self.code, self.rules.state
        with code.block(f"if {code.constant(state.queue)} and (ends != due or back != since):"):
            code(f"made = {code.constant(self.run_loop.settle_queue)}(found, made)")
            code("continue")

    def _write_due(self, entry: Wired, owner: Waiter | Unmatched) -> None:
        """Write that an instance whose time has come is handed on, if it has no partner or nothing has blocked it."""
        code = self.code
        if isinstance(owner, Waiter):
            self.compiler.deadlines.write_due(code, entry, "place", "ends", self._write_step)
            return
        code("(q, y) = place")
        with code.block(f"if {code.constant(owner.met)}.pop(id(y), None) is None:"):
            self._write_step()
            self.compiler.outer.write_due(code, entry, "q", "y", "ends")

    def _write_step(self) -> None:
        """Write what comes before a match: the end of the step before, if it is of another one."""
        code = self.code
        with code.block("if back != since or ends != due:"):
            if self.gathers:
                self._write_end_of_step()
                code("(due, since, begin) = (ends, back, len(found))")
            else:
                code("(due, since) = (ends, back)")
        code.collects = "found" if self.gathers else None

    def _write_end_of_step(self) -> None:
        """Write that the events of a step are put in the order of a round, and counted."""
        code = self.code
        if self.gathers:
            with code.block("if len(found) > begin + 1:"):
                code(f"{code.constant(_sort_step)}(found, begin)")
            with code.block(f"if len(found) > {code.constant(self.run_loop.most)}:"):
                code(f"{code.constant(self.report)}(found)")


class HeapSource:
    """A heap from which the first is taken like from a lane."""

    __slots__ = ("heap",)

    def __init__(self, heap: list[Any]) -> None:
        self.heap = heap

    def popleft(self) -> Any:
        """Take out what is due first."""
        return heappop(self.heap)


def _sort_step(found: list[Raw], begin: int) -> None:
    """Put the events of the last step, which begin at a place, in the order of a round."""
    step = found[begin:]
    sort_round(step)
    found[begin:] = step


def _owners(rules: RuleSet) -> list[Wired] | None:
    """Return the entries that set timers, if the loop can do all that is due of them."""
    entries = [entry for entry in rules.wiring.entries if p.falls_due(entry.node)]
    joins = sum(isinstance(entry.node, p.Join) for entry in entries)
    alarms = any(planned.head.alarm is not None for planned, _ in rules.rules)
    told = rules.record is not None or rules.heads.derivations is not None
    if alarms or told or rules.numbered or rules.reacts or not 0 < len(entries) <= MOST_OWNERS:
        return None
    return entries if not joins or len(entries) == 1 else None  # of levels, each is a step of its own


def _is_reported(rules: RuleSet, offer: EventOffer, entry: Wired) -> bool:
    """Tell whether all that is done with the matches of an entry is to report them."""
    heads: list[PlannedRule] = [reader.target for reader in entry.readers if reader.kind == "head"]
    return rules.heads.may_gather(entry) and not any(map(offer.follows, heads)) and all(map(_is_flat, heads))


def _is_flat(rule: PlannedRule) -> bool:
    """Tell whether a head makes no terms, which might be nested too deep."""
    return all(isinstance(arg, s.Var | s.Const) for arg in rule.head.event.args)
