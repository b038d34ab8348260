"""From ropes to justifications: every derived event is read along the text of its rule, down to the inputs.

Events that others are made of come first, each once, so that what is shared is one node; all walks are loops over
stacks of their own. Nothing is run again but conditions, which are asked over the knowledge of their time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.flags import rule_settings
from etalis.language.lower import to_syntax
from etalis.language.outer.partner_conditions import missing_side
from etalis.language.rules import with_checks
from etalis.language.traversal import names, postorder, variables
from etalis.logic.proof import ProofStep
from etalis.runtime.record.corrections import Corrections
from etalis.runtime.state import BEGINNING
from etalis.semantics.matches import match_all
from etalis.temporal.event import EventKind
from etalis.temporal.policy import POLICIES
from etalis.temporal.relation import relations
from etalis.temporal.rope import CutRope, FlatRope, RaisedRope, Rope, SeveralRopes, rope_of
from etalis.why import justification as j
from etalis.why.missing_parts import where_absent, where_missing
from etalis.why.reading.conditions import ConditionAsker, HeldCondition
from etalis.why.reading.parts import LeafEvent, MatchPart, MatchReading, PartReader
from etalis.why.reading.passed_tests import PartTester
from etalis.why.rule_texts import RuleTexts

if TYPE_CHECKING:
    from etalis.runtime.core import Core
    from etalis.runtime.state import Raw

Event = j.Received | j.Raised | j.Derived


@dataclass(slots=True, eq=False)
class _Opened:
    """A derived event whose parts are read, but not yet made nodes."""

    raw: Raw
    rule: s.Rule | None
    reading: MatchReading | None
    policy: str


class JustificationBuilder:
    """Makes the nodes of one answer; what is shared within it is one node."""

    def __init__(self, core: Core, *, taken_back: bool = False) -> None:
        self._core = core
        self._texts = RuleTexts(core)
        self._reader = PartReader(self._look, relations(core.rules.settings.relations))
        self._inputs: dict[int, j.Received] = {}
        self._made: dict[int, tuple[Any, Event]] = {}  # by the identity of a raw event or a raised rope, which it holds
        self._opened: dict[int, _Opened] = {}
        self._received_at: tuple[int, int] = (0, 0)
        self.complete = True
        self.notes: dict[str, None] = {}
        asker = ConditionAsker(core) if core.record is not None else None
        self._tester = PartTester(asker, self._reader.mentioned, self._note_incomplete)
        self._corrections = Corrections(core, self.notes, as_before=taken_back)

    # events

    def event(self, rope: Rope) -> Event:
        """Return the node of an event: the rope that a leaf has of it."""
        waiting = [rope]
        while waiting:
            top = waiting[-1]
            if self._is_done(top):
                waiting.pop()
                continue
            needed = [one for one in self._needs(top) if not self._is_done(one)]
            if needed:
                waiting += needed
                continue
            self._make(top)
            waiting.pop()
        return self._node(rope)

    def _is_done(self, rope: Rope) -> bool:
        return isinstance(rope, int) or rope is None or id(rope) in self._made

    def _node(self, rope: Rope) -> Event:
        if isinstance(rope, int):
            return self._received(rope)
        return self._made[id(rope)][1]

    def _received(self, number: int) -> j.Received:
        found = self._inputs.get(number)
        if found is None:
            kept = self._corrections.find(number)
            if kept is None:
                self._miss()
                found = j.Received(None, (), *self._received_at, number)
            else:
                found = j.Received(kept.name, kept.args, kept.start, kept.end, number)
            self._inputs[number] = found
        return found

    def _miss(self) -> None:
        self.complete = False
        record = self._core.record
        if record is None:
            self.notes['the inputs are not kept: switch on justification="full"'] = None
        else:
            self.notes["some inputs are older than the history"] = None

    def _note_incomplete(self, note: str) -> None:
        self.complete = False
        self.notes[note] = None

    def _look(self, rope: Rope) -> LeafEvent:
        """Return the event that a leaf has taken."""
        if isinstance(rope, int):
            found = self._received(rope)
            return LeafEvent(None, None, None) if found.name is None else LeafEvent(found.args, found.start, found.end)
        raw = rope.event if isinstance(rope, RaisedRope) else rope
        return LeafEvent(raw[3 : 3 + raw[2].arity], raw[1], raw[0])

    def _needs(self, rope: Rope) -> list[Rope]:
        """Return the events that one is made of, and those that told facts it relies on."""
        if isinstance(rope, RaisedRope):
            return _raising(rope.cause)
        if isinstance(rope, CutRope | FlatRope):
            return []
        opened = self._opened.get(id(rope))
        if opened is None:
            opened = self._opened[id(rope)] = self._open(rope)
        if opened.reading is None:
            return _raising(rope[-1]) if rope[2].rule is None else []
        return [*(leaf.rope for leaf in opened.reading.leaves()), *self._tellers(opened.reading)]

    def _tellers(self, reading: MatchReading) -> Iterator[Rope]:
        record = self._core.record
        held = [test for part in reading.parts for test in part.tests if isinstance(test, HeldCondition)]
        for test in held if record is not None else ():
            for step in _steps(test.proof):
                told = self._told(step, test.end)
                if told is not None and told.by is not None:
                    yield told.by

    def _told(self, step: ProofStep, end: int) -> Any:
        record = self._core.record
        if step.kind != "fact" or record is None:
            return None
        name, row = (step.goal, ()) if isinstance(step.goal, str) else (step.goal[0], step.goal[1:])
        return record.told(name, row, end)

    def _make(self, rope: Rope) -> None:
        if isinstance(rope, RaisedRope):
            made: Event = self._raised(rope.event, rope.cause)
        elif isinstance(rope, CutRope | FlatRope):
            made = j.Received(None, (), *self._received_at, 0)
        else:
            opened = self._opened.pop(id(rope))
            was_raised = rope[2].rule is None  # and is reported as such
            made = self._raised(rope, rope[-1]) if was_raised else self._derived(opened)
        self._made[id(rope)] = (rope, made)

    def _raised(self, raw: Raw, cause: Rope) -> j.Raised:
        """Return the node of an event that a goal raised, by an event if the whole of a rule did."""
        by = next((self._node(one) for one in _raising(cause)), None)
        if by is None and cause is not None:
            self._note_incomplete("an action on a part of a pattern is not told with that part")
        return j.Raised(*_occurrence(raw), by if isinstance(by, j.Derived) else None)

    # derived events

    def _open(self, raw: Raw) -> _Opened:
        """Read the rope of a derived event along its rule, and ask its conditions again."""
        kind: EventKind = raw[2]
        rule = self._texts.rule(kind)
        if kind.rule is None or rule is None or isinstance(rope_of(raw), CutRope | FlatRope):
            return _Opened(raw, rule, None, "")
        self._received_at = (raw[1], raw[0])
        policy, window = rule_settings(self._core.rules.settings, rule)
        pattern = _without_actions(with_checks(rule).pattern)
        for bound in (window, self._core.rules.settings.garbage_window):
            if bound is not None:
                pattern = s.Within(pattern, bound)
        terms = [*rule.head.args, *(() if rule.alarm is None else (rule.alarm.when,))]
        terms += [part.action for part in _actions(rule)]
        any_chooses = POLICIES[policy].keep == "newest"
        reading = self._reader.read(pattern, rope_of(raw), names(variables(*terms)), any_chooses=any_chooses)
        made = match_all(rule.head.args, raw[3 : 3 + kind.arity], {}) or {}
        for name, value in made.items():
            if value != "null":  # else it may be unbound
                reading.whole.scope.put(name, value)
        self._tester.test(reading)
        return _Opened(raw, rule, reading, policy)

    def _derived(self, opened: _Opened) -> j.Derived:
        raw, rule, reading = opened.raw, opened.rule, opened.reading
        kind: EventKind = raw[2]
        text, note = self._texts.shown(kind)
        note = self._corrections.tell(raw, note)
        label = kind.rule or ""
        if rule is None or reading is None:
            self.complete = False
            cut = rope_of(raw)
            if isinstance(cut, CutRope):
                note = f"made of {cut.count} inputs that are not told" if cut.count else "made before the snapshot"
            body: j.Body = j.Received(None, (), raw[1], raw[0], 0)
            return j.Derived(*_occurrence(raw), label, text, {}, body, note=note)
        self._received_at = (raw[1], raw[0])
        bodies: dict[int, j.Body] = {}
        for part in reading.upwards():
            bodies[id(part)] = self._body(part, bodies)
        whole = reading.whole
        core = self._core_body(whole, bodies)
        tests = self._tests(whole)
        if POLICIES[opened.policy].restricts and any(
            isinstance(x, s.Binary | s.Repeat) for x in postorder(whole.pattern)
        ):
            tests = (*tests, j.TakenUnder(opened.policy))
        bound = {name: value for name, value in whole.bound.items() if not name.startswith("_#")}
        if rule.alarm is not None:
            core = j.Rung(core, raw[0])
        return j.Derived(*_occurrence(raw), label, text, bound, core, tests, None, note)

    # bodies

    def _body(self, part: MatchPart, bodies: dict[int, j.Body]) -> j.Body:
        core = self._core_body(part, bodies)
        tests = self._tests(part)
        return j.Tested(core, tests) if tests else core

    def _core_body(self, part: MatchPart, bodies: dict[int, j.Body]) -> j.Body:
        pattern = part.pattern
        lefts = tuple(bodies[id(one)] for one in part.left)
        rights = tuple(bodies[id(one)] for one in part.right)
        if isinstance(part.rope, CutRope | FlatRope):
            self.complete = False
            return j.Received(None, (), *self._received_at, 0)
        match pattern:
            case s.EventPattern():
                return self._node(part.rope)
            case s.TimePoint(time=time):
                return j.PointReached(time)
            case s.Binary(operator=operator, alone="left" | "right") if part.which == 1:
                nothing = self._missing(part, pattern)
                return j.PairOf(operator, lefts[0] if lefts else nothing, rights[0] if rights else nothing)
            case s.Binary(operator="seq", right=s.Repeat()) | s.Repeat():
                if isinstance(part.rope, SeveralRopes):
                    return j.PutTogether(lefts)
                return j.RepeatedRun(lefts[0] if lefts else None, rights)
            case s.Binary(operator="seq", right=s.Aggregate() as fold):
                return j.FoldedValue(fold.kind, lefts[0], rights, part.value)
            case s.Aggregate(kind=kind):
                return j.FoldedValue(kind, None, rights, part.value)
            case s.Binary(operator=operator):
                return j.PairOf(operator, _one_or_all(lefts), _one_or_all(rights))
            case s.Or():
                return j.ChosenBranch(part.which + 1, lefts[0])
            case s.NotWithin(absent=absent):
                (left,) = part.left
                end = left.end if left.end is not None else self._received_at[1]
                bound = self._tester.shared(absent, left.bound)
                return j.Awaited(lefts[0], j.Nothing(absent, bound, *where_absent(pattern, end)))
            case s.AnyOf() | s.SubRule() | s.Negation() | s.Condition() | s.Within() | s.Last() | s.Do() | s.Isolated():
                raise AssertionError("no part of its own")
            case _:
                assert_never(pattern)

    def _missing(self, part: MatchPart, pattern: s.Binary) -> j.Nothing:
        """Return what was looked for beside a part that matches alone."""
        assert pattern.alone is not None
        (found,) = (*part.left, *part.right)
        start = found.start if found.start is not None else self._received_at[0]
        end = found.end if found.end is not None else self._received_at[1]
        missing, _ = missing_side(pattern)
        relation = self._reader.relations[pattern.operator]
        where = where_missing(relation, pattern.alone, part.window, start, end)
        return j.Nothing(missing, self._tester.shared(missing, found.bound), *where)

    # tests

    def _tests(self, part: MatchPart) -> tuple[j.Test, ...]:
        return tuple(self._held(test) if isinstance(test, HeldCondition) else test for test in part.tests)

    def _held(self, held: HeldCondition) -> j.ConditionHeld:
        condition = held.condition
        proof = self._proof(held.proof, held.end)
        return j.ConditionHeld(condition.kind, condition.goal, held.solution, proof, held.note)

    def _proof(self, steps: list[ProofStep], end: int) -> tuple[j.Proof, ...]:
        """Turn the steps of a proof into nodes, from the leaves up; they are no deeper than asked for."""
        done: dict[int, j.Proof] = {}
        for step in reversed(list(_steps(steps))):
            goal = to_syntax(step.goal)
            match step.kind:
                case "fact":
                    told = self._told(step, end)
                    by = None if told is None or told.by is None else self._node(told.by)
                    since = None if told is None or told.time <= BEGINNING else told.time
                    node: j.Proof = j.KnownFact(goal, since, by)
                case "clause":
                    node = j.ByClause(goal, tuple(done[id(one)] for one in step.premises))
                case "builtin":
                    node = j.BuiltIn(goal)
                case "function":
                    node = j.HostCall(goal)
                case "deeper":
                    node = j.DeeperProof(goal)
                case _:
                    assert_never(step.kind)
            done[id(step)] = node
        return tuple(done[id(step)] for step in steps)


def _steps(proof: Iterable[ProofStep]) -> Iterator[ProofStep]:
    waiting = list(proof)
    while waiting:
        step = waiting.pop()
        yield step
        waiting += step.premises


def _raising(cause: Rope) -> list[Rope]:
    """Return the event whose action raised another: none if it was the host, or a part of a pattern."""
    is_event = isinstance(cause, tuple) and len(cause) > 2 and isinstance(cause[2], EventKind)
    return [cause] if is_event else []


def _occurrence(raw: Raw) -> tuple[str, tuple[Value, ...], int, int]:
    kind: EventKind = raw[2]
    return kind.name, raw[3 : 3 + kind.arity], raw[1], raw[0]


def _one_or_all(bodies: tuple[j.Body, ...]) -> j.Body | tuple[j.Body, ...]:
    return bodies[0] if len(bodies) == 1 else bodies


def _without_actions(pattern: s.Pattern) -> s.Pattern:
    while isinstance(pattern, s.Do):
        pattern = pattern.pattern
    return pattern


def _actions(rule: s.Rule) -> list[s.Do]:
    found = [node for node in postorder(rule.pattern) if isinstance(node, s.Do)]
    return found if rule.action is None else [*found, s.Do(rule.pattern, rule.action)]
