"""The ways a case is run: a table of treatments, each turns (case, policy) into an `Outcome`.

Law: one expectation holds for all of them. A treatment imports what it needs when it runs, so that a missing
module fails its own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING
from zlib import crc32

from cases import Advance, Case, Change, Delete, Insert, Step
from etalis.errors import ConditionError, EtalisError
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS

if TYPE_CHECKING:
    from etalis.language.syntax import Program as Tree
    from etalis.logic.term import Value
    from etalis.runtime.engine import Engine
    from etalis.runtime.program import Program


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: reported events in order, errors of conditions, a refusal, findings of `check`, output."""

    events: tuple[Event, ...] = ()
    reported: tuple[str, ...] = ()
    refused: EtalisError | None = None
    warnings: tuple[str, ...] = ()
    output: str = ""


@dataclass(frozen=True, slots=True)
class Treatment:
    """One row: the run, and which cases it can take."""

    name: str
    run: Callable[[Case, str | None], Outcome]
    takes: Callable[[Case], bool]


def _by_semantics(case: Case, policy: str | None) -> Outcome:
    """The meaning itself, up to the last moment the stream tells of; errors and warnings are the engine's affair."""
    from etalis import semantics
    from etalis.language.modules import load

    program = load(case.program, read=dict(case.files).get)
    until = None if case.is_closed else max(_moment(step) for step in case.steps)
    changes = [(c.at, c.name, c.known, c.args) for c in case.steps if isinstance(c, Change)]
    written: list[str] = []
    model = semantics.run(
        program, typed_events(program, case), policy=policy, until=until, changes=changes, output=written.append,
        **dict(case.options),
    )  # fmt: skip
    events = tuple(semantics.reported(program, model))
    return Outcome(events, case.reported, warnings=case.warnings, output="".join(written))


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


@lru_cache(maxsize=8)
def _compile(text: str, files: tuple[tuple[str, str], ...], options: tuple[tuple[str, Value], ...]) -> Program:
    """Compile once for all policies of a case: engines share nothing but an unchanging program."""
    import etalis

    return etalis.compile(text, read=dict(files).get, **dict(options))


def compiled(case: Case) -> Program:
    """Return the program of a case."""
    return _compile(case.program, case.files, case.options)


def _run(
    case: Case, policy: str | None, drive: Callable[[Engine, Case], Iterable[Event]], *, parts: bool = False
) -> Outcome:
    written: list[str] = []
    engine = compiled(case).engine(policy=policy, output=written.append, parts=parts)
    events = tuple(drive(engine, case))
    warnings = tuple(map(str, engine.program.problems))
    return Outcome(events, tuple(map(str, engine.errors)), warnings=warnings, output="".join(written))


def _pushed(case: Case, policy: str | None) -> Outcome:
    """The engine, each step as a call of its own."""
    return _run(case, policy, _push_all)


def _push_all(engine: Engine, case: Case) -> Iterator[Event]:
    for step in case.steps:
        yield from _take(engine, step)
    if case.is_closed:
        yield from engine.close()


def _take(engine: Engine, step: Step) -> Iterator[Event]:
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


def row(event: Event, at: object) -> object:
    """Return an event as a row: a dict if its attributes have names, else a tuple."""
    if event.kind.attributes:
        return {"event": event.name, "at": at, **dict(zip(event.kind.attributes, event.args, strict=True))}
    return (event.name, *event.args, at)


def _restored(case: Case, policy: str | None) -> Outcome:
    """The engine, put down and taken up again at one point of the stream, which the case's text chooses."""
    return restored_at(case, policy, crc32(f"{case.program}{policy}".encode()) % (len(case.steps) + 1))


def restored_at(case: Case, policy: str | None, point: int) -> Outcome:
    """Take some steps, and the rest with an engine restored from a snapshot."""
    errors: list[ConditionError] = []

    def drive(engine: Engine, case: Case) -> Iterator[Event]:
        for step in case.steps[:point]:
            yield from _take(engine, step)
        errors.extend(engine.errors)
        engine = engine.program.restore(engine.snapshot(), on_error=errors.append)
        yield from _push_all(engine, replace(case, steps=case.steps[point:]))

    return replace(_run(case, policy, drive), reported=tuple(map(str, errors)))


def restored_everywhere(case: Case, policy: str | None) -> Outcome:
    """Take every step with an engine made from what was written after the steps before it, as deltas of deltas."""
    errors: list[ConditionError] = []

    def drive(engine: Engine, case: Case) -> Iterator[Event]:
        program, chain = engine.program, [engine.snapshot()]
        for step in case.steps:
            engine = program.restore(*chain, on_error=errors.append)
            yield from _take(engine, step)
            chain.append(engine.snapshot(since=chain))
            assert program.restore(*chain).snapshot() == program.restore(engine.snapshot()).snapshot()
        engine = program.restore(*chain, on_error=errors.append)
        if case.is_closed:
            yield from engine.close()

    return replace(_run(case, policy, drive), reported=tuple(map(str, errors)))


def _as_rows(case: Case, policy: str | None) -> Outcome:
    """The engine, the whole stream as one iterable, with moments as numbers, which generated code takes."""
    return _run(case, policy, _run_all)


def _run_all(engine: Engine, case: Case) -> Iterator[Event]:
    rows = [row(step, _at(step)) for step in case.steps if isinstance(step, Event)]
    yield from engine.run(rows)
    yield from engine.close()


def _at(event: Event) -> object:
    return event.end if event.start == event.end else (event.start, event.end)


def _permuted(case: Case, policy: str | None) -> Outcome:
    """The engine on the rules in reverse order."""
    return _pushed(replace(case, program=reverse_rules(case.program)), policy)


def reverse_rules(program: str) -> str:
    """Return a program with its rules in reverse order; what is no rule stays in its place."""
    from etalis.language.parser import parse
    from etalis.language.printer import print_program
    from etalis.language.syntax import Program as Tree
    from etalis.language.syntax import Rule

    items = parse(program).items
    rules = iter([item for item in reversed(items) if isinstance(item, Rule)])
    return print_program(Tree(tuple(next(rules) if isinstance(item, Rule) else item for item in items)))


def _reparsed(case: Case, policy: str | None) -> Outcome:
    """The engine on the program as printed."""
    from etalis.language.parser import parse
    from etalis.language.printer import print_program

    tree = parse(case.program)
    text = print_program(tree)
    assert parse(text) == tree, "printing and reading again gives another tree"
    return _pushed(replace(case, program=text), policy)


def _unshared(case: Case, policy: str | None) -> Outcome:
    """The engine, no two rules sharing a sub-plan."""
    return _pushed(replace(case, program=":- set_flag(rule_sharing, off).\n" + case.program), policy)


def _with_parts(case: Case, policy: str | None) -> Outcome:
    """The engine, told to keep which inputs a match is made of: that decides nothing."""
    return _run(case, policy, _push_all, parts=True)


def _held(case: Case, policy: str | None) -> Outcome:
    """The engine on the stream in a disorder of its own, matches held until they are settled."""
    return _flagged(case, policy, _shuffled, out_of_order="on")


def _corrected(case: Case, policy: str | None) -> Outcome:
    """The engine on the stream in a disorder of its own, matches reported at once and taken back."""
    return _flagged(case, policy, _shuffled, out_of_order="on", reporting="on_arrival")


def _revised(case: Case, policy: str | None) -> Outcome:
    """The engine on the stream with every third event wrong at first, and put right when two more have come."""
    return _flagged(case, policy, _wrong_at_first, revision_flag="on")


def _flagged(case: Case, policy: str | None, drive: Callable[[Engine, Case], Iterable[Event]], **flags: str) -> Outcome:
    """Run under flags; conditions may report more than once what is run again."""
    found = _run(replace(case, options=(*case.options, *flags.items())), policy, drive)
    return replace(found, events=standing(found.events), reported=case.reported)


def _shuffled(engine: Engine, case: Case) -> Iterator[Event]:
    import random

    from etalis.runtime.order import Stamp

    stream = [(rank, step) for rank, step in enumerate(case.steps) if isinstance(step, Event)]
    random.Random(case.id).shuffle(stream)
    yield from engine.run(row(s, Stamp((s.start, s.end), rank=rank)) for rank, s in stream)
    yield from engine.close()


def _wrong_at_first(engine: Engine, case: Case) -> Iterator[Event]:
    wrong: list[Event] = []
    for number, step in enumerate(case.steps):
        assert isinstance(step, Event)
        args = ("wrong",) * len(step.args) if number % 3 == 1 else step.args
        yield from engine.push(step.name, *args, at=(step.start, step.end))
        if number % 3 == 1:
            wrong.append(step)
        elif number % 3 == 0:
            yield from _put_right(engine, wrong)
    yield from _put_right(engine, wrong)
    yield from engine.close()


def _put_right(engine: Engine, wrong: list[Event]) -> Iterator[Event]:
    while wrong:
        step = wrong.pop()
        at = (step.start, step.end)
        yield from engine.correct(step.name, *("wrong",) * len(step.args), at=at, to=(step.name, *step.args, at))


def standing(changes: Iterable[Event]) -> tuple[Event, ...]:
    """Replay a changelog: nothing is taken back that does not stand, nothing reported that does."""
    from etalis.temporal.event import Retraction

    found: dict[Event, None] = {}
    for change in changes:
        if isinstance(change, Retraction):
            assert change.reported in found, f"{change} takes back what was not reported"
            del found[change.reported]
        else:
            assert change not in found, f"{change} is reported twice"
            found[change] = None
    return tuple(found)


def _over_columns(size: int) -> Callable[[Case, str | None], Outcome]:
    """The stream in batches of rows over columns; rules that have no kernels run event at a time beside."""

    def run(case: Case, policy: str | None) -> Outcome:
        from etalis.columnar.events import find_types, gather
        from etalis.columnar.run import ColumnRun

        program = compiled(case)
        stream = typed_events(program.tree, case)
        types = find_types(stream)
        points = all(event.start_time == event.end_time for event in stream)
        run = ColumnRun(program, types, policy=policy, only_points=points)
        found = [e for low in range(0, len(stream), size) for e in run.take(gather(stream[low : low + size], types))]
        found.extend(run.close())
        events = _as_expected(case, found) if run.is_mixed else tuple(found)
        return Outcome(events, tuple(map(str, run.errors)), warnings=tuple(map(str, program.problems)))

    return run


def _carried(case: Case, policy: str | None) -> Outcome:
    """One engine that takes two events over columns, the next by push, and so on."""
    from etalis.columnar.events import find_types, gather
    from etalis.columnar.run import run_on

    stream = typed_events(compiled(case).tree, case)
    types = find_types(stream)
    runs = []

    def drive(engine: Engine, case: Case) -> Iterator[Event]:
        for low in range(0, len(stream), 3):
            runs.append(run_on(engine, types))
            runs[-1].load()
            found = list(runs[-1].take(gather(stream[low : low + 2], types)))
            runs[-1].save()
            yield from found
            for step in case.steps[low + 2 : low + 3]:
                yield from _take(engine, step)
        yield from engine.close()

    outcome = _run(case, policy, drive)
    return replace(outcome, events=_as_expected(case, outcome.events)) if any(r.is_mixed for r in runs) else outcome


def _as_expected(case: Case, events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events in the order that a case expects: that of two parts that report one moment is left open."""
    expected = case.expect or ()
    return tuple(sorted(events, key=lambda e: expected.index(e) if e in expected else -1))


def _runs(case: Case) -> bool:
    return not case.errors


def _is_finite(case: Case) -> bool:
    return not case.errors and case.is_plain and case.is_closed


def _is_tabular(case: Case) -> bool:
    """Tell whether a stream can come as tables: it is finite and in order, and goals write nothing."""
    ends = [step.end_time for step in case.steps if isinstance(step, Event)]
    return _is_finite(case) and case.output is None and ends == sorted(ends)


def _is_orderless(case: Case) -> bool:
    """Tell whether a stream may come in any order: it is finite, and equal ends stand in order of their starts."""
    ends = [(step.end_time, step.start_time) for step in case.steps if isinstance(step, Event)]
    return _is_finite(case) and not case.is_ordered and ends == sorted(ends)


def _is_repeatable(case: Case) -> bool:
    """Tell whether events can be run again: no goal has a side effect, and no type or head forbids a wrong value."""
    from etalis.language.rules import knowledge_changes

    if not _is_orderless(case) or case.output is not None:
        return False
    program = compiled(case)
    acts = program.effects or program.acts_on_run or program.reads_clock or knowledge_changes(program.tree)
    return not (acts or program.signatures)


def _has_meaning(case: Case) -> bool:
    """Tell whether `semantics` can say it: rules that stay, and time that ends where what is due has happened."""
    is_settled = case.is_closed or isinstance(case.steps[-1], Advance)
    return _runs(case) and is_settled and not any(isinstance(step, Insert | Delete) for step in case.steps)


TREATMENTS: Mapping[str, Treatment] = {
    row.name: row
    for row in (
        Treatment("semantics", _by_semantics, _has_meaning),
        Treatment("engine", _pushed, lambda case: True),
        Treatment("engine-run", _as_rows, _is_finite),
        Treatment("permuted", _permuted, lambda case: _runs(case) and not case.is_ordered and case.output is None),
        Treatment("reparsed", _reparsed, _runs),
        Treatment("unshared", _unshared, _runs),
        Treatment("parts", _with_parts, _runs),
        Treatment("held", _held, _is_orderless),
        Treatment("corrected", _corrected, _is_repeatable),
        Treatment("revised", _revised, _is_repeatable),
        Treatment("columns-1", _over_columns(1), _is_tabular),
        Treatment("columns-7", _over_columns(7), _is_tabular),
        Treatment("columns", _over_columns(1_000_000), _is_tabular),
        Treatment("carried", _carried, _is_tabular),
        Treatment("restored", _restored, lambda case: _runs(case) and case.output is None),
    )
}


def treat(treatment: Treatment, case: Case, policy: str | None) -> Outcome:
    """Run a case, a refusal being an outcome too."""
    try:
        return treatment.run(case, policy)
    except EtalisError as error:
        return Outcome(refused=error)
