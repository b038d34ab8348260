"""What a query must not say, found before it runs: each problem with its code, place and hint.

Law: the solutions at a moment are decided by what has ended by then. So a pattern whose missing partner cannot be known
is refused, and so is a cycle of CONSTRUCTs through a side that may be missing in which nothing looks strictly back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from etalis.epsparql import syntax as s
from etalis.epsparql.reads import (
    ALWAYS,
    BOTH,
    NEVER,
    REPEATED,
    Predicates,
    path_parts,
    plain_predicates,
    time_of,
)
from etalis.epsparql.scope import always_bound, term_variables, variables_of
from etalis.epsparql.strata import cycles
from etalis.epsparql.windows import compounds, is_windowed, window_problems
from etalis.errors import Problem, ProgramError
from etalis.language.syntax import Compound, Const, Term

MAX_MIXED = 4  # patterns of a group that read stream and background: 2 ** 4 ways
MAX_LEVELS = 100

_NO_TIME = "a triple pattern of a streamed predicate gives it one; `streamed=` says which are"


def check(unit: s.Unit, known: Predicates | None = None) -> list[Problem]:
    """Return the problems of a unit, errors and warnings, in the order of the text."""
    deep = [problem for query in unit.queries for problem in _too_deep(query)]
    if deep:
        return deep
    known = Predicates() if known is None else known
    problems = []
    for query in unit.queries:
        problems += _QueryCheck(known).check(query)
    return problems + list(cycles(unit, known))


def refuse(unit: s.Unit, known: Predicates | None = None) -> None:
    """Raise all errors of a unit at once."""
    errors = [problem for problem in check(unit, known) if problem.is_error]
    if errors:
        raise ProgramError(*errors)


def _too_deep(query: s.StreamQuery) -> Iterator[Problem]:
    todo: list[tuple[s.Element, int]] = [(query.body, 1)]
    while todo:
        element, level = todo.pop()
        if level > MAX_LEVELS or (isinstance(element, s.Triple) and _depth(element.predicate) > MAX_LEVELS):
            message = f"groups or paths inside each other, more than {MAX_LEVELS} levels deep"
            yield Problem("E250", message, element.span, "name a part with REGISTER STREAM, and read that")
            return
        todo += [(part, level + 1) for part in s.parts_of(element)]


def _depth(term: Term) -> int:
    """Return how many levels a term has."""
    level, found = 0, [term]
    while found:
        level += 1
        found = [arg for part in found if isinstance(part, Compound) for arg in part.args]
    return level


@dataclass(slots=True)
class _QueryCheck:
    """The problems of one query; `within` and `is_scoped` tell what is around an element."""

    known: Predicates
    problems: list[Problem] = field(default_factory=list)

    def check(self, query: s.StreamQuery) -> list[Problem]:
        for dataset in query.datasets:
            if dataset.kind == "named":
                message = "FROM NAMED: the graphs of the background are one"
                self._add("E260", message, dataset, "write FROM; GRAPH groups read the graphs of streams")
        if is_windowed(query):
            return self.problems + list(window_problems(query))
        self.problems += window_problems(query)
        self._group(query.body, None, False)
        if query.policy == "snoop_recent":
            self._refuse_unbound_joins(query)
        if self._time(query.body, False) == NEVER and not any(problem.is_error for problem in self.problems):
            self._add("E251", "the query has no time: no part of it is a stream", query.body, _NO_TIME)
        return self.problems

    def _add(self, code: str, message: str, node: s.Element | s.Dataset, hint: str) -> None:
        self.problems.append(Problem(code, message, node.span, hint))

    def _time(self, element: s.Element, is_scoped: bool) -> str:
        return time_of(element, self.known, is_scoped)

    def _group(self, group: s.GroupPattern, within: int | None, is_scoped: bool) -> None:
        if not is_scoped:
            self._count_mixed(group)
        before: list[s.Element] = []
        for element in group.elements:
            self._element(element, s.GroupPattern(tuple(before)), within, is_scoped)
            before.append(element)
            if isinstance(element, s.Exists) and element.negated:
                self._warn_of_instant(group, element, is_scoped)
            if isinstance(element, s.Chain) and len(element.groups) > 1:
                self._warn_of_context(group, element)

    def _element(self, element: s.Element, before: s.GroupPattern, within: int | None, is_scoped: bool) -> None:
        match element:
            case s.Triple():
                self._path(element, is_scoped)
            case s.GroupPattern():
                self._group(element, within, is_scoped)
            case s.Chain():
                self._chain(element, within, is_scoped)
            case s.Alternatives(groups=groups):
                for group in groups:
                    self._group(group, within, is_scoped)
            case s.Optional(group=group):
                self._optional(element, before, within, is_scoped)
                self._group(group, within, is_scoped)
            case s.Minus(group=group):
                self._timeless(group, "MINUS", "join what is streamed, or write FILTER NOT EXISTS", is_scoped)
                self._group(group, within, is_scoped)
            case s.Exists(group=group, negated=negated):
                if not negated:
                    self._timeless(group, "EXISTS", "join what is streamed: a solution is reported once", is_scoped)
                self._group(group, None, is_scoped)
            case s.Scoped(kind=kind, group=group):
                if kind == "window":
                    self._add("E258", "WINDOW names no window", element, "declare it: FROM NAMED WINDOW ... ON ...")
                self._group(group, within, True)
            case s.SubSelect(query=query):
                self.problems += window_problems(query)
                self._group(query.body, within, is_scoped)

    def _chain(self, chain: s.Chain, within: int | None, is_scoped: bool) -> None:
        windows = [w for w in (within, chain.within) if w is not None]
        inner = min(windows, default=None)
        for operator in chain.operators:
            if operator == "SEQOPTIONAL" and inner is None:
                message = "SEQOPTIONAL without WITHIN: it is never known that nothing follows"
                self._add("E254", message, chain, "add WITHIN behind the chain")
        for group in chain.groups:
            if chain.operators and self._time(group, is_scoped) == NEVER:
                message = f"the group has no time, so it cannot stand beside {_beside(chain, group)}"
                self._add("E251", message, group, _NO_TIME)
            self._group(group, inner, is_scoped)

    def _optional(self, element: s.Optional, before: s.GroupPattern, within: int | None, is_scoped: bool) -> None:
        if self._time(element.group, is_scoped) == NEVER:
            return
        if within == 0 and self._time(before, is_scoped) == ALWAYS:
            return
        message = "OPTIONAL over a stream: that nothing will come cannot be known"
        if within == 0:
            message = "OPTIONAL behind what has no time of its own: that nothing will come cannot be known"
        self._add("E252", message, element, "use EQUALSOPTIONAL, OPTIONALSEQ, SEQOPTIONAL or WITHIN 0")

    def _timeless(self, group: s.GroupPattern, word: str, hint: str, is_scoped: bool) -> None:
        if self._time(group, is_scoped) != NEVER:
            self._add("E253", f"{word} over a stream: it reads the background alone", group, hint)

    def _count_mixed(self, group: s.GroupPattern) -> None:
        triples = [e for e in group.elements if isinstance(e, s.Triple)]
        mixed = [t for t in triples for p in plain_predicates(t.predicate) if self.known.reads(p) == BOTH]
        if len(mixed) > MAX_MIXED:
            message = f"{len(mixed)} patterns of a group may read the stream or the background, {MAX_MIXED} at most"
            hint = "`background_predicates=` and `streamed=` say where predicates are read; or split the group"
            self._add("E256", message, mixed[MAX_MIXED], hint)

    def _path(self, triple: s.Triple, is_scoped: bool) -> None:
        todo: list[Term] = [triple.predicate]
        while todo:
            path = todo.pop()
            if not isinstance(path, Compound):
                continue
            if path.name not in REPEATED:
                todo.extend(path.args)
            elif is_scoped or not self._is_background_path(path):
                message = f"the path {path.name} over a stream: it is followed in the background alone"
                self._add("E257", message, triple, "use CONSTRUCT, which may be recursive")

    def _is_background_path(self, path: Compound) -> bool:
        if path.name == "!" or any(isinstance(p, Compound) and p.name == "!" for p in path_parts(path)):
            return self.known.has_background
        names = list(plain_predicates(path))
        return all(isinstance(p, Const) and self.known.reads(p) == "background" for p in names)

    def _warn_of_instant(self, group: s.GroupPattern, element: s.Exists, is_scoped: bool) -> None:
        others = [e for e in group.elements if self._time(e, is_scoped) != NEVER]
        is_single = len(others) == 1 and isinstance(others[0], s.Triple)
        if is_single and self._time(element.group, is_scoped) != NEVER:
            message = "nothing lies inside an instant, so NOT EXISTS holds of each"
            self._add("W250", message, element, "use OPTIONALSEQ or EQUALSOPTIONAL with FILTER(!BOUND(...))")

    def _warn_of_context(self, group: s.GroupPattern, chain: s.Chain) -> None:
        """Warn of `!BOUND(?v)` on an outer join inside an operand: it is decided without the other operands."""
        filters = [e.expression for e in group.elements if isinstance(e, s.FilterBy)]
        missed = {v for e in filters for c in compounds(e) if c.name == "!" for v in term_variables(*c.args)}
        for operand in chain.groups:
            inner = operand.elements[0] if len(operand.elements) == 1 else None
            if isinstance(inner, s.Chain) and inner.operators[:1] == ("OPTIONALSEQ",):
                found = variables_of(inner.groups[:1]).keys() - variables_of(inner.groups[1:])
                if not missed.isdisjoint(found):
                    message = "what may be missing is looked for at any time before, also before the other operands"
                    hint = "write FILTER NOT EXISTS, or EQUALSOPTIONAL with the whole pattern once more"
                    self._add("W251", message, inner, hint)

    def _refuse_unbound_joins(self, query: s.StreamQuery) -> None:
        """Refuse joins on variables that may be unbound: `snoop_recent` keeps the last instance of each key."""
        todo: list[s.Element] = [query.body]
        while todo:
            element = todo.pop()
            parts = s.parts_of(element)
            todo += parts
            joined = parts if isinstance(element, s.GroupPattern | s.Chain) else ()
            for i, part in enumerate(joined[1:], start=1):
                shared = variables_of(joined[:i]).keys() & variables_of((part,))
                unsure = shared - (always_bound(joined[:i]) & always_bound((part,)))
                if unsure and not isinstance(part, s.BindAs):
                    message = f"?{min(unsure)} may be unbound, and joins under the policy snoop_recent"
                    self._add("E261", message, part, "use another policy, or bind it on both sides")


def _beside(chain: s.Chain, group: s.GroupPattern) -> str:
    place = next(i for i, g in enumerate(chain.groups) if g is group)
    return chain.operators[max(0, place - 1)]
