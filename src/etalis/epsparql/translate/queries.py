"""Queries as rules: the solutions of a body under a head. A SELECT is `select_N(values...)`, ASK is `ask_N`, CONSTRUCT
a rule `rdf(S, P, O)` for each triple of its template.

A sub-SELECT is its body with new names for what it does not select. Solutions without time are no events and have no
rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from etalis.epsparql import syntax as q
from etalis.epsparql.reads import Predicates
from etalis.epsparql.scope import is_visible, selected
from etalis.epsparql.translate.aggregates import slide
from etalis.epsparql.translate.conditions import bind
from etalis.epsparql.translate.elements import read_values
from etalis.epsparql.translate.groups import GroupTranslator
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.paths import PathTranslator
from etalis.epsparql.translate.schema import StreamSchema
from etalis.epsparql.translate.solutions import Solutions, Timed, conjunction, join, rename, test_with
from etalis.epsparql.translate.triples import NULL, AskedFacts, PatternScope, TripleTranslator
from etalis.epsparql.windows import has_aggregates, sliding_range
from etalis.language.syntax import Compound, Const, EventPattern, ListTerm, Pattern, Rule, Term, Var, Within

UNRESTRICTED = "unrestricted"
SELECTED = "select_event"  # what the original reported of every SELECT


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the queries of a unit have in common."""

    known: Predicates
    schema: StreamSchema
    facts: AskedFacts
    paths: PathTranslator
    has_graphs: bool
    policy: str
    has_atoms: bool = False  # names are plain atoms, as in the original's dialect: whatever is bound makes a triple
    writes_sets: bool = False  # what entails a pattern is written out, where it would be looked up

    def triples(self, names: VariableNames) -> TripleTranslator:
        """Return what turns triple patterns of a query into solutions."""
        return TripleTranslator(self.known, self.schema, self.facts, names, self.has_graphs, self.writes_sets)


@dataclass(frozen=True, slots=True)
class QueryHead:
    """What a query reports: its event, and the names of its columns; None for triples that it constructs."""

    name: str
    columns: tuple[str, ...] | None


def head_of(query: q.StreamQuery, number: int) -> QueryHead:
    """Return the head of a query, which is counted from 1."""
    if query.form == "construct":
        return QueryHead("rdf", None)
    name = query.registered[1] if query.registered is not None else f"{query.form}_{number}"
    return QueryHead(name, tuple(dict.fromkeys(selected(query))) if query.form == "select" else ())


def query_rules(query: q.StreamQuery, number: int, around: Surroundings) -> Iterator[Rule]:
    """Yield the rules of a query, which is counted from 1."""
    names = VariableNames()
    triples = around.triples(names)
    policy = query.policy or around.policy
    reader = GroupTranslator(triples, around.paths, policy == UNRESTRICTED, project)
    streams = tuple(dataset.iri for dataset in query.datasets if dataset.kind == "stream")
    grouped = has_aggregates(query)
    found = solve(reader, replace(query, items=()) if grouped else query, PatternScope(streams=streams)).timed
    assert found is not None, "a query has time"
    length = sliding_range(query)
    if grouped:
        assert length is not None, "aggregates have a window"
        found = slide(found, length, query, names)
    elif length is not None:
        found = replace(found, pattern=Within(found.pattern, length))
    yield from report(query, number, found, names, around)


def report(
    query: q.StreamQuery, number: int, found: Timed, names: VariableNames, around: Surroundings
) -> Iterator[Rule]:
    """Yield the rules of what a query reports of its solutions."""
    head = head_of(query, number)
    if head.columns is None:
        yield from _constructs(query, number, found, names, around)
        return
    values = (Var(v) if (v := names.of(name)) in found.binds else NULL for name in head.columns)
    yield make_rule(EventPattern(head.name, tuple(values)), found.pattern, query)
    if around.has_atoms and query.form == "select":
        items = tuple(Var(names.of(name)) for name in head.columns)
        yield make_rule(EventPattern(SELECTED, (ListTerm(items),)), EventPattern(head.name, items), query)


def make_rule(head: EventPattern, pattern: Pattern, query: q.StreamQuery) -> Rule:
    return Rule(head, pattern, span=query.span)


def solve(reader: GroupTranslator, query: q.StreamQuery, scope: PatternScope) -> Solutions:
    """Return the solutions of a query's body with its items."""
    found = reader.group(query.body, scope)
    if query.values is not None:
        found = join(found, read_values(query.values, reader.names, reader.triples.facts), reader.names)
    for item in query.items or ():
        if item.expression is not None:
            found = bind(found, item.expression, item.variable, reader.names)
    return found


def project(reader: GroupTranslator, query: q.StreamQuery, scope: PatternScope) -> Solutions:
    """Return the solutions of a sub-SELECT."""
    assert not has_aggregates(query), "aggregates have a window of their own query"
    return hide(solve(reader, query, scope), query, reader.names)


def hide(found: Solutions, query: q.StreamQuery, names: VariableNames) -> Solutions:
    """Return the solutions of a sub-SELECT: what it does not select is nobody else's."""
    kept = frozenset(map(names.of, selected(query)))
    hidden = {name: names.fresh(name) for name in sorted(found.binds - kept)}
    renamed = rename(found, hidden)
    return Solutions(
        None if renamed.timed is None else _only(renamed.timed, kept),
        None if renamed.timeless is None else replace(renamed.timeless, sure=renamed.timeless.sure & kept,
                                                      maybe=renamed.timeless.maybe & kept),
        found.branches,
    )  # fmt: skip


def _only(timed: Timed, kept: frozenset[str]) -> Timed:
    return Timed(timed.pattern, timed.sure & kept, timed.maybe & kept)


def _constructs(
    query: q.StreamQuery, number: int, found: Timed, names: VariableNames, around: Surroundings
) -> Iterator[Rule]:
    """Yield a rule for each triple of a template; one that is no triple of RDF is not made."""
    word, name = query.registered or ("query", "")
    more = (NULL, NULL if word == "query" else Const(name)) if around.has_graphs else ()
    for triple in query.template:
        parts = (triple.subject, triple.predicate, triple.object)
        if not around.has_atoms and not _may_be_triple(parts):
            continue
        blanks = dict.fromkeys(p.name for p in parts if isinstance(p, Var) and not is_visible(p.name))
        made = {blank: Var(names.fresh(blank[2:])) for blank in blanks}
        pattern = found.pattern
        if made:
            pattern = test_with(pattern, "check", _name_blanks(query, number, found, names, made))
        terms = [_part(part, found, names, made) for part in parts]
        if any(term == NULL for term in terms):
            continue
        goals = list(_bound_tests(terms, found) if around.has_atoms else _triple_tests(terms, made, found))
        yield make_rule(EventPattern("rdf", (*terms, *more)), test_with(pattern, "where", conjunction(goals)), query)


def _may_be_triple(parts: tuple[Term, Term, Term]) -> bool:
    subject, predicate, _ = parts
    return not (isinstance(subject, Const) and not _is_node(subject)) and not (
        isinstance(predicate, Const) and not _is_iri(predicate)
    )


def _is_iri(term: Const) -> bool:
    return isinstance(term.value, str) and term.value.startswith("<")


def _is_node(term: Const) -> bool:
    return isinstance(term.value, str) and term.value.startswith(("<", "_:"))


def _part(part: Term, found: Timed, names: VariableNames, made: dict[str, Var]) -> Term:
    if not isinstance(part, Var):
        return part
    if part.name in made:
        return made[part.name]
    name = names.of(part.name)
    return Var(name) if name in found.binds else NULL


def _triple_tests(terms: list[Term], made: dict[str, Var], found: Timed) -> Iterator[Term]:
    """Yield what must hold of the variables in a template, where the pattern does not make it so."""
    new = set(made.values())
    s, p, o = terms
    if isinstance(s, Var) and s not in new:
        yield _sparql("||", Compound("isiri", (s,)), Compound("isblank", (s,)))
    if isinstance(p, Var):
        yield Compound("sparql", (Compound("isiri", (p,)),))
    if isinstance(o, Var) and o not in new and o.name not in found.sure:
        yield Compound("sparql", (Compound("bound", (o,)),))


def _bound_tests(terms: list[Term], found: Timed) -> Iterator[Term]:
    """Yield that the variables of a template have values, where the pattern does not say so."""
    for term in terms:
        if isinstance(term, Var) and term.name in found.maybe:
            yield Compound("sparql", (Compound("bound", (term,)),))


def _sparql(name: str, *args: Term) -> Term:
    return Compound("sparql", (Compound(name, args),))


def _name_blanks(query: q.StreamQuery, number: int, found: Timed, names: VariableNames, made: dict[str, Var]) -> Term:
    """Return the goals that name the blank nodes of a template, which are new for every solution."""
    visible = sorted(selected(replace(query, items=None)))
    pairs = [Compound("=", (Const(name), Var(v))) for name in visible if (v := names.of(name)) in found.binds]
    start, end = Var(names.fresh("Start")), Var(names.fresh("End"))
    goals: list[Term] = [Compound("t1", (start,)), Compound("t2", (end,))]
    solution = ListTerm((start, end, *pairs))
    goals += [
        Compound("sparql_blank", (Const(number), Const(blank[2:]), solution, node)) for blank, node in made.items()
    ]
    return conjunction(goals)
