"""Which pairs a policy withheld: the kept history of a question's partition, run again when that is first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.flags import rule_settings
from etalis.language.rules import events_in
from etalis.language.traversal import postorder
from etalis.plan.keys import find_partitioning
from etalis.plan.rules import plan_rule
from etalis.runtime.ruleset import RuleLife
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from etalis.why.justification import Occurred
from etalis.why.selecting.again import HistoryAgain, Kind, PastEvent, Path
from etalis.why.selecting.stays import InstanceKey
from etalis.why.why_not import Withheld

if TYPE_CHECKING:
    from etalis.runtime.core import Core

__all__ = ["InstanceKey", "Selection", "replay"]


def replay(core: Core, question: s.EventPattern | None = None) -> Selection:
    """Return who was taken with whom, of what a question depends on, or of everything; nothing runs before it is asked.

    The engine keeps its history (level full).
    """
    return Selection(core, question)


class Selection:
    """What the policies of an engine did.

    A path leads from the root of a rule's pattern, as the engine has it (`any` written out), by the places of patterns
    under patterns; modifiers count as one step each.
    """

    def __init__(self, core: Core, question: s.EventPattern | None) -> None:
        self._core = core
        self._question = question
        self._again: HistoryAgain | None = None
        self.lives = _needed(core, question)
        isolates = any(isinstance(part, s.Isolated) for life in self.lives for part in postorder(life.rule.pattern))
        self._kinds = None if isolates else _kinds(self.lives)
        self.key = None if isolates or question is None else _key_of(core, self.lives, question)
        self._restricted = {life.label for life in self.lives if self._restricts(life)}

    def _restricts(self, life: RuleLife) -> bool:
        return POLICIES[rule_settings(self._core.rules.settings, life.rule)[0]].restricts

    @property
    def model(self) -> list[Occurred]:
        """The events that occurred: inputs, raised and made ones, of the kinds in question."""
        made = [Occurred(e.name, tuple(e.args), e.start_time, e.end_time) for e in self._run().derived]
        given = [Occurred(e.name, tuple(e.args), e.start_time, e.end_time) for _, _, e in self.past()]
        return [*given, *made]

    def withheld(self, rule_label: str, path: Path, left: InstanceKey, right: InstanceKey) -> Withheld | None:
        """Return why no match was made of two instances at an operator; None if one was, or no policy forbade it.

        Of a repetition `left` is what it counts after, or the first element where it stands alone, and `right` the last
        element. An instance above which another one was withheld never came here: None.
        """
        if rule_label not in self._restricted:
            return None
        operators = self._run().operators.get((rule_label, path), ())
        return next((found for each in operators if (found := each.withheld(left, right)) is not None), None)

    def _run(self) -> HistoryAgain:
        if self._again is None:
            self._again = HistoryAgain(self._core, self.lives)
            self._again.run(self.past())
        return self._again

    def past(self) -> Iterator[PastEvent]:
        """Yield inputs and raised events of the kinds and the partition in question, as they were processed."""
        record = self._core.record
        assert record is not None
        inputs = [
            PastEvent(kept.end, kept.number, Event.make(kept.name, kept.args, kept.start, kept.end))
            for kept in record.source.items()
            if self.reads(kept.name, kept.args)
        ]
        raised = [
            PastEvent(raw[0], number, Event.make(raw[2].name, raw[3 : 3 + raw[2].arity], raw[1], raw[0]))
            for number, raw in record.raised
            if self.reads(raw[2].name, raw[3 : 3 + raw[2].arity])
        ]
        both = [(past, place) for place, several in enumerate((inputs, raised)) for past in several]
        disorder = self._core.disorder
        if disorder is None:
            both.sort(key=lambda item: (item[0].after, item[1]))
        elif disorder.watermark is None:
            both.sort(key=lambda item: (item[0].time, item[1], item[0].after))
        else:
            both.sort(key=lambda item: (item[0].time, item[1], item[0].event.start_time, item[0].after))
        return (past for past, _ in both)

    def reads(self, name: str, args: tuple[Value, ...]) -> bool:
        """Tell whether an event is of the kinds and of the partition in question."""
        kind = (name, len(args))
        if self._kinds is not None and kind not in self._kinds:
            return False
        if self.key is None:
            return True
        positions, value = self.key
        return kind not in positions or args[positions[kind]] == value


def _needed(core: Core, question: s.EventPattern | None) -> list[RuleLife]:
    """Return the rules that a question depends on, past ones included, in their order."""
    lives = [life for _, life in sorted(core.rules.lives.items())]
    if question is None:
        return lives
    if any(isinstance(part, s.Isolated) for life in lives for part in postorder(life.rule.pattern)):
        return lives
    wanted: set[Kind] = {(question.name, len(question.args))}
    found: set[int] = set()
    while True:
        more = [life for life in lives if id(life) not in found and _head(life) in wanted]
        if not more:
            return [life for life in lives if id(life) in found]
        found.update(map(id, more))
        wanted |= _kinds(more)


def _head(life: RuleLife) -> Kind:
    return life.rule.head.name, len(life.rule.head.args)


def _kinds(lives: list[RuleLife]) -> frozenset[Kind]:
    """Return the kinds of event that rules read."""
    return frozenset((e.name, len(e.args)) for life in lives for e in events_in(life.rule.pattern))


def _key_of(core: Core, lives: list[RuleLife], question: s.EventPattern) -> tuple[dict[Kind, int], Value] | None:
    """Return by which places the past can be parted, and the value that a question has there."""
    heads = [plan_rule(life.rule, place, core.rules.settings) for place, life in enumerate(lives, 1)]
    partitioning = find_partitioning(heads)
    if partitioning.obstacles:
        return None
    asked = (question.name, len(question.args))
    for group in partitioning.groups:
        for key in group.keys:
            term = question.args[key.positions[asked]] if asked in key.positions else None
            if isinstance(term, s.Const) and set(group.kinds) <= set(key.positions):
                return {kind: key.positions[kind] for kind in group.kinds}, term.value
    return None
