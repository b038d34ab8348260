"""The ways a case can be run: each backend turns (case, policy) into an `Outcome`.

Law: one expectation holds for all of them. What a backend cannot take is said, with the reason: never left out unsaid.
A backend imports what it needs when it runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from etalis.cases.atoms import write_time
from etalis.cases.case_file import Advance, Case, Change, Delete, Files, Insert, Step, reader_of
from etalis.cases.outcomes import Outcome
from etalis.errors import ConditionError, EtalisError, Failure, InputError, Problem, ProgramWarning
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.interval import MICROSECONDS, to_time
from etalis.testing.recorded_effects import RecordedEffects

if TYPE_CHECKING:
    from etalis.data.values import Value
    from etalis.engine import Engine
    from etalis.language.syntax import Tree
    from etalis.program import Program
    from etalis.runtime.engine import RuntimeEngine
    from etalis.runtime.reporting.report import RejectedEvents, Silent, Unread


Run: TypeAlias = Callable[[Case, str | None], Outcome]


@dataclass(frozen=True, slots=True)
class Backend:
    """One row: the run, why a case is left out (None: it is not), and which package is needed."""

    name: str
    run: Run
    refusal: Callable[[Case], str | None]
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None

    def reason_against(self, case: Case) -> str | None:
        """Say why a case is not run here; None if it is."""
        if not case.admits(self.name):
            return "its `only:` or `except:` says so"
        return self.refusal(case)


def outcome_of(run: Run, case: Case, policy: str | None) -> Outcome:
    """Run a case, a refusal being an outcome too, and warnings of its program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProgramWarning)
        try:
            return run(case, policy)
        except EtalisError as error:
            return Outcome(refused=error)


# programs and their events


@lru_cache(maxsize=8)
def _compile(text: str, source: str | None, files: Files, options: tuple[tuple[str, Value], ...]) -> Program:
    """Compile once for all policies of a case: engines share nothing but an unchanging program."""
    from etalis.program import compile as compile_text

    return compile_text(text, name=source or "<program>", read=reader_of(text, source, files), **dict(options))


def compiled(case: Case) -> Program:
    """Return the program of a case."""
    return _compile(case.program, case.source, case.files, case.options)


def typed_events(program: Tree, case: Case) -> list[Event]:
    """Return the events with their attributes in the declared types, as the rim would hand them on."""
    from etalis.language.attributes import convert
    from etalis.language.rules import declarations

    types = {kind: declared.attributes for kind, declared in declarations(program).items()}
    return [
        Event.make(e.name, convert(e.name, types.get((e.name, len(e.args)), ()), e.args), e.start_time, e.end_time)
        for e in case.steps
        if isinstance(e, Event)
    ]


def placed(case: Case) -> Case:
    """Return a case with the attributes that its events name in their places; they keep their names."""
    if not any(isinstance(step, Event) and step.kind.attributes for step in case.steps):
        return case
    from etalis.language.read.modules import load_collect
    from etalis.language.rules import declarations

    program, _ = load_collect(case.origin, read=case.read)
    declared = {name: [a for a, _ in item.attributes] for (name, _), item in declarations(program).items()}
    return replace(case, steps=tuple(_placed(step, declared) for step in case.steps))


def _placed(step: Step, declared: dict[str, list[str]]) -> Step:
    if not isinstance(step, Event) or sorted(step.kind.attributes) != sorted(declared.get(step.name, [""])):
        return step
    names = tuple(declared[step.name])
    kind = EventKind(step.name, len(names), None, names)
    return new_event(Event, (step.end_time, step.start_time, kind, *(step[name] for name in names)))


# event at a time


def run_engine(
    case: Case, policy: str | None, drive: Callable[[Engine, Case], Iterable[Event]], *, parts: bool = False,
    justification: str | None = None,
) -> Outcome:  # fmt: skip
    """Run an engine in a way of its own."""
    written: list[str] = []
    sink = RecordedEffects(case.refused)
    engine = sink.engine = compiled(case).engine(
        policy=policy, output=written.append, parts=parts, justification=justification, effects=sink
    )  # fmt: skip
    events = tuple(drive(engine, case))
    told = tuple(map(str, engine.program.problems))
    errors, notes = tuple(map(str, conditions_of(engine.errors))), partial(report_notes, engine)
    found = Outcome(events, errors, warnings=told, output="".join(written), effects=tuple(sink.lines), notes=notes)
    return with_reactions(found, sink.engine, sink.failures)


def go_on(engine: Engine, *data: bytes, on_error: Callable[[ConditionError], object]) -> Engine:
    """Return the engine of a case restored from snapshots; what it does outside is written down behind the rest."""
    sink = engine.core.sink
    assert isinstance(sink, RecordedEffects)
    sink.failures += failures_of(engine.errors)
    found = sink.engine = engine.program.restore(*data, on_error=on_error, effects=sink)
    return found


def conditions_of(errors: Iterable[ConditionError]) -> list[ConditionError]:
    """Return the errors of conditions, without reactions that had no execution."""
    return [error for error in errors if not isinstance(error, Failure)]


def failures_of(errors: Iterable[ConditionError]) -> list[str]:
    """Return the reactions that had no execution as cases have them."""
    several = [error for error in errors if isinstance(error, Failure)]
    times = [tuple(map(to_time, each.interval)) for each in several]
    return [
        failure_line(each.reaction, start, end, each.why, each.failed, each.reached)
        for each, (start, end) in zip(several, times, strict=True)
    ]


def failure_line(label: str, start: int, end: int, why: str, failed: str, reached: Sequence[str]) -> str:
    """Write a reaction that had no execution: label, interval and kind, then what failed after which steps."""
    times = write_time(end) if start == end else f"{write_time(start)}..{write_time(end)}"
    return f"{label} {times} {why}: {failed}; reached {', '.join(reached)}"


def with_reactions(outcome: Outcome, engine: RuntimeEngine, failures: Iterable[str] = ()) -> Outcome:
    """Return an outcome with the state at the end, and the failures of an engine behind those before."""
    store = engine.core.rules.solver.database.state
    facts = None if store is None else facts_in(store.facts())
    return replace(outcome, state=facts, failures=(*failures, *failures_of(engine.errors)))


def facts_in(facts: Iterable[tuple[tuple[str, int], Iterable[Any]]]) -> tuple[Value, ...]:
    """Return the facts of a state in order, as values."""
    from etalis.logic.terms.unify import to_value

    terms = [(name, *row) if row else name for (name, _), rows in facts for row in rows]
    return tuple(value for value in map(to_value, terms) if value is not None)


def report_notes(engine: Engine) -> list[str]:
    """Say what an engine came across: events that no rule reads, rules that never fired, what was not taken."""
    report = engine.report()
    findings: tuple[Unread | Silent | RejectedEvents, ...] = (*report.unread, *report.silent, *report.refused)
    return [str(found.problem) for found in findings]


def push_steps(case: Case, policy: str | None) -> Outcome:
    """The engine, each step as a call of its own."""
    return run_engine(case, policy, push_all)


def push_all(engine: Engine, case: Case) -> Iterator[Event]:
    for step in case.steps:
        yield from take(engine, step)
    if case.is_closed:
        yield from engine.close()


def take(engine: Engine, step: Step) -> Iterator[Event]:
    """Let an engine take one step."""
    match step:
        case Advance(to):
            yield from engine.advance(to=Fraction(to, MICROSECONDS))
        case Insert(rule):
            engine.insert_rule(rule)
        case Delete(rule):
            engine.delete_rule(rule)
        case Change(known, name, args, at):
            (engine.assert_fact if known else engine.retract_fact)(name, *args, at=Fraction(at, MICROSECONDS))
        case _:
            yield from push(engine, step, (step.start, step.end))


def push(engine: Engine, event: Event, at: object) -> Iterable[Event]:
    """Push an event, its attributes by name if it has some, else by position."""
    if event.kind.attributes:
        return engine.push(event.name, at=at, **dict(zip(event.kind.attributes, event.args, strict=True)))
    return engine.push(event.name, *event.args, at=at)


# the meaning itself


def run_semantics(case: Case, policy: str | None) -> Outcome:
    """The meaning, up to the last moment the stream tells of; errors and warnings are the engine's affair."""
    from etalis.language.read.modules import load
    from etalis.semantics import steps as semantics
    from etalis.semantics.reactions import ReactionNotes

    program = load(case.origin, read=case.read)
    reactions = ReactionNotes(case.refused)
    until = last_moment(case)
    changes = [(c.at, c.name, c.known, c.args) for c in case.steps if isinstance(c, Change)]
    written: list[str] = []
    model = semantics.run(
        program, typed_events(program, case), policy=policy, until=until, changes=changes, output=written.append,
        reactions=reactions, **dict(case.options),
    )  # fmt: skip
    events = tuple(semantics.reported(program, model))
    failures = tuple(failure_line(*failure) for failure in reactions.failures)
    return Outcome(
        events, case.reported, warnings=case.warnings, output="".join(written), state=facts_in(reactions.state.items()),
        effects=tuple(reactions.effects), failures=failures,
    )  # fmt: skip


def last_moment(case: Case) -> int | None:
    """Return the last moment that a stream tells of; None if it ends."""
    return None if case.is_closed else max(_moment(step) for step in case.steps)


def _moment(step: Step) -> int:
    match step:
        case Advance(to):
            return to
        case Event():
            return step.end_time
        case Change(at=at):
            return at
        case _:
            raise AssertionError("the meaning of a changing program is not defined")


# over columns


def run_columns(size: int) -> Run:
    """The stream in batches of rows over columns; rules that have no kernels run event at a time beside."""

    def run(case: Case, policy: str | None) -> Outcome:
        from etalis.columnar.data.events import find_types, gather
        from etalis.columnar.run import ColumnRun

        program = compiled(case).compiled
        stream = typed_events(program.tree, case)
        types = find_types(stream)
        points = all(event.start_time == event.end_time for event in stream)
        run = ColumnRun(program, types, policy=policy, only_points=points)
        found = [e for low in range(0, len(stream), size) for e in run.process(gather(stream[low : low + size], types))]
        found.extend(run.close())
        events = as_expected(case, found) if run.is_mixed else tuple(found)
        errors = tuple(map(str, conditions_of(run.errors)))
        return with_reactions(Outcome(events, errors, warnings=tuple(map(str, program.problems))), run.engine)

    return run


def as_expected(case: Case, events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events in the order that a case expects: that of two parts that report one moment is left open."""
    expected = case.expect or ()
    return tuple(sorted(events, key=lambda e: expected.index(e) if e in expected else -1))


# on Spark


def run_spark(case: Case, policy: str | None) -> Outcome:
    """The stream as DataFrames, in the session that there is or a new one."""
    from etalis.spark import session
    from etalis.spark.testing import detect_rows

    program = compiled(case)
    events = detect_rows(session(cores=2), program, case.steps, policy=policy)
    return Outcome(tuple(events), case.reported, warnings=tuple(map(str, program.problems)))


# which cases which backend takes


def against_meaning(case: Case) -> str | None:
    """Say why `semantics` cannot tell a case: rules that change, or time that ends before what is due has happened."""
    if case.errors:
        return "the program is to be refused"
    if not case.is_closed and not (case.steps and isinstance(case.steps[-1], Advance)):
        return "`close: no` without an `advance` at the end"
    return "rules change while it runs" if any(isinstance(s, Insert | Delete) for s in case.steps) else None


def against_tables(case: Case) -> str | None:
    """Say why a stream cannot come as tables: they are finite and in order, and goals write nothing."""
    if case.errors:
        return "the program is to be refused"
    ends = [step.end_time for step in case.steps if isinstance(step, Event)]
    if not case.is_plain or not case.is_closed:
        return "a table has events alone, and an end"
    if case.output is not None:
        return "goals write something"
    if case.effects is not None:
        return "reactions have effects"
    return None if ends == sorted(ends) else "events are not in order of time"


WHOLE = 1_000_000  # rows: all that a case has
BACKENDS: Mapping[str, Backend] = {
    row.name: row
    for row in (
        Backend("engine", push_steps, lambda _: None),
        Backend("semantics", run_semantics, against_meaning),
        Backend("columns", run_columns(WHOLE), against_tables, "numba"),
        Backend("spark", run_spark, against_tables, "pyspark"),
    )
}


def find_backend(name: str) -> Backend:
    """Return a backend by its name, or refuse the name, or what is not installed for it."""
    backend = BACKENDS.get(name)
    if backend is None:
        raise InputError(Problem("E413", f"no backend {name!r}", hint=f"one of {', '.join(BACKENDS)}"))
    if not backend.is_installed:
        extra = "spark" if backend.package == "pyspark" else "columnar"
        message = f"{name} needs {backend.package}, which is not installed"
        raise InputError(Problem("E413", message, hint=f"pip install 'etalis[{extra}]'"))
    return backend
