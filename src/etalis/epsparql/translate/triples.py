"""Triple patterns as events `rdf(S, P, O)`, as goals over facts `rdf(S, P, O)`, or as both.

Under a schema a pattern reads what entails it: `?x a :C` the members of the classes below, and the ends of properties
with a domain or range below, by membership in sets of facts: `rdfs_class(K, C)`, `rdfs_domain(P, C)`,
`rdfs_range(P, C)`, `rdfs_property(P, Q)`. A variable class or predicate, and a schema that says something of rdf:type
itself, ask `rdfs_follows(S, P, O, S2, P2, O2)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from etalis.data.values import Value
from etalis.epsparql.reads import BACKGROUND, BOTH, STREAM, TYPE, Predicates
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.schema import ANY, NODE, OBJECT, SUBJECT, StreamSchema
from etalis.epsparql.translate.solutions import (
    Solutions,
    Timed,
    Timeless,
    conjunction,
    disjunction,
    either,
    test_with,
    variables_of,
)
from etalis.language.syntax import Clause, Compound, Condition, Const, EventPattern, Pattern, Term, Var

NULL = Const("null")


@dataclass(frozen=True, slots=True)
class PatternScope:
    """Where triples are looked for: in a graph, in a stream, in one of the streams that FROM STREAM names."""

    graph: Term | None = None
    stream: Term | None = None
    streams: tuple[str, ...] = ()
    is_instant: bool = False  # inside of WITHIN 0
    is_blocked: bool = False  # inside of what a NOT EXISTS asks for the parts of
    seen: Timed | None = None  # the solution that filters of EXISTS see
    lifted: list[Term] | None = None  # what filters of groups in EXISTS ask of it, for the whole of the group
    is_branch: bool = False  # of alternatives inside of EXISTS

    @property
    def is_named(self) -> bool:
        return self.graph is not None or self.stream is not None


@dataclass(slots=True)
class AskedFacts:
    """The facts and clauses that translated patterns ask for."""

    rows: dict[tuple[str, int], dict[tuple[Value, ...], None]] = field(default_factory=dict)
    clauses: dict[Clause, None] = field(default_factory=dict)
    tabled: dict[tuple[str, int], None] = field(default_factory=dict)
    tables: int = 0  # of VALUES

    def add(self, name: str, members: Iterable[Value], of: Value) -> None:
        """Add a set: its members, each with the name of the set."""
        self.rows.setdefault((name, 2), {}).update(((member, of), None) for member in members)

    def add_values(self, rows: Iterable[tuple[Const | None, ...]]) -> str:
        """Add rows of VALUES as facts, and return their name; None agrees with anything."""
        self.tables += 1
        name = f"values_{self.tables}"
        for row in rows:
            blanks = map("_#{}".format, count(1))
            cells = tuple(Var(next(blanks)) if cell is None else Const(cell.value) for cell in row)
            self.clauses[Clause(Compound(name, cells) if cells else Const(name))] = None
        return name


@dataclass(frozen=True, slots=True)
class TripleTranslator:
    """Turns triple patterns into solutions."""

    known: Predicates
    schema: StreamSchema
    facts: AskedFacts
    names: VariableNames
    has_graphs: bool

    def read(self, s: Term, p: Term, o: Term, scope: PatternScope) -> Solutions:
        """Return the solutions of a pattern whose terms have the names of the rule."""
        reads = STREAM if scope.is_named else self.known.reads(p)
        timed = None if reads == BACKGROUND else self._timed(s, p, o, scope)
        timeless = None
        if reads != STREAM:
            timeless = Timeless((Compound("rdf", (s, p, o)),), variables_of(s, p, o))
        return Solutions(timed, timeless, 2 if reads == BOTH else 1)

    def _timed(self, s: Term, p: Term, o: Term, scope: PatternScope) -> Timed:
        schema = self.schema
        sure = variables_of(s, p, o, *(t for t in (scope.graph, scope.stream) if t is not None))
        if not schema:
            return Timed(self._event(s, p, o, scope), sure)
        if isinstance(p, Const) and schema.is_plain:
            if p.value != TYPE:
                return Timed(self._below(s, p, o, scope, schema.properties_below(p.value), "rdfs_property"), sure)
            if isinstance(o, Const):
                return Timed(self._members(s, o, scope), sure)
        return Timed(self._followed(s, p, o, scope), sure)

    def _event(self, s: Term, p: Term, o: Term, scope: PatternScope) -> Pattern:
        """Return the event of a triple, in the graph and stream that are asked for."""
        if not self.has_graphs:
            return EventPattern("rdf", (s, p, o))
        graph, stream = scope.graph or self._fresh("g"), scope.stream or self._fresh("n")
        tests: list[Term] = []
        if isinstance(scope.graph, Var):
            tests.append(Compound("\\==", (graph, NULL)))
        if isinstance(scope.stream, Var):
            tests.append(Compound("\\==", (stream, NULL)))
        elif scope.stream is None and len(scope.streams) == 1:
            stream = Const(scope.streams[0])
        elif scope.stream is None and scope.streams:
            self.facts.add("from_stream", scope.streams, scope.streams[0])
            tests.append(Compound("from_stream", (stream, Const(scope.streams[0]))))
        event: Pattern = EventPattern("rdf", (s, p, o, graph, stream))
        for test in tests:
            event = test_with(event, "where", test)
        return event

    def _below(self, s: Term, p: Const, o: Term, scope: PatternScope, below: list[Value], name: str) -> Pattern:
        if len(below) == 1:
            return self._event(s, p, o, scope)
        self.facts.add(name, below, p.value)
        inner = self._fresh("p")
        return test_with(self._event(s, inner, o, scope), "where", Compound(name, (inner, p)))

    def _members(self, s: Term, of: Const, scope: PatternScope) -> Pattern:
        """Return the pattern of the members of a class."""
        schema, facts = self.schema, self.facts
        below = schema.classes_below(of.value)
        found = [self._event(s, Const(TYPE), of, scope)]
        if len(below) > 1:
            facts.add("rdfs_class", below, of.value)
            k = self._fresh("k")
            event = self._event(s, Const(TYPE), k, scope)
            found = [test_with(event, "where", Compound("rdfs_class", (k, of)))]
        subjects, objects = schema.makers(SUBJECT, of.value), schema.makers(OBJECT, of.value)
        if subjects:
            facts.add("rdfs_domain", subjects, of.value)
            p = self._fresh("p")
            event = self._event(s, p, self._fresh("o"), scope)
            found.append(test_with(event, "where", Compound("rdfs_domain", (p, of))))
        if objects and not (isinstance(s, Const) and not _is_node(s.value)):
            facts.add("rdfs_range", objects, of.value)
            p = self._fresh("p")
            event = self._event(self._fresh("s"), p, s, scope)
            found.append(test_with(event, "where", Compound("rdfs_range", (p, of))))
            if not isinstance(s, Const):
                found[-1] = test_with(found[-1], "where", _no_literal(s))
        whole = either(*(Timed(pattern, frozenset()) for pattern in found))
        assert whole is not None
        return whole.pattern

    def _followed(self, s: Term, p: Term, o: Term, scope: PatternScope) -> Pattern:
        """Return the pattern of every triple with all that it entails."""
        facts = self.facts
        facts.clauses.update(dict.fromkeys(_FOLLOWING))
        facts.rows.setdefault(("rdfs_entails", 5), {}).update(dict.fromkeys(self.schema.table()))
        original = self._fresh("s"), self._fresh("p"), self._fresh("o")
        goal = Compound("rdfs_follows", (*original, s, p, o))
        return Condition("event_multiply", self._event(*original, scope), goal)

    def _fresh(self, name: str) -> Var:
        return Var(self.names.fresh(name))


def _no_literal(term: Term) -> Term:
    return Compound("sparql", (Compound("!", (Compound("isliteral", (term,)),)),))


def _is_node(value: Value) -> bool:
    return isinstance(value, str) and value.startswith(("<", "_:"))


def _following() -> tuple[Clause, ...]:
    """Return the clauses of `rdfs_follows`: a triple, and what the table says that it entails."""
    s, p, o, a, q, b, x, y, what = (Var(name) for name in ("S", "P", "O", "A", "Q", "B", "X", "Y", "What"))
    is_any, is_node, is_class = (Compound("=", (what, of)) for of in (Const(ANY), Const(NODE), o))
    fits = disjunction((is_any, conjunction((is_node, _no_literal(o))), is_class))
    entails = Compound("rdfs_entails", (p, what, x, q, y))
    ends = Compound("rdfs_end", (x, s, o, a)), Compound("rdfs_end", (y, s, o, b))
    constant = conjunction(Compound("\\==", (x, Const(end))) for end in (SUBJECT, OBJECT))
    first, second = Var("_#1"), Var("_#2")
    return (
        Clause(Compound("rdfs_follows", (s, p, o, s, p, o))),
        Clause(Compound("rdfs_follows", (s, p, o, a, q, b)), conjunction((fits, entails, *ends))),
        Clause(Compound("rdfs_end", (Const(SUBJECT), s, first, s))),
        Clause(Compound("rdfs_end", (Const(OBJECT), first, o, o))),
        Clause(Compound("rdfs_end", (x, first, second, x)), constant),
    )


_FOLLOWING = _following()
