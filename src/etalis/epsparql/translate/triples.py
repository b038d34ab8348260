"""Triple patterns as events `rdf(S, P, O)`, as goals over facts `rdf(S, P, O)`, or as both.

Under a schema a pattern reads what entails it: `?x a :C` the members of the classes below, and the ends of properties
with a domain or range below, by membership in sets of facts: `rdfs_class(K, C)`, `rdfs_domain(P, C)`,
`rdfs_range(P, C)`, `rdfs_property(P, Q)`. A variable class or predicate, and a schema that says something of rdf:type
itself, ask `rdfs_follows(S, P, O, S2, P2, O2)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial, reduce
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
    test_with,
    variables_of,
)
from etalis.language.syntax import Clause, Compound, Condition, Const, EventPattern, Or, Pattern, Term, Var

NULL = Const("null")
STORE = "rdf_store"
FEW = 3  # constants that are written out; a look-up costs as much
MANY = 1_000  # where they must be, since a look-up does not tell in advance what it finds


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
    dynamic: dict[tuple[str, int], None] = field(default_factory=dict)  # that may be without facts
    tables: int = 0  # of VALUES

    def add(self, name: str, members: Iterable[Value], of: Value) -> None:
        """Add a set: its members, each with the name of the set."""
        self.rows.setdefault((name, 2), {}).update(((member, of), None) for member in members)

    def add_store(self) -> None:
        """Add `rdf_store(S, P, O)`, the triples of the background and whatever facts there are by that name."""
        triple = tuple(map(Var, ("S", "P", "O")))
        self.clauses[Clause(Compound(STORE, triple), Compound("rdf", triple))] = None
        self.dynamic |= {("rdf", 3): None, (STORE, 3): None}

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
    writes_sets: bool = False

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
                below = schema.properties_below(p.value)
                event = partial(self._event, s, o=o, scope=scope)
                return Timed(self._of_set("rdfs_property", below, p.value, event), sure)
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

    def _of_set(
        self, name: str, members: list[Value], of: Value, event: Callable[[Term], Pattern], most: int = FEW
    ) -> Pattern:
        """Return an event with one of several constants in a place: as alternatives, or by membership in a set."""
        if len(members) <= (MANY if self.writes_sets else most):
            return reduce(Or, (event(Const(member)) for member in members))
        self.facts.add(name, members, of)
        place = self._fresh("p")
        return test_with(event(place), "where", Compound(name, (place, Const(of))))

    def _members(self, s: Term, of: Const, scope: PatternScope) -> Pattern:
        """Return the pattern of the members of a class."""
        schema, name = self.schema, of.value

        def member(k: Term) -> Pattern:
            return self._event(s, Const(TYPE), k, scope)

        def subject(p: Term) -> Pattern:
            return self._event(s, p, self._fresh("o"), scope)

        def target(p: Term) -> Pattern:
            event = self._event(self._fresh("s"), p, s, scope)
            return event if isinstance(s, Const) else test_with(event, "where", _no_literal(s, schema.has_atoms))

        found = [self._of_set("rdfs_class", schema.classes_below(name), name, member, most=1)]
        subjects, objects = schema.makers(SUBJECT, name), schema.makers(OBJECT, name)
        if subjects:
            found.append(self._of_set("rdfs_domain", subjects, name, subject))
        if objects and not (isinstance(s, Const) and not _is_node(s.value, schema.has_atoms)):
            found.append(self._of_set("rdfs_range", objects, name, target))
        return reduce(Or, found)

    def _followed(self, s: Term, p: Term, o: Term, scope: PatternScope) -> Pattern:
        """Return the pattern of every triple with all that it entails."""
        facts = self.facts
        facts.clauses.update(dict.fromkeys(_following(self.schema.has_atoms)))
        facts.rows.setdefault(("rdfs_entails", 5), {}).update(dict.fromkeys(self.schema.table()))
        original = self._fresh("s"), self._fresh("p"), self._fresh("o")
        goal = Compound("rdfs_follows", (*original, s, p, o))
        return Condition("event_multiply", self._event(*original, scope), goal)

    def _fresh(self, name: str) -> Var:
        return Var(self.names.fresh(name))


def _no_literal(term: Term, has_atoms: bool) -> Term:
    """Return the goal that a term is no literal; where names are plain, no text is known to be one."""
    if has_atoms:
        return Compound("atom", (term,))
    return Compound("sparql", (Compound("!", (Compound("isliteral", (term,)),)),))


def _is_node(value: Value, has_atoms: bool) -> bool:
    return isinstance(value, str) and (has_atoms or value.startswith(("<", "_:")))


@cache
def _following(has_atoms: bool) -> tuple[Clause, ...]:
    """Return the clauses of `rdfs_follows`: a triple, and what the table says that it entails."""
    s, p, o, a, q, b, x, y, what = (Var(name) for name in ("S", "P", "O", "A", "Q", "B", "X", "Y", "What"))
    is_any, is_node, is_class = (Compound("=", (what, of)) for of in (Const(ANY), Const(NODE), o))
    fits = disjunction((is_any, conjunction((is_node, _no_literal(o, has_atoms))), is_class))
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
