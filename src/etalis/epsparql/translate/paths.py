"""Property paths: `/`, `^` and `|` expand into patterns; `+`, `*`, `?` and negated sets are predicates over background.

A path with repetition is a tabled predicate `path_N(X, Y)`, so that cycles end. A path of no steps leads from a node of
the background to itself, and from a constant to itself wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.epsparql import syntax as q
from etalis.epsparql.reads import path_parts
from etalis.epsparql.translate.solutions import Timeless, conjunction, disjunction, variables_of
from etalis.epsparql.translate.triples import AskedFacts, PatternScope
from etalis.language.syntax import Clause, Compound, Const, Term, Var

_X, _Y, _Z = Var("X"), Var("Y"), Var("Z")
_NODE = "path_node"


def expand(triple: q.Triple, names: Iterator[str]) -> q.Element:
    """Return the elements that a path of single steps stands for; repetition stays."""
    s, path, o, span = triple.subject, triple.predicate, triple.object, triple.span
    match path:
        case Compound(name="/", args=steps):
            ends = [s, *(Var(next(names)) for _ in steps[1:]), o]
            parts = (q.Triple(a, step, b, span) for a, step, b in zip(ends, steps, ends[1:], strict=False))
            return q.GroupPattern(tuple(parts), span)
        case Compound(name="^", args=(step,)):
            return q.Triple(o, step, s, span)
        case Compound(name="|", args=steps):
            return q.Alternatives(tuple(q.GroupPattern((q.Triple(s, step, o, span),), span) for step in steps), span)
        case _:
            return triple


class PathTranslator:
    """Turns paths with repetition into goals over the background."""

    __slots__ = ("_facts", "_made")

    def __init__(self, facts: AskedFacts) -> None:
        self._facts = facts
        self._made: dict[Term, str] = {}

    def read(self, s: Term, path: Compound, o: Term, _scope: PatternScope) -> Timeless:
        """Return the solutions of a path between two terms that have the names of the rule."""
        goal = self._goal(s, path, o)
        if path.name in ("*", "?"):
            same = [Compound("=", (end, other)) for end, other in ((s, o), (o, s)) if isinstance(end, Const)]
            goal = disjunction((goal, *same[:1]))
        return Timeless((goal,), variables_of(s, o))

    def _goal(self, s: Term, path: Term, o: Term) -> Term:
        """Return the goal that a path leads from one term to another."""
        if not isinstance(path, Compound):
            return Compound("rdf", (s, path, o))
        if path.name == "^":
            return self._goal(o, path.args[0], s)
        return Compound(self._predicate(path), (s, o))

    def _predicate(self, path: Compound) -> str:
        """Return the predicate of a path, with clauses of its own."""
        if path in self._made:
            return self._made[path]
        name = self._made[path] = f"path_{len(self._made) + 1}"
        head = Compound(name, (_X, _Y))
        for body in self._bodies(path, head):
            self._facts.clauses[Clause(head, body)] = None
        if path.name in ("+", "*"):
            self._facts.tabled[name, 2] = None
        return name

    def _bodies(self, path: Compound, head: Compound) -> Iterator[Term]:
        match path:
            case Compound(name="/", args=steps):
                ends = [_X, *(Var(f"Z{i}") for i in range(1, len(steps))), _Y]
                yield conjunction(self._goal(a, p, b) for a, p, b in zip(ends, steps, ends[1:], strict=False))
            case Compound(name="|", args=steps):
                for step in steps:
                    yield self._goal(_X, step, _Y)
            case Compound(name="!"):
                yield from _negated(path_parts(path))
            case Compound(name=name, args=(step,)):
                yield self._goal(_X, step, _Y)
                if name != "?":
                    yield conjunction((Compound(head.name, (_X, _Z)), self._goal(_Z, step, _Y)))
                if name != "+":
                    yield conjunction((Compound("=", (_X, _Y)), Compound(_NODE, (_X,))))
                    self._add_nodes()

    def _add_nodes(self) -> None:
        first, second = Var("_#1"), Var("_#2")
        for args in ((_X, first, second), (first, second, _X)):
            self._facts.clauses[Clause(Compound(_NODE, (_X,)), Compound("rdf", args))] = None


def _negated(steps: tuple[Term, ...]) -> Iterator[Term]:
    """Yield the goals of a set of properties that are not taken, forwards and backwards."""
    forwards = [step for step in steps if not isinstance(step, Compound)]
    backwards = [step.args[0] for step in steps if isinstance(step, Compound)]
    for ends, taken in (((_X, _Y), forwards), ((_Y, _X), backwards)):
        if taken:
            other = (Compound("\\==", (_Z, step)) for step in taken)
            yield conjunction((Compound("rdf", (ends[0], _Z, ends[1])), *other))
