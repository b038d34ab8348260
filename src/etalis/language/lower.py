"""From syntax to the logic machine: terms, goals and clauses in the form that `logic` runs.

Law: a variable of the syntax tree becomes one `Variable` per name; ground parts are the same values as anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from etalis.errors import ConditionError, Problem, ProgramError, Span
from etalis.language import syntax as s
from etalis.language.check.goals import indicator
from etalis.language.printer import print_term
from etalis.language.read.parser import parse, parse_term
from etalis.logic.errors import LogicError
from etalis.logic.machine.compiler import COMPILER
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.library import library
from etalis.logic.solver import Solver
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms import unify
from etalis.logic.terms.iso_errors import syntax_error

_WRAPPERS = ("db", "static", "prolog")


def to_logic(term: s.Term, variables: dict[str, unify.Variable] | None = None) -> Goal:
    """Turn a term into a goal of the logic machine; its variables are added to those given.

    >>> goal = to_logic(s.Compound("p", (s.Var("X"), s.Const(1))))
    >>> goal.term[0], goal.term[2], list(goal.variables)
    ('p', 1, ['X'])
    """
    names: dict[str, unify.Variable] = {} if variables is None else variables
    return Goal(to_term(term, names), names)


def to_term(term: s.Term, variables: dict[str, unify.Variable]) -> unify.Term:
    """Turn a term of the syntax tree into one of the logic machine."""
    match term:
        case s.Var(name=name):
            return variables.setdefault(name, unify.Variable())
        case s.Const(value=value):
            return unify.from_value(value)
        case s.Compound(name=name, args=args):
            return (name, *(to_term(arg, variables) for arg in args))
        case s.ListTerm(items=items, tail=tail):
            parts = [to_term(item, variables) for item in items]
            return unify.make_list(parts, () if tail is None else to_term(tail, variables))
        case _:
            assert_never(term)


def read_term(text: str) -> tuple[unify.Term, dict[str, unify.Variable]]:
    """Read a term for a goal: the term and its variables by name; text that is none is a syntax error of the goal."""
    try:
        goal = to_logic(parse_term(text))
    except ProgramError as error:
        raise syntax_error(error.problems[0].message) from None
    return goal.term, dict(goal.variables)


def to_syntax(term: unify.Term) -> s.Term:
    """Turn a term of the logic machine into one of the syntax tree; its variables are named V1, V2, ...

    >>> to_syntax(("f", 1, unify.make_list(["a"])))
    Compound(name='f', args=(Const(value=1), ListTerm(items=(Const(value='a'),), tail=None)))
    """
    return _to_syntax(term, {})


def _to_syntax(term: unify.Term, names: dict[unify.Variable, str]) -> s.Term:
    term = unify.deref(term)
    if isinstance(term, unify.Variable):
        return s.Var(names.setdefault(term, f"V{len(names) + 1}"))
    items, tail = unify.split_list(term)
    if items or tail == ():
        rest = None if tail == () else _to_syntax(tail, names)
        return s.ListTerm(tuple(_to_syntax(item, names) for item in items), rest)
    if isinstance(term, tuple):
        return s.Compound(term[0], tuple(_to_syntax(part, names) for part in term[1:]))
    return s.Const(term)


def new_database() -> Database:
    """Return an empty database that knows the library."""
    return Database(COMPILER, library(_read_clauses))


def _read_clauses(text: str) -> Iterator[unify.Term]:
    return (_clause_term(item) for item in parse(text).items if isinstance(item, s.Clause))


def load_clauses(program: s.Tree, database: Database | None = None) -> Database:
    """Return the program's background knowledge: its clauses and facts in their written order, and its first state."""
    knowledge = new_database() if database is None else database
    knowledge.reader = read_term
    problems = []
    state = _declare_state(program, knowledge)
    for item in program.items:
        try:
            if isinstance(item, s.Clause):
                clause = _clause_term(item)
                if state is None or not state.begin_with(clause):
                    knowledge.add(clause)
            elif isinstance(item, s.Declare) and item.kind == "dynamic":
                for name, arity in item.names:
                    knowledge.declare(name, arity)
            elif isinstance(item, s.Declare) and item.kind == "table":
                for name, arity in item.names:
                    knowledge.table(name, arity)
            elif isinstance(item, s.KnowledgeDeclaration):
                for name, arity, _ in item.facts:
                    knowledge.declare(name, arity)
        except LogicError as error:
            problems.append(_refuse(error, item.span))
    if problems:
        raise ProgramError(*problems)
    if state is not None:
        state.commit()
    return knowledge


def _declare_state(program: s.Tree, database: Database) -> StateStore | None:
    """Make the state predicates of a program, if it has any."""
    declared = [each for item in program.items if isinstance(item, s.StateDeclaration) for each in item.predicates]
    store = StateStore(database) if declared else None
    for name, arity, key in declared:
        assert store is not None
        store.declare(name, arity, key)
    return store


def run_directives(program: s.Tree, solver: Solver) -> Iterator[ConditionError]:
    """Run the goals of `:- Goal`, in order; yield what went wrong, a goal that fails included."""
    for item in program.items:
        if isinstance(item, s.Initially) and indicator(item.goal) != ("op", 3):
            try:
                if next(solver.solve(to_logic(item.goal)), None) is None:
                    yield ConditionError(Problem("E501", f"the directive {print_term(item.goal)} failed", item.span))
            except ConditionError as error:
                first = error.problems[0]
                message = f"the directive {print_term(item.goal)} raised {first.message}"
                yield ConditionError(Problem("E501", message, item.span, first.hint))


def _clause_term(clause: s.Clause) -> unify.Term:
    variables: dict[str, unify.Variable] = {}
    head = clause.head
    while isinstance(head, s.Compound) and head.name in _WRAPPERS and len(head.args) == 1:
        head = head.args[0]
    if clause.body is None:
        return to_term(head, variables)
    return (":-", to_term(head, variables), to_term(clause.body, variables))


def _refuse(error: LogicError, span: Span | None) -> Problem:
    text = f"this clause cannot be background knowledge: {error.text}"
    return Problem(error.code, text, span, error.problems[0].hint)
