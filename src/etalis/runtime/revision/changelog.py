"""The changelog: the difference between two histories, as events reported and events retracted.

Law: replaying it gives what the corrected history makes. What both make is not in it, nor what no trigger names.
"""

from __future__ import annotations

from typing import Any

from etalis.runtime.ruleset import RuleSet
from etalis.runtime.state import HeadKind, Made, Raw
from etalis.temporal.event import Event, Retraction, new_event


class Changelog:
    """Says what differs between two runs of one partition."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.state = rules.state

    def follow(self, replayed: RuleSet) -> None:
        """Let the kinds of event of rules that are run again know those of the rules that run."""
        heads = self.rules.heads
        live = {(kind.name, kind.arity): kind for kind in heads.kinds.values()}
        for kind in replayed.heads.kinds.values():
            key = (kind.name, kind.arity)
            if key not in live:
                made = heads.made.setdefault(key, Made())
                live[key] = HeadKind(*key, kind.rule or "", kind.attributes, made, heads.reported(*key))
            kind.live = live[key]

    def write(self, was: list[Raw], made: list[Raw], out: list[Any]) -> None:
        """Report what differs, and note it where each event of the present moment is made once."""
        if self.rules.traced or was != made:  # ropes are not compared
            self._note(was, made)
            out.extend(_difference(was, made))

    def _note(self, was: list[Raw], made: list[Raw]) -> None:
        now = self.state.now
        for raw in was:
            if raw[0] == now:
                kind = raw[2]
                noted = kind.live.made
                if noted.stamp == now:
                    noted.discard((raw[1], *raw[3 : 3 + kind.arity]), kind.arity)
        for raw in made:
            if raw[0] == now:
                raw[2].live.made.note(raw, raw[2].arity)


def _difference(was: list[Raw], made: list[Raw]) -> list[Event]:
    if not made or not was:
        one: type[Event] = Event if made else Retraction
        return [new_event(one, raw) for raw in made or was if raw[2].live.reported is True or _is_reported(raw)]
    before = {raw[: 3 + raw[2].arity]: raw for raw in was if _is_reported(raw)}
    after = {raw[: 3 + raw[2].arity]: raw for raw in made if _is_reported(raw)}
    gone = [new_event(Retraction, raw) for key, raw in before.items() if key not in after]
    return [*gone, *(new_event(Event, raw) for key, raw in after.items() if key not in before)]


def _is_reported(raw: Raw) -> bool:
    return bool(raw[2].live.reports(raw))


def net(changes: list[Any]) -> list[Event]:
    """Leave out what one step both takes back and reports again."""
    events = [new_event(Event, change) if change.__class__ is tuple else change for change in changes]
    come = {c for c in events if c.sign > 0}
    both = come & {c.reported for c in events if isinstance(c, Retraction)}
    return [c for c in events if (c.reported if isinstance(c, Retraction) else c) not in both]
