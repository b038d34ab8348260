"""Changed histories, run for real: by fresh engines of the same rules, policy, flags and knowledge.

Only what the question depends on is run. Inputs keep their ranks, changes of facts by the host and of rules come as
recorded. Nothing reaches the outside: what goals write is dropped. Actions run, since what they raise and learn follows
from the changed history; but where the host has registered functions, which an action might call, they do not, and
raised events come as recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from etalis.data.values import Value
from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.language.check.effects import changes_facts
from etalis.language.lower import to_logic
from etalis.language.rules import knowledge_changes
from etalis.language.traversal import postorder, rewrite
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.runtime.changes import Change
from etalis.runtime.core import Core, EngineOptions
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.rule_change.run_time_rules import delete_rules, insert_rule, reset
from etalis.runtime.ruleset import RuleLife
from etalis.runtime.state import BEGINNING, NEVER
from etalis.why.justification import Received
from etalis.why.repairing.data import AddEvent, AddFact, InputChange, MoveEvent, RemoveEvent
from etalis.why.selection import replay

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.record.input_log import KeptInput

Made = tuple[str, tuple[Value, ...], int, int]  # name, attributes, start and end
Place = tuple[str, int, int]  # name and arity of an event, and which attribute
_LAST = 1 << 62  # the rank of what is added
_VALUES = 20


class _Step(NamedTuple):
    """What happens to the run at a moment; those of a moment by their ranks."""

    time: int
    start: int
    rank: float
    place: int
    act: Callable[[Core], object]


class ChangedRuns:
    """Runs the part of a history that a question depends on, with changes."""

    def __init__(self, core: Core, pattern: s.EventPattern, until: float = inf) -> None:
        assert core.record is not None
        self._until = until
        self._core, self._record = core, core.record
        program = core.program
        learns = bool(knowledge_changes(program.tree)) or changes_facts(program.tree)
        reaches_all = program.acts_on_run or learns or program.settings.store_fired_events
        meant = replay(core, None if reaches_all else pattern)
        self.lives: list[RuleLife] = meant.lives
        self.acts = not (program.knowledge.calls_host and has_actions(life.rule for life in self.lives))
        self.inputs: list[Received] = []
        self.last = BEGINNING  # stamp of the whole history
        self.elsewhere: dict[Place, dict[Value, None]] = {}  # some values that other partitions have in places
        for kept in core.record.source.items():
            self.last = max(self.last, kept.end)
            if meant.reads(kept.name, kept.args):
                self.inputs.append(Received(kept.name, kept.args, kept.start, kept.end, kept.number))
            else:
                self._note_values(kept)
        self._program = self._restricted()
        self._told = list(self._turns()) + list(self._changes_of_facts()) + list(self._raised())
        self.runs = 0

    def _note_values(self, kept: KeptInput) -> None:
        for place, value in enumerate(kept.args):
            found = self.elsewhere.setdefault((kept.name, len(kept.args), place), {})
            if len(found) < _VALUES:
                found[value] = None

    def _restricted(self) -> CompiledProgram:
        """Return the program with the rules in question, for a stream that comes in order."""
        core, needed = self._core, set(map(id, self.lives))
        count = len(core.program.rules)
        numbers = [n for n, life in core.rules.lives.items() if n <= count and id(life) in needed]
        part = core.program.taking([number - 1 for number in numbers])
        part.settings = replace(core.program.settings, lateness=None, revision=False, justification_horizon=None)
        part.rules = tuple(map(self._without_actions, part.rules))
        part.__dict__.pop("effects", None)
        return part

    def _without_actions(self, rule: s.Rule) -> s.Rule:
        if self.acts:
            return rule
        pattern = rewrite(rule.pattern, lambda node: node.pattern if isinstance(node, s.Do) else node)
        return replace(rule, pattern=pattern, action=None)

    # what comes as recorded

    def _turns(self) -> Iterator[_Step]:
        """Yield the changes of rules by the host; where actions change rules, they do so again."""
        if self.acts and self._core.program.acts_on_run:
            return
        for life in self.lives:
            if life.since != BEGINNING:
                rule = self._without_actions(life.rule)
                rule = rule if rule.label else replace(rule, label=life.label)
                yield self._step(life.since, life.came + 0.5, lambda core, rule=rule: _insert(core, rule))
            if life.went is not None:
                label = life.label
                yield self._step(life.until, life.went + 0.5, lambda core, label=label: _delete(core, label))
        for number, moment in self._core.rules.resets:
            yield self._step(moment, number + 0.5, lambda core: core.turn(lambda: reset(core.rules), empties=True))

    def _changes_of_facts(self) -> Iterator[_Step]:
        for (name, row), several in self._record.facts.items():
            for told in several:
                if told.by is None:
                    change = _fact_change(name, row, known=told.known)
                    numbers = [number for number, moment, _ in self._record.generations if moment == told.time]
                    rank = max(numbers, default=0) + 0.5
                    yield self._step(told.time, rank, lambda core, change=change: core.changes.take(change, None))

    def _raised(self) -> Iterator[_Step]:
        for number, raw in () if self.acts else self._record.raised:
            args = raw[3 : 3 + raw[2].arity]
            yield self._step(raw[0], number + 0.25, _take(raw[2].name, args, raw[1], raw[0]))

    def _step(self, time: int, rank: float, act: Callable[..., object], start: int | None = None) -> _Step:
        in_order = self._core.disorder is None
        first = 0 if in_order else time if start is None else start
        return _Step(time, first, rank, 0, act)

    # runs

    def is_late(self) -> bool:
        """Tell whether there is no time left to run."""
        return self._until != inf and monotonic() >= self._until

    def run(self, changes: Iterable[InputChange] = ()) -> Counter[Made] | None:
        """Return the events that a changed history makes; None where it cannot be run."""
        self.runs += 1
        steps = sorted(
            (step._replace(place=place) for place, step in enumerate([*self._steps(changes), *self._told])),
            key=lambda step: step[:4],
        )
        policy = self._core.rules.settings.policy
        options = EngineOptions(policy=policy, output=lambda _text: None, justification="full")
        trial = RuntimeEngine(copy(self._program), options).core
        try:
            for step in steps:
                if self.is_late():
                    return None
                if step.time > trial.state.now:
                    trial.reach(step.time)
                step.act(trial)
            self._finish(trial)
        except EtalisError:
            return None
        assert trial.record is not None
        raws = [raw for kind in list(trial.record.made) for raw in trial.record.made_of(kind)]
        raws += [raw for _, raw in trial.record.raised] if self.acts else []
        return Counter((raw[2].name, raw[3 : 3 + raw[2].arity], raw[1], raw[0]) for raw in raws)

    def _steps(self, changes: Iterable[InputChange]) -> Iterator[_Step]:
        moved: dict[int, MoveEvent] = {}
        removed: set[int] = set()
        added = 0
        for change in changes:
            match change:
                case AddEvent(name=str(name), args=args, start=start, end=end):
                    yield self._step(end, _LAST + added, _take(name, args, start, end), start)
                    added += 1
                case RemoveEvent(event=event):
                    removed.add(event.number)
                case MoveEvent(event=event):
                    moved[event.number] = change
                case AddFact(atom=atom, since=since):
                    term = to_logic(atom).term
                    name, row = (term[0], term[1:]) if isinstance(term, tuple) else (term, ())
                    fact = _fact_change(str(name), row, known=True)
                    yield self._step(since, -1, lambda core, fact=fact: core.changes.take(fact, None))
        for given in self.inputs:
            if given.number in removed:
                continue
            at = moved.get(given.number, given)
            assert given.name is not None
            yield self._step(at.end, given.number, _take(given.name, given.args, at.start, at.end), at.start)

    def _finish(self, trial: Core) -> None:
        """Let time pass as far as it has in the engine that is asked."""
        state = self._core.state
        if state.floor >= NEVER:
            trial.advance(NEVER)
            return
        if state.now > trial.state.now:
            trial.reach(state.now)
        if state.floor > BEGINNING:
            trial.advance(state.floor)


def has_actions(rules: Iterable[s.Rule]) -> bool:
    """Tell whether rules act."""
    return any(rule.action is not None or any(isinstance(p, s.Do) for p in postorder(rule.pattern)) for rule in rules)


def _take(name: str, args: tuple[Any, ...], start: int, end: int) -> Callable[[Core], object]:
    return lambda core: core.take(name, args, start, end, None)


def _insert(core: Core, rule: s.Rule) -> None:
    core.turn(lambda: insert_rule(core.rules, rule))


def _delete(core: Core, label: str) -> None:
    core.turn(lambda: delete_rules(core.rules, label))


def _fact_change(name: str, row: tuple[Any, ...], *, known: bool) -> Change:
    return Change("assert" if known else "retract", name, LoadedRows("the fact", len(row), [row]))
