"""Goals that act on the run (003, section 5.2): `event/1,2`, rules and properties at run time, `reset_db`.

Such a goal does nothing at once: it hands a step to whoever runs the program. What a goal may not do, such as reaching
a file, is refused with a sentence that says what to use instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from etalis.data.values import Struct, Value, format_value
from etalis.errors import EtalisError, EventError, Problem
from etalis.language.attributes import arrange_terms, convert, refuse_order
from etalis.language.check.checks import check_rules
from etalis.language.check.goals import EXPLAINS
from etalis.language.check.outline import Outline
from etalis.language.check.unavailable import REFUSED_GOALS
from etalis.language.lower import to_syntax
from etalis.language.named_attributes import place_in_rule
from etalis.language.printer import print_term
from etalis.language.read.parser import parse_rule
from etalis.language.rules import declarations
from etalis.language.steps import Assign, DeleteRule, InsertRule, Occur, ProgramHost, Reset, Spy, Step, Withdraw
from etalis.language.syntax import EventDeclaration, Property, Rule, Tree
from etalis.logic.builtins.time import counted, seconds_since_1970
from etalis.logic.errors import LogicError
from etalis.logic.knowledge.foreign import install
from etalis.logic.machine.database import Database, Key, is_callable
from etalis.logic.machine.machine import Code, Frame, Machine
from etalis.logic.terms.arguments import bound
from etalis.logic.terms.iso_errors import domain_error, instantiation_error, representation_error, show, type_error
from etalis.logic.terms.unify import Term, deref, from_value, split_list, to_value, variables
from etalis.temporal.interval import to_seconds, to_time

Args = tuple[Term, ...]
_NOT_HERE = 'ask an engine: program.engine(justification="full")'


def install_goals(
    database: Database, host: ProgramHost, program: Tree, explain: Callable[[Key], Code] | None = None
) -> None:
    """Make the goals part of a database; a program's own predicate of such a name goes before them.

    `explain` gives the code of goals that tell why an event occurred; without it they are refused.
    """
    declared = {name: item for (name, _), item in declarations(program).items()}
    found: dict[Key, Callable[[Machine, Args], Step]] = {
        ("event", 1): lambda machine, args: _occurrence(machine, args, host.reached(), declared),
        ("event", 2): lambda machine, args: _occurrence(machine, args, host.reached(), declared),
        ("ins_event_rule", 1): lambda machine, args: InsertRule(_checked_rule(machine, args[0], program)),
        ("del_event_rule", 1): lambda machine, args: DeleteRule(_rule_or_label(machine, args[0])),
        ("ins", 1): lambda machine, args: _assignment(machine, args[0], program),
        ("del", 1): lambda machine, args: _withdrawal(machine, args[0]),
        ("reset_db", 0): lambda _machine, _args: Reset(),
        ("spy_event", 1): lambda _machine, args: Spy(_kind(args[0]), True),
        ("nospy_event", 1): lambda _machine, args: Spy(_kind(args[0]), False),
    }
    for key, read in found.items():
        _install(database, key, _stepping(host, read))
    for key, code in _REFUSED.items():
        _install(database, key, code)
    for key, code in _UNEXPLAINED.items():
        _install(database, key, code if explain is None else explain(key))


def _install(database: Database, key: Key, code: Code) -> None:
    if not database.overrides(*key):
        install(database, *key, code)


def _stepping(host: ProgramHost, read: Callable[[Machine, Args], Step]) -> Code:
    def run(machine: Machine, args: Args, cont: Frame) -> Frame | None:
        if machine.view is not None:
            raise _refuse("change", "past", "E507", "what was cannot be changed", "ask as of now", "time")
        host.follow(read(machine, args))
        return cont

    return run


def _refusing(key: Key, sentence: str) -> Code:
    def run(_machine: Machine, _args: Args, _cont: Frame) -> Frame | None:
        name, arity = key
        error = ("error", ("permission_error", "call", "procedure", ("/", name, arity)), "goal")
        raise LogicError(error, "E507", f"{name}/{arity} cannot be called from a program", sentence)

    return run


_REFUSED = {key: _refusing(key, sentence) for key, sentence in REFUSED_GOALS.items()}
_UNEXPLAINED = {key: _refusing(key, _NOT_HERE) for key in EXPLAINS}


def _checked_rule(machine: Machine, term: Term, program: Tree) -> Rule:
    """Read a rule, given as a term or as text, and check it against the program."""
    found = _rule_or_label(machine, term)
    try:
        rule = place_in_rule(program, parse_rule(found, "<goal>") if isinstance(found, str) else found)
        errors = [problem for problem in check_rules(program, [rule]) if problem.is_error]
    except EtalisError as error:
        errors = list(error.problems)
    if errors:
        raise _refuse("insert", term, errors[0].code, errors[0].message, errors[0].hint, "rule")
    return rule


def _rule_or_label(machine: Machine, term: Term) -> Rule | str:
    term = bound(term)
    if isinstance(term, int):
        return str(term)
    if isinstance(term, str):
        return term
    if not is_callable(term):
        raise type_error("event_rule", term)
    machine.trail.charge(len(variables(term)))
    try:
        return parse_rule(print_term(to_syntax(term)), "<goal>")
    except RecursionError:
        raise representation_error("term_depth") from None
    except EtalisError as error:
        first = error.problems[0]
        raise _refuse("read", term, first.code, first.message, first.hint, "rule") from error


def _kind(term: Term) -> Key:
    """Read `Name/Arity`."""
    term = bound(term)
    if not (isinstance(term, tuple) and len(term) == 3 and term[0] == "/"):
        raise type_error("predicate_indicator", term)
    name, arity = (bound(part) for part in term[1:])
    if not (isinstance(name, str) and isinstance(arity, int)):
        raise type_error("predicate_indicator", term)
    return name, arity


def _property(machine: Machine, term: Term) -> tuple[str, str, Value | None]:
    """Read `property(Label, Name, Value)`."""
    term = bound(term)
    if not (isinstance(term, tuple) and len(term) == 4 and term[0] == "property"):
        raise domain_error("property", term)
    label, name = (bound(part) for part in term[1:3])
    if not isinstance(name, str) or not isinstance(label, str | int):
        raise type_error("atom", label if isinstance(name, str) else name)
    return str(label), name, to_value(term[3], machine.limits.size)


def _assignment(machine: Machine, term: Term, program: Tree) -> Assign:
    label, name, value = _property(machine, term)
    if value is None:
        raise instantiation_error()
    given = Property(name, to_syntax(from_value(value)))
    for problem in Outline(program).property_problems(given):
        raise _refuse("insert", term, problem.code, problem.message, problem.hint, "property")
    return Assign(label, given)


def _withdrawal(machine: Machine, term: Term) -> Withdraw:
    return Withdraw(*_property(machine, term))


def _occurrence(machine: Machine, args: Args, now: int | None, declared: Mapping[str, EventDeclaration]) -> Occur:
    """Read the arguments of `event(Atom)` or `event(Atom, [Start, End])`."""
    name, values = _atom(machine, bound(args[0]))
    if now is None:
        raise _refuse("raise", args[0], "E507", "an event can be raised only while another is processed", "push it")
    start, end = _interval(args[1]) if len(args) == 2 else (now, now)
    if end < now:
        text = f"{show(args[0])} ends at {to_seconds(end)}, but time has reached {to_seconds(now)}"
        raise _refuse("raise", args[0], "E310", text, "give a time that has not passed")
    try:
        return Occur(name, _typed(name, declared.get(name), values), start, end)
    except EtalisError as error:
        first = error.problems[0]
        raise _refuse("raise", args[0], first.code, first.message, first.hint) from error


def raised_event(
    atom: Value, start: int, end: int, declared: Mapping[str, EventDeclaration], cause: Any = None
) -> Occur:  # fmt: skip
    """Return the occurrence of an event that a reaction raises; raise an EtalisError if it is none."""
    name, args = (atom.name, atom.args) if isinstance(atom, Struct) else (atom, ())
    if not isinstance(name, str):
        raise EventError(Problem("E306", f"{format_value(atom)} is no event", hint="an event is a name with values"))
    return named_event(name, args, start, end, declared, cause)


def named_event(
    name: str, args: tuple[Value, ...], start: int, end: int, declared: Mapping[str, EventDeclaration], cause: Any
) -> Occur:  # fmt: skip
    """Return the occurrence of an event of a name; raise an EtalisError if it cannot have these attributes."""
    return Occur(name, _typed(name, declared.get(name), args), start, end, cause)


def _typed(name: str, declared: EventDeclaration | None, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the attributes of a raised event in their places, of their types."""
    signature = () if declared is None else declared.attributes
    placed = arrange_terms(name, signature, values)
    if declared is not None and declared.implied and placed == values:
        raise refuse_order(name, signature)
    return convert(name, signature, placed)


def _refuse(action: str, culprit: Term, code: str, text: str, hint: str | None, kind: str = "event") -> LogicError:
    return LogicError(("error", ("permission_error", action, kind, deref(culprit)), "goal"), code, text, hint)


def _atom(machine: Machine, term: Term) -> tuple[str, tuple[Value, ...]]:
    """Return name and attributes of an event that occurs: it has no variables."""
    if not is_callable(term):
        raise type_error("callable", term)
    if isinstance(term, str):
        return term, ()
    values = tuple(to_value(argument, machine.limits.size) for argument in term[1:])
    if None in values:
        raise instantiation_error()
    return term[0], values


def _interval(term: Term) -> tuple[int, int]:
    """Return the interval `[Start, End]` of numbers of seconds or datetimes, in microseconds."""
    items, tail = split_list(bound(term))
    if tail != () or len(items) != 2:
        raise type_error("interval", term)
    start, end = (_moment(bound(item)) for item in items)
    if start > end:
        raise domain_error("interval", term)
    return start, end


def _moment(term: Term) -> int:
    if isinstance(term, int | float | Fraction):
        try:
            return to_time(term)
        except (ValueError, OverflowError):
            raise domain_error("time", term) from None
    return to_time(seconds_since_1970(term)) + counted(term)
