"""The ways a case is run: a table of treatments, each turns (case, policy) into an `Outcome`.

Those that users have too are backends of `etalis.testing`; the others are ways to run an engine that must not matter.

Law: one expectation holds for all of them. A treatment imports what it needs when it runs, so that a missing
module fails its own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

from etalis.cases.outcomes import Outcome
from etalis.errors import ConditionError
from etalis.reactive.effects.rehearsal import nowhere
from etalis.temporal.event import Event
from etalis.testing.backends import (
    WHOLE,
    against_meaning,
    against_tables,
    as_expected,
    compiled,
    conditions_of,
    go_on,
    push_all,
    push_steps,
    run_columns,
    run_engine,
    run_semantics,
    take,
    typed_events,
)
from helpers.cases import Case

if TYPE_CHECKING:
    from etalis.engine import Engine


@dataclass(frozen=True, slots=True)
class Treatment:
    """One row: the run, and which cases it can take."""

    name: str
    run: Callable[[Case, str | None], Outcome]
    takes: Callable[[Case], bool]


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
            yield from take(engine, step)
        errors.extend(conditions_of(engine.errors))
        engine = go_on(engine, engine.snapshot(), on_error=errors.append)
        yield from push_all(engine, replace(case, steps=case.steps[point:]))

    return replace(run_engine(case, policy, drive), reported=tuple(map(str, conditions_of(errors))))


def restored_everywhere(case: Case, policy: str | None) -> Outcome:
    """Take every step with an engine made from what was written after the steps before it, as deltas of deltas."""
    errors: list[ConditionError] = []

    def drive(engine: Engine, case: Case) -> Iterator[Event]:
        program, chain = engine.program, [engine.snapshot()]
        for step in case.steps:
            engine = go_on(engine, *chain, on_error=errors.append)
            yield from take(engine, step)
            chain.append(engine.snapshot(since=chain))
            two = [program.restore(*data, effects=nowhere()) for data in (chain, [engine.snapshot()])]
            assert two[0].snapshot() == two[1].snapshot()
        engine = go_on(engine, *chain, on_error=errors.append)
        if case.is_closed:
            yield from engine.close()

    return replace(run_engine(case, policy, drive), reported=tuple(map(str, conditions_of(errors))))


def _as_rows(case: Case, policy: str | None) -> Outcome:
    """The engine, the whole stream as one iterable, with moments as numbers, which generated code takes."""
    return run_engine(case, policy, _run_all)


def _run_all(engine: Engine, case: Case) -> Iterator[Event]:
    rows = [row(step, _at(step)) for step in case.steps if isinstance(step, Event)]
    yield from engine.run(rows)
    yield from engine.close()


def _at(event: Event) -> object:
    return event.end if event.start == event.end else (event.start, event.end)


def _permuted(case: Case, policy: str | None) -> Outcome:
    """The engine on the rules in reverse order."""
    return push_steps(replace(case, program=reverse_rules(case.program)), policy)


def reverse_rules(program: str) -> str:
    """Return a program with its rules in reverse order; what is no rule stays in its place."""
    from etalis.language.printer import print_program
    from etalis.language.read.parser import parse
    from etalis.language.syntax import Rule, Tree

    items = parse(program).items
    rules = iter([item for item in reversed(items) if isinstance(item, Rule)])
    return print_program(Tree(tuple(next(rules) if isinstance(item, Rule) else item for item in items)))


def _reparsed(case: Case, policy: str | None) -> Outcome:
    """The engine on the program as printed (definition 22.4)."""
    from etalis.language.printer import print_program
    from etalis.language.read.parser import parse

    tree = parse(case.program)
    text = print_program(tree)
    assert parse(text) == tree, "printing and reading again gives another tree"
    return push_steps(replace(case, program=text), policy)


def _unshared(case: Case, policy: str | None) -> Outcome:
    """The engine, no two rules sharing a sub-plan."""
    return push_steps(replace(case, program=":- set_flag(rule_sharing, off).\n" + case.program), policy)


def _with_parts(case: Case, policy: str | None) -> Outcome:
    """The engine, told to keep which inputs a match is made of: that decides nothing."""
    return run_engine(case, policy, push_all, parts=True)


def _justified(case: Case, policy: str | None) -> Outcome:
    """The engine at level full: that decides nothing, and the justification of every event is right."""
    from helpers.justified_cases import check_justifications

    def drive(engine: Engine, case: Case) -> Iterable[Event]:
        found = [*push_all(engine, case)]
        check_justifications(case, policy, engine, found)
        return found

    return run_engine(case, policy, drive, justification="full")


def _justified_restored(case: Case, policy: str | None) -> Outcome:
    """The same, put down and taken up again at one point of the stream: what was before it is justified after it."""
    from helpers.justified_cases import check_justifications

    point = crc32(f"{policy}{case.program}".encode()) % (len(case.steps) + 1)
    errors: list[ConditionError] = []

    def drive(engine: Engine, case: Case) -> Iterable[Event]:
        found = [event for step in case.steps[:point] for event in take(engine, step)]
        errors.extend(conditions_of(engine.errors))
        engine = go_on(engine, engine.snapshot(), on_error=errors.append)
        found += push_all(engine, replace(case, steps=case.steps[point:]))
        check_justifications(case, policy, engine, found)
        return found

    outcome = run_engine(case, policy, drive, justification="full")
    return replace(outcome, reported=tuple(map(str, conditions_of(errors))))


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
    found = run_engine(replace(case, options=(*case.options, *flags.items())), policy, drive)
    return replace(found, events=standing(found.events), reported=case.reported)


def _shuffled(engine: Engine, case: Case) -> Iterator[Event]:
    import random

    from etalis.runtime.lateness.watermark import Stamp

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


def _carried(case: Case, policy: str | None) -> Outcome:
    """One engine that takes two events over columns, the next by push, and so on."""
    from etalis.columnar.data.events import find_types, gather
    from etalis.columnar.run import run_on

    stream = typed_events(compiled(case).compiled.tree, case)
    types = find_types(stream)
    runs = []

    def drive(engine: Engine, case: Case) -> Iterator[Event]:
        for low in range(0, len(stream), 3):
            runs.append(run_on(engine, types))
            runs[-1].load()
            found = list(runs[-1].process(gather(stream[low : low + 2], types)))
            runs[-1].save()
            yield from found
            for step in case.steps[low + 2 : low + 3]:
                yield from take(engine, step)
        yield from engine.close()

    outcome = run_engine(case, policy, drive)
    return replace(outcome, events=as_expected(case, outcome.events)) if any(r.is_mixed for r in runs) else outcome


def _runs(case: Case) -> bool:
    return not case.errors


def _is_permutable(case: Case) -> bool:
    """Tell whether rules have another order: of one rule alone the text is what `reparsed` runs."""
    from etalis.language.syntax import Rule

    if not _runs(case) or case.is_ordered or case.output is not None:
        return False
    return sum(isinstance(item, Rule) for item in compiled(case).compiled.tree.items) > 1


def _has_batches(rows: int) -> Callable[[Case], bool]:
    """Return what tells whether a stream has several batches of so many rows: one batch is what `columns` runs."""
    return lambda case: against_tables(case) is None and (len(case.steps) > rows or not case.admits("columns"))


def _is_explained(case: Case) -> bool:
    """Tell whether all that occurs is explained: what reactions raise is not yet."""
    return _runs(case) and not compiled(case).compiled.reactions


def _is_finite(case: Case) -> bool:
    return not case.errors and case.is_plain and case.is_closed


def _is_orderless(case: Case) -> bool:
    """Tell whether a stream may come in any order: it is finite, and equal ends stand in order of their starts."""
    ends = [(step.end_time, step.start_time) for step in case.steps if isinstance(step, Event)]
    return _is_finite(case) and not case.is_ordered and ends == sorted(ends)


def _is_repeatable(case: Case) -> bool:
    """Tell whether events can be run again: no goal has a side effect, and no type or head forbids a wrong value."""
    from etalis.language.rules import knowledge_changes

    if not _is_orderless(case) or case.output is not None:
        return False
    program = compiled(case).compiled
    acts = program.effects or program.acts_on_run or program.reads_clock or knowledge_changes(program.tree)
    return not (acts or program.signatures or program.reactions)


TREATMENTS: Mapping[str, Treatment] = {
    row.name: row
    for row in (
        Treatment("semantics", run_semantics, lambda case: against_meaning(case) is None),
        Treatment("engine", push_steps, lambda case: True),
        Treatment("engine-run", _as_rows, _is_finite),
        Treatment("permuted", _permuted, _is_permutable),
        Treatment("reparsed", _reparsed, _runs),
        Treatment("unshared", _unshared, _runs),
        Treatment("parts", _with_parts, _runs),
        Treatment("justified", _justified, _is_explained),
        Treatment("justified-restored", _justified_restored, lambda case: _is_explained(case) and case.output is None),
        Treatment("held", _held, _is_orderless),
        Treatment("corrected", _corrected, _is_repeatable),
        Treatment("revised", _revised, _is_repeatable),
        Treatment("columns-1", run_columns(1), _has_batches(1)),
        Treatment("columns-7", run_columns(7), _has_batches(7)),
        Treatment("columns", run_columns(WHOLE), lambda case: against_tables(case) is None),
        Treatment("carried", _carried, lambda case: against_tables(case) is None),
        Treatment("restored", _restored, lambda case: _runs(case) and case.output is None),
    )
}
