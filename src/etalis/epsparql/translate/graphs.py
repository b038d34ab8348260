"""Triple patterns and paths over the graphs of windows, as goals.

`sparql_triple(Graph, S, P, O)` asks the graph of a window, `rdf(S, P, O)` the background, and `graph_triple` both: a
triple that both have is one. Outside of windows there is the background alone. Paths of repeated steps are walked by
breadth, so that cycles end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from etalis.epsparql.reads import BACKGROUND, STREAM, Predicates, path_parts
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.paths import PathTranslator
from etalis.epsparql.translate.solutions import Solutions, Timeless, conjunction, disjunction, negation, variables_of
from etalis.epsparql.translate.triples import AskedFacts, PatternScope
from etalis.language.read.parser import parse_collect
from etalis.language.syntax import Clause, Compound, Const, Term, Var

_G, _X, _Y, _Z = (Var(name) for name in ("G", "X", "Y", "Z"))


def read_clauses(text: str) -> dict[Clause, None]:
    """Return clauses that are written here."""
    tree, problems = parse_collect(text, "<paths>")
    assert not problems, problems
    return dict.fromkeys(item for item in tree.items if isinstance(item, Clause))


_BOTH = read_clauses("""
graph_triple(_, S, P, O) :- rdf(S, P, O).
graph_triple(G, S, P, O) :- sparql_triple(G, S, P, O), \\+ rdf(S, P, O).
""")
# Of a path N and its step: what is reached from a node, and from nodes all of whose followers are known.
_WALK = """
N_reached(G, X, Ys) :- N_steps(G, [X], Front), N_walk(Front, G, Front, Ys).
N_walk([], _, Seen, Seen).
N_walk([X | Xs], G, Seen, Ys) :-
    N_steps(G, [X | Xs], Found), ord_subtract(Found, Seen, New), ord_union(Seen, New, All), N_walk(New, G, All, Ys).
N_steps(G, Xs, Ys) :- findall(Y, (member(X, Xs), N_step(G, X, Y)), Found), sort(Found, Ys).
"""
_REPEATED = {
    "+": f"""{_WALK}
N(G, X, Y) :- nonvar(X), !, N_reached(G, X, Ys), member(Y, Ys).
N(G, X, Y) :- path_nodes(G, Xs), member(X, Xs), N_reached(G, X, Ys), member(Y, Ys).
""",
    "*": f"""{_WALK}
N(G, X, Y) :- path_nodes(G, Xs), member(X, Xs), N_reached(G, X, Ys), ord_union([X], Ys, Zs), member(Y, Zs).
""",
    "?": """
N(G, X, Y) :- path_nodes(G, Xs), member(X, Xs), findall(Z, N_step(G, X, Z), Zs), sort([X | Zs], Ys), member(Y, Ys).
""",
}


@dataclass(frozen=True, slots=True)
class GraphTriples:
    """Turns triple patterns into goals; `graphs` are variables by the names of windows, None is the whole body's."""

    known: Predicates
    facts: AskedFacts
    names: VariableNames
    graphs: Mapping[str | None, Var]
    has_graphs = True

    def read(self, s: Term, p: Term, o: Term, scope: PatternScope) -> Solutions:
        """Return the solutions of a pattern whose terms have the names of the rule."""
        return Solutions(timeless=Timeless((self.goal(self.graph(scope), s, p, o),), variables_of(s, p, o)))

    def graph(self, scope: PatternScope) -> Var | None:
        """Return the graph that is read in a place; None where that is the background."""
        name = scope.stream.value if isinstance(scope.stream, Const) else None
        return self.graphs.get(name)

    def goal(self, graph: Var | None, s: Term, p: Term, o: Term) -> Term:
        """Return the goal that a triple is in a graph, or in the background."""
        reads = self.known.reads(p) if self.known.closed else STREAM
        if reads == BACKGROUND or (graph is None and reads != STREAM):
            return Compound("rdf", (s, p, o))
        if graph is None:
            return Const("fail")
        if reads == STREAM:
            return Compound("sparql_triple", (graph, s, p, o))
        self.facts.clauses.update(_BOTH)
        return Compound("graph_triple", (graph, s, p, o))


@dataclass(slots=True)
class GraphPaths:
    """Turns paths with repetition into goals over graphs; those outside of windows are the background's.

    `made` are the predicates of paths that a unit has already.
    """

    triples: GraphTriples
    outside: PathTranslator
    made: dict[Term, str]

    def read(self, s: Term, path: Compound, o: Term, scope: PatternScope) -> Timeless:
        """Return the solutions of a path between two terms that have the names of the rule."""
        graph = self.triples.graph(scope)
        if graph is None:
            return self.outside.read(s, path, o, scope)
        goal = self._goal(graph, s, path, o)
        ends = [(end, other) for end, other in ((s, o), (o, s)) if isinstance(end, Const)]
        if path.name in ("*", "?") and ends:
            end, other = ends[0]
            elsewhere = negation(self._is_node(graph, end))
            goal = disjunction((goal, conjunction((Compound("=", (other, end)), elsewhere))))
        return Timeless((goal,), variables_of(s, o))

    def _goal(self, graph: Var, s: Term, path: Term, o: Term) -> Term:
        if not isinstance(path, Compound):
            return self.triples.goal(graph, s, path, o)
        if path.name == "^":
            return self._goal(graph, o, path.args[0], s)
        return Compound(self._predicate(path), (graph, s, o))

    def _predicate(self, path: Compound) -> str:
        """Return the predicate of a path, with clauses of its own."""
        if path not in self.made:
            name = self.made[path] = f"graph_path_{len(self.made) + 1}"
            for body in self._bodies(path, name):
                self._add(name, body)
        return self.made[path]

    def _add(self, name: str, body: Term) -> None:
        self.triples.facts.clauses[Clause(Compound(name, (_G, _X, _Y)), body)] = None

    def _bodies(self, path: Compound, name: str) -> Iterator[Term]:
        match path:
            case Compound(name="/", args=steps):
                ends = [_X, *(Var(f"Z{i}") for i in range(1, len(steps))), _Y]
                yield conjunction(self._goal(_G, a, p, b) for a, p, b in zip(ends, steps, ends[1:], strict=False))
            case Compound(name="|", args=steps):
                for step in steps:
                    yield self._goal(_G, _X, step, _Y)
            case Compound(name="!"):
                yield from self._others(path)
            case Compound(name=sign, args=(step,)):
                self._add(f"{name}_step", self._goal(_G, _X, step, _Y))
                self._add_nodes()
                self.triples.facts.clauses.update(read_clauses(re.sub(r"\bN(?=_|\()", name, _REPEATED[sign])))

    def _others(self, path: Compound) -> Iterator[Term]:
        """Yield the goals of a set of properties that are not taken, forwards and backwards."""
        steps = path_parts(path)
        forwards = [step for step in steps if not isinstance(step, Compound)]
        backwards = [step.args[0] for step in steps if isinstance(step, Compound)]
        for (a, b), taken in (((_X, _Y), forwards), ((_Y, _X), backwards)):
            if taken:
                others = (Compound("\\==", (_Z, step)) for step in taken)
                yield conjunction((self.triples.goal(_G, a, _Z, b), *others))

    def _add_nodes(self) -> None:
        clauses, nodes = self.triples.facts.clauses, Var("Nodes")
        p, o, s, q = (Var(f"_#{i}") for i in range(1, 5))
        ends = disjunction((self.triples.goal(_G, _X, p, o), self.triples.goal(_G, s, q, _X)))
        found = Compound("findall", (_X, ends, _Z))
        body = conjunction((found, Compound("sort", (_Z, nodes))))
        clauses[Clause(Compound("path_nodes", (_G, nodes)), body)] = None

    def _is_node(self, graph: Var, node: Term) -> Term:
        some = (Var(self.triples.names.fresh("n")) for _ in range(4))
        first, p, second, q = some
        return disjunction((self.triples.goal(graph, node, p, first), self.triples.goal(graph, second, q, node)))
