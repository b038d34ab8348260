"""What falls due before an event, in generated code: absences that are decided, alarms, instances without a partner.

All that is due is taken in one loop, in order; what few operators do is written into it. Where nothing follows from the
matches they are gathered, else they are settled step by step. Law: what is due at one moment since one moment, of one
level, is one step, of which the matches are one round; within a step what falls due decides nothing about the rest of
it, and what it sets itself comes after that, even if it is due at once. Of a lane all that is due at one moment is one
step; alarms of several lanes are one too. Where all have lanes of their own, which is the first of two that are due
together is known before: who waits less long, or is of a lower level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.runtime.codegen.deadlines.timer import do_act
from etalis.runtime.codegen.fast_path.matches import EventOffer
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.timers import ALARMS, STAGE, OwnLane
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import NEVER, Raw, sort_round
from etalis.temporal.event import event_of

MOST_OWNERS = 8  # whose code stands in one loop
NOTHING = (NEVER,)  # what is due where nothing is


def write_lapse(rules: RuleSet, run_loop: RunLoop, offer: EventOffer) -> Callable[[int], Any]:
    """Return the function that lets pass what is due before a moment, and returns what is reported."""
    if not _is_exact(rules):
        return run_loop.reach_now
    entries, alarms = [e for e in rules.wiring.entries if p.falls_due(e.node)], _alarms(rules)
    if not 0 < len(entries) + len(alarms) <= MOST_OWNERS:
        return Lapse(rules, run_loop, [], [], gathers=False).write()
    for entry in entries:  # lanes of joins are made where they are asked for
        if isinstance(entry.node, p.Join):
            rules.compiler.outer.lane(entry)
    told = rules.numbered or rules.reacts or rules.record is not None
    gathers = not told and all(_is_reported(rules, offer, e) for e in entries)
    gathers = gathers and all(rules.heads.is_lone(rule) and _is_plain(offer, rule) for rule in alarms)
    if not rules.state.timers.own:
        return Lapse(rules, run_loop, entries, alarms, gathers=gathers).write()
    lapse = LaneLapse(rules, run_loop, entries, alarms, gathers=gathers)
    return lapse.write() if len(lapse.lanes_of) == len(entries) + len(alarms) else run_loop.reach_now


class LaneOfOwner(NamedTuple):
    """A lane, how long behind the last of what it holds that is due, and for whom; of those due together by `order`.

    That is how long it waits, by stage, and its level: those of one order are of one step.
    """

    order: tuple[int, int]
    after: int
    lane: OwnLane
    whose: Wired | PlannedRule


class Lapse:
    """Writes the loop over what is due; what is done for `entries` and `alarms` is in line, others do it themselves.

    It `gathers` matches where all that is done with them is to report them.
    """

    def __init__(
        self, rules: RuleSet, run_loop: RunLoop, entries: list[Wired], alarms: list[PlannedRule], *, gathers: bool
    ) -> None:
        self.rules, self.run_loop, self.gathers = rules, run_loop, gathers
        self.entries, self.alarms = entries, alarms
        self.timers, self.compiler = rules.state.timers, rules.compiler
        self.code = Code(["t"])
        self.lanes = list(map(self.code.constant, self.timers.lanes))
        self.heap = self.code.constant(self.timers.heap)
        self.general = f"{self.code.constant(run_loop.reach_now)}(t)"
        self.reported = f"{self.code.constant(run_loop.report)}(found)"
        self.open = "source = ()"  # what is left of the step that has begun

    def write(self) -> Callable[[int], Any]:
        """Return the function."""
        code = self.code
        with code.block(f"if {self._strange()}:"):
            code(f"return {self.general}")
        code.add(["found = []", "due = None", self.open])
        code("begin = 0" if self.gathers else f"{code.constant(self.run_loop)}.made = 0")
        code.add([f"{code.constant(self.run_loop)}.moment = None"] if self.rules.reacts else [])
        with code.block("try:"), code.block("while True:"):
            self._write_loop()
        with code.block("except BaseException:"):  # too many events: what was due before is gone
            code.add([f"{code.constant(self.timers.find_due)}()", "raise"])
        code(f"{code.constant(self.timers)}.due = ends")
        with code.block("if not found:"):
            code("return ()")
        with code.block("if len(found) == 1:"):
            code(f"return ({code.constant(event_of)}(found[0]),)")
        self._write_end_of_step()
        code(f"return {self.reported}")
        return self.compiler.base.finish(code, "lapse")

    def _strange(self) -> str:
        """Return the test that timers stand where this does not look."""
        lanes, own = map(self.code.constant, (self.timers.lanes, self.timers.own))
        return f"len({lanes}) != {len(self.lanes)} or {own}"

    def _write_loop(self) -> None:
        """Write what is done with what is due first: the rest of the step that has begun, if anything is left of it."""
        code = self.code
        with code.block("if not (source and source[0][0] == due):"):
            self._write_first()
            if not self.gathers:
                self._write_settling(more=["source = ()"])
            with code.block("if ends >= t:"):
                code("break")
            apart = f"{self.heap} and {self.heap}[0][0] == ends"
            apart += f" or first[1] == {code.constant(-NEVER)}" if len(self.alarms) > 1 else ""
            with code.block(f"if {apart}:"):  # what is of one step stands in several places
                code(f"source = {code.constant(self.timers.take_step)}(ends)")
            self._write_new_step()
        code(f"(_, _, _, whose, place, _) = {'timer = ' if self.gathers else ''}source.popleft()")
        self._write_clock()
        code.collects = "found" if self.gathers else None
        for entry in self.entries:
            with code.block(f"if whose is {code.constant(self._owner(entry))}:"):
                self._write_due(entry)
                code("continue")
        for rule in self.alarms:
            with code.block(f"if whose is {code.constant(self.rules.heads.ring(rule))}:"):
                self._write_before_match()
                self.rules.heads.write_due(code, rule, "place", "ends")
                code("continue")
        self._write_other()

    def _owner(self, entry: Wired) -> Waiter | Unmatched:
        """Return who sets the timers of an entry."""
        is_absence = isinstance(entry.node, p.Deadline)
        return self.compiler.deadlines.waiter(entry) if is_absence else self.compiler.outer.unmatched(entry)

    def _write_first(self) -> None:
        """Write when what is first is due, and where it stands: in one of the lanes, or in the heap."""
        code, lanes, nothing = self.code, self.lanes, self.code.constant(NOTHING)
        code(f"first = {lanes[0]}[0] if {lanes[0]} else {nothing}" if lanes else f"first = {nothing}")
        code(f"source = {lanes[0]}" if lanes else "source = ()")
        for lane in lanes[1:]:
            with code.block(f"if {lane} and {lane}[0] < first:"):
                code.add([f"first = {lane}[0]", f"source = {lane}"])
        code("ends = first[0]")
        code(f"if {self.heap} and {self.heap}[0][0] < ends: ends = {self.heap}[0][0]")

    def _write_settling(self, where: str = "", more: Sequence[str] = ()) -> None:
        """Write that what a step has caused is settled before the next one, and more."""
        code, state = self.code, self.rules.state
        left = [code.constant(state.queue)]
        left += [code.constant(state.reacting), code.constant(state.steps)] if self.rules.reacts else []
        with code.block(f"if ({' or '.join(left)}){where}:"):
            code.add([f"{code.constant(self.run_loop.settle_due)}(found)", *more, "continue"])

    def _write_clock(self) -> None:
        """Write that time reaches the moment of what is due, where that is seen."""
        clock = f"{self.code.constant(self.rules.state)}.clock"
        if self.rules.watched or not self.gathers:
            self.code(f"if {clock} < ends: {clock} = ends")

    def _write_due(self, entry: Wired) -> None:
        """Write that an instance whose time has come is handed on, if it has no partner or nothing has blocked it."""
        code = self.code
        if isinstance(entry.node, p.Deadline):
            self.compiler.deadlines.write_due(code, entry, "place", "ends", self._write_before_match)
            return
        code("(q, y) = place")
        with code.block(f"if {code.constant(self.compiler.outer.unmatched(entry).met)}.pop(id(y), None) is None:"):
            self._write_before_match()
            self.compiler.outer.write_due(code, entry, "q", "y", "ends")

    def _write_other(self) -> None:
        """Write what is done where others have set a timer: very many, or rules that are gone."""
        code = self.code
        if self.gathers:
            self._write_end_of_step()
            code(f"{code.constant(self.timers.put_back)}(timer, source)")
            code(f"return ({self.reported} + {self.general}) if found else {self.general}")
            return
        with code.block("if whose.stands(place):"):
            self._write_before_match()
            code("whose.fire(place)")

    def _write_new_step(self) -> None:
        """Write that the step before ends, and the next one begins."""
        self._write_end_of_step()
        self.code.add(["due = ends", *(["begin = count"] if self.gathers else [])])

    def _write_before_match(self) -> None:
        """Write what comes before a match."""
        if self.rules.numbered:
            self.code(f"{self.code.constant(self.rules.state)}.current += 1")

    def _write_end_of_step(self) -> None:
        """Write that the events of a step that are gathered are put in the order of a round, and counted."""
        code = self.code
        if self.gathers:
            code("count = len(found)")
            with code.block("if count > begin + 1:"):
                code(f"{code.constant(_sort_step)}(found, begin)")
            with code.block(f"if count > {code.constant(self.run_loop.most)}:"):
                code(self.reported)


class LaneLapse(Lapse):
    """The same loop where everybody has a lane of its own, of which the first in order of waiting comes first."""

    def __init__(
        self, rules: RuleSet, run_loop: RunLoop, entries: list[Wired], alarms: list[PlannedRule], *, gathers: bool
    ) -> None:
        super().__init__(rules, run_loop, entries, alarms, gathers=gathers)
        self.open = "since = None"  # in whose place of `orders`
        self.lanes_of = self._find_lanes()
        self.orders = list(dict.fromkeys(each.order for each in self.lanes_of))
        self.other_step = "ends != due or back != since" if len(self.orders) > 1 else "ends != due"

    def _find_lanes(self) -> list[LaneOfOwner]:
        """Return the lanes of entries and alarms, in the order in which they have what is due together."""
        lanes = {id(lane.owner): lane for lane in self.timers.own}
        found = []
        for entry in self.entries:
            owner = self._owner(entry)
            after = owner.duration if isinstance(owner, Waiter) else owner.window or 0
            order = after + owner.stage * STAGE, owner.level
            found += [LaneOfOwner(order, after, lanes[id(owner)], entry)] if id(owner) in lanes else []
        for rule in self.alarms:
            ring = self.rules.heads.ring(rule)
            found += [LaneOfOwner((ALARMS, 0), 0, lanes[id(ring)], rule)] if id(ring) in lanes else []
        return sorted(found, key=lambda lane: lane.order)

    def _strange(self) -> str:
        lanes, own = map(self.code.constant, (self.timers.lanes, self.timers.own))
        return f"{self.heap} or {lanes} or len({own}) != {len(self.timers.own)}"

    def _write_loop(self) -> None:
        code = self.code
        self._write_first()
        if not self.gathers:
            self._write_settling(f" and ({self.other_step})")
        with code.block("if ends >= t:"):
            code("break")
        code.collects = "found" if self.gathers else None
        for number, each in enumerate(self.lanes_of):
            around = code.block(f"if which == {number}:") if len(self.lanes_of) > 1 else nullcontext()
            with around:
                code(f"place = {code.constant(each.lane)}.popleft()")
                self._write_clock()
                if isinstance(each.whose, Wired):
                    self._write_due(each.whose)
                else:
                    self._write_before_match()
                    self.rules.heads.write_due(code, each.whose, "place", "ends")
                code("continue")

    def _write_first(self) -> None:
        """Write when what is first is due, of which lane, and in `back` which of those due together are of its step."""
        code, several = self.code, len(self.orders) > 1
        for number, each in enumerate(self.lanes_of):
            lane, back = code.constant(each.lane), f"back = {self.orders.index(each.order)}"
            if not number:
                code(f"ends = {self._due(each)} if {lane} else {code.constant(NEVER)}")
                code.add(["which = 0"] if len(self.lanes_of) > 1 else [])
                code.add([back] if several else [])
                continue
            with code.block(f"if {lane}:"):
                code(f"d = {self._due(each)}")
                code(f"if d < ends: ends = d; which = {number}{f'; {back}' if several else ''}")

    def _write_before_match(self) -> None:
        with self.code.block(f"if {self.other_step}:"):
            self._write_new_step()
            self.code.add(["since = back"] if len(self.orders) > 1 else [])
        super()._write_before_match()

    def _due(self, each: LaneOfOwner) -> str:
        """Return when what is first in a lane is due."""
        after = f" + {self.code.constant(each.after)}" if each.after else ""
        payload = f"{self.code.constant(each.lane)}[0]"
        instance = f"{payload}[1]" if isinstance(each.lane.owner, Unmatched) else payload
        return f"{instance}[-1]{after}"


def _sort_step(found: list[Raw], begin: int) -> None:
    """Put the events of the last step, which begin at a place, in the order of a round."""
    step = found[begin:]
    sort_round(step)
    found[begin:] = step


def _is_exact(rules: RuleSet) -> bool:
    """Tell whether all that is due can be taken one after the other, without a look at the others of its step."""
    entries = rules.wiring.entries
    asks = any(isinstance(entry.node, p.Deadline) and entry.node.conditions for entry in entries)
    acts = asks and do_act(entries, [planned.head for planned, _ in rules.rules])
    return rules.heads.derivations is None and not acts


def _alarms(rules: RuleSet) -> list[PlannedRule]:
    """Return the rules that set alarms."""
    return [planned for planned, _ in rules.rules if planned.head.alarm is not None]


def _is_reported(rules: RuleSet, offer: EventOffer, entry: Wired) -> bool:
    """Tell whether all that is done with the matches of an entry is to report them."""
    heads: list[PlannedRule] = [reader.target for reader in entry.readers if reader.kind == "head"]
    return rules.heads.may_gather(entry) and all(_is_plain(offer, rule) for rule in heads)


def _is_plain(offer: EventOffer, rule: PlannedRule) -> bool:
    """Tell whether the events of a rule are only reported, and hold no terms, which might be nested too deep."""
    return not offer.follows(rule) and all(isinstance(arg, s.Var | s.Const) for arg in rule.head.event.args)
