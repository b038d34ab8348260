"""Heads in generated code: how a match becomes a derived event, an alarm, or nothing new.

A derived event is made once per (atom, interval); it joins the queue of the next round. Rules with one body and the same attributes are made together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.language import syntax as s
from etalis.plan.bindings import sure as firm
from etalis.runtime.code import Code
from etalis.runtime.conditions import Conditions
from etalis.runtime.network import PlannedRule
from etalis.runtime.state import NEVER, HeadKind, Made, Reported, State
from etalis.runtime.terms import build
from etalis.temporal.event import Event

Names = dict[str, str]


class Heads:
    """The kinds of the heads of a rule set."""

    def __init__(
        self, state: State, conditions: Conditions, attributes: dict[tuple[str, int], tuple[str, ...]],
        reported: Callable[[str, int], Reported], parts: bool,
    ) -> None:  # fmt: skip
        self.state = state
        self.conditions = conditions
        self.attributes = attributes
        self.reported = reported
        self.parts = parts
        self.kinds: dict[int, HeadKind] = {}
        self.made: dict[tuple[str, int], Made] = {}

    def kind(self, rule: PlannedRule) -> HeadKind:
        """Return the kind of the events a rule makes; kept while the rule lives."""
        if rule.number not in self.kinds:
            event = rule.head.event
            key = (event.name, len(event.args))
            made = self.made.setdefault(key, Made())
            names = self.attributes.get(key, ())
            self.kinds[rule.number] = HeadKind(*key, rule.head.label, names, made, self.reported(*key))
        return self.kinds[rule.number]

    def emit(self, code: Code, heads: list[tuple[PlannedRule, Names]], t1: str, t2: str) -> None:
        """Write what a match becomes, for all rules that have this body."""
        for rule, names in heads:
            sure = firm(rule.head.body)
            for action in rule.head.actions:
                code(self.conditions.action(code, action, names, rule.head.label))
            args = [build(code, a, names, sure) for a in rule.head.event.args]
            parts = [names["$parts"]] if self.parts else []
            if rule.head.alarm is None:
                self._derive(code, rule, args, parts, t1, t2)
            else:
                self._set_alarm(code, rule, rule.head.alarm, args, parts, names, sure, t2)

    def _derive(self, code: Code, rule: PlannedRule, args: list[str], parts: list[str], t1: str, t2: str) -> None:
        kind = self.kind(rule)
        made = code.constant(kind.made)
        event = code.fresh("ev")
        flat = "".join(f", {a}" for a in (*args, *parts))
        queue = code.constant(self.state.queue)
        code(f"{event} = {code.constant(Event)}(({t2}, {t1}, {code.constant(kind)}{flat}))")
        with code.block(f"if {made}.stamp != {t2}:"):
            code(f"{made}.stamp = {t2}")
            code(f"{made}.first = {event}")
            code(f"{made}.more = None")
            code(f"{queue}.append({event})")
        with code.block(f"elif {made}.add({event}, {kind.arity}):"):
            code(f"{queue}.append({event})")

    def _set_alarm(
        self, code: Code, rule: PlannedRule, alarm: s.Alarm, args: list[str], parts: list[str], names: Names,
        sure: frozenset[str], t2: str,
    ) -> None:  # fmt: skip
        kind = self.kind(rule)
        setter = self.alarm_setter(kind, alarm.kind, rule.head.label)
        when = build(code, alarm.when, names, sure)
        flat = "".join(f", {a}" for a in (*args, *parts))
        code(f"{code.constant(setter)}({t2}, {when}{flat})")

    def alarm_setter(self, kind: HeadKind, form: str, label: str) -> Callable[..., None]:
        """Return the function (now, when, attributes...) that sets an alarm."""
        state, conditions = self.state, self.conditions

        def set_alarm(now: int, when: Any, *values: Any) -> None:
            due = conditions.due(form, now, when, label)
            if due is not None:
                state.schedule(due, NEVER, lambda: kind.alive, lambda: ring(due, values))

        def ring(due: int, values: tuple[Any, ...]) -> None:
            event = Event((due, due, kind, *values))
            if kind.made.note(event, due, kind.arity):
                state.queue.append(event)

        return set_alarm

