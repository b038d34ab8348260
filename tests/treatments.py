"""The ways a case is run: a table of treatments, each turns (case, policy) into an `Outcome`.

Law: one expectation holds for all of them. A treatment imports what it needs when it runs, so that a missing
module fails its own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cases import Advance, Case, Delete, Insert, Step
from etalis.errors import EtalisError
from etalis.temporal.event import Event


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: reported events in order, errors of conditions, what refused it, findings of `check`."""

    events: tuple[Event, ...] = ()
    reported: tuple[str, ...] = ()
    refused: EtalisError | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Treatment:
    """One row: the run, and which cases it can take."""

    name: str
    run: Callable[[Case, str | None, Path], Outcome]
    takes: Callable[[Case], bool]


def _keywords(policy: str | None, case: Case) -> dict[str, Any]:
    return dict(case.options) | ({} if policy is None else {"policy": policy})


def _write_files(case: Case, folder: Path) -> None:
    for name, text in case.files:
        (folder / name).write_text(text, encoding="utf-8")


def _by_semantics(case: Case, policy: str | None, folder: Path) -> Outcome:
    """The meaning itself, of the whole stream up to the last moment it tells of."""
    from etalis import semantics
    from etalis.language.modules import load

    _write_files(case, folder)
    main = folder / "main.etalis"
    main.write_text(case.program, encoding="utf-8")
    program = load(main)
    stream = [step for step in case.steps if isinstance(step, Event)]
    until = None if case.is_closed else max(_moment(step) for step in case.steps)
    errors: list[EtalisError] = []
    model = semantics.run(program, stream, until=until, errors=errors, **_keywords(policy, case))
    return Outcome(tuple(semantics.reported(program, model)), tuple(map(str, errors)))


def _moment(step: Step) -> int:
    match step:
        case Advance(to):
            return to
        case Event():
            return step.end_time
        case _:
            raise AssertionError("the meaning of a changing program is not defined")


def _engine(case: Case, policy: str | None, folder: Path) -> Any:
    import etalis

    _write_files(case, folder)
    program = etalis.compile(case.program, directory=folder) if case.files else etalis.compile(case.program)
    return program, program.engine(**_keywords(policy, case))


def _outcome(program: Any, engine: Any, events: Iterable[Event]) -> Outcome:
    return Outcome(
        tuple(events),
        tuple(str(error) for error in engine.errors),
        warnings=tuple(str(problem) for problem in program.warnings),
    )


def _pushed(case: Case, policy: str | None, folder: Path) -> Outcome:
    """The engine, each step as a call of its own."""
    program, engine = _engine(case, policy, folder)
    events: list[Event] = []
    for step in case.steps:
        match step:
            case Advance(to):
                events += engine.advance(to=to / 1_000_000)
            case Insert(rule):
                engine.ins_event_rule(rule)
            case Delete(rule):
                engine.del_event_rule(rule)
            case _:
                events += engine.push(step.name, *step.args, at=(step.start, step.end))
    if case.is_closed:
        events += engine.close()
    return _outcome(program, engine, events)


def _as_rows(case: Case, policy: str | None, folder: Path) -> Outcome:
    """The engine, the whole stream as one iterable."""
    program, engine = _engine(case, policy, folder)
    rows = [(step.name, *step.args, (step.start, step.end)) for step in case.steps if isinstance(step, Event)]
    return _outcome(program, engine, list(engine.run(rows)))


def _permuted(case: Case, policy: str | None, folder: Path) -> Outcome:
    """The engine on the rules in reverse order; what is no rule stays in its place."""
    from etalis.language.printer import print_program

    from etalis.language.parser import parse
    from etalis.language.syntax import Program, Rule

    items = parse(case.program).items
    rules = iter([item for item in reversed(items) if isinstance(item, Rule)])
    text = print_program(Program(tuple(next(rules) if isinstance(item, Rule) else item for item in items)))
    return _pushed(replace(case, program=text), policy, folder)


def _reparsed(case: Case, policy: str | None, folder: Path) -> Outcome:
    """The engine on the program as printed."""
    from etalis.language.printer import print_program

    from etalis.language.parser import parse

    tree = parse(case.program)
    text = print_program(tree)
    assert parse(text) == tree, "printing and reading again gives another tree"
    return _pushed(replace(case, program=text), policy, folder)


def _unshared(case: Case, policy: str | None, folder: Path) -> Outcome:
    """The engine, no two rules sharing a sub-plan."""
    return _pushed(replace(case, program=":- set_flag(rule_sharing, off).\n" + case.program), policy, folder)


def _runs(case: Case) -> bool:
    return not case.errors


def _is_finite(case: Case) -> bool:
    return not case.errors and case.is_plain and case.is_closed


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
        Treatment("permuted", _permuted, lambda case: _runs(case) and not case.is_ordered),
        Treatment("reparsed", _reparsed, _runs),
        Treatment("unshared", _unshared, _runs),
    )
}


def treat(treatment: Treatment, case: Case, policy: str | None, folder: Path) -> Outcome:
    """Run a case, a refusal being an outcome too."""
    try:
        return treatment.run(case, policy, folder)
    except EtalisError as error:
        return Outcome(refused=error)
