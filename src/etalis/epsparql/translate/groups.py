"""Group patterns as solutions: joins in written order, filters last, as SPARQL evaluates them.

The elements of a group are joined by `and`, chains by `seq` and `equals` and their outer forms; FILTER and BIND are
conditions on what stands before them; NOT EXISTS is `cnot`. What reads the background alone is a goal beside its
neighbours. Whatever `check` refuses has been refused before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol, TypeAlias, assert_never

from etalis.epsparql import syntax as q
from etalis.epsparql.scope import is_sequence
from etalis.epsparql.translate import expressions as e
from etalis.epsparql.translate.conditions import bind, keep, lift, looks_out, name_ends, take_away, too_far
from etalis.epsparql.translate.elements import as_one_part, read_aggregate, read_goal, read_values
from etalis.epsparql.translate.missing import maybe, partners, witness
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.paths import expand
from etalis.epsparql.translate.refusals import refuse
from etalis.epsparql.translate.solutions import (
    TRUE,
    UNIT,
    Names,
    Solutions,
    Timed,
    Timeless,
    conjunction,
    either,
    join,
    negation,
    pair,
    rename_pattern,
    test_with,
    union,
    variables_of,
)
from etalis.epsparql.translate.triples import AskedFacts, PatternScope
from etalis.errors import Span
from etalis.language.syntax import (
    Compound,
    Condition,
    EventPattern,
    Negation,
    Side,
    Term,
    Var,
    Within,
)

Filters: TypeAlias = tuple[q.FilterBy | q.Exists, ...]
OPERATORS: dict[str, tuple[str, Side | None]] = {
    "SEQ": ("seq", None),
    "EQUALS": ("equals", None),
    "OPTIONALSEQ": ("seq", "right"),
    "SEQOPTIONAL": ("seq", "left"),
    "OPTIONALEQUALS": ("equals", "right"),
    "EQUALSOPTIONAL": ("equals", "left"),
}


@dataclass(frozen=True, slots=True)
class GroupOperand:
    """A group without its filters, and these."""

    found: Solutions
    filters: Filters
    span: Span | None
    is_sequence: bool


class TripleSource(Protocol):
    """What turns triple patterns into solutions: over streams and background, or over the graphs of windows."""

    @property
    def names(self) -> VariableNames: ...

    @property
    def facts(self) -> AskedFacts: ...

    @property
    def has_graphs(self) -> bool: ...

    def read(self, s: Term, p: Term, o: Term, scope: PatternScope, /) -> Solutions: ...


class PathSource(Protocol):
    """What turns paths with repetition into goals."""

    def read(self, s: Term, path: Compound, o: Term, scope: PatternScope, /) -> Timeless: ...


@dataclass(slots=True)
class GroupTranslator:
    """Turns the groups of one query into solutions; `infers_windows` where a bound on getDURATION() is a window too."""

    triples: TripleSource
    paths: PathSource
    infers_windows: bool
    project: Callable[[GroupTranslator, q.StreamQuery, PatternScope], Solutions]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def names(self) -> VariableNames:
        return self.triples.names

    def group(self, group: q.GroupPattern, scope: PatternScope) -> Solutions:
        """Return the solutions of a group."""
        operand = self._operand(group, scope)
        return self._filter(operand.found, operand, operand.filters, scope)

    def _operand(self, group: q.GroupPattern, scope: PatternScope) -> GroupOperand:
        filters = tuple(element for element in group.elements if isinstance(element, q.FilterBy | q.Exists))
        inner = replace(scope, is_blocked=True) if any(isinstance(test, q.Exists) for test in filters) else scope
        found = UNIT
        for element in group.elements:
            if not isinstance(element, q.FilterBy | q.Exists):
                found = self._add(found, element, inner)
        return GroupOperand(found, filters, group.span, is_sequence(group))

    def _add(self, found: Solutions, element: q.Element, scope: PatternScope) -> Solutions:
        """Return what is found so far together with the next element of the group."""
        match element:
            case q.Optional(group=group):
                inner = replace(scope, lifted=None)
                return self._optional(found, self._operand(group, inner), inner)
            case q.Minus(group=group):
                return take_away(found, self.group(group, replace(scope, lifted=None)).timeless, self.names)
            case q.BindAs(expression=expression, variable=variable):
                if looks_out(expression, found, scope, self.names):
                    raise too_far(element.span)
                return bind(found, expression, variable, self.names)
            case _:
                return join(found, self._element(element, scope), self.names)

    def _element(self, element: q.Element, scope: PatternScope) -> Solutions:
        """Return the solutions of an element by itself."""
        match element:
            case q.Triple():
                return self._triple(element, scope)
            case q.GroupPattern():
                return self.group(element, scope)
            case q.Chain():
                return self._chain(element, scope)
            case q.Alternatives(groups=groups):
                inner = replace(scope, is_branch=True)
                return union(self.group(group, inner) for group in groups)
            case q.Scoped(kind="graph", name=name, group=group):
                return self.group(group, replace(scope, graph=self.names.term(name)))
            case q.Scoped(name=name, group=group):
                return self.group(group, replace(scope, stream=self.names.term(name)))
            case q.Values():
                return read_values(element, self.names, self.triples.facts)
            case q.SubSelect(query=query):
                return self.project(self, query, replace(scope, seen=None))
            case q.Folded():
                return read_aggregate(element, self.names, scope, self.triples.has_graphs)
            case q.AskGoal(goal=goal):
                return read_goal(goal, self.names, self.triples.facts)
            case q.Optional() | q.Minus() | q.BindAs() | q.FilterBy() | q.Exists():
                raise AssertionError("no element by itself")
            case _:
                assert_never(element)

    # elements

    def _triple(self, triple: q.Triple, scope: PatternScope) -> Solutions:
        path = triple.predicate
        if not isinstance(path, Compound):
            s, p, o = map(self.names.term, (triple.subject, path, triple.object))
            return self.triples.read(s, p, o, scope)
        expanded = expand(triple, (f"_:path{number}" for number in self.numbers))
        if expanded is not triple:
            return self._element(expanded, scope)
        s, o = self.names.term(triple.subject), self.names.term(triple.object)
        return Solutions(timeless=self.paths.read(s, path, o, scope))

    # chains

    def _chain(self, chain: q.Chain, scope: PatternScope) -> Solutions:
        inner = replace(scope, is_instant=scope.is_instant or chain.within == 0)
        if not chain.operators:
            found = self.group(chain.groups[0], inner)
        else:
            apart = replace(inner, lifted=None)
            may_miss = any(operator.startswith("OPTIONAL") for operator in chain.operators)
            first = self._operand(chain.groups[0], apart if may_miss else inner)
            for operator, group in zip(chain.operators, chain.groups[1:], strict=True):
                within = apart if operator.endswith("OPTIONAL") else inner
                timed = self._pair(operator, first, self._operand(group, within), inner)
                first = GroupOperand(Solutions(timed), (), chain.span, is_sequence=True)
            found = first.found
        if chain.within is None or found.timed is None:
            return found
        return replace(found, timed=replace(found.timed, pattern=Within(found.timed.pattern, chain.within)))

    def _pair(self, word: str, first: GroupOperand, second: GroupOperand, scope: PatternScope) -> Timed:
        """Return two operands under a temporal operator; the filters of one that may be missing join them."""
        operator, alone = OPERATORS[word]
        if alone is None:
            return pair(operator, self._side(first, first.filters, scope), self._side(second, second.filters, scope))
        missing, other = (second, first) if alone == "left" else (first, second)
        own, shared = self._split(missing, other.found.binds)
        kept = self._side(other, other.filters, scope)
        partner = self._side(missing, own, replace(scope, lifted=None))
        partner = self._joined(partner, shared, kept.binds, scope, missing.span)
        a, b = (kept, partner) if alone == "left" else (partner, kept)
        return pair(operator, a, b, alone, missing.span)

    def _side(self, operand: GroupOperand, filters: Filters, scope: PatternScope) -> Timed:
        """Return the solutions of an operand that have a time."""
        timed = self._filter(operand.found, operand, filters, scope).timed
        assert timed is not None, "operands have a time"
        return as_one_part(timed) if scope.is_blocked and not operand.is_sequence else timed

    def _split(self, operand: GroupOperand, others: Names) -> tuple[Filters, Filters]:
        """Part the filters of a group that may be missing: its own, and those that see variables of the other side."""
        outside = others - operand.found.sure
        own: list[q.FilterBy | q.Exists] = []
        shared: list[q.FilterBy | q.Exists] = []
        for test in operand.filters:
            if isinstance(test, q.Exists):
                looks_at = frozenset(map(self.names.of, e.looked_at(test.group)))
                (shared if looks_at & outside else own).append(test)
                continue
            for part in e.conjuncts(test.expression):
                looks_at = e.mentioned(part, self.names)
                (shared if looks_at & outside else own).append(q.FilterBy(part, test.span))
        return tuple(own), tuple(shared)

    def _joined(
        self,
        partner: Timed,
        shared: Filters,
        others: Names,
        scope: PatternScope,
        span: Span | None,
        lifted: Sequence[Term] = (),
    ) -> Timed:
        """Return a side that may be missing with the conditions that join it; they see its own interval."""
        if not shared and not lifted:
            return partner
        ends = (
            name_ends(self.names)
            if any(isinstance(t, q.FilterBy) and e.asks_time(t.expression) for t in shared)
            else None
        )
        if ends is not None:
            pattern = test_with(partner.pattern, "check", conjunction(ends.goals))
            partner = Timed(pattern, partner.sure | {ends.start, ends.end}, partner.maybe)
        goals = [self._test(test, partner.binds | others, ends, scope) for test in shared]
        goal = conjunction((*goals, *lifted))
        apart, looked_at = others - partner.binds, variables_of(goal) & others
        if not looked_at & apart and not looked_at <= partner.sure:  # one of both sides, which is perhaps unbound here
            if not apart:
                raise refuse("a FILTER sees a variable that both sides have", span, "give one of them another name")
            goal = conjunction((goal, Compound(";", (Compound("var", (Var(min(apart)),)), TRUE))))
        return replace(partner, pattern=Condition("where", partner.pattern, goal))

    def _test(self, test: q.FilterBy | q.Exists, visible: Names, ends: e.GroupEnds | None, scope: PatternScope) -> Term:
        """Return a filter as a goal over variables that are visible."""
        if isinstance(test, q.FilterBy):
            return Compound("sparql", (e.to_rule(test.expression, self.names, visible, ends),))
        around = Timed(_NOTHING, visible)
        inside = replace(scope, is_instant=False, seen=around, lifted=None)
        operand = self._operand(test.group, inside)
        own, shared = self._split(operand, visible)
        inner = self._filter(operand.found, operand, own, inside)
        if inner.timed is not None:
            hint = "write the FILTER behind the operator, or give the group the variables that it needs"
            raise refuse("NOT EXISTS over a stream joins variables of the other side", test.span, hint)
        assert inner.timeless is not None
        goal = witness(visible, inner.timeless, self._goals(shared, visible | inner.binds, scope), self.names)
        return negation(goal if test.negated else negation(goal))

    def _goals(self, shared: Filters, visible: Names, scope: PatternScope) -> tuple[Term, ...]:
        return tuple(self._test(test, visible, None, scope) for test in shared)

    # conditions

    def _filter(self, found: Solutions, operand: GroupOperand, filters: Filters, scope: PatternScope) -> Solutions:
        """Return the solutions that pass filters of their group."""
        for test in filters:
            if isinstance(test, q.Exists):
                found = self._exists(found, test, operand, scope)
            else:
                for part in e.conjuncts(test.expression):
                    if looks_out(part, found, scope, self.names):
                        found = lift(found, part, scope, test.span, self.names)
                    else:
                        found = keep(found, part, self.names, infers_windows=self.infers_windows)
        return found

    # what may be missing, or must be

    def _optional(self, found: Solutions, operand: GroupOperand, scope: PatternScope) -> Solutions:
        """Return solutions with those of a group where there are any."""
        own, shared = self._split(operand, found.binds)
        group = self._filter(operand.found, operand, own, scope)
        timed, timeless = found.timed, found.timeless
        if timed is not None and group.timed is not None:
            timed = self._optional_event(timed, group.timed, group.timeless, shared, scope)
        elif timed is not None and group.timeless is not None:
            goal = self._maybe(timed.binds, group.timeless, shared, scope)
            pattern = test_with(timed.pattern, "event_multiply", goal)
            timed = Timed(pattern, timed.sure, (timed.binds | group.binds) - timed.sure)
        if timeless is not None and group.timeless is not None:
            goal = self._maybe(timeless.binds, group.timeless, shared, scope)
            looked_at = timeless.look_at(variables_of(goal) | group.timeless.binds, goal)
            fragile = looked_at.fragile | (group.timeless.binds - timeless.sure)
            added = (timeless.binds | group.timeless.binds) - timeless.sure
            timeless = replace(looked_at, maybe=added, fragile=fragile)
        return Solutions(timed, timeless, found.branches)

    def _maybe(self, known: Names, goals: Timeless, shared: Filters, scope: PatternScope) -> Term:
        return maybe(partners(known, goals, self._goals(shared, known | goals.binds, scope), self.names))

    def _optional_event(
        self, timed: Timed, partner: Timed, goals: Timeless | None, shared: Filters, scope: PatternScope
    ) -> Timed:
        """Return matches with those partners of the same stamp, or in the background, that there are."""
        joined = self._joined(partner, shared, timed.binds, scope, None)
        if goals is None:
            return pair("equals", timed, joined, "left")
        known = partners(timed.binds, goals, self._goals(shared, timed.binds | goals.binds, scope), self.names)
        without = replace(timed, pattern=test_with(timed.pattern, "where", negation(known)))
        with_known = replace(timed, pattern=test_with(timed.pattern, "where", negation(negation(known))))
        multiplied = test_with(timed.pattern, "event_multiply", known)
        sure = timed.sure | goals.sure
        whole = either(
            pair("equals", without, joined, "left"),
            pair("equals", with_known, joined),
            Timed(multiplied, sure, (timed.binds | goals.binds) - sure),
        )
        assert whole is not None
        return whole

    def _exists(self, found: Solutions, test: q.Exists, around: GroupOperand, scope: PatternScope) -> Solutions:
        """Return the solutions inside of whose interval, or in the background, a group has one, or has none."""
        timed, timeless = found.timed, found.timeless
        if timed is not None:
            inner, shared, lifted = self._blockers(test, timed, scope)
            if inner.timeless is not None:
                goals = (*self._goals(shared, timed.binds | inner.binds, scope), *lifted)
                goal = witness(timed.binds, inner.timeless, goals, self.names)
                asked = negation(goal if test.negated else negation(goal))
                timed = replace(timed, pattern=test_with(timed.pattern, "where", asked))
            if inner.timed is not None:
                kept = timed if around.is_sequence else as_one_part(timed)
                joined = self._joined(inner.timed, shared, timed.binds, scope, test.span, lifted)
                local = {name: self.names.fresh(name) for name in sorted(inner.timed.binds - timed.binds)}
                absent = rename_pattern(joined.pattern, local)
                timed = replace(timed, pattern=Negation("cnot", kept.pattern, absent))
        if timeless is not None:
            known = Timed(_NOTHING, timeless.sure, timeless.maybe)
            inner, shared, lifted = self._blockers(test, known, scope)
            if inner.timeless is not None:
                goals = (*self._goals(shared, timeless.binds | inner.binds, scope), *lifted)
                goal = witness(timeless.binds, inner.timeless, goals, self.names)
                timeless = timeless.look_at(variables_of(goal), negation(goal if test.negated else negation(goal)))
        return replace(found, timed=timed, timeless=timeless)

    def _blockers(self, test: q.Exists, known: Timed, scope: PatternScope) -> tuple[Solutions, Filters, list[Term]]:
        """Return the solutions of a group of EXISTS, and what is to be asked of them with the one that is known."""
        seen = known if scope.seen is None else replace(known, maybe=known.maybe | (scope.seen.binds - known.sure))
        lifted: list[Term] = []
        inside = replace(scope, is_instant=False, is_blocked=False, is_branch=False, seen=seen, lifted=lifted)
        operand = self._operand(test.group, inside)
        own, shared = self._split(operand, seen.binds)
        if scope.seen is not None:
            outer = scope.seen.binds - known.binds
            for each in shared:
                looks_at = e.looked_at(each if isinstance(each, q.Exists) else q.GroupPattern((each,)))
                if frozenset(map(self.names.of, looks_at)) & outer:
                    raise too_far(each.span)
        return self._filter(operand.found, operand, own, inside), shared, lifted


_NOTHING = EventPattern("nothing", ())  # a pattern that only its variables are asked of
