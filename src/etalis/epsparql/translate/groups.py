"""Group patterns as solutions: joins in written order, filters last, as SPARQL evaluates them.

The elements of a group are joined by `and`, chains by `seq` and `equals` and their outer forms; FILTER and BIND are
conditions on what stands before them; NOT EXISTS is `cnot`. What reads the background alone is a goal beside its
neighbours. Whatever `check` refuses has been refused before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias, assert_never

from etalis.epsparql import syntax as q
from etalis.epsparql.scope import is_sequence
from etalis.epsparql.translate import expressions as e
from etalis.epsparql.translate.missing import agreement, maybe, partners, witness
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.paths import PathTranslator, expand
from etalis.epsparql.translate.refusals import refuse
from etalis.epsparql.translate.solutions import (
    NONE,
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
    rename_term,
    test_with,
    union,
    variables_of,
)
from etalis.epsparql.translate.triples import PatternScope, TripleTranslator
from etalis.errors import Span
from etalis.language.syntax import (
    Aggregate,
    Binary,
    Compound,
    Condition,
    Const,
    EventPattern,
    Negation,
    Or,
    Pattern,
    Side,
    Term,
    Var,
    Within,
)
from etalis.language.traversal import postorder

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


@dataclass(slots=True)
class GroupTranslator:
    """Turns the groups of one query into solutions; `infers_windows` where a bound on getDURATION() is a window too."""

    triples: TripleTranslator
    paths: PathTranslator
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
                return self._optional(found, self._operand(group, scope), scope)
            case q.Minus(group=group):
                return self._minus(found, self.group(group, scope).timeless)
            case q.BindAs(expression=expression, variable=variable):
                self._refuse_seen(expression, found, scope, element.span)
                return self.bind(found, expression, variable)
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
                return union(self.group(group, scope) for group in groups)
            case q.Scoped(kind="graph", name=name, group=group):
                return self.group(group, replace(scope, graph=self.names.term(name)))
            case q.Scoped(name=name, group=group):
                return self.group(group, replace(scope, stream=self.names.term(name)))
            case q.Values():
                return self.values(element)
            case q.SubSelect(query=query):
                return self.project(self, query, replace(scope, seen=NONE))
            case q.Folded():
                return self._folded(element)
            case q.AskGoal(goal=goal):
                return self._goal(goal)
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
        return Solutions(timeless=self.paths.read(s, path, o))

    def values(self, values: q.Values) -> Solutions:
        """Return the rows of VALUES as facts; UNDEF agrees with anything."""
        variables = tuple(self.names.of(v.name) for v in values.variables)
        if not values.rows:
            return Solutions(timeless=Timeless((Const("fail"),), frozenset(variables)))
        name = self.triples.facts.add_values(values.rows)
        columns = zip(variables, zip(*values.rows, strict=True), strict=True)
        sure = frozenset(v for v, cells in columns if all(cell is not None for cell in cells))
        goal = Compound(name, tuple(map(Var, variables))) if variables else Const(name)
        return Solutions(timeless=Timeless((goal,), sure, frozenset(variables) - sure))

    def _folded(self, folded: q.Folded) -> Solutions:
        triple = folded.triple
        event = EventPattern("rdf", tuple(map(self.names.term, (triple.subject, triple.predicate, triple.object))))
        value = None if folded.value is None else self.names.term(folded.value)
        result = self.names.term(folded.result)
        aggregated = variables_of(*(() if value is None else (value,)))
        binds = (variables_of(*event.args) - aggregated) | variables_of(result)
        return Solutions(Timed(Aggregate(folded.kind, value, event, result), binds))

    def _goal(self, goal: Compound) -> Solutions:
        renamed = rename_term(goal, {name: self.names.of(name) for name in variables_of(goal)})
        if isinstance(renamed, Compound) and (renamed.name, len(renamed.args)) == ("rdf_store", 3):
            renamed = replace(renamed, name="rdf")
        return Solutions(timeless=Timeless((renamed,), NONE, variables_of(renamed)))

    # chains

    def _chain(self, chain: q.Chain, scope: PatternScope) -> Solutions:
        inner = replace(scope, is_instant=scope.is_instant or chain.within == 0)
        if not chain.operators:
            found = self.group(chain.groups[0], inner)
        else:
            first = self._operand(chain.groups[0], inner)
            for operator, group in zip(chain.operators, chain.groups[1:], strict=True):
                timed = self._pair(operator, first, self._operand(group, inner), inner)
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
        partner = self._side(missing, own, scope)
        partner = self._joined(partner, shared, kept.binds, scope)
        a, b = (kept, partner) if alone == "left" else (partner, kept)
        return pair(operator, a, b, alone)

    def _side(self, operand: GroupOperand, filters: Filters, scope: PatternScope) -> Timed:
        """Return the solutions of an operand that have a time."""
        timed = self._filter(operand.found, operand, filters, scope).timed
        assert timed is not None, "operands have a time"
        return _whole(timed) if scope.is_blocked and not operand.is_sequence else timed

    def _split(self, operand: GroupOperand, others: Names) -> tuple[Filters, Filters]:
        """Part the filters of a group that may be missing: its own, and those that see variables of the other side."""
        parts = [part for part in (operand.found.timed, operand.found.timeless) if part is not None]
        outside = others - frozenset.intersection(*(part.sure for part in parts))
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

    def _joined(self, partner: Timed, shared: Filters, others: Names, scope: PatternScope) -> Timed:
        """Return a side that may be missing with the conditions that join it; they see its own interval."""
        if not shared:
            return partner
        ends = self._ends() if any(isinstance(t, q.FilterBy) and e.asks_time(t.expression) for t in shared) else None
        if ends is not None:
            pattern = test_with(partner.pattern, "check", conjunction(ends.goals))
            partner = Timed(pattern, partner.sure | {ends.start, ends.end}, partner.maybe)
        goal = conjunction(self._test(test, partner.binds | others, ends, scope) for test in shared)
        return replace(partner, pattern=Condition("where", partner.pattern, goal))

    def _test(self, test: q.FilterBy | q.Exists, visible: Names, ends: e.GroupEnds | None, scope: PatternScope) -> Term:
        """Return a filter as a goal over variables that are visible."""
        if isinstance(test, q.FilterBy):
            return Compound("sparql", (e.to_rule(test.expression, self.names, visible, ends),))
        operand = self._operand(test.group, replace(scope, is_instant=False, seen=visible))
        own, shared = self._split(operand, visible)
        inner = self._filter(operand.found, operand, own, scope)
        if inner.timed is not None:
            hint = "write the FILTER behind the operator, or give the group the variables that it needs"
            raise refuse("NOT EXISTS over a stream joins variables of the other side", test.span, hint)
        assert inner.timeless is not None
        goal = witness(visible, inner.timeless, self._goals(shared, visible | inner.binds, scope), self.names)
        return negation(goal if test.negated else negation(goal))

    def _goals(self, shared: Filters, visible: Names, scope: PatternScope) -> tuple[Term, ...]:
        return tuple(self._test(test, visible, None, scope) for test in shared)

    # conditions

    def _ends(self) -> e.GroupEnds:
        return e.GroupEnds(self.names.fresh("Start"), self.names.fresh("End"))

    def _filter(self, found: Solutions, operand: GroupOperand, filters: Filters, scope: PatternScope) -> Solutions:
        """Return the solutions that pass filters of their group."""
        for test in filters:
            if isinstance(test, q.Exists):
                found = self._exists(found, test, operand, scope)
            else:
                self._refuse_seen(test.expression, found, scope, test.span)
                found = self._tested(found, test.expression)
        return found

    def _refuse_seen(self, expression: Term, found: Solutions, scope: PatternScope, span: Span | None) -> None:
        """Refuse what looks at a solution from inside a group of EXISTS, where only its own filters can."""
        parts = [part for part in (found.timed, found.timeless) if part is not None]
        sure = frozenset.intersection(*(part.sure for part in parts))
        if (e.mentioned(expression, self.names) - sure) & scope.seen:
            message = "an expression in a group inside of EXISTS looks at a variable from outside"
            raise refuse(message, span, "write it as a FILTER of the group of EXISTS itself")

    def _tested(self, found: Solutions, expression: Term) -> Solutions:
        timed, timeless = found.timed, found.timeless
        parts = list(e.conjuncts(expression))
        if timed is not None:
            lengths = [length for part in parts if (length := e.window(part)) is not None]
            if lengths and self.infers_windows and _is_inner(timed.pattern):
                timed = replace(timed, pattern=Within(timed.pattern, min(lengths)))
            timed = replace(timed, pattern=self._condition(timed, parts, lambda part: (part,)))
        if timeless is not None:
            goals = [Compound("sparql", (e.to_rule(part, self.names, timeless.binds, None),)) for part in parts]
            timeless = timeless.look_at(NONE.union(*(e.mentioned(part, self.names) for part in parts)), *goals)
        return replace(found, timed=timed, timeless=timeless)

    def _condition(self, timed: Timed, parts: list[Term], arguments: Callable[[Term], tuple[Term, ...]]) -> Pattern:
        """Return a pattern of which expressions are asked: `sparql(E)`, or what `arguments` make of it."""
        pattern = timed.pattern
        plain = [part for part in parts if not e.asks_time(part)]
        for some, ends in ((plain, None), ([part for part in parts if part not in plain], self._ends())):
            goals = [Compound("sparql", arguments(e.to_rule(part, self.names, timed.binds, ends))) for part in some]
            if some:
                kind, times = ("where", ()) if ends is None else ("check", ends.goals)
                pattern = test_with(pattern, kind, conjunction((*times, *goals)))
        return pattern

    def bind(self, found: Solutions, expression: Term, variable: Var) -> Solutions:
        """Return solutions with the value of an expression under a new name."""
        name = self.names.of(variable.name)
        timed, timeless = found.timed, found.timeless
        if timed is not None:
            pattern = self._condition(timed, [expression], lambda value: (value, Var(name)))
            timed = Timed(pattern, timed.sure, timed.maybe | {name})
        if timeless is not None:
            goal = Compound("sparql", (e.to_rule(expression, self.names, timeless.binds, None), Var(name)))
            timeless = timeless.look_at(e.mentioned(expression, self.names), goal)
            timeless = replace(timeless, maybe=timeless.maybe | {name})
        return replace(found, timed=timed, timeless=timeless)

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
        joined = self._joined(partner, shared, timed.binds, scope)
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

    def _minus(self, found: Solutions, taken: Timeless | None) -> Solutions:
        """Return the solutions with which none of the background's agrees in a bound variable."""
        assert taken is not None, "MINUS reads the background"
        timed, timeless = found.timed, found.timeless
        if timed is not None:
            goal = agreement(timed.sure, timed.binds, taken, self.names)
            timed = replace(timed, pattern=test_with(timed.pattern, "where", TRUE if goal is None else negation(goal)))
        if timeless is not None:
            goal = agreement(timeless.sure, timeless.binds, taken, self.names)
            if goal is not None:
                timeless = timeless.look_at(taken.binds, negation(goal))
        return replace(found, timed=timed, timeless=timeless)

    def _exists(self, found: Solutions, test: q.Exists, around: GroupOperand, scope: PatternScope) -> Solutions:
        """Return the solutions inside of whose interval, or in the background, a group has one, or has none."""
        visible = found.binds | scope.seen
        inside = replace(scope, is_instant=False, is_blocked=False, seen=visible)
        operand = self._operand(test.group, inside)
        own, shared = self._split(operand, visible)
        inner = self._filter(operand.found, operand, own, inside)
        timed, timeless = found.timed, found.timeless
        if timed is not None and inner.timeless is not None:
            goals = self._goals(shared, visible | inner.binds, scope)
            goal = witness(timed.binds | scope.seen, inner.timeless, goals, self.names)
            test_goal = negation(goal if test.negated else negation(goal))
            timed = replace(timed, pattern=test_with(timed.pattern, "where", test_goal))
        if timed is not None and inner.timed is not None:
            kept = timed if around.is_sequence else _whole(timed)
            timed = replace(timed, pattern=self._absent(kept, inner.timed, shared, visible, scope))
        if timeless is not None and inner.timeless is not None:
            goals = self._goals(shared, visible | inner.binds, scope)
            goal = witness(timeless.binds | scope.seen, inner.timeless, goals, self.names)
            timeless = timeless.look_at(variables_of(goal), negation(goal if test.negated else negation(goal)))
        return replace(found, timed=timed, timeless=timeless)

    def _absent(self, timed: Timed, blocker: Timed, shared: Filters, visible: Names, scope: PatternScope) -> Pattern:
        joined = self._joined(blocker, shared, visible, scope)
        local = {name: self.names.fresh(name) for name in sorted(blocker.binds - timed.binds)}
        return Negation("cnot", timed.pattern, rename_pattern(joined.pattern, local))


def _whole(timed: Timed) -> Timed:
    """Return a pattern that counts as one part, also where it is a sequence: a negation then looks inside all of it."""
    pattern = timed.pattern
    while isinstance(pattern, Condition | Within | Negation):
        pattern = pattern.pattern
    is_chain = isinstance(pattern, Binary) and pattern.operator == "seq"
    return replace(timed, pattern=Or(timed.pattern, timed.pattern)) if is_chain else timed


def _is_inner(pattern: Pattern) -> bool:
    """Tell whether all joins of a pattern are inner ones, so that a bound on the whole is one on every part."""
    return not any(
        isinstance(node, Aggregate) or (isinstance(node, Binary) and node.alone is not None)
        for node in postorder(pattern)
    )
