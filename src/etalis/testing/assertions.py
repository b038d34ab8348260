"""What tests of rules call; an AssertionError says how matches differ from the expected ones.

`assert_matches` takes all three as they stand in a test; `check_case` takes a case of a `.case` file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etalis.cases.atoms import write_event
from etalis.cases.case_file import Case, read_events, read_steps
from etalis.cases.outcomes import compare_events, find_differences
from etalis.errors import InputError, Problem
from etalis.program import Program, compile_file
from etalis.program import compile as compile_text
from etalis.runtime.inputs import Inputs
from etalis.temporal.event import Event, Retraction
from etalis.testing.backends import find_backend, outcome_of, placed, report_notes, take

if TYPE_CHECKING:
    from etalis.engine import Engine


def assert_matches(
    program: Program | str | Path,
    events: str | Iterable[Any],
    expected: str | Iterable[Any],
    *,
    policy: str | None = None,
    select: str | None = None,
    ordered: bool = False,
    close: bool = True,
    errors: Iterable[str] = (),
) -> list[Event]:
    """Run a program on events and compare its matches with the expected ones; return the matches.

    `program` is compiled, or text, or the path of a file. `events` and `expected` are text as in case files
    ("0 a(1); 5 b(1)") or rows: (name, *attributes, at), dicts, Events. `select` is the one kind of complex event to
    compare; `close=False` leaves the stream open; `errors` are fragments of the errors that conditions must raise.

    >>> assert_matches("d(X) <- a(X) seq b(X).", "0 a(1); 5 b(1)", "0..5 d(1)")
    [d(1) [0, 5]]
    """
    __tracebackhide__ = True
    compiled = to_program(program)
    engine = compiled.engine(policy=policy)
    wanted, found = list(_expected(compiled, expected)), _standing(_drive(engine, events, close=close))
    if select is not None:
        wanted, found = _selected(select, wanted, found)
    lines = compare_events(wanted, found, ordered=ordered) + _condition_errors(engine, tuple(errors))
    if lines:
        under = "" if policy is None else f" under {policy}"
        head = f"{len(wanted)} expected, {len(found)} found{under}:"
        notes = [*map(str, compiled.problems), *report_notes(engine)]
        raise AssertionError("\n".join([head, *_indented(lines), *_indented(notes)]))
    return found


def check_case(case: Case, backends: str | Sequence[str] = ("engine",)) -> None:
    """Run a case under each of its policies on each of some backends; an AssertionError says what differs.

    Backends are `engine`, `semantics`, `columns` and `spark`; a case that one of them cannot run is refused (E413).
    """
    __tracebackhide__ = True
    for name in (backends,) if isinstance(backends, str) else backends:
        backend = find_backend(name)
        reason = backend.reason_against(case)
        if reason is not None:
            raise InputError(Problem("E413", f"{case.place}: {case.id} cannot run on {name}: {reason}"))
        for policy in case.policies:
            lines = case_differences(case, name, policy)
            if lines:
                raise AssertionError("\n".join([head_line(case, [name], policy), *lines]))


def case_differences(case: Case, backend: str, policy: str | None) -> tuple[str, ...]:
    """Say in lines how the outcome of a case under a policy differs; none if it does not."""
    outcome = outcome_of(find_backend(backend).run, placed(case), policy)
    lines = find_differences(case, outcome)
    if not lines:
        return ()
    return tuple(_indented([*lines, *(() if case.warnings else outcome.warnings), *outcome.notes()]))


def head_line(case: Case, backends: Iterable[str], policy: str | None) -> str:
    """Name a case that failed, where, and under what."""
    return f"{case.place}: {case.id} on {', '.join(backends)}{'' if policy is None else f' under {policy}'}"


def to_program(program: Program | str | Path) -> Program:
    """Return a program that is given compiled, as text, or as the path of a file."""
    if isinstance(program, Program):
        return program
    if isinstance(program, Path):
        return compile_file(program)
    if program.endswith(".etalis") and "<-" not in program:
        raise InputError(Problem("E413", f"{program!r} is no program", hint=f'a file is named by Path("{program}")'))
    return compile_text(program)


def _drive(engine: Engine, events: str | Iterable[Any], *, close: bool) -> Iterator[Event]:
    if isinstance(events, str):
        for step in read_steps(events):
            yield from take(engine, step)
    else:
        yield from engine.run(events)
    if close:
        yield from engine.close()


def _expected(program: Program, expected: str | Iterable[Any]) -> Iterator[Event]:
    """Yield expected matches as events; attributes by name are put in the order of their declaration."""
    if isinstance(expected, str):
        yield from (_place(program, event) for event in read_events(expected))
        return
    for row in expected:
        if isinstance(row, str):
            yield from _expected(program, row)
        elif isinstance(row, Event):
            yield row
        else:
            name, args, start, end, _ = Inputs({} if isinstance(row, tuple) else program.signatures, None).row(row)
            yield Event.make(name, args, start, end)


def _place(program: Program, event: Event) -> Event:
    """Return an event with attributes in their places, if it names them."""
    if not event.kind.attributes:
        return event
    if event.name not in program.signatures:
        hint = f"give the values alone, or declare it: `:- event({event.name}(...)).`"
        raise InputError(Problem("E413", f"the program does not name the attributes of {event.name}", hint=hint))
    name, args, start, end, _ = Inputs(program.signatures, None).row(event)
    return Event.make(name, args, start, end)


def _standing(changes: Iterable[Event]) -> list[Event]:
    """Return the matches that were not taken back."""
    found: list[Event] = []
    for change in changes:
        if isinstance(change, Retraction):
            found.remove(change.reported)
        else:
            found.append(change)
    return found


def _selected(name: str, wanted: Iterable[Event], found: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """Return the expected and the found events of one name; an expected one of another name would never be found."""
    expected = list(wanted)
    for event in expected:
        if event.name != name:
            raise InputError(Problem("E413", f"{write_event(event)} is expected, but only {name} is selected"))
    return expected, [event for event in found if event.name == name]


def _condition_errors(engine: Engine, wanted: Sequence[str]) -> list[str]:
    told = [str(error) for error in engine.errors]
    if not wanted:
        return [f"unexpected error of a condition: {text}" for text in told]
    return [f"no error of a condition like {part!r}" for part in wanted if not any(part in text for text in told)]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for text in lines for line in text.split("\n")]
