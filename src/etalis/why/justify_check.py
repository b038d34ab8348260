"""Whether a justification is right: the text of each rule and what it is said to be made of, side by side.

It trusts neither engine nor plan: all that is said is looked up in the record of the run, which is what was received
and the model, the events that the program means (docs/definition.md). That the first derivation was told, and not
another one, is no matter here. All walks are loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from etalis.data.values import Struct, Value
from etalis.language import syntax as s
from etalis.language.check.bound_variables import mentioned
from etalis.language.flags import rule_settings, settings
from etalis.language.outer.partner_conditions import missing_side
from etalis.language.rules import expand_any, labelled_rules, with_checks
from etalis.language.traversal import postorder, rewrite
from etalis.temporal.calendar import calendar_time
from etalis.temporal.interval import to_microseconds
from etalis.temporal.policy import POLICIES
from etalis.why import justification as j
from etalis.why.checking.elements import WrongNode, WrongNodeError, check_fold, check_run, combine
from etalis.why.checking.occurrences import RunRecord, Sighting, one
from etalis.why.checking.rule_text import TextModifier, TextPart, arrange, bind, ground, named
from etalis.why.missing_parts import Where, where_absent, where_missing


class _CheckedRule(NamedTuple):
    rule: s.Rule
    part: TextPart
    policy: str


@dataclass(slots=True)
class _Step:
    """A part of the text beside what is said of it; `below` are the steps of its sides."""

    part: TextPart
    body: j.Body
    tests: tuple[j.Test, ...]
    followed: bool  # by what is next in a sequence
    below: list[list[int]] = field(default_factory=list)


class JustificationChecker:
    """Checks justifications of one run, whose rules have the policy given where they have none of their own.

    `more` are rules that the run inserted or changed, by their labels.
    """

    def __init__(
        self, record: RunRecord, policy: str | None = None, more: Iterable[tuple[str, s.Rule]] = ()
    ) -> None:  # fmt: skip
        self.record = record
        self.rules: dict[str, list[_CheckedRule]] = {}
        self.made: dict[tuple[object, ...], list[int]] = {}
        self._taken: dict[tuple[object, ...], list[int]] = {}
        found = settings(record.program, {} if policy is None else {"event_consumption_policy": policy})
        written = [(rule.label or str(n), rule) for n, rule in enumerate(labelled_rules(record.program), 1)]
        for label, rule in (*written, *more):
            own, window = rule_settings(found, rule)
            pattern = with_checks(rule).pattern
            for duration in (window, found.garbage_window):
                pattern = pattern if duration is None else s.Within(pattern, duration)
            head = named(rule.head.args if rule.alarm is None else (*rule.head.args, rule.alarm.when))
            outer = head if rule.action is None else head | named([rule.action])
            checked = _CheckedRule(rule, arrange(pattern, outer, head), own)
            self.rules.setdefault(label, []).append(checked)
        for place, (event, given) in enumerate(record.events):
            if given is None:
                key = event.rule is None, event.name, event.args, event.start_time, event.end_time
                self.made.setdefault(key, []).append(place)

    def check(self, justification: j.Justification) -> WrongNode | None:
        """Return the first wrong node; None if all is right."""
        cycle = _find_cycle(justification.root)
        if cycle is not None:
            return WrongNode(cycle, "it is made of itself")
        self._taken = {}
        try:
            for node in j.nodes(justification.root):
                match node:
                    case j.Received() | j.Raised() | j.Derived():
                        self._occurred(node)
                    case j.KnownFact():
                        self._known(node)
        except WrongNodeError as error:
            return error.wrong
        return None

    # events

    def _place(self, node: j.Received | j.Raised | j.Derived) -> int:
        """Return the place of an event in the record."""
        if isinstance(node, j.Received):
            place = self.record.numbered.get(node.number)
        else:
            key = isinstance(node, j.Raised), node.name, node.args, node.start, node.end
            taken = self._taken.setdefault(key, [])
            if isinstance(node, j.Raised) and id(node) not in taken:  # of equal events each is one of its own
                taken.append(id(node))
            which = taken.index(id(node)) if isinstance(node, j.Raised) else 0
            place = next(iter(self.made.get(key, [])[which:]), None)
        if place is None:
            raise WrongNodeError(node, "there is no such event")
        return place

    def _occurred(self, node: j.Received | j.Raised | j.Derived) -> None:
        event = self.record.events[self._place(node)][0]
        if (event.name, event.args, event.start_time, event.end_time) != (node.name, node.args, node.start, node.end):
            raise WrongNodeError(node, f"input {getattr(node, 'number', '')} is {event}")
        if isinstance(node, j.Raised) and node.by is not None:
            raising = [given.rule for given in self.rules.get(node.by.rule, ())]
            if not any(_has_goals(rule) for rule in raising):
                raise WrongNodeError(node, f"rule {node.by.rule} has no goal that could raise it")
            if all(rule.alarm is None for rule in raising) and not node.by.end <= node.end:
                raise WrongNodeError(node, "it ends before what raised it")
        if isinstance(node, j.Derived):
            self._made(node)

    def _made(self, node: j.Derived) -> None:
        """Check an event by the rules of its name, of which one must have made it."""
        wrong = WrongNodeError(node, f"there is no rule {node.rule}")
        for rule in self.rules.get(node.rule, ()):
            try:
                self._derived(node, rule)
            except WrongNodeError as error:
                wrong = error
            else:
                return
        raise wrong

    def _known(self, node: j.KnownFact) -> None:
        """Check that the event that is said to have told a fact tells it."""
        if node.by is None:
            return
        name, args = (node.atom.name, node.atom.args) if isinstance(node.atom, s.Compound) else (node.atom, ())
        told = self.record.changing.get((node.by.name or "", len(node.by.args)), ())
        if (name if isinstance(name, str) else ground(name, {}), True) not in told:
            raise WrongNodeError(node, f"no event {node.by.name} tells it")
        if bind(args, node.by.args, {}) is None or node.since != node.by.end:
            raise WrongNodeError(node, "its event tells another fact, or at another time")

    def _derived(self, node: j.Derived, checked: _CheckedRule) -> None:
        rule, body = checked.rule, node.body
        if rule.alarm is not None:
            if not isinstance(body, j.Rung):
                raise WrongNodeError(node, "the rule sets an alarm")
            body = body.body
        wrong: WrongNodeError | None = None
        for every in (False, True):  # which element of an open repetition has waited matters rarely
            try:
                for x in self._match(checked, body, node.tests, every):
                    try:
                        return self._conclude(node, rule, x)
                    except WrongNodeError as error:
                        wrong = wrong or error
            except WrongNodeError as error:
                wrong = wrong or error
        raise wrong or WrongNodeError(node, "nothing is left of it")

    def _conclude(self, node: j.Derived, rule: s.Rule, x: Sighting) -> None:
        """Check the head, the interval, and that all it is made of came before it."""
        differing = [v for v, value in node.bindings.items() if v not in x.bound or x.bound[v] != value]
        if differing or not named(rule.head.args) & x.bound.keys() <= node.bindings.keys():
            raise WrongNodeError(node, f"its bindings are {dict(x.bound)}")
        if node.name != rule.head.name or node.args != tuple(ground(a, x.bound) for a in rule.head.args):
            raise WrongNodeError(node, "its atom is not the head with these bindings")
        times = x.times
        if rule.alarm is not None:
            due = alarm_time(rule.alarm.kind, ground(rule.alarm.when, x.bound), x.end)
            assert isinstance(node.body, j.Rung)
            if due is None or due != node.body.due:
                raise WrongNodeError(node.body, f"the alarm is due at {due}")
            times = due, due
        if times != (node.start, node.end):
            raise WrongNodeError(node, f"it occurs on {times}")
        if any(place >= self._place(node) for place in x.events):
            raise WrongNodeError(node, "it came before a part of it")

    # patterns

    def _match(self, checked: _CheckedRule, body: j.Body, tests: tuple[j.Test, ...], every: bool) -> list[Sighting]:
        """Return what a whole pattern can be, walked side by side with its body."""
        steps = [_Step(checked.part, body, tests, False)]
        for step in steps:
            for several in self._sides(step, checked.policy):
                step.below.append(list(range(len(steps), len(steps) + len(several))))
                steps += several
        found: dict[int, list[Sighting]] = {}
        for number in reversed(range(len(steps))):
            step, sides = steps[number], [[found[n] for n in side] for side in steps[number].below]
            found[number] = self._step(step, sides, checked.policy, every)
        return found[0]

    def _sides(self, step: _Step, policy: str) -> list[list[_Step]]:
        """Return the steps below one, side by side."""
        core, body, below = step.part.core, step.body, step.part.below
        match core, body:
            case s.EventPattern() | s.SubRule(), j.Received() | j.Raised() | j.Derived():
                return []
            case s.TimePoint(), j.PointReached():
                return []
            case s.Repeat() | s.Binary(operator="seq", right=s.Repeat()), j.RepeatedRun() | j.PutTogether():
                runs = body.bodies if isinstance(body, j.PutTogether) and policy == "cumulative" else (body,)
                return [side for each in runs for side in _run_sides(below, each)]
            case s.Binary(operator="seq", right=s.Aggregate()), j.FoldedValue(opener=opener) if opener is not None:
                return [_under(below[0], [opener], followed=True), _under(below[1], body.elements)]
            case s.Aggregate(), j.FoldedValue(opener=None):
                return [[], _under(below[0], body.elements)]
            case s.Binary(operator="seq", right=s.Repeat() | s.Aggregate()), _:
                raise WrongNodeError(body, "the rule has a repetition or an aggregate there")
            case s.Binary(alone=alone), j.PairOf() if isinstance(body.left, j.Nothing) or isinstance(
                body.right, j.Nothing
            ):
                found, missing = (body.left, body.right) if alone == "left" else (body.right, body.left)
                if alone is None or core.operator != body.relation or not isinstance(missing, j.Nothing):
                    raise WrongNodeError(body, "no part of it may be missing")
                if isinstance(found, j.Nothing | tuple):
                    raise WrongNodeError(body, "the part that matches alone is not one match")
                side = _under(below[0 if alone == "left" else 1], [found])
                return [side, []] if alone == "left" else [[], side]
            case s.Binary(operator=operator), j.PairOf(relation=relation) if operator == relation:
                assert not isinstance(body.left, j.Nothing)
                assert not isinstance(body.right, j.Nothing)
                lefts, rights = (x if isinstance(x, tuple) else (x,) for x in (body.left, body.right))
                if 1 not in (len(lefts), len(rights)) or (
                    policy != "cumulative" and (len(lefts), len(rights)) != (1, 1)
                ):
                    raise WrongNodeError(body, f"a side is not one match under {policy}")
                sequential = self.record.relations[operator].sequential
                return [_under(below[0], lefts, followed=sequential), _under(below[1], rights)]
            case s.Or(), j.ChosenBranch(which=which, body=inner) if 1 <= which <= len(below):
                return [_under(below[which - 1], [inner], followed=step.followed)]
            case s.NotWithin(), j.Awaited(left=left):
                return [_under(below[0], [left])]
            case _:
                raise WrongNodeError(body, f"the rule has {type(core).__name__} there")

    def _step(self, step: _Step, sides: list[list[list[Sighting]]], policy: str, every: bool) -> list[Sighting]:
        """Return what a part can be, with its modifiers, from what those below it can be."""
        wrong = WrongNodeError(step.body, "its parts do not fit together")
        found: list[Sighting] = []
        for candidates in self._candidates(step, sides, policy, every):
            try:
                found += self._tested(step, candidates, policy)
            except WrongNodeError as error:
                wrong = error
        if not found:
            raise wrong
        return found

    def _candidates(
        self, step: _Step, sides: list[list[list[Sighting]]], policy: str, every: bool
    ) -> Iterator[list[Sighting]]:
        """Yield what a part can be without its modifiers: one match, or several that are put together."""
        core, body, record = step.part.core, step.body, self.record
        match core, body:
            case s.EventPattern() | s.SubRule(), j.Received() | j.Raised() | j.Derived():
                yield from ([x] for x in record.take(core, self._place(body)))
            case s.TimePoint(time=time), j.PointReached(time=said) if said == time:
                yield [one(time, time, {}, frozenset(), record.moment(time))]
            case s.Or(), _:
                yield from ([x._replace(first=x.end, last=x.start)] for x in sides[0][0])
            case s.NotWithin(absent=absent), j.Awaited(nothing=nothing):
                for x in sides[0][0]:
                    _same_absence(nothing, absent, where_absent(core, x.end), x)
                    yield from ([y] for y in record.awaited(step.part, core, x))
            case s.Repeat() | s.Binary(operator="seq", right=s.Repeat()), _:
                runs = [
                    list(check_run(record, step.part, body, lefts, elements, policy, step.followed, every))
                    for lefts, elements in zip(sides[::2], sides[1::2], strict=True)
                ]
                if len(runs) == 1:
                    yield from ([x] for x in runs[0])
                else:
                    together = [x[0] for x in runs]
                    yield together if isinstance(core, s.Binary) else [combine(together, sequential=False)]
            case s.Binary(operator="seq", right=s.Aggregate() as fold), j.FoldedValue():
                yield from (
                    [y] for a in sides[0][0] for y in check_fold(record, step.part, body, fold, a, sides[1], policy)
                )
            case s.Aggregate() as fold, j.FoldedValue():
                yield from ([y] for y in check_fold(record, step.part, body, fold, None, sides[1], policy))
            case s.Binary(operator=operator, alone="left" | "right" as alone), j.PairOf() if not all(sides):
                looked_for, beside = missing_side(core)[0], body.right if alone == "left" else body.left
                assert isinstance(beside, j.Nothing)
                row = record.relations[operator]
                for x in (sides[0] or sides[1])[0]:
                    where = where_missing(row, alone, step.part.window, x.start, x.end)
                    _same_absence(beside, looked_for, where, x)
                    yield from ([y] for y in record.lone(step.part, x, looks=not POLICIES[policy].restricts))
            case s.Binary(), _:
                lefts, rights = sides
                if len(lefts) == len(rights) == 1:
                    yield from ([y] for a in lefts[0] for b in rights[0] for y in record.pair(core, a, b))
                    return
                several, others = (rights, lefts[0]) if len(lefts) == 1 else (lefts, rights[0])
                for other in others:
                    pairs = [[(x, other) if several is lefts else (other, x) for x in each] for each in several]
                    made = [[y for a, b in each for y in record.pair(core, a, b)] for each in pairs]
                    if all(made):
                        yield [each[0] for each in made]

    # tests

    def _tested(self, step: _Step, candidates: list[Sighting], policy: str) -> list[Sighting]:
        """Return what is left of a match by its tests: all that the text has, and no other."""
        part, latest = step.part, candidates[-1]
        if any(t.policy != policy for t in step.tests if isinstance(t, j.TakenUnder)):
            raise WrongNodeError(step.body, f"the rule follows {policy}")
        tests = [t for t in step.tests if not isinstance(t, j.TakenUnder)]
        partners = part.partners if all(step.below) and isinstance(part.core, s.Binary) else []
        modifiers = [*partners, *(m for m in part.modifiers if not isinstance(m.pattern, s.Do | s.Last))]
        if len(tests) != len(modifiers):
            raise WrongNodeError(step.body, "a test of the rule is missing, or one too many")
        for x in candidates:
            if part.window is not None and x.end - x.start > part.window:
                raise WrongNodeError(step.body, "it is longer than a window around it")
            passed = [x] if len(candidates) > 1 else []
            for modifier in (*partners, *part.modifiers) if passed else ():
                passed = [z for y in passed for z in self.record.holds(part, modifier, y)]
                if not passed:
                    raise WrongNodeError(step.body, "one of several that are put together fails a test")
        core = part.core
        is_inner = isinstance(core, s.Binary) and core.alone is None
        sequential = is_inner and isinstance(core, s.Binary) and self.record.relations[core.operator].sequential
        found = candidates if len(candidates) == 1 else [combine(candidates, sequential=sequential)]
        for modifier, test in zip(modifiers, tests, strict=True):
            found = [
                z for y in found for z in self._test(part, modifier, test, y, latest if len(candidates) > 1 else y)
            ]
            if not found:
                raise WrongNodeError(test, "it does not hold")
        return found

    def _test(
        self, part: TextPart, modifier: TextModifier, test: j.Test, x: Sighting, latest: Sighting
    ) -> list[Sighting]:
        """Return what one test leaves of a match, if the test says what there is."""
        match modifier.pattern, test:
            case s.Within(duration=duration), j.WithinWindow(allowed=allowed, actual=actual):
                if (allowed, actual) != (duration, x.end - x.start):
                    raise WrongNodeError(test, f"the window is {duration}, the length {x.end - x.start}")
            case s.Condition(kind=kind, goal=goal), j.ConditionHeld():
                if (test.kind, test.goal) != (kind, goal):
                    raise WrongNodeError(test, "the rule has another condition")
                if test.note is not None and self.record.is_closed(kind, goal, x):
                    return [x._replace(bound={**x.bound, **test.solution})]
                return [y for y in self.record.solve(kind, goal, x) if _is_solution(test, x, y)]
            case s.Negation(absent=absent), j.Nothing():
                _same_absence(test, absent, self.record.where(part, modifier, latest), x)
            case s.Isolated(), j.AloneBetween():
                if (test.low, test.high, test.where) != self.record.where(part, modifier, latest)[:3]:
                    raise WrongNodeError(test, "it looks elsewhere")
            case _:
                raise WrongNodeError(test, f"the rule has {type(modifier.pattern).__name__} there")
        return self.record.holds(part, modifier, x) if latest is x else [x]


def alarm_time(kind: str, when: Value, end: int) -> int | None:
    """Return the moment of an alarm, or None if there is none (definition 16.1 to 16.3)."""
    if isinstance(when, int | float) and math.isfinite(when):
        moment = to_microseconds(when)
        return max(end, moment) if kind == "at" else end + moment if moment > 0 else None
    try:
        return max(end, calendar_time(when.name, when.args)) if kind == "at" and isinstance(when, Struct) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _under(part: TextPart, several: Sequence[j.Body], *, followed: bool = False) -> list[_Step]:
    split = [(b.body, b.tests) if isinstance(b, j.Tested) else (b, ()) for b in several]
    return [_Step(part, inner, tests, followed) for inner, tests in split]


def _run_sides(below: list[TextPart], body: j.Body) -> list[list[_Step]]:
    if not isinstance(body, j.RepeatedRun) or (body.left is None) != (len(below) == 1) or not body.elements:
        raise WrongNodeError(body, "it is no such repetition")
    lefts = [] if body.left is None else _under(below[0], [body.left], followed=True)
    return [lefts, _under(below[-1], body.elements)]


def _same_absence(test: j.Nothing, absent: s.Pattern, where: Where, x: Sighting) -> None:
    """Check that an absence says what was looked for, and where."""
    if rewrite(test.pattern, expand_any) != absent:
        raise WrongNodeError(test, "the rule forbids another pattern")
    if (test.low, test.high, test.where, test.open_low, test.open_high) != where:
        raise WrongNodeError(test, f"it looks elsewhere than {where}")
    if dict(test.bindings) != {v: x.bound[v] for v in mentioned(absent) if v in x.bound}:
        raise WrongNodeError(test, "it looks for other values")


def _is_solution(test: j.ConditionHeld, x: Sighting, y: Sighting) -> bool:
    """Tell whether a solution is the one that is said: it names what was bound, and no other values."""
    same = all(v in y.bound and y.bound[v] == value for v, value in test.solution.items())
    return same and y.bound.keys() - x.bound.keys() <= test.solution.keys()


def _has_goals(rule: s.Rule) -> bool:
    return rule.action is not None or any(isinstance(p, s.Do | s.Condition) for p in postorder(rule.pattern))


def _find_cycle(root: j.Node) -> j.Node | None:
    """Return a node that is below itself, if there is one."""
    opened: set[int] = set()
    done: set[int] = set()
    waiting: list[tuple[j.Node, bool]] = [(root, False)]
    while waiting:
        node, is_left = waiting.pop()
        if is_left:
            opened.discard(id(node))
            done.add(id(node))
        elif id(node) in opened:
            return node
        elif id(node) not in done:
            opened.add(id(node))
            waiting.append((node, True))
            waiting += [(child, False) for child in reversed(j.below(node))]
    return None
