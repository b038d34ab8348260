"""Predicates that are the transitive closure of facts: a call without variables is a question of reachability.

Recognised by their clauses: `p(X,Y) :- e(X,Y)` with one of `p(X,Z) :- e(X,Y), p(Y,Z)`, `p(X,Z) :- p(X,Y), e(Y,Z)` and
`p(X,Z) :- p(X,Y), p(Y,Z)`, or `p(X,X)` in place of the first; there may be several e, each with further arguments that
are constants or occur nowhere else. Law: where such a call ends under SLD resolution, its truth is that of the index,
and where it does not end, the index gives the truth of the least model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from etalis.logic.knowledge.as_of import View
from etalis.logic.machine.machine import Machine
from etalis.logic.machine.predicate import Predicate
from etalis.logic.tabling.reachability import Reachability
from etalis.logic.terms.unify import Term, Variable, copy, deref, is_ground, variables

Row = tuple[Term, ...]
Question = Callable[[Term, Term], bool]

_LOOK_UP = 16  # cells of work that a link counts for: a step


@dataclass(frozen=True, slots=True)
class FactEdge:
    """Which facts are links: those of `name/arity` that hold some constants, from one argument to another."""

    name: str
    arity: int
    start: int
    end: int
    fixed: tuple[tuple[int, Term], ...]

    def link(self, row: Row) -> tuple[Term, Term] | None:
        """Return the link that a fact is, None if it is none."""
        if any(row[i] != value for i, value in self.fixed):
            return None
        return row[self.start], row[self.end]


@dataclass(frozen=True, slots=True)
class ClosureForm:
    """A predicate as a closure: of which links, and whether everything reaches itself."""

    edges: frozenset[FactEdge]
    reflexive: bool


class Links:
    """The facts of some edges as an index of reachability, filled at the first question and told of every change."""

    __slots__ = ("_edges", "_fit", "_graph", "_own", "_watched", "direct", "reaches", "ready")

    def __init__(self, own: Callable[[str, int], Predicate], edges: frozenset[FactEdge]) -> None:
        self._own = own
        self._edges = edges
        self._graph = Reachability()
        self._fit = True
        self._watched = False
        self.reaches: Question = self._graph.asker()
        self.ready = False  # the index is that of the facts
        self.direct = False  # and all nodes are atoms or numbers, which are the same outside of the logic machine

    def prepare(self) -> bool:
        """Fill the index if need be; False if the predicates are more than ground facts."""
        if not self.ready and self._fit:
            self._watch()
            self._fit = all(map(self._is_fit, self.predicates()))
            if self._fit:
                self._graph.fill(self._all())
                self.ready, self.direct = True, not self._graph.has_compounds()
        return self.ready

    def predicates(self) -> Iterator[Predicate]:
        """Yield the predicates whose facts are links."""
        return (self._own(name, arity) for name, arity in sorted({(e.name, e.arity) for e in self._edges}))

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            for predicate in self.predicates():
                predicate.watchers.append(self)

    def _is_fit(self, predicate: Predicate) -> bool:
        if (predicate.fixed and not predicate.is_state) or not predicate.defined:
            return False
        return predicate.relation is not None or predicate.is_ground_facts()

    def _all(self) -> Iterator[tuple[Term, Term]]:
        for edge in self._edges:
            for row, _ in self._own(edge.name, edge.arity).live():
                link = edge.link(row)
                if link is not None:
                    yield link

    def past(self, view: View, node: Term) -> set[Term] | None:
        """Return what a node was linked to as of a moment, None if there was more than ground facts."""
        found = set()
        for edge in self._edges:
            args: list[Term] = [Variable() for _ in range(edge.arity)]
            args[edge.start] = node
            for _, row, body in view.entries(self._own(edge.name, edge.arity), tuple(args)):
                if body != "true" or not all(map(is_ground, row)):
                    return None
                link = edge.link(row)
                if link is not None and link[0] == node:
                    found.add(link[1])
        return found

    def change(self, name: str, row: Row, *, known: bool) -> None:
        """Take a ground fact that comes or goes."""
        if not self.ready:
            self._fit = True  # it may be the first one
            return
        for edge in self._edges:
            if (edge.name, edge.arity) == (name, len(row)):
                link = edge.link(row)
                if link is not None:
                    if self.direct and any(node.__class__ is tuple and node for node in link):
                        self.direct = False
                    (self._graph.add if known else self._graph.remove)(*link)

    def reset(self) -> None:
        """Begin anew at the next question: the facts have changed as a whole, or are no longer facts alone."""
        if self.ready:
            self._graph.clear()
        self.ready, self.direct, self._fit = False, False, True


class Closure:
    """A predicate as a closure of links, while its clauses say so."""

    __slots__ = ("links", "reflexive", "valid")

    def __init__(self, links: Links, *, reflexive: bool) -> None:
        self.links = links
        self.reflexive = reflexive
        self.valid = True

    def answer(self, machine: Machine, predicate: Predicate, args: Row) -> bool | None:
        """Answer a call with ground arguments; None if only its clauses can tell."""
        ground = _ground_arguments(args)
        if ground is None:
            return None
        a, b = ground
        if machine.view is not None:
            return self._search(machine, machine.view, predicate, a, b)
        if not self.links.prepare():
            return None
        if machine.tabling is not None:
            for needed in (predicate, *self.links.predicates()):
                machine.tabling.note_call(needed, None)
        return self.holds(a, b)

    def holds(self, a: Term, b: Term) -> bool:
        """Tell whether the closure holds, from an index that is ready."""
        return (self.reflexive and a == b) or self.links.reaches(a, b)

    def _search(self, machine: Machine, view: View, predicate: Predicate, a: Term, b: Term) -> bool | None:
        """Answer as of a moment, for which there is no index; None if predicates were others than they are."""
        free = (Variable(), Variable())
        if [c for c, *_ in view.entries(predicate, free)] != [c for c, *_ in predicate.entries(free)]:
            return None
        if self.reflexive and a == b:
            return True
        front, seen = [a], {a}
        for node in front:
            found = self.links.past(view, node)
            if found is None:
                return None
            machine.trail.charge(_LOOK_UP * (1 + len(found)))
            if b in found:
                return True
            front.extend(found - seen)
            seen |= found
        return False

    def question(self) -> Question:
        """Return the fastest function for the answer."""
        return self.holds if self.reflexive else self.links.reaches


def _ground_arguments(args: Row) -> Row | None:
    """Return the arguments of a call with their bindings applied, None if one is not ground."""
    ground = tuple(map(deref, args))
    if any(arg.__class__ is Variable for arg in ground):
        return None
    if any(arg.__class__ is tuple and arg for arg in ground):
        ground = tuple(map(copy, ground))
        return ground if all(map(is_ground, ground)) else None
    return ground


def recognise(predicate: Predicate) -> ClosureForm | None:
    """Return the form of a predicate whose clauses define a closure."""
    if predicate.arity != 2 or predicate.relation is not None or predicate.fixed:
        return None
    found: dict[str, set[FactEdge]] = {"base": set(), "right": set(), "left": set()}
    marks = {"double": False, "reflexive": False}
    for args, body in predicate.live():
        read = _read_clause(predicate.name, args, body)
        if read is None:
            return None
        kind, edge = read
        if edge is None:
            marks[kind] = True
        else:
            found[kind].add(edge)
    base, steps = found["base"], (found["right"], found["left"])
    edges = base.union(*steps) if marks["reflexive"] else base
    whole = marks["double"] or any(step == edges for step in steps)
    if not edges or not whole or any(not step <= edges for step in steps):
        return None
    return ClosureForm(frozenset(edges), marks["reflexive"])


def _read_clause(name: str, args: Row, body: Term) -> tuple[str, FactEdge | None] | None:
    """Return which part of a closure a clause is, with the edge it takes."""
    x, z = map(deref, args)
    if not (isinstance(x, Variable) and isinstance(z, Variable)):
        return None
    if x is z:
        return ("reflexive", None) if body == "true" else None
    goals = _goals(body)
    count = Counter(v for goal in goals for v in variables(goal))
    if len(goals) == 1:
        edge = None if goals[0][0] == name and len(goals[0]) == 3 else _read_edge(goals[0], x, z, count)
        return None if edge is None else ("base", edge)
    return _read_step(name, goals, x, z, count) if len(goals) == 2 else None


def _goals(body: Term) -> list[tuple[Term, ...]]:
    """Return the goals of a short conjunction; none if one of them is no call with arguments."""
    body = deref(body)
    parts = body[1:] if isinstance(body, tuple) and len(body) == 3 and body[0] == "," else (body,)
    goals = [deref(part) for part in parts]
    return goals if all(isinstance(goal, tuple) and len(goal) > 2 and goal[0] != "," for goal in goals) else []


def _read_step(
    name: str, goals: list[tuple[Term, ...]], x: Variable, z: Variable, count: Counter[Variable]
) -> tuple[str, FactEdge | None] | None:
    """Read a body of two goals, of which one or both call the predicate itself."""
    own = [goal[0] == name and len(goal) == 3 for goal in goals]
    if not any(own):
        return None
    for call, other in (goals, goals[::-1]):
        if call[0] != name or len(call) != 3:
            continue
        a, b = map(deref, call[1:])
        if not (isinstance(a, Variable) and isinstance(b, Variable)):
            return None
        if b is z and a is not x and a is not z:
            kind, start, end = "right", x, a
        elif a is x and b is not z and b is not x:
            kind, start, end = "left", b, z
        else:
            continue
        if all(own):
            return ("double", None) if [deref(t) for t in other[1:]] == [start, end] else None
        edge = _read_edge(other, start, end, count)
        return None if edge is None else (kind, edge)
    return None


def _read_edge(goal: tuple[Term, ...], start: Variable, end: Variable, count: Counter[Variable]) -> FactEdge | None:
    """Read a goal as a link from one variable to another."""
    args = [deref(arg) for arg in goal[1:]]
    places = {start: args.index(start) if start in args else -1, end: args.index(end) if end in args else -1}
    if start is end or min(places.values()) < 0:
        return None
    fixed = []
    for i, arg in enumerate(args):
        if i in places.values():
            continue
        if isinstance(arg, Variable):
            if arg is start or arg is end or count[arg] > 1:
                return None
        elif is_ground(arg):
            fixed.append((i, arg))
        else:
            return None
    return FactEdge(goal[0], len(args), places[start], places[end], tuple(fixed))
