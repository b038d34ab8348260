"""Heads in generated code: how a match becomes a derived event, an alarm, nothing new, or what a reaction reacts to.

A derived event is made once per (atom, interval); it joins the queue of the next round. Rules with one body and the
same attributes are made together. The matches of a reaction are numbered instead, so that each is told from the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from typing import Any

from etalis.language import syntax as s
from etalis.language.ground_terms import variables
from etalis.plan.bindings import sure as firm
from etalis.plan.named_attributes import name_attributes
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.deadlines.timer import delay_of, write_timer
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.ropes import shape_of, slots_of
from etalis.runtime.codegen.source import Code
from etalis.runtime.codegen.terms import build
from etalis.runtime.deadlines.timers import ALARMS, Lane, OwnLane
from etalis.runtime.record.kept_past import KeptPast
from etalis.runtime.state import BEGINNING, NEVER, HeadKind, LastMade, Made, Numbering, Raw, Reported, State, of_kind
from etalis.runtime.triggers import find_raised, find_reported
from etalis.temporal.event import Shown, event_of
from etalis.temporal.interval import MICROSECONDS

Names = dict[str, str]


class Heads:
    """The kinds of the heads of a rule set."""

    def __init__(
        self, state: State, conditions: Conditions, attributes: dict[tuple[str, int], tuple[str, ...]],
        triggers: Sequence[s.Trigger], parts: bool, shown: Shown, made: dict[tuple[str, int], Made] | None = None,
        record: KeptPast | None = None, derivations: Callable[[Sequence[Raw]], object] | None = None,
    ) -> None:  # fmt: skip
        self.state = state
        self.conditions = conditions
        self.derivations = derivations  # takes all that is derived, also what is derived once more
        self.attributes = attributes
        self.triggers = triggers
        self._raised: dict[tuple[str, int], Reported] = {}
        self.parts = parts
        self.raises = False  # whether goals may raise events, of which it is kept what raised them
        self.shown = shown
        self.record = record
        self.kinds: dict[int, HeadKind] = {}
        self.made: dict[tuple[str, int], Made] = {} if made is None else made
        self.makers: Counter[tuple[str, int]] = Counter()
        self.last = LastMade()
        self.rings: dict[int, Ring] = {}
        self.numbered: frozenset[int] = frozenset()  # rules of reactions that tell equal matches apart
        self.numberings: dict[int, Numbering] = {}

    def kind(self, rule: PlannedRule) -> HeadKind:
        """Return the kind of the events a rule makes; kept while the rule lives."""
        if rule.number not in self.kinds:
            event = rule.head.event
            key = (event.name, len(event.args))
            made = Made() if rule.head.hidden else self.made.setdefault(key, Made())
            names = self.attributes.get(key) or name_attributes([event], {})[key]  # the one, of a rule that came later
            reported = not rule.head.hidden and self.reported(*key)
            kind = self.kinds[rule.number] = HeadKind(*key, rule.head.label, names, made, reported)
            kind.shown = self.shown
            kind.number = rule.number
        return self.kinds[rule.number]

    def number_anew(self) -> None:
        """Begin to number equal matches of reactions from 1."""
        for numbering in self.numberings.values():
            numbering.stamp = BEGINNING

    def number_like(self, other: Heads) -> None:
        """Go on with the numbers that another run has come to."""
        for number, numbering in other.numberings.items():
            mine = self.numberings.get(number)
            if mine is not None:
                mine.stamp, mine.counts = numbering.stamp, numbering.counts.copy()

    def reported(self, name: str, arity: int) -> Reported:
        """Tell which events of a kind that rules make are reported."""
        return find_reported(self.triggers, name, arity, self.conditions)

    def reports_raised(self, name: str, args: tuple[Any, ...]) -> bool:
        """Tell whether an event is reported that a goal raised."""
        key = name, len(args)
        if key not in self._raised:
            self._raised[key] = find_raised(self.triggers, *key, self.conditions)
        found = self._raised[key]
        return found if isinstance(found, bool) else found(*args)

    def emit(self, code: Code, heads: list[tuple[PlannedRule, Names]], t1: str, t2: str) -> None:
        """Write what a match becomes, for all rules that have this body; those with equal attributes together."""
        alike: dict[tuple[str, ...], list[PlannedRule]] = {}
        for rule, names in heads:
            sure = firm(rule.head.body)
            args = [build(code, a, names, sure) for a in rule.head.event.args]
            if rule.head.actions and self.parts:
                match = ", ".join([t2, t1, code.constant(self.kind(rule)), *args, *slots_of(names["$parts"])])
                code(f"{code.constant(self.state)}.cause = ({match})")
            for action in rule.head.actions:
                code(self.conditions.action(code, action, names, rule.head.label))
            if rule.head.hidden:
                self._react(code, rule, args, names, t1, t2)
                continue
            made = self._measured(code, rule, args)
            if self.parts:
                args += slots_of(names["$parts"])
                self.kind(rule).shape = shape_of(names["$parts"])
            with nullcontext() if made is None else code.block(made):
                if rule.head.alarm is not None:
                    self._set_alarm(code, rule, rule.head.alarm, args, names, sure, t2)
                elif made is None and self.is_lone(rule):
                    alike.setdefault(tuple(args), []).append(rule)
                else:
                    self._derive(code, [self.kind(rule)], args, t1, t2)
        for same, rules in alike.items():
            self._derive(code, sorted(map(self.kind, rules)), same, t1, t2, is_lone=True)

    def _react(self, code: Code, rule: PlannedRule, args: Sequence[str], names: Names, t1: str, t2: str) -> None:
        """Write that a match, with its number in the place of the last attribute, waits for its reaction."""
        identity, number = "".join(f", {a}" for a in args[:-1]), "1"
        if rule.number in self.numbered:
            numbering = self.numberings.setdefault(rule.number, Numbering())
            number = f"{code.constant(numbering.next)}({t2}, {t1}{identity})"
        flat = f"{identity}, {number}"
        if self.parts:
            self.kind(rule).shape = shape_of(names["$parts"])
            flat += "".join(f", {slot}" for slot in slots_of(names["$parts"]))
        raw = f"({t2}, {t1}, {code.constant(self.kind(rule))}{flat})"
        if code.turn is None:
            code(f"{code.constant(self.state.reacting)}.append({raw})")
        else:
            code(f"{code.turn} = {raw}")
            code.has_turn = True

    def _measured(self, code: Code, rule: PlannedRule, args: list[str]) -> str | None:
        """Give terms that a head makes names of their own; return the test that they are not nested too deep."""
        made = [i for i, arg in enumerate(rule.head.event.args) if variables(arg) and not isinstance(arg, s.Var)]
        for i in made:
            local = code.fresh("h")
            code(f"{local} = {args[i]}")
            args[i] = local
        if not made:
            return None
        return f"if {code.constant(self.conditions.fits(rule.head.label))}({', '.join(args[i] for i in made)}):"

    def may_gather(self, entry: Wired) -> bool:
        """Tell whether all that matches of an entry do is to become events at once, of kinds that no other rule makes.

        What nothing else happens between, in order or not, can be looked at together.
        """
        rules = [reader.target for reader in entry.readers if reader.kind == "head"]
        plain = all(not rule.head.alarm and not rule.head.actions and self.is_lone(rule) for rule in rules)
        return plain and len(rules) == len(entry.readers)

    def is_lone(self, rule: PlannedRule) -> bool:
        """Tell whether no other rule makes events of this kind, so that equal attributes mean equally new."""
        return self.makers[rule.head.kind] == 1 and not rule.head.hidden

    def _derive(
        self, code: Code, kinds: list[HeadKind], args: Sequence[str], t1: str, t2: str, *, is_lone: bool = False
    ) -> None:  # fmt: skip
        """Write the making of events that differ in their kind only: new if the first of them is new."""
        for kind in kinds:
            kind.note_in(kinds[0].made)
        made = code.constant(kinds[0].made)
        arity = kinds[0].arity
        flat = "".join(f", {a}" for a in args)
        if code.loop is not None and code.loop.gathers:
            found = code.fresh("h")
            code.loop.found[found] = kinds
            code(f"{found}.append(({t2}, {t1}, {code.constant(kinds[0])}{flat}))")
            return
        raw = code.fresh("raw")
        code(f"{raw} = ({t2}, {t1}, {code.constant(kinds[0])}{flat})")
        more = [f"({t2}, {t1}, {code.constant(kind)}{flat})" for kind in kinds[1:]]
        if self.derivations is not None:
            code(f"{code.constant(self.derivations)}(({', '.join([raw, *more])},))")
        is_first, further = f"if {made}.stamp != {t2}:", f"elif {made}.add({raw}, {arity}):"
        noted = [f"{made}.stamp = {t2}", f"{made}.first = {raw}"]
        if is_lone and len(kinds) == 1:
            occurred = f"{code.constant(kinds[0])}.occurred = True"
            code.of_first = {is_first: "if True:", noted[0]: "pass", noted[1]: occurred, further: "elif False:"}
        code.derived += 1
        with code.block(is_first):
            code.add(noted)
            self._hand_out(code, kinds, [raw, *more])
            self._tell_made(code, kinds, args, t1, t2)
        if len(kinds) == 1 and kinds[0].number in code.kept and kinds[0].number not in code.repeated and t1 == t2:
            code.instants.add(code.kept[kinds[0].number])
        with code.block(further):
            self._hand_out(code, kinds, [raw, *more])
            self._tell_made(code, kinds, args, t1, t2)

    def _tell_made(self, code: Code, kinds: Sequence[HeadKind], args: Sequence[str], t1: str, t2: str) -> None:
        """Write what follows at once from events that are made, if anything does."""
        if code.on_made is not None:
            for name, arity in dict.fromkeys((kind.name, kind.arity) for kind in kinds):
                code.on_made(code, (name, arity), args[:arity], t1, t2)

    def note_gathered(
        self, code: Code, found: str, kinds: list[HeadKind], in_order: str, order: list[str], t2: str
    ) -> None:  # fmt: skip
        """Write that the events of a list are made, as far as they are new; they differ where they are `in_order`."""
        made = code.constant(kinds[0].made)
        with code.block(f"if {found}:"):
            for kind in kinds if self.derivations is not None else ():
                alike = f"{code.constant(of_kind)}({found}, {code.constant(kind)})"
                code(f"{code.constant(self.derivations)}({alike})")
            if self.parts:  # of equal events the first is told
                code.add(order)
                order = []
            with code.block(f"if {in_order} and {made}.stamp != {t2}:"):
                code.add([*order, f"{made}.stamp = {t2}", f"{made}.first = {found}"])
            with code.block("else:"):
                code(f"{found} = {made}.note_several({found}, {kinds[0].arity})")
            lists = [found]
            for kind in kinds[1:]:
                lists.append(code.fresh("h"))
                code(f"{lists[-1]} = {code.constant(of_kind)}({found}, {code.constant(kind)})")
            if self.record is not None:
                for name, kind in zip(lists, kinds, strict=True):
                    code(f"{code.constant(self.record.made_as(kind).add)}({name})")
            if code.rounds is None:
                code.queues, first = True, code.kept.get(kinds[0].number) if len(kinds) == 1 else None
                queued = [f"{code.constant(self.state.queue)}.extend({name})" for name in lists]
                if first is None:
                    code.add(queued)
                else:
                    code(f"if {first} is None and len({found}) == 1: {first} = {found}[0]")
                    code(f"else: {queued[0]}")
            else:
                code.rounds += lists

    def _hand_out(self, code: Code, kinds: list[HeadKind], raws: list[str]) -> None:
        if self.record is not None:
            for place, kind in enumerate(kinds):
                if place:
                    raw = code.fresh("raw")
                    code(f"{raw} = {raws[place]}")
                    raws[place] = raw
                code(f"{code.constant(self.record.made_as(kind).cells)}.extend({raws[place]})")
        if code.direct is not None:
            for line in code.direct([f"{code.constant(event_of)}({raw})" for raw in raws]):
                code(line)
            return
        if len(kinds) == 1 and kinds[0].number in code.kept:
            kept = code.kept[kinds[0].number]
            if kinds[0].number not in code.repeated:
                code(f"{kept} = {raws[0]}")
                return
            code.queues = True
            code(f"if {kept} is None: {kept} = {raws[0]}")
            code(f"else: {code.constant(self.state.queue)}.append({raws[0]})")
            return
        code.queues = True
        where = code.collects or code.constant(self.state.queue)
        code(f"{where}.extend(({', '.join(raws)}))" if len(raws) > 1 else f"{where}.append({raws[0]})")

    def _set_alarm(
        self,
        code: Code,
        rule: PlannedRule,
        alarm: s.Alarm,
        args: list[str],
        names: Names,
        sure: frozenset[str],
        t2: str,
    ) -> None:
        ring = self.alarm(rule, alarm)
        after = delay_of(alarm)
        if after is not None:
            due = code.fresh("d")
            code(f"{due} = {t2} + {code.constant(after)}")
            lane = self.lane(ring, after)
            payload = f"({''.join(f'{a}, ' for a in args)}{due},)"
            write_timer(code, self.state, lane, due, code.constant(NEVER), ring, 0, payload, is_parted=True)
            return
        when, due, flat = code.fresh("w"), code.fresh("d"), "".join(f", {a}" for a in args)
        code(f"{when} = {build(code, alarm.when, names, sure)}")
        call = f"{code.constant(ring.set)}({t2}, {when}{flat})"
        if ring.form == "after":
            code(call)
            return
        is_later = f"{when}.__class__ is int and ({due} := {when} * {MICROSECONDS}) > {t2}"
        is_set = f"({code.constant(ring)}{flat}, {due}) in {code.constant(self.state.timers.alarms)}"
        with code.block(f"if not ({is_later} and {is_set}):"):
            code(call)

    def lane(self, ring: Ring, after: int) -> Lane | OwnLane | None:
        """Return where the alarms of a rule wait that ring so long after they are set."""
        own = self.state.timers.own_lane(ring)
        return own if own is not None else self.state.timers.lane(after, ring.level, ALARMS)

    def ring(self, rule: PlannedRule) -> Ring:
        """Return what rings for a rule that sets alarms."""
        assert rule.head.alarm is not None
        return self.alarm(rule, rule.head.alarm)

    def write_due(self, code: Code, rule: PlannedRule, payload: str, t: str) -> None:
        """Write that an alarm rings, unless an event like that has been made at this moment."""
        self._derive(code, [self.kind(rule)], [f"*{payload}[:-1]"], t, t)

    def alarm(self, rule: PlannedRule, alarm: s.Alarm) -> Ring:
        """Return what rings for a rule; kept while the rule lives."""
        if rule.number not in self.rings:
            kind = self.kind(rule)
            ring = Ring(rule.number, kind, alarm.kind, rule.head.label, self.state, self.conditions)
            ring.record, ring.derivations = self.record, self.derivations
            self.rings[rule.number] = ring
        return self.rings[rule.number]


class Ring:
    """The alarms that one rule sets. Of equal ones for one moment the first rings: all of them are one event."""

    level = 0

    def __init__(
        self, place: int, kind: HeadKind, form: str, label: str, state: State, conditions: Conditions
    ) -> None:  # fmt: skip
        self.place: Hashable = place
        self.kind = kind
        self.form = form
        self.label = label
        self.state = state
        self.conditions = conditions
        self.record: KeptPast | None = None
        self.derivations: Callable[[Sequence[Raw]], object] | None = None

    def set(self, now: int, when: Any, *values: Any) -> None:
        """Set an alarm, relative to a moment or for one."""
        due = self.conditions.due(self.form, now, when, self.label)
        if due is None:
            return
        if due > now and self.derivations is None and self.record is None and self.state.tag is None:
            alarm, alarms = (self, *values, due), self.state.timers.alarms
            if alarm in alarms:
                return
            alarms.add(alarm)
        self.state.schedule(due, NEVER, self, (*values, due))

    @property
    def alive(self) -> bool:
        """Whether its rule is still there."""
        return self.kind.alive

    def moments(self, payload: Raw) -> tuple[int, int]:
        """Return when an alarm rings; it comes before all that waits."""
        return payload[-1], NEVER

    def awaits(self, payload: Raw) -> bool:
        """An alarm that is set rings."""
        del payload
        return True

    def stands(self, payload: Raw) -> bool:
        """Tell whether the rule is still there."""
        del payload
        return self.kind.alive

    def fire(self, payload: Raw) -> None:
        """Let the event happen, unless it has happened already at this moment."""
        *values, due = payload
        raw = (due, due, self.kind, *values)
        if self.derivations is not None:
            self.derivations((raw,))
        if self.kind.made.note(raw, self.kind.arity):
            self.state.queue.append(raw)
            if self.record is not None:
                self.record.made_as(self.kind).add((raw,))
