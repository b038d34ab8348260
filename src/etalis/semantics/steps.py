"""The meaning of programs, executable: (program, finite stream) -> all derived events, in the order of making.

A literal reading of docs/definition.md, sections 5 to 18, against which every back end is tested: slow, and meant to be
obviously right. Steps and rounds are here, patterns in `patterns`; `least_model` says the same once more,
declaratively, for `unrestricted`. Law: an input is processed to completion before the next, and time never goes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from etalis.data.measure import TOO_DEEP, is_too_deep, weigh
from etalis.data.values import Struct, Value, format_value
from etalis.errors import EtalisError, LimitError, Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.event_goals import install_goals
from etalis.language.flags import settings
from etalis.language.goal_limits import goal_limits, host_limits
from etalis.language.lower import load_clauses, run_directives, to_logic
from etalis.language.reactive.sagas import written_out
from etalis.language.reactive.wait_names import is_of_wait
from etalis.language.rules import knowledge_changes, known_events, labelled_rules
from etalis.language.steps import Occur, Reset, Spy, Step
from etalis.logic.knowledge.facts import change_facts
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver
from etalis.semantics import model as semantics_model
from etalis.semantics.matches import (
    Bindings,
    Instance,
    ModelDeadline,
    Numbers,
    RecordedEvent,
    RunNotes,
    RunState,
    Scope,
    Solve,
    World,
    alarm_time,
    ground,
    match_all,
    settled,
    whole,
)  # fmt: skip
from etalis.semantics.reactions import ModelReactor, ReactionNotes
from etalis.semantics.rules import Rules
from etalis.temporal.event import Event, brief, sort_key
from etalis.temporal.relation import relations

_EVER = 1 << 200


def run(
    program: s.Tree,
    stream: Iterable[Event | list[Event]],
    *,
    policy: str | None = None,
    until: int | None = None,
    max_derivations: int | None = None,
    errors: list[EtalisError] | None = None,
    output: Callable[[str], object] | None = None,
    changes: Iterable[tuple[int, str, bool, tuple[Value, ...]]] = (),
    notes: RunNotes | None = None,
    reactions: ReactionNotes | None = None,
) -> list[Event]:
    """Return all events that a program derives from a finite stream, and those that its goals raise, in order.

    A list in the stream is of events that are one arrival.

    `policy` replaces the program's default (a rule's own goes before it); nothing after `until` happens; errors of
    conditions are added to `errors`; what goals write goes to `output`. `changes` are facts from outside: when they
    come (True) or go (False). Into `notes` goes what contributes to each event, by the inputs' places from 1 on, into
    `reactions` what these did.
    """
    program = written_out(program)
    given = {"event_consumption_policy": policy, "max_derivations": max_derivations}
    found = settings(program, {flag: value for flag, value in given.items() if value is not None})
    errors = [] if errors is None else errors
    run_state = RunState(output or (lambda _text: None))
    solver = Solver(load_clauses(program), host_limits(found), output=run_state.output, clock=run_state.clock)
    install_goals(solver.database, run_state, program)
    solve, learn = knowledge(program, solver, errors, goal_limits(found)), _learner(program, solver)
    waiting = sorted(changes, key=lambda change: change[0])
    world = World(relations(found.relations), solve, frozenset(known_events(program)), errors, learn, run_state)
    if notes is not None:
        notes.record, notes.solver = world.record, solver
        solver.database.keep_versions(_EVER, lambda: len(world.record))
        noted = notes.changes
        solver.database.note_change = lambda before: noted.append((len(world.record), before))
    reactor = ModelReactor(program, found, solver, world, ReactionNotes() if reactions is None else reactions)
    history = _History(world, run_state, found.max_derivations, lambda until: _change(solver, waiting, until), reactor)
    conclude = lambda rule, x, scope: _conclude(rule, x, scope, history)  # noqa: E731
    history.rules = Rules(program, found, world, conclude, reactor.rules)
    if notes is not None:
        notes.rules = history.rules.later
    history.rules.begin()
    history.complete([])
    arrivals = [each if isinstance(each, list) else [each] for each in stream]
    several = [event for arrival in arrivals for event in arrival]
    joint = dict(enumerate((place for place, each in enumerate(arrivals) for _ in each), 1))
    history.arrivals = {number: place for number, place in joint.items() if len(arrivals[place]) > 1}
    numbered = [RecordedEvent(e, n, frozenset({n})) for n, e in _near(enumerate(several, 1), found.max_ahead)]
    ranked = sorted(numbered, key=lambda given: (given.event.end_time, given.event.start_time))
    history.pass_through(ranked, math.inf if until is None else until)
    return history.derived


def _near(stream: Iterable[tuple[int, Event]], bound: int | None) -> Iterator[tuple[int, Event]]:
    """Yield the events that end no further than the bound after the latest end of those before them."""
    latest: int | None = None
    for number, event in stream:
        if bound is None or latest is None or event.end_time <= latest + bound:
            latest = event.end_time if latest is None else max(latest, event.end_time)
            yield number, event


def least_model(program: s.Tree, stream: Iterable[Event]) -> set[Event]:
    """Return the events that a program derives under `unrestricted`, by a naive fixpoint without steps and stores.

    Conditions see the knowledge as of their match's end, all changes of that moment included. So it is what `run`
    makes where no change shares its moment with another input or a time point.
    """
    found, events = settings(program), list(stream)
    solver = Solver(load_clauses(program), host_limits(found))
    solve = knowledge(program, solver, [], goal_limits(found))
    if knowledge_changes(program):
        _remember(program, solver, events)
        return semantics_model.least_model(program, events, lambda end: _solve_as_of(solver, end, solve))
    return semantics_model.least_model(program, events, lambda _: solve)


def _remember(program: s.Tree, solver: Solver, events: Iterable[Event]) -> None:
    """Make all changes of a stream, and keep every version."""
    changing = knowledge_changes(program)
    for head in (rule.head for rule in labelled_rules(program)):
        if (head.name, len(head.args)) in changing:
            message = f"the least model is not defined here for facts that rules derive: {head.name}"
            raise ProgramError(Problem("E207", message, head.span, "use semantics.run"))
    learn, now = _learner(program, solver), -_EVER
    solver.database.keep_versions(_EVER, lambda: now)
    for event in sorted(events, key=lambda e: (e.end_time, e.start_time)):
        now = event.end_time
        learn(event)


def _solve_as_of(solver: Solver, end: int, solve: Solve) -> Solve:
    def solve_then(goal: s.Term, bindings: Bindings, times: Mapping[tuple[str, int], Value]) -> Iterator[Bindings]:
        with solver.as_of(end):
            yield from solve(goal, bindings, times)

    return solve_then


def knowledge(program: s.Tree, solver: Solver, errors: list[EtalisError], limits: GoalLimits) -> Solve:
    """Return how goals are solved over a program's background knowledge, once its directives have run."""

    def solve(goal: s.Term, bindings: Bindings, times: Mapping[tuple[str, int], Value]) -> Iterator[Bindings]:
        return solver.solve(to_logic(goal), bindings, times)

    errors.extend(run_directives(program, solver))
    solver.limits = limits
    return solve


def _learner(program: s.Tree, solver: Solver) -> Callable[[Event], None]:
    """Return what an event does to the facts before any pattern is offered it."""
    changes = knowledge_changes(program)
    return lambda event: change_facts(solver.database, changes.get((event.name, len(event.args)), ()), event.args)


def _change(solver: Solver, waiting: list[tuple[int, str, bool, tuple[Value, ...]]], until: int) -> None:
    """Make the changes from outside that are due, in order of time, then of giving."""
    while waiting and waiting[0][0] <= until:
        _, name, known, args = waiting.pop(0)
        change_facts(solver.database, ((name, known),), args)


def reported(program: s.Tree, events: Iterable[Event]) -> list[Event]:
    """Return those of the events that the program's triggers name; without any, those that rules made.

    >>> reported(s.Tree((s.Trigger("print_trigger", s.Const("all_events")),)), [Event.make("a", (), 1, 1)])
    [a [1e-06, 1e-06]]
    """
    triggers = [item for item in program.items if isinstance(item, s.Trigger)]
    if not triggers:
        return [event for event in events if event.rule is not None]
    found = settings(program)
    solver = Solver(load_clauses(program), host_limits(found), output=lambda _text: None)
    solve = knowledge(program, solver, [], goal_limits(found))
    heard = (event for event in events if not is_of_wait(event.name))
    return [event for event in heard if any(_is_meant(trigger, event, solve) for trigger in triggers)]


def _is_meant(trigger: s.Trigger, event: Event, solve: Solve) -> bool:
    """Tell whether an event matches a trigger, and its body holds if there is one; one that raises does not."""
    bindings = _triggers(trigger.pattern, event)
    if bindings is None or trigger.body is None:
        return bindings is not None
    try:
        return any(True for _ in solve(trigger.body, bindings, {}))
    except EtalisError:
        return False


def _triggers(pattern: s.Term, event: Event) -> Bindings | None:
    """Return what a trigger binds where it names an event, None where it does not."""
    atom = Struct(event.name, event.args) if event.args else event.name
    match pattern:
        case s.Const("all_events"):
            return {}
        case s.Const("all_defined_events"):
            return None if event.rule is None else {}
        case s.Compound("/", parts):
            return match_all(parts, (event.name, len(event.args)), {})
        case _:
            return match_all([pattern], [atom], {})


@dataclass(slots=True)
class _History:
    """What has happened and what the current round has caused; one step after the other."""

    world: World
    run_state: RunState
    max_derivations: int
    change: Callable[[int], None]
    reactor: ModelReactor
    rules: Rules = field(init=False)
    before: int = 0
    larger: int = 0  # what large terms of this input count for more
    coming: list[tuple[Occur, Numbers]] = field(default_factory=list)
    derived: list[Event] = field(default_factory=list)
    made: set[Event] = field(default_factory=set)
    caused: dict[Event, Numbers] = field(default_factory=dict)  # by its first derivation
    arrivals: dict[int | None, int] = field(default_factory=dict)  # of the inputs that came with others

    def cause(self, event: Event, contributors: Numbers) -> None:
        """Note that a rule has made an event; a further derivation is none of its own (definition 7.2)."""
        if event not in self.made:
            self.caused.setdefault(event, contributors)

    def pass_through(self, inputs: list[RecordedEvent], until: float) -> None:
        """Take every moment in turn: changes from outside, time points, events that end then, what is due."""
        last = max((given.event.end_time for given in inputs), default=-math.inf)
        for now in self._moments(inputs):
            if now > until:
                return
            self.run_state.now = now
            if now <= last or until < math.inf:
                self.reactor.begin()
            self.change(now)
            for receive in [receive for time, receive in self.world.points if time == now]:
                receive(whole(now, now, {}, frozenset(), settled(frozenset())))
                self.world.let_go()
                self.complete([])
            for step, cause in sorted((c for c in self.coming if c[0].end == now), key=lambda c: c[0].start):
                self._occur(step, cause)
                self.complete([])
            here = [given for given in inputs if given.event.end_time == now]
            for _, together in groupby(here, lambda given: self.arrivals.get(given.number, -(given.number or 0))):
                self.before, self.larger = len(self.derived), 0
                self.reactor.begin()
                self.complete(list(together))
            if any(d.due == now for d in self.world.deadlines) and (now <= last or until < math.inf):
                self.reactor.begin()
            while any(d.due == now for d in self.world.deadlines):
                self._fall_due(now)

    def _moments(self, inputs: list[RecordedEvent]) -> Iterator[int]:
        """Yield every moment at which something happens, in order; deadlines are set while time passes."""
        now: int | None = None
        while True:
            times = [given.event.end_time for given in inputs] + [t for t, _ in self.world.points]
            times += [d.due for d in self.world.deadlines] + [c.end for c, _ in self.coming]
            now = min((t for t in times if now is None or t > now), default=None)
            if now is None:
                return
            yield now

    def _fall_due(self, now: int) -> None:
        """Make one step of the alarms that are due or, if none is, of the absences whose left side ended last."""
        due = [d for d in self.world.deadlines if d.due == now]
        first = max(d.turn for d in due)
        taken = [d for d in due if d.turn == first]
        self.world.deadlines = [d for d in self.world.deadlines if not any(d is t for t in taken)]
        for absence in [d for d in taken if d.stands()]:
            absence.fire()
            self.world.let_go()
        self.complete([])

    def complete(self, events: list[RecordedEvent]) -> None:
        """Process events and all that they cause, then reactions, then the steps that were asked for, in turn."""
        self._rounds(events, are_one=len(events) > 1)
        self.reactor.react()
        while self.run_state.steps:
            self._take(*self.run_state.steps.pop(0))
            self.reactor.react()

    def _take(self, step: Step, cause: Numbers) -> None:
        """Take one step; an event that ends later waits until time reaches its end (definition 18.4)."""
        if isinstance(step, Spy):
            self.run_state.spied ^= {step.kind} if (step.kind in self.run_state.spied) != step.on else set()
        elif not isinstance(step, Occur):
            self.coming = [] if isinstance(step, Reset) else self.coming
            self.rules.perform(step)
        elif self.run_state.now is not None and step.end > self.run_state.now:
            self.coming.append((step, cause))
        else:
            self._occur(step, cause)

    def _occur(self, step: Occur, cause: Numbers) -> None:
        """Process a raised event like an input; it counts for the input that time has reached (definition 8.9)."""
        event = Event.make(step.name, step.args, step.start, step.end)
        self.derived.append(event)
        self._bound(event)
        self._rounds([RecordedEvent(event, None, cause)])

    def _rounds(self, events: list[RecordedEvent], *, are_one: bool = False) -> None:
        """Process the events of a round, then what they caused, until nothing new is caused.

        Those that are one arrival are offered by one number, and replace nothing before all have been.
        """
        while events or self.caused:
            first = len(self.world.record)
            arrival = range(first, first + len(events)) if are_one else ()
            for given in events:
                self.run_state.watch(given.event)
                self.world.record.append(given)
                self.world.learn(given.event)
                for leaf in self.world.leaves:
                    leaf.offer(given.event, len(self.world.record) - 1, arrival)
                if not are_one or given is events[-1]:
                    self.world.let_go()
            are_one = False
            events = [RecordedEvent(event, None, inputs) for event, inputs in self.caused.items()]
            if len(events) > 1:
                events.sort(key=lambda made: sort_key(made.event))
            self.caused = {}
            made = [given.event for given in events]
            self.made.update(made)
            self.derived += made
            if made:
                self.larger += sum(weigh(e.args) for e in made if self.rules.may_grow(e.kind))
                self._bound(made[-1])

    def _bound(self, event: Event) -> None:
        if len(self.derived) - self.before + self.larger > self.max_derivations:
            by = "a goal" if event.rule is None else f"rule {event.rule}"
            message = f"one input caused more than {self.max_derivations} events, at last {brief(event)} by {by}"
            hint = "bound the recursion of this rule, or raise max_derivations"
            raise LimitError(Problem("E320", message, hint=hint))


def _conclude(rule: s.Rule, x: Instance, scope: Scope, history: _History) -> None:
    """Make a rule's event of a match of its pattern, set the alarm, or let the match wait for its reaction."""
    if rule.hidden:
        history.reactor.note(rule, x, scope.world.inputs_of(x))
        return
    args = tuple(ground(a, x.bindings) for a in rule.head.args)
    if is_too_deep(args):
        scope.world.report(TOO_DEEP, scope.rule)
        return
    if rule.alarm is None:
        event = Event.make(rule.head.name, args, x.start, x.end, scope.rule)
        history.cause(event, scope.world.inputs_of(x))
        return
    due = alarm_time(rule.alarm.kind, ground(rule.alarm.when, x.bindings), x.end)
    if due is None:
        when = format_value(ground(rule.alarm.when, x.bindings))
        scope.world.report(f"an alarm needs a positive number of seconds or a moment, not {when}", scope.rule)
    else:
        event, inputs = Event.make(rule.head.name, args, due, due, scope.rule), scope.world.inputs_of(x)
        alarm = ModelDeadline(due, (math.inf, 0), lambda: scope.standing.stands, lambda: history.cause(event, inputs))
        history.world.deadlines.append(alarm)
