"""The order of the world: when an occurrence is complete, the reactions whose patterns it has matched take their turns.

A match waits with its bindings (the named variables of the pattern, null where it gave them no value), its interval and
its number among equal ones of its stamp. What an action does is `reactive.meaning`. Law: turns come by (end, start,
place of the reaction in the text, bindings in standard order, number), and each sees the state that those before left.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from etalis.data.values import Struct, Value, format_value, order_key
from etalis.errors import EtalisError, LimitError, Problem
from etalis.language import syntax as s
from etalis.language.event_goals import raised_event
from etalis.language.flags import Settings, priority_of
from etalis.language.lower import to_logic
from etalis.language.printer import print_action
from etalis.language.rules import declarations, reaction_rules
from etalis.language.steps import Occur
from etalis.logic.solver import Solver
from etalis.reactive.execution import Failed, Label, SearchLimits, steps_of
from etalis.reactive.meaning import FactSets, Meaning
from etalis.reactive.terms import ActionProgram, Names
from etalis.semantics.matches import Bindings, Instance, ModelDeadline, Numbers, World, alarm_time, ground


@dataclass(slots=True)
class ReactionNotes:
    """What a run does by its reactions: effects of the names `refused` are, the others are made.

    Effects are told in order, compensations behind a sign; of a failure label, interval, kind, what failed, and the
    steps reached. `state` are the facts at the end.
    """

    refused: Collection[str] = ()
    effects: list[str] = field(default_factory=list)
    failures: list[tuple[str, int, int, str, str, tuple[str, ...]]] = field(default_factory=list)
    state: FactSets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReactionMatch:
    """A match that a reaction reacts to: `place` is that of the reaction in the text, from 0."""

    place: int
    values: tuple[Value, ...]
    start: int
    end: int
    number: int
    cause: Numbers


class ModelReactor:
    """The reactions of a run: the matches that wait, how many had their turn, and the state they have come to."""

    def __init__(self, program: s.Tree, settings: Settings, solver: Solver, world: World, notes: ReactionNotes) -> None:
        self.rules = reaction_rules(program)
        self.reactions = [item for item in program.items if isinstance(item, s.Reaction)]
        self.solver, self.world, self.notes = solver, world, notes
        self.declared = {name: item for (name, _), item in declarations(program).items()}
        self.program = ActionProgram.of(program)
        self.meaning = Meaning(solver, self.program, SearchLimits(settings.max_path, settings.max_tries))
        self.most = settings.max_reactions
        self.waiting: list[ReactionMatch] = []
        self.stamp: int | None = None
        self.equal: Counter[tuple[object, ...]] = Counter()
        self.turns = 0
        self.sagas: dict[Value, tuple[str, tuple[Label, ...]]] = {}  # what each waits for, and the effects it has made
        if solver.database.state is not None:
            notes.state = {key: tuple(rows) for key, rows in solver.database.state.facts()}

    def note(self, rule: s.Rule, x: Instance, cause: Numbers) -> None:
        """Let a match wait for its turn."""
        place = next(i for i, known in enumerate(self.rules) if known is rule)
        values = tuple(ground(a, x.bindings) for a in rule.head.args[:-1])
        if x.end != self.stamp:
            self.stamp = x.end
            self.equal.clear()
        identity = (place, x.start, values)
        self.equal[identity] += 1
        self.waiting.append(ReactionMatch(place, values, x.start, x.end, self.equal[identity], cause))

    def begin(self) -> None:
        """Begin to count turns anew: with an input, or a moment at which something falls due."""
        self.turns = 0

    def react(self) -> None:
        """Let all that wait take their turns."""
        matches = sorted(self.waiting, key=self._rank)
        self.waiting.clear()
        for match in matches:
            self.turns += 1
            if self.turns > self.most:
                message = f"one input caused more than {self.most} reactions; the last: {self.rules[match.place].label}"
                raise LimitError(Problem("E322", message, hint="bound the cycle, or raise max_reactions"))
            self._turn(match)

    def _rank(self, match: ReactionMatch) -> tuple[object, ...]:
        first = -priority_of(self.rules[match.place])
        return match.end, match.start, first, match.place, tuple(map(order_key, match.values)), match.number

    # one turn

    def _turn(self, match: ReactionMatch) -> None:
        """Ask the condition, and execute the action, or what is to be done otherwise."""
        reaction, head = self.reactions[match.place], self.rules[match.place].head
        named = zip(head.args, match.values, strict=False)
        bindings = {a.name: value for a, value in named if isinstance(a, s.Var)}
        action: s.Action | None = reaction.action
        if reaction.part is not None:
            self._go_on(match, reaction, reaction.part, bindings)
            return
        if reaction.condition is not None:
            try:
                found = next(iter(self.solver.solve(to_logic(reaction.condition), bindings)), None)
            except EtalisError as error:
                self._fail(match, "error", error.problems[0].message, ())
                return
            action = reaction.otherwise if found is None else reaction.action
            bindings |= {v: x for v, x in (found or {}).items() if not v.startswith("_#")}
        if action is not None:
            branch = "do" if action is reaction.action else "else"
            saga = Struct("saga", (match.place, branch, match.start, match.end, match.number, match.values))
            self._execute(match, action, bindings, saga)

    def _go_on(self, match: ReactionMatch, reaction: s.Reaction, part: s.SagaPart, bindings: Bindings) -> None:
        """Do the next transaction of a saga that waits for this; where there is none, take back what it has done."""
        saga = match.values[0]
        mark, made = self.sagas.get(saga, ("", ()))
        if mark != part.mark:
            return
        if part.is_end:
            self._fail(match, "no execution", print_action(part.awaited), ())
        elif self._execute(match, reaction.action, bindings, saga):
            return
        del self.sagas[saga]
        self.notes.effects += [f"-{format_value(each.term)}" for each in reversed(made)]
        if reaction.undo is not None:
            self._execute(match, reaction.undo, bindings, None)

    def _execute(self, match: ReactionMatch, action: s.Action, bindings: Bindings, saga: Value | None) -> bool:
        """Do the first execution whose effects are all made; each one that is refused is no step from then on."""
        refused: set[Label] = set()
        while True:
            names: Names = {}
            term = self.program.action(action, names)
            found, state = self.meaning.execute(term, names, self.notes.state, bindings, frozenset(refused))
            self._see(self.notes.state)
            if isinstance(found, Failed):
                self._fail(match, found.why, found.failed, steps_of(found.reached))
                return False
            try:
                events = self._raised(match, found.labels, saga)
            except EtalisError as error:
                self._fail(match, "error", error.problems[0].message, steps_of(found.labels))
                return False
            effects = [label for label in found.labels if label.kind == "effect"]
            failed = self._make(effects)
            if failed is None:
                self.notes.state = state
                self._see(state)
                self._ask(match, events)
                if saga is not None:
                    self._wait(saga, found.labels, effects)
                return True
            refused.add(failed)

    def _see(self, state: FactSets) -> None:
        """Let conditions see a state."""
        if self.solver.database.state is not None:
            self.solver.database.state.load(state)
            self.meaning.entered = None

    def _make(self, effects: list[Label]) -> Label | None:
        """Make effects, in order; of one that is refused, those before it are compensated."""
        made: list[Label] = []
        for label in effects:
            name = label.term.name if isinstance(label.term, Struct) else label.term
            if name in self.notes.refused:
                self.notes.effects += [f"-{format_value(each.term)}" for each in reversed(made)]
                return label
            self.notes.effects.append(format_value(label.term))
            made.append(label)
        return None

    def _wait(self, saga: Value, labels: tuple[Label, ...], effects: list[Label]) -> None:
        """Note what a saga has done, and what it waits for; one that waits for nothing is over."""
        marks = [label.term.name for label in labels if label.wait == "begins" and isinstance(label.term, Struct)]
        _, made = self.sagas.pop(saga, ("", ()))
        if marks:
            self.sagas[saga] = marks[-1], (*made, *effects)

    def _raised(
        self, match: ReactionMatch, labels: tuple[Label, ...], saga: Value | None
    ) -> list[tuple[Occur, bool]]:  # fmt: skip
        """Return the events that a path raises, and whether each comes later; refuse what is no event."""
        found = []
        for label in labels:
            if label.kind == "raise":
                end = match.end if label.after is None else alarm_time("after", label.after, match.end)
                assert end is not None, "the search refuses other delays"
                term = label.term
                if label.wait and saga is not None and isinstance(term, Struct):
                    term = Struct(term.name, (saga, *term.args[1:]))
                found.append((raised_event(term, end, end, self.declared), label.after is not None))
        return found

    def _ask(self, match: ReactionMatch, events: list[tuple[Occur, bool]]) -> None:
        """Let events occur when all reactions have had their turns, or later."""
        steps = self.world.run_state.steps
        for event, is_later in events:
            occur = partial(steps.append, (event, match.cause))
            if is_later:
                self.world.deadlines.append(ModelDeadline(event.end, (math.inf, 0), lambda: True, occur))
            else:
                occur()

    def _fail(self, match: ReactionMatch, why: str, failed: str, reached: tuple[str, ...]) -> None:
        label = str(self.rules[match.place].label)
        self.notes.failures.append((label, match.start, match.end, why, failed, reached))
