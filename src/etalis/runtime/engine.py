"""The engine: takes one event at a time, returns the complex events it caused (definition 6.5).

The ways in and out of a run, and what the host may ask and change. The engine reads no clock: time comes with events,
with `advance`, or from the clock it is given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, Unpack, overload

from etalis.errors import ConditionError, EtalisError, EventError, InputError, Problem, ProgramError
from etalis.language.event_goals import install_goals
from etalis.language.lower import run_directives
from etalis.language.read.parser import parse_event
from etalis.language.steps import Reset, RuleStep, Spy
from etalis.language.syntax import Const, Property
from etalis.language.values import ground
from etalis.logic.builtins.time import no_clock
from etalis.logic.knowledge.loaders import Rows, load_rows
from etalis.logic.terms.term import to_value
from etalis.logic.terms.unify import from_value
from etalis.runtime.changes import Change, Changes
from etalis.runtime.codegen.fast_path_late import HoldingWriter
from etalis.runtime.codegen.fast_path_revision import correcting_push, correcting_row
from etalis.runtime.delivery import Callback, Outlet
from etalis.runtime.inputs import Intake
from etalis.runtime.knowledge import show_history, solutions, solutions_at
from etalis.runtime.lateness.future_events import Horizon, horizon_on
from etalis.runtime.lateness.lateness import Disorder
from etalis.runtime.lateness.watermark import DeadLetter, DeadLetters, Stamp
from etalis.runtime.limits.circuit_breaker import Breaker, Broken
from etalis.runtime.limits.limits import Guard, Limits, guard_of, guarded_push, guarded_run
from etalis.runtime.reporting.evidence import Evidence
from etalis.runtime.reporting.failures import Failures
from etalis.runtime.reporting.inspection import Waiting, inspect
from etalis.runtime.reporting.report import Report, make_report, refuse_silence, refuse_unread
from etalis.runtime.reporting.unknown_names import check_reported
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import Course
from etalis.runtime.state import BEGINNING, NEVER, show_time
from etalis.runtime.thread_guard import alone
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import show_moment, to_seconds, to_time
from etalis.temporal.time_input import to_instant

if TYPE_CHECKING:
    from etalis.language.flags import Settings
    from etalis.language.syntax import Rule
    from etalis.logic.rdf.load import RdfOptions
    from etalis.runtime.compiled import Program
    from etalis.runtime.revision.retraction import Retractions
    from etalis.runtime.snapshot.snapshot import Restored

T = TypeVar("T")
C = TypeVar("C", bound=Callback)


class Engine:
    """One run of a program over a stream of events."""

    def __init__(
        self,
        program: Program,
        *,
        policy: str | None = None,
        parts: bool = False,
        clock: Callable[[], Any] | None = None,
        on_error: Callable[[ConditionError], object] | None = None,
        output: Callable[[str], object] | None = None,
        on_dead_letter: Callable[[DeadLetter], object] | None = None,
        sources: Iterable[Hashable] = (),
        settings: Settings | None = None,
        wall: Callable[[], Any] | None = None,
        strict: bool = False,
    ) -> None:
        self.program = program
        self._strict = strict
        self._failures = Failures(on_error)
        self._outlet = Outlet(self._take, keeps=program.settings.store_fired_events)
        self._graphs = program.graphs.copied()
        solver = program.solver(output or _print, self._tell_time)
        self._course = Course(program, self._change_rules)
        install_goals(solver.database, self._course, program.tree)
        if self._outlet.history is not None:
            show_history(solver.database, self._outlet.history)
        self._breaker = Breaker(program.settings.max_rule_failures)
        self._evidence = Evidence(by_stores=not program.settings.corrects)
        self._intake = Intake(program.signatures, clock, program.implied, self._evidence.shown)
        make_rules = partial(
            RuleSet, program, solver, policy=policy, parts=parts, breaker=self._breaker, evidence=self._evidence
        )
        self._rules = make_rules(report=self._report, watched=on_error is not None)
        self._state = self._rules.state
        self._changes = Changes(self._state, solver.database, self._report)
        self._course.begin(self._rules, self._changes)
        self.restored: Restored | None = None
        self.notes: dict[str, Any] = {}  # of the host, such as how far it has read: snapshots keep them
        self._dead = DeadLetters(on_dead_letter, strict=strict)
        self._disorder: Disorder | None = None
        self._guard: Guard | None = None
        self._horizon: Horizon | None = None
        self._are_over: list[bool] = []  # the generated ways in
        self.over_columns: Any = None  # the last run over columns, which stands above the runtime
        self.unfinished: Any = None  # rows that the last `detect` had taken when it failed, and what they caused
        for error in run_directives(program.tree, solver):
            self._report(error)
        self._generation = solver.database.generation  # of knowledge that only the program has told
        if program.settings.lateness is not None or program.settings.revision:
            again = partial(make_rules, replays=True)
            self._disorder = Disorder(self._course, self._dead, sources, again, self._report)
        settings = settings or program.settings
        self._guard = guard_of(settings, self._rules, self._disorder, self._report, self._dead)
        self._horizon = horizon_on(self, settings.max_ahead, None if wall is None else lambda: to_time(wall()))

    def open_entries(self) -> None:
        """Write the ways in; those that are guarded by limits stand before the others."""
        self._close_entries()
        self._open_short_entries()
        if self._guard is not None and self._state.floor < NEVER:
            self.__dict__["push"] = guarded_push(self._guard, self.push, self._turn_away)
            refuse = partial(self._take_row, take=self._refuse)
            self.__dict__["_take_rows"] = guarded_run(self._guard, self._take_rows, refuse)

    def _open_short_entries(self) -> None:
        """Put the generated `push` and `run` before the general ones, where they are exact."""
        entries, horizon = self._rules.entries, self._horizon
        entries.goes_on = self._dead.are_handed_on
        disorder, settle = self._disorder, self._course.settle_now
        if not entries.is_plain() or not self._outlet.is_plain() or self._state.floor >= NEVER:
            return
        if horizon is not None:
            entries.ahead = horizon.whole_seconds
            if entries.ahead is None:  # every event is held against a clock
                return
        if disorder is None or disorder.is_quiet():
            log = None if disorder is None or disorder.revision is None else disorder.revision.log
            corrected = disorder if horizon is None else None  # a correction, too, may come from the future
            push = self._push if corrected is None else correcting_push(corrected, self._push)
            take_row = self._take_row if corrected is None else correcting_row(push, self._take_row)
            self.__dict__["push"] = entries.push(push, settle, log)
            self._are_over = []
            go_on = (self._are_over, lambda rows: self._take_rows(rows))
            self.__dict__["_take_rows"] = entries.run(take_row, settle, go_on, log)
        elif disorder.holds_plainly():
            holding = HoldingWriter(entries, disorder, settle)
            self.__dict__["push"] = holding.push(self._push)
            self.__dict__["_take_rows"] = holding.run(self._take_row)

    def _close_entries(self) -> None:
        self._are_over.append(True)
        self.__dict__.pop("push", None)
        self.__dict__.pop("_take_rows", None)

    def __repr__(self) -> str:
        from etalis.runtime.reporting.display import describe_engine  # of use where a person looks alone

        return describe_engine(self)

    def _repr_html_(self) -> str:
        from etalis.runtime.reporting.display import show_engine

        return show_engine(self)

    # in

    def push(self, name: str | Event, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Take one event and return the complex events it caused, in order.

        `at` is a number of seconds, a datetime, or a pair (start, end) of these. An `Event` brings all of it along.
        """
        return self._push(name, *args, at=at, **named)

    @alone
    def _push(self, name: str | Event, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        given = self._intake.event(name, args, named, at)
        if name.__class__ is Retraction:
            return self._take_back(*given)
        if self._outlet.busy:
            self._outlet.pending.append(given)
            return ()
        found = self._take(*given)
        self._dead.tell_first()
        return found

    def push_term(self, text: str, at: Any = None) -> tuple[Event, ...]:
        """Take one event written as a term, such as `a(1, f(x))` or `a(card: c1, amount: 5)`."""
        event = parse_event(text)
        values = [ground(a) for a in event.args]
        if not event.names:
            return self.push(event.name, *values, at=at)
        return self.push(event.name, at=at, **{str(n.value): v for n, v in zip(event.names, values, strict=True)})

    def run(self, rows: Iterable[Any]) -> Iterator[Event]:
        """Take many events, yield the complex events they cause.

        A row is a tuple (name, *attributes, at), an Event, or a dict with `event`, `at` (or `start` and `end`) and the
        attributes, such as `Event.to_dict` makes. A `Retraction` takes an event back. One that
        cannot be read is a dead letter where the engine has `on_dead_letter`, otherwise an error. Where nobody takes
        the dead letters, how many there were is logged at the end.
        """
        return chain(self._take_rows(rows), self._dead.report_since(self._dead.count))

    def _take_rows(self, rows: Iterable[Any]) -> Iterator[Event]:
        for row in rows:
            yield from self._take_row(row)

    @alone
    def _take_row(self, row: Any, take: Callable[..., tuple[Event, ...]] | None = None) -> tuple[Event, ...]:
        """Read a row, and take it; one that cannot be read is a dead letter where someone asks for these."""
        try:
            given = self._intake.row(row)
        except EtalisError as error:
            if not self._dead.are_handed_on:
                raise
            self._dead.add(*self._intake.outline(row), error.problems[0].message)
            return ()
        if row.__class__ is not tuple and self._intake.takes_back(row):
            take = self._take_back
        return (take or self._take)(*given)

    @alone
    def detect(self, source: Any, **options: Any) -> Any:
        """Take the rows of a table, return the complex events they cause as an Arrow table; needs `etalis[columnar]`.

        As if the rows had been pushed one by one, those of a batch in order of time. The options are those of
        `Program.detect`, but for `policy` and `on_dead_letter`, which the engine has. If it fails, `unfinished.rows`
        of the table have been taken, and `unfinished.found` is what they caused.
        """
        # Tables stand above the runtime, so they are found by name when they are asked for.
        return import_module("etalis.detect").detect_on(self, source, **options)

    @alone
    def advance(self, *, to: Any) -> tuple[Event, ...]:
        """Say that nothing more will end at or before `to`; return what that settles."""
        return self._advance(to_instant(to))

    @alone
    def close(self) -> tuple[Event, ...]:
        """End the stream: all deadlines pass, and nothing more is taken; if strict, refuse rules that never fired."""
        self._close_entries()
        found = self._advance(NEVER)
        if self._strict:
            refuse_silence(self, found)
        return found

    def __enter__(self) -> Self:
        """Return the engine: the end of the block is the end of the stream."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        """Close the stream, unless it broke off; what that settles goes to callbacks."""
        if kind is None and self._state.floor < NEVER:
            self.close()

    def _advance(self, time: int) -> tuple[Event, ...]:
        out: list[Any] = []
        if self._disorder is None:
            self._course.advance(time, out)
        else:
            self._disorder.advance(time, out)
        if time == NEVER:
            self._state.floor = NEVER
        return self._outlet.hand_out(out)

    @property
    def due(self) -> int | float | None:
        """The moment, in seconds, at which something may happen without an event; None if there is none.

        That is an absence, an alarm, a time point, a raised event, a change of knowledge, or an event that is held.
        """
        moment = min(self._state.due, self._state.next_coming(), self._changes.next, self._rules.next_tick())
        if self._disorder is not None:
            moment = min(moment, self._disorder.first_held())
        return None if moment >= NEVER else to_seconds(moment)

    @property
    def clock(self) -> Callable[[], Any] | None:
        """What tells the time of events that come without one."""
        return self._intake.clock

    def _tell_time(self) -> Any:
        """Return the time that goals see: the clock's, else the time reached."""
        if self.clock is not None:
            return self.clock()
        if self._state.now == BEGINNING:
            raise no_clock()
        return to_seconds(self._state.now)

    @alone
    def retract(self, what: Hashable, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Take an event back, by its id, or by its name, attributes and time; return what changes."""
        return self._revise(what, args, named, at, None)

    @alone
    def correct(self, what: Hashable, /, *args: Any, at: Any = None, to: Any, **named: Any) -> tuple[Event, ...]:
        """Put an event in the stead of another, in one step; `to` is a row such as (name, *attributes, at)."""
        return self._revise(what, args, named, at, to)

    def _revise(
        self, what: Hashable, args: tuple[Any, ...], named: dict[str, Any], at: Any, to: Any
    ) -> tuple[Event, ...]:
        retractions = self._retractions("events of this program cannot be taken back")
        instead = None if to is None else self._intake.row(to)[:4]
        if instead is not None and self._horizon is not None and self._horizon.refuses(*instead):
            return ()
        out: list[Any] = []
        if at is None:
            retractions.take_back_id(what, out, instead)
        else:
            name, values, start, end, _ = self._intake.event(str(what), args, named, at)
            retractions.take_back(name, values, start, end, out, instead)
        return self._outlet.hand_out(out)

    def _retractions(self, otherwise: str) -> Retractions:
        retractions = None if self._disorder is None else self._disorder.retractions
        if retractions is None:
            raise EventError(Problem("E312", otherwise, hint="add `:- set_flag(revision_flag, on).`"))
        return retractions

    def _take_back(
        self, name: str, values: tuple[Any, ...], start: int, end: int, stamp: Stamp | None
    ) -> tuple[Event, ...]:
        """Take back an event that a row says did not occur; a dead letter, where that cannot be, if someone asks."""
        del stamp
        out: list[Any] = []
        try:
            self._retractions(f"{name} is taken back (sign -1)").take_back(name, values, start, end, out)
        except EventError as error:
            if not self._dead.are_handed_on:
                raise
            self._dead.add(name, values, start, end, error.problems[0].message)
        return self._outlet.hand_out(out)

    @alone
    def idle(self, source: Hashable) -> tuple[Event, ...]:
        """Say that a source sends nothing for now, so that the watermark need not wait for it."""
        out: list[Any] = []
        if self._disorder is not None and self._disorder.watermark is not None:
            self._disorder.settle(self._disorder.watermark.rest(source), out)
        return self._outlet.hand_out(out)

    def _take(self, name: str, values: tuple[Any, ...], start: int, end: int, stamp: Stamp | None) -> tuple[Event, ...]:
        """Process one input to completion, and what callbacks push meanwhile."""
        out: list[Any] = []
        state = self._state
        if state.floor >= NEVER:
            self._refuse_closed(name)
        if self._strict:
            refuse_unread(self._rules, name, len(values))
        if self._horizon is not None and self._horizon.refuses(name, values, start, end):
            return ()
        if self._disorder is not None:
            self._disorder.take(name, values, start, end, stamp, out)
        elif end < state.now or end <= state.floor:
            self._bury(name, values, start, end, max(state.now, state.floor))
        else:
            self._course.process((name, len(values)), values, start, end, state.number + 1, out)
        return self._outlet.hand_out(out)

    @staticmethod
    def _refuse_closed(what: str) -> NoReturn:
        hint = "make a new engine for a new stream"
        raise EventError(Problem("E310", f"{what} comes after the end of the stream", hint=hint))

    def _bury(self, name: str, values: tuple[Any, ...], start: int, end: int, reached: int) -> None:
        """Make a dead letter of an event that comes too late."""
        reason = f"it ends at {show_moment(end)}, but time has reached {show_time(reached)}"
        self._dead.add(name, values, start, end, reason, "late")

    def _turn_away(self, name: str, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Refuse to take an event."""
        return self._refuse(*self._intake.event(name, args, named, at))

    def _refuse(
        self, name: str, values: tuple[Any, ...], start: int, end: int, stamp: Stamp | None
    ) -> tuple[Event, ...]:
        """Make a dead letter of an event for which there is no room; time goes on."""
        assert self._guard is not None
        if self._horizon is not None and self._horizon.refuses(name, values, start, end):
            return ()
        self._guard.turn_away(name, values, start, end)
        return () if self._outlet.busy else self._reach(end, stamp)

    def _reach(self, end: int, stamp: Stamp | None = None) -> tuple[Event, ...]:
        """Let time reach the end of an event that is not taken."""
        out: list[Any] = []
        if self._disorder is not None:
            self._disorder.reach(end, stamp, out)
        elif end > self._state.now:
            self._course.reach(end, out)
        return self._outlet.hand_out(out)

    def _change_rules(self, step: RuleStep | Spy) -> None:
        """Do what a goal asks for; that it cannot be done is reported."""
        try:
            if isinstance(step, Spy):
                self._rules.perform(step)
                self.open_entries()
            else:
                self._turn(lambda: self._rules.perform(step), empties=isinstance(step, Reset))
        except (ProgramError, EventError) as error:
            self._report(ConditionError(*error.problems))

    # out

    @overload
    def on(self, name: str | None, callback: Callback) -> None: ...

    @overload
    def on(self, name: str | None) -> Callable[[C], C]: ...

    def on(self, name: str | None, callback: Callback | None = None) -> Callable[[C], C] | None:
        """Call back for every complex event of a name (None: of any); without a function, decorate one."""
        if name is not None:
            check_reported(self.program, self._rules, name)

        def call_back(function: C) -> C:
            self._outlet.callbacks.append((name, function))
            self.open_entries()
            return function

        if callback is None:
            return call_back
        call_back(callback)
        return None

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """What was not taken, the last thousand; `dead_letter_count` says how many there were."""
        return list(self._dead.letters)

    @property
    def dead_letter_count(self) -> int:
        """How many events were not taken: too late, from the future, or not to be read."""
        return self._dead.count

    @property
    def watermark(self) -> int | float | None:
        """The moment, in seconds, up to which the stream is settled; None before there is one."""
        reached = self._state.floor
        if self._disorder is not None and self._disorder.watermark is not None:
            reached = self._disorder.watermark.reached
        return None if reached == BEGINNING or reached >= NEVER else to_seconds(reached)

    @property
    def history(self) -> list[Event]:
        """The complex events reported so far, if the program sets `store_fired_events`."""
        return list(self._outlet.history or ())

    @property
    def now(self) -> int | float | None:
        """The time reached, in seconds; None before the first event."""
        return None if self._state.now == BEGINNING else to_seconds(self._state.now)

    @property
    def errors(self) -> list[ConditionError]:
        """The conditions and actions that raised, the last thousand; `error_count` says how many did."""
        return list(self._failures.kept)

    @property
    def error_count(self) -> int:
        """How often a condition or an action raised."""
        return self._failures.count

    def _report(self, error: ConditionError) -> None:
        self._failures.add(error)
        if self._strict:
            self._state.queue.clear()
            self._state.steps.clear()
            raise ConditionError(replace(error.problems[0], code="E333"))

    # knowledge

    @alone
    def query(self, goal: str, *, at: Any = None) -> list[dict[str, Any]]:
        """Return all solutions of a goal over the knowledge as it is now: the values of its variables.

        With `at`, a moment within the flag `knowledge_horizon`, over the knowledge as it was after that moment.
        With the flag `store_fired_events`, `stored_event(event(Atom, [Start, End]))` is what was reported so far.
        """
        solver = self._rules.solver
        return solutions(solver, goal) if at is None else solutions_at(solver, goal, to_instant(at), self._state.now)

    @alone
    def reload(self, name: str, source: Any, columns: Sequence[str | int] | None = None, *, at: Any = None) -> int:
        """Put the rows of a source in the place of a relation; return how many.

        Later events see it; with `at`, a moment to come, all matches that end then or later.
        """
        rows = load_rows(source, columns)
        self._change(Change("replace", name, rows), at)
        return len(rows.rows)

    @alone
    def reload_rdf(self, source: Any, *, at: Any = None, **options: Unpack[RdfOptions]) -> int:
        """Put RDF in the place of all that `load_rdf` loaded, `at` as for `reload`; return how many triples.

        The options are those of `Program.load_rdf`; what is not given is as it was there.
        """
        changes = self._graphs.reload(self._rules.conditions.solver.database, source, options)
        for change in changes:
            self._change(change, at)
        return len(changes[0].rows.rows)

    @alone
    def assert_fact(self, name: str, /, *args: Any, at: Any = None) -> None:
        """Make a fact known, for later events or, with `at`, for matches that end at a moment to come or later."""
        self._change(Change("assert", name, self._fact(name, args)), at)

    @alone
    def retract_fact(self, name: str, /, *args: Any, at: Any = None) -> None:
        """Take a fact away, for later events or, with `at`, for matches that end at a moment to come or later."""
        self._change(Change("retract", name, self._fact(name, args)), at)

    def _change(self, change: Change, at: Any) -> None:
        self._changes.take(change, None if at is None else to_instant(at))

    def _fact(self, name: str, args: tuple[Any, ...]) -> Rows:
        is_event = (name, len(args)) in self._rules.learned
        values = self._intake.values(name, args, {}) if is_event else tuple(map(to_value, args))
        return Rows("the fact", len(values), [tuple(map(from_value, values))])

    # rules

    @alone
    def insert_rule(self, rule: str | Rule) -> str:
        """Add a rule, effective for later events; return its label."""
        return self._turn(lambda: self._rules.insert(rule))

    @alone
    def delete_rule(self, rule: str | Rule) -> int:
        """Remove rules by label or by text; return how many went."""
        return self._turn(lambda: self._rules.delete(rule))

    def _turn(self, change: Callable[[], T], *, empties: bool = False) -> T:
        """Change the rules; where the past may be run again, each of its events under the rules of its time."""
        revision = None if self._disorder is None else self._disorder.revision
        found = change() if revision is None else revision.turn(change, empties=empties)
        self.open_entries()
        return found

    @alone
    def set_property(self, label: str, name: str, value: Any) -> int:
        """Give the rules of a label a property, effective for later events; return how many rules there are.

        What waits in these rules is dropped; the others notice nothing.
        """
        return self._turn(lambda: self._rules.set_property(label, Property(name, Const(to_value(value)))))

    @alone
    def delete_property(self, label: str, name: str) -> int:
        """Take a property from the rules of a label, effective for later events; return how many rules there are."""
        return self._turn(lambda: self._rules.delete_property(label, name))

    @alone
    def reset(self) -> None:
        """Drop all that waits: instances, absences, alarms, events for later. Rules, knowledge and time stay."""
        self._turn(self._rules.reset, empties=True)

    @alone
    def spy(self, event: str) -> None:
        """Write every event of a kind, `name/arity`, to the output: received, raised or derived."""
        self._spy(event, True)

    @alone
    def unspy(self, event: str) -> None:
        """Write the events of a kind no more."""
        self._spy(event, False)

    def _spy(self, event: str, on: bool) -> None:
        name, _, arity = event.rpartition("/")
        if not name or not arity.isdecimal():
            raise InputError(Problem("E306", f"{event} names no kind of event", hint="write name/arity, as in a/2"))
        self._rules.spy((name, int(arity)), on)
        self.open_entries()

    @alone
    def waiting(self) -> int:
        """Return how many instances wait in the stores of joins."""
        return self._rules.waiting()

    @alone
    def state(self) -> tuple[Waiting, ...]:
        """Say what the engine holds on to: per rule and operator how many instances, how many bytes, how old."""
        return inspect(self._rules, self._disorder)

    def limits(self) -> Limits | None:
        """Say how the engine stands to its limits, and what was shed; None if it has none."""
        return None if self._guard is None else self._guard.limits()

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The conditions and actions that reached their limits too often and are not asked any more."""
        return self._breaker.broken()

    def switch_on(self, label: str | None = None) -> int:
        """Ask the conditions and actions of a rule again, or of all rules; return how many were switched off."""
        return self._breaker.switch_on(label)

    def report(self) -> Report:
        """Say what a person should know of the run so far: events no rule reads, rules that never fired, failures."""
        return make_report(self)

    def code(self) -> str:
        """Return the generated source."""
        return self._rules.code()

    # snapshots

    @alone
    def snapshot(self, *, since: bytes | Sequence[bytes] | None = None) -> bytes:
        """Return all that the engine knows, from which `Program.restore` makes an engine that goes on from here.

        With `since`, a snapshot or a snapshot with the deltas after it, only what has changed since the last of them.
        """
        from etalis.runtime.snapshot.snapshot import take_snapshot  # Arrow is loaded where it is needed

        return take_snapshot(self, since)


def _print(text: str) -> None:
    sys.stdout.write(text)
