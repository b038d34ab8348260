"""Expressions of SPARQL as goals: `sparql(E)` tests one, `sparql(E, V)` computes its value.

An error is no error of the goal: the test fails, and the value stays unbound. A variable without a value, and `null`,
are unbound in the expression. `sparql_blank(Query, Label, [Start, End, name = V, ...], Node)` names a blank node of a
template, for a solution on an interval in seconds.

Windows: `sparql_graphs([part([triple(I, S, P, O), ...]), ...], Graphs)` makes the graphs of windows 0, 1, ..., and
fails if all are empty; `sparql_triple(Graph, S, P, O)` finds triples; `sparql_groups(Row, [K = E, ...], Having,
[V = E, ...], Rows, Values)` gives the values of each group of rows, with SPARQL's aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.data.values import Real, Value
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.rdf.blank_nodes import name_blank
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import evaluate_term, holds_term
from etalis.logic.sparql.solution_groups import GroupQuery
from etalis.logic.sparql.times import as_seconds
from etalis.logic.sparql.window_graph import GraphTriple, WindowGraph
from etalis.logic.terms.arguments import proper_list
from etalis.logic.terms.iso_errors import type_error
from etalis.logic.terms.unify import MAX_CELLS, Term, Trail, Variable, deref, make_list, split_list, unify
from etalis.temporal.interval import MICROSECONDS


def _charge(term: Term, trail: Trail) -> None:
    """Charge for all parts of an expression."""
    todo, cells = [term], 0
    while todo:
        x = deref(todo.pop())
        if x.__class__ is tuple:
            cells += 1
            if cells > MAX_CELLS:
                raise LogicLimitError("size", MAX_CELLS)
            todo.extend(x[1:])
    trail.charge(cells)


def _holds(machine: Machine, args: tuple[Term, ...]) -> bool:
    _charge(args[0], machine.trail)
    return holds_term(args[0])


def _is_value(machine: Machine, args: tuple[Term, ...]) -> bool:
    _charge(args[0], machine.trail)
    try:
        value = evaluate_term(args[0])
    except ExpressionError:
        return True
    return unify(args[1], value, machine.trail)


def _is_blank(machine: Machine, args: tuple[Term, ...]) -> bool:
    query, label, listed, node = map(deref, args)
    items, tail = split_list(listed)
    given = [deref(item) for item in items]
    ends, pairs = given[:2], given[2:]
    if tail != () or len(ends) < 2 or not all(_is_pair(pair) for pair in pairs):
        raise type_error("solution", listed)
    machine.trail.charge(len(given))
    said = [(name, value) for _, name, part in pairs if (value := deref(part)).__class__ is not Variable]
    return unify(node, name_blank(query, label, said, (_microseconds(ends[0]), _microseconds(ends[1]))), machine.trail)


def _is_pair(term: Term) -> bool:
    return term.__class__ is tuple and len(term) == 3 and term[0] == "=" and term[1].__class__ is str


def _microseconds(seconds: Term) -> int:
    if seconds.__class__ not in (int, float, Real):
        raise type_error("number", seconds)
    return int(as_seconds(seconds) * MICROSECONDS)


SPARQL_TESTS: Mapping[Key, Test] = MappingProxyType(
    {("sparql", 1): _holds, ("sparql", 2): _is_value, ("sparql_blank", 4): _is_blank}
)


def _are_graphs(machine: Machine, args: tuple[Term, ...]) -> bool:
    graphs = proper_list(args[1], machine)
    triples: list[list[GraphTriple]] = [[] for _ in graphs]
    for part in proper_list(args[0], machine):
        match deref(part):
            case ("part", listed):
                items = proper_list(listed, machine)
            case other:
                raise type_error("part", other)
        for item in map(deref, items):
            match item:
                case ("triple", place, s, p, o) if place in range(len(graphs)):
                    triples[place].append((deref(s), deref(p), deref(o)))
                case tuple():
                    continue  # what a window holds beside triples
                case _:
                    raise type_error("triple", item)
    return any(triples) and all(
        unify(graph, WindowGraph(found), machine.trail) for graph, found in zip(graphs, triples, strict=True)
    )


def _find_triples(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
    graph, *parts = map(deref, args)
    if not isinstance(graph, WindowGraph):
        raise type_error("graph", graph)
    found = graph.find([None if part.__class__ is Variable else part for part in parts])
    machine.trail.charge(len(found))
    return machine.choose(("triple", *parts), (("triple", *triple) for triple in found), cont)


def _group_solutions(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
    row, keys, having, items, rows, values = args
    columns = {cell: place for place, cell in enumerate(_cells(row, machine)) if isinstance(cell, Variable)}
    query = GroupQuery(columns, _named(keys, machine), proper_list(having, machine), _named(items, machine))
    solutions = [_row(solution, machine) for solution in proper_list(rows, machine)]
    answers = (make_list(_made(value) for value in answer) for answer in query.answers(solutions))
    return machine.choose(values, answers, cont)


def _named(listed: Term, machine: Machine) -> list[tuple[Variable, Term]]:
    found = []
    for item in map(deref, proper_list(listed, machine)):
        match item:
            case ("=", name, term):
                found.append((deref(name), term))
            case _:
                raise type_error("named_expression", item)
    return found


def _cells(row: Term, machine: Machine) -> list[Term]:
    return [deref(cell) for cell in proper_list(row, machine)]


def _row(solution: Term, machine: Machine) -> list[Value | None]:
    return [None if cell.__class__ is Variable else cell for cell in _cells(solution, machine)]


def _made(value: Value | None) -> Term:
    return Variable() if value is None else value


SPARQL_CODES: Mapping[Key, Code] = MappingProxyType(
    {("sparql_triple", 4): _find_triples, ("sparql_groups", 6): _group_solutions}
)
WINDOW_TESTS: Mapping[Key, Test] = MappingProxyType({("sparql_graphs", 2): _are_graphs})
