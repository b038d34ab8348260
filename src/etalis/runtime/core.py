"""The core of an engine: the parts of one run, and how an input passes through them (definition 6.5).

Snapshots, reports and runs over columns work on the core; `runtime/engine.py` is how events come in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

from etalis.data.uncollected import collected_once
from etalis.errors import ConditionError, EventError, OptionError, Problem, ProgramError
from etalis.language.event_goals import install_goals
from etalis.language.flags import with_ahead, with_limits
from etalis.language.lower import run_directives
from etalis.language.rules import declarations
from etalis.language.steps import Reset, RuleStep, Spy
from etalis.logic.builtins.time import no_clock
from etalis.logic.machine.machine import Code
from etalis.reactive.effects.ledger import Ledger
from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.execution import SearchLimits
from etalis.reactive.outbox.outbox import Outbox
from etalis.reactive.outbox.sink import sink_of
from etalis.reactive.search import Search
from etalis.reactive.terms import ActionProgram
from etalis.runtime.changes import Changes
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.delivery import Delivery
from etalis.runtime.inputs import Input, Inputs
from etalis.runtime.knowledge import show_history
from etalis.runtime.lateness.future_events import Horizon
from etalis.runtime.lateness.lateness import Disorder
from etalis.runtime.lateness.watermark import DeadLetter, DeadLetters, Stamp, describe_background
from etalis.runtime.limits.circuit_breaker import Breaker
from etalis.runtime.limits.limits import Guard, guard_of
from etalis.runtime.reactions.legal_state import refuse_illegal
from etalis.runtime.reactions.transaction import TurnContext
from etalis.runtime.reactions.turns import make_reactor
from etalis.runtime.record.corrected_inputs import CorrectedInputs
from etalis.runtime.reporting.evidence import Evidence
from etalis.runtime.reporting.failures import Failures
from etalis.runtime.reporting.report import refuse_unread
from etalis.runtime.revision.corrected_reactions import CorrectedReactions
from etalis.runtime.revision.retraction import Retractions
from etalis.runtime.rule_change.run_time_rules import perform
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import BEGINNING, NEVER, show_time
from etalis.temporal.event import Event
from etalis.temporal.interval import show_moment, to_seconds, to_time

T = TypeVar("T")
COMMIT_EVERY = 1_000
LEVELS = ("off", "ids", "full")
Ahead: TypeAlias = float | str | timedelta | None  # seconds, a duration as text such as "10 min", -1 for no bound


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the host says when it makes an engine; `Program.engine` says what each means."""

    policy: str | None = None
    parts: bool = False
    clock: Callable[[], Any] | None = None
    on_error: Callable[[ConditionError], object] | None = None
    output: Callable[[str], object] | None = None
    on_dead_letter: Callable[[DeadLetter], object] | None = None
    sources: Iterable[Hashable] = ()
    limits: Mapping[str, object] = field(default_factory=dict)
    ahead: Ahead = None
    wall: Callable[[], Any] | None = None
    strict: bool = False
    justification: str | None = None
    goals: Callable[[Any, tuple[str, int]], Code] | None = None  # the code of goals that explain
    effects: EffectSink | None = None  # instead of the functions that the program has for them
    outbox: Outbox | None = None
    every: int = COMMIT_EVERY  # inputs between two commits of `run`
    defers: bool = False  # whether rules are compiled when something of their code is first asked for

    def level(self, *, flagged: bool) -> str:
        """Return what is kept for explanations: `off`, `ids` of inputs, or `full`; the flag says full."""
        level = self.justification or ("full" if flagged else "off")
        if level not in LEVELS:
            hint = "justification: off, ids or full"
            raise OptionError(Problem("E339", f"there is no level of justification {level}", hint=hint))
        return "ids" if level == "off" and self.parts else level


class Committing(Protocol):
    """What commits an engine to its outbox."""

    def count(self, rows: int) -> tuple[Event, ...]:
        """Note that rows were taken, and commit where it is time."""


class Core:
    """The parts of one run of a program, and the ways through them."""

    def __init__(self, program: CompiledProgram, options: EngineOptions) -> None:
        self.program, around = program, program.around_rules  # of the rules nothing is asked but by their plans
        self.strict = options.strict
        self.reopen: Callable[[], None] = lambda: None  # called when the rules change
        self.failures = Failures(options.on_error)
        self.delivery = Delivery(self.take, keeps=program.settings.store_fired_events)
        self.graphs = program.graphs.copied()
        solver = program.solver(options.output or _print, self.tell_time)
        self.run_loop = RunLoop(program, self._change_rules)
        explain = None if options.goals is None else partial(options.goals, self)
        install_goals(solver.database, self.run_loop, program.tree, explain)
        if self.delivery.history is not None:
            show_history(solver.database, self.delivery.history)
        self.breaker = Breaker(program.settings.max_rule_failures)
        self.evidence = Evidence(by_stores=not program.settings.corrects)
        self.inputs = Inputs(program.signatures, options.clock, program.implied, self.evidence.shown)
        self.level = options.level(flagged=program.settings.justification)
        make_rules = partial(
            RuleSet, program, solver, policy=options.policy, parts=self.level != "off", breaker=self.breaker,
            evidence=self.evidence, recorded=self.level == "full",
        )  # fmt: skip
        is_disordered = program.settings.lateness is not None or program.settings.revision
        defers = options.defers and not is_disordered  # what runs events again looks into the code of the rules
        with collected_once():
            self.rules = make_rules(report=self.fail, watched=options.on_error is not None, defers=defers)
        self.state = self.rules.state
        self.changes = Changes(self.state, solver.database, self.fail, self.rules.record)
        self.run_loop.begin(self.rules, self.changes)
        self.ledger = Ledger()
        self.sink = sink_of(around, program.effect_registry, options.effects, options.outbox)
        self.committer: Committing | None = None
        self.notes: dict[str, Any] = {}  # of the host, such as how far it has read: snapshots keep them
        self.dead_letters = DeadLetters(options.on_dead_letter, strict=options.strict)
        self.disorder: Disorder | None = None
        self.guard: Guard | None = None
        self.horizon: Horizon | None = None
        self.over_columns: Any = None  # the last run over columns
        self.row_ids: Any = None  # of the rows of tables, where matches tell what they are made of
        self.input_names: dict[int, tuple[bytes, str]] = {}  # of inputs by number, where a shard tells contributors
        self.row_numbers: dict[int, int] = {}  # of rows of tables whose ids are told, by the numbers of inputs
        self.unfinished: Any = None  # rows that the last `detect` had taken when it failed, and what they caused
        for error in run_directives(around, solver):
            self.fail(error)
        self.generation = solver.database.generation  # of the knowledge that comes with the program
        if is_disordered:
            again = partial(make_rules, replays=True)
            self.disorder = Disorder(self.run_loop, self.dead_letters, options.sources, again, self.fail)
        self.record = self.rules.record
        if self.record is not None and self.disorder is not None and self.disorder.history is not None:
            self.record.source = CorrectedInputs(self.disorder.history)
        refuse_illegal(around, solver)
        context = TurnContext(
            program.name, self.state, solver.database.state, self.sink, self.ledger, self.rules.later,
            {name: item for (name, _), item in declarations(around).items()}, self.fail,
        )  # fmt: skip
        self.run_loop.reactor = make_reactor(self.rules, context, lambda: self.search)
        self.corrected = self._follow_corrections(context)
        settings = with_ahead(with_limits(program.settings, options.limits), options.ahead)
        self.guard = guard_of(settings, self.rules, self.disorder, self.fail, self.dead_letters)
        wall = options.wall
        self.horizon = self.horizon_of(settings.max_ahead, None if wall is None else lambda: to_time(wall()))

    def _follow_corrections(self, context: TurnContext) -> CorrectedReactions | None:
        """Let reactions follow corrections, if there are both."""
        revision = None if self.disorder is None else self.disorder.revision
        if revision is None or self.run_loop.reactor is None:
            return None
        found = CorrectedReactions(self.run_loop, revision, self.run_loop.reactor, context)
        revision.reactions, self.run_loop.note_raised = found, found.remember
        return found

    def horizon_of(self, bound: int | None, wall: Callable[[], int] | None) -> Horizon | None:
        """Return what refuses events from the future, if there is a bound."""
        return None if bound is None else Horizon(bound, wall, self.state, self.disorder, self.dead_letters)

    @cached_property
    def search(self) -> Search:
        """What finds the executions of actions."""
        settings = self.program.settings
        most = settings.max_tries if settings.max_steps is None else min(settings.max_tries, settings.max_steps)
        limits = SearchLimits(settings.max_path, most)
        return Search(self.rules.conditions.solver, ActionProgram.of(self.program.tree), limits)

    # events

    def next_number(self) -> int:
        """Return the number that the next input will have, if it is taken."""
        return self.state.number + 1 if self.disorder is None else self.disorder.next_rank()

    def take(self, name: str, values: tuple[Any, ...], start: int, end: int, stamp: Stamp | None) -> tuple[Event, ...]:
        """Process one input to completion, and what callbacks push meanwhile."""
        out: list[Any] = []
        state = self.state
        if state.floor >= NEVER:
            self.refuse_closed(name)
        if self.strict:
            refuse_unread(self.rules, name, len(values))
        if self.horizon is not None and self.horizon.refuses(name, values, start, end):
            return ()
        if self.disorder is not None:
            self.disorder.take(name, values, start, end, stamp, out)
        elif end < state.now or end <= state.floor:
            self.bury(name, values, start, end, max(state.now, state.floor))
        else:
            self.run_loop.process((name, len(values)), values, start, end, state.number + 1, out)
        return self.delivery.hand_out(out)

    def refuse_joint(self) -> None:
        """Refuse joint arrivals where the rules take each event by itself."""
        if not self.program.settings.joint_arrivals:
            hint = "add `:- set_flag(joint_arrivals, on).`, or compile with joint_arrivals='on'"
            raise OptionError(Problem("E344", "the rules of this program take each event by itself", hint=hint))
        if self.disorder is not None:
            hint = "hold events back to the watermark, and push them then; or push them one by one"
            raise OptionError(Problem("E346", "where events may be late or corrected, each comes by itself", hint=hint))
        if self.delivery.busy:
            hint = "push them one by one, or after the call that the callback is part of"
            raise OptionError(Problem("E346", "what callbacks push comes by itself", hint=hint))

    def take_together(self, given: list[Input]) -> tuple[Event, ...]:
        """Process several inputs of one moment as one arrival."""
        out: list[Any] = []
        state, end = self.state, given[0][3]
        if state.floor >= NEVER:
            self.refuse_closed(given[0][0])
        if self.strict:
            for name, values, *_ in given:
                refuse_unread(self.rules, name, len(values))
        if self.horizon is not None:
            refused = [self.horizon.refuses(*each[:4]) for each in given]  # of one moment: all of them, or none
            if refused[0]:
                return ()
        if end < state.now or end <= state.floor:
            for name, values, start, _, _ in given:
                self.bury(name, values, start, end, max(state.now, state.floor))
        else:
            numbered = [(*each[:4], number) for number, each in enumerate(given, state.number + 1)]
            self.run_loop.process_together(numbered, out)
        return self.delivery.hand_out(out)

    def take_back(
        self, name: str, values: tuple[Any, ...], start: int, end: int, stamp: Stamp | None
    ) -> tuple[Event, ...]:
        """Take back an event that a row says did not occur; a dead letter, where that cannot be, if someone asks."""
        del stamp
        out: list[Any] = []
        try:
            self.retractions(f"{name} is retracted (sign -1)").take_back(name, values, start, end, out)
        except EventError as error:
            if not self.dead_letters.are_handed_on:
                raise
            self.dead_letters.add(name, values, start, end, error.problems[0].message)
        return self.delivery.hand_out(out)

    def revise(
        self, what: Hashable, args: tuple[Any, ...], named: dict[str, Any], at: Any, to: Any
    ) -> tuple[Event, ...]:
        """Take back the event of an id, or of a name, attributes and a time; put that of a row in its stead."""
        retractions = self.retractions("events of this program cannot be retracted")
        instead = None if to is None else self.inputs.row(to)[:4]
        if instead is not None and self.horizon is not None and self.horizon.refuses(*instead):
            return ()
        out: list[Any] = []
        if at is None:
            retractions.take_back_id(what, out, instead)
        else:
            name, values, start, end, _ = self.inputs.event(str(what), args, named, at)
            retractions.take_back(name, values, start, end, out, instead)
        return self.delivery.hand_out(out)

    def retractions(self, otherwise: str) -> Retractions:
        """Return what takes events back; if the program does not allow that, refuse."""
        retractions = None if self.disorder is None else self.disorder.retractions
        if retractions is None:
            raise EventError(Problem("E312", otherwise, hint="add `:- set_flag(revision_flag, on).`"))
        return retractions

    @staticmethod
    def refuse_closed(what: str) -> NoReturn:
        """Refuse an event after the end of the stream."""
        hint = "make a new engine for a new stream"
        raise EventError(Problem("E310", f"{what} comes after the end of the stream", hint=hint))

    def bury(self, name: str, values: tuple[Any, ...], start: int, end: int, reached: int) -> None:
        """Make a dead letter of an event that comes too late."""
        reason = f"it ends at {show_moment(end)}, but time has reached {show_time(reached)}"
        self.dead_letters.add(name, values, start, end, reason, "late", (reached - end, 0))

    def bury_background(self, name: str, values: tuple[Any, ...], start: int | None, end: int | None) -> bool:
        """Make a dead letter of a triple whose predicate is background; tell whether it is."""
        if name != "rdf" or len(values) not in (3, 5) or values[1] not in self.program.background:
            return False
        self.dead_letters.add(name, values, start, end, describe_background(values[1]), "background")
        return True

    def turn_away(
        self, name: str, values: tuple[Any, ...], start: int, end: int, stamp: Stamp | None
    ) -> tuple[Event, ...]:
        """Make a dead letter of an event for which there is no room; time goes on."""
        assert self.guard is not None
        if self.horizon is not None and self.horizon.refuses(name, values, start, end):
            return ()
        self.guard.turn_away(name, values, start, end)
        return () if self.delivery.busy else self.reach(end, stamp)

    # time

    def reach(self, end: int, stamp: Stamp | None = None) -> tuple[Event, ...]:
        """Let time reach the end of an event that is not taken."""
        out: list[Any] = []
        if self.disorder is not None:
            self.disorder.reach(end, stamp, out)
        elif end > self.state.now:
            self.run_loop.reach(end, out)
        return self.delivery.hand_out(out)

    def advance(self, time: int) -> tuple[Event, ...]:
        """Let time pass up to a moment; `NEVER` ends the stream."""
        out: list[Any] = []
        (self.run_loop if self.disorder is None else self.disorder).advance(time, out)
        if time == NEVER:
            self.state.floor = NEVER
        return self.delivery.hand_out(out)

    def due(self) -> int:
        """Return the moment at which something may happen without an event, or `NEVER`."""
        moment = min(self.state.timers.due, self.state.next_coming(), self.changes.next, self.rules.next_tick())
        return moment if self.disorder is None else min(moment, self.disorder.first_held())

    def tell_time(self) -> Any:
        """Return the time that goals see: the clock's, else the time reached."""
        if self.inputs.clock is not None:
            return self.inputs.clock()
        if self.state.now == BEGINNING:
            raise no_clock()
        return to_seconds(self.state.now)

    # rules

    def turn(self, change: Callable[[], T], *, empties: bool = False) -> T:
        """Change the rules; where the past may be run again, each of its events under the rules of its time."""
        revision = None if self.disorder is None else self.disorder.revision
        found = change() if revision is None else revision.turn(change, empties=empties)
        self.reopen()
        return found

    def _change_rules(self, step: RuleStep | Spy) -> None:
        """Do what a goal asks for; that it cannot be done is reported."""
        try:
            if isinstance(step, Spy):
                perform(self.rules, step)
                self.reopen()
            else:
                self.turn(lambda: perform(self.rules, step), empties=isinstance(step, Reset))
        except (ProgramError, EventError) as error:
            self.fail(ConditionError(*error.problems))

    def fail(self, error: ConditionError) -> None:
        """Note that a condition or an action raised; where the engine is strict, raise it."""
        self.failures.add(error)
        if self.strict:
            self.state.drop_unsettled()
            raise ConditionError(replace(error.problems[0], code="E333"))


def _print(text: str) -> None:
    sys.stdout.write(text)
