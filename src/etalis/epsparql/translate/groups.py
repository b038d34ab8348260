"""Group patterns as solutions: joins in written order, filters last, as SPARQL evaluates them.

The elements of a group are joined by `and`, chains by `seq` and `equals` and their outer forms; FILTER and BIND are
conditions on what stands before them; NOT EXISTS is `cnot`. What reads the background alone is a goal beside its
neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import assert_never

from etalis.epsparql import syntax as q
from etalis.epsparql.translate import expressions as e
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.paths import PathReader, expand
from etalis.epsparql.translate.refusals import has_no_time, refuse
from etalis.epsparql.translate.solutions import (
    NONE,
    TRUE,
    UNIT,
    Names,
    Solutions,
    Timed,
    Timeless,
    ask,
    beside,
    conjunction,
    disjunction,
    either,
    join,
    negation,
    pair,
    rename,
    rename_term,
    test_with,
    union,
)
from etalis.epsparql.translate.triples import Scope, TripleReader
from etalis.errors import Span
from etalis.language.syntax import (
    Aggregate, Binary, Clause, Compound, Const, EventPattern, Negation, Pattern, Side, Term, Var, Within,
)  # fmt: skip
from etalis.language.traversal import postorder

MAX_DEPTH = 100  # of groups in groups
MAX_BRANCHES = 16
OPERATORS: dict[str, tuple[str, Side | None]] = {
    "SEQ": ("seq", None),
    "EQUALS": ("equals", None),
    "OPTIONALSEQ": ("seq", "right"),
    "SEQOPTIONAL": ("seq", "left"),
    "OPTIONALEQUALS": ("equals", "right"),
    "EQUALSOPTIONAL": ("equals", "left"),
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A group without its filters, and these."""

    found: Solutions
    filters: tuple[q.FilterBy | q.Exists, ...]
    span: Span | None


@dataclass(slots=True)
class GroupReader:
    """Turns the groups of one query into solutions; `infer_windows` where a bound on getDURATION() is a window too."""

    triples: TripleReader
    paths: PathReader
    infer_windows: bool
    project: Callable[[GroupReader, q.StreamQuery, Scope, int], Solutions]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def names(self) -> VariableNames:
        return self.triples.names

    def group(self, group: q.GroupPattern, scope: Scope, depth: int = 0) -> Solutions:
        """Return the solutions of a group."""
        operand = self._operand(group, scope, depth)
        return self._filter(operand.found, operand.filters, scope, depth)

    def _operand(self, group: q.GroupPattern, scope: Scope, depth: int) -> Operand:
        if depth > MAX_DEPTH:
            raise refuse("E290", f"groups are nested deeper than {MAX_DEPTH}", group.span, "take the query apart")
        found = UNIT
        filters: list[q.FilterBy | q.Exists] = []
        for element in group.elements:
            if isinstance(element, q.FilterBy | q.Exists):
                filters.append(element)
            else:
                found = self._add(found, element, scope, depth)
                if found.branches > MAX_BRANCHES:
                    hint = "say in background= or streamed= which predicates are which"
                    raise refuse("E293", "more than 4 patterns of a group may read both, stream and background",
                                 element.span, hint)  # fmt: skip
        return Operand(found, tuple(filters), group.span)

    def _add(self, found: Solutions, element: q.Element, scope: Scope, depth: int) -> Solutions:
        """Return what is found so far together with the next element of the group."""
        match element:
            case q.Optional(group=group):
                return self._optional(found, self._operand(group, scope, depth + 1), scope, depth)
            case q.Minus(group=group):
                return self._minus(found, self.group(group, scope, depth + 1), group.span)
            case q.BindAs(expression=expression, variable=variable):
                return self.bind(found, expression, variable)
            case _:
                return join(found, self._element(element, scope, depth), self.names)

    def _element(self, element: q.Element, scope: Scope, depth: int) -> Solutions:
        """Return the solutions of an element by itself."""
        match element:
            case q.Triple():
                return self._triple(element, scope, depth)
            case q.GroupPattern():
                return self.group(element, scope, depth + 1)
            case q.Chain():
                return self._chain(element, scope, depth)
            case q.Alternatives(groups=groups):
                return union(self.group(group, scope, depth + 1) for group in groups)
            case q.Scoped(kind=kind, name=name, group=group):
                return self._scoped(kind, name, group, scope, depth)
            case q.Values():
                return self._values(element)
            case q.SubSelect(query=query):
                return self.project(self, query, scope, depth + 1)
            case q.Folded():
                return self._folded(element)
            case q.AskGoal(goal=goal):
                goal = self._goal(goal)
                known = frozenset(v for v in e.variables_of(goal))
                return Solutions(timeless=Timeless((goal,), NONE, known, known))
            case q.Optional() | q.Minus() | q.BindAs() | q.FilterBy() | q.Exists():
                raise AssertionError("not an element by itself")
            case _:
                assert_never(element)

    # triples and groups with a name

    def _triple(self, triple: q.Triple, scope: Scope, depth: int) -> Solutions:
        path = triple.predicate
        if not isinstance(path, Compound):
            return self.triples.read(*map(self.names.term, (triple.subject, path, triple.object)), scope)
        fresh = (f"_:path{number}" for number in self.numbers)
        expanded = expand(triple, fresh)
        if expanded is not triple:
            return self._element(expanded, scope, depth + 1)
        if scope.is_named:
            raise refuse("E292", f"`{path.name}` needs background, GRAPH and STREAM read streams", triple.span,
                         "write the path outside of the group")  # fmt: skip
        s, o = self.names.term(triple.subject), self.names.term(triple.object)
        return Solutions(timeless=self.paths.read(s, path, o, triple.span))

    def _scoped(self, kind: str, name: Term, group: q.GroupPattern, scope: Scope, depth: int) -> Solutions:
        named = self.names.term(name)
        if kind == "window":
            raise refuse("E294", "WINDOW groups are not supported", group.span, "use STREAM, with WITHIN for its length")
        inner = replace(scope, graph=named) if kind == "graph" else replace(scope, stream=named)
        return self.group(group, inner, depth + 1)

    def _values(self, values: q.Values) -> Solutions:
        """Return the rows of VALUES as facts; UNDEF agrees with anything."""
        name = f"values_{next(self.numbers)}"
        variables = tuple(self.names.of(v.name) for v in values.variables)
        for row in values.rows:
            blanks = (Var(f"_#{i}") for i in count(1))
            head = Compound(name, tuple(next(blanks) if cell is None else cell for cell in row))
            self.triples.facts.clauses[Clause(head if row else Const(name))] = None
        if not values.rows:
            return Solutions(timeless=Timeless((Const("fail"),), frozenset(variables)))
        columns = zip(variables, zip(*values.rows, strict=True), strict=True)
        sure = frozenset(v for v, cells in columns if all(cell is not None for cell in cells))
        goal = Compound(name, tuple(map(Var, variables))) if variables else Const(name)
        return Solutions(timeless=Timeless((goal,), sure, frozenset(variables) - sure))

    def _folded(self, folded: q.Folded) -> Solutions:
        triple = folded.triple
        event = EventPattern("rdf", tuple(map(self.names.term, (triple.subject, triple.predicate, triple.object))))
        value = None if folded.value is None else self.names.term(folded.value)
        result = self.names.term(folded.result)
        aggregated = e.variables_of(*(() if value is None else (value,)))
        binds = (e.variables_of(*event.args) - aggregated) | e.variables_of(result)
        return Solutions(Timed(Aggregate(folded.kind, value, event, result), binds))

    def _goal(self, goal: Compound) -> Compound:
        renamed = rename_term(goal, {name: self.names.of(name) for name in e.variables_of(goal)})
        assert isinstance(renamed, Compound)
        return replace(renamed, name="rdf") if (renamed.name, len(renamed.args)) == ("rdf_store", 3) else renamed

    # chains

    def _chain(self, chain: q.Chain, scope: Scope, depth: int) -> Solutions:
        inner = replace(scope, is_instant=scope.is_instant or chain.within == 0)
        if not chain.operators:
            found = self.group(chain.groups[0], inner, depth + 1)
        else:
            first = self._operand(chain.groups[0], inner, depth + 1)
            for operator, group in zip(chain.operators, chain.groups[1:], strict=True):
                second = self._operand(group, inner, depth + 1)
                first = Operand(Solutions(self._pair(operator, first, second, inner, depth)), (), chain.span)
            found = first.found
        if chain.within is None or found.timed is None:
            return found
        pattern = Within(found.timed.pattern, chain.within)
        return replace(found, timed=replace(found.timed, pattern=pattern))

    def _pair(self, word: str, first: Operand, second: Operand, scope: Scope, depth: int) -> Timed:
        """Return two operands under a temporal operator; the filters of one that may be missing join them."""
        operator, alone = OPERATORS[word]
        missing = {"left": second, "right": first, None: None}[alone]
        sides, joined = [], TRUE
        for side, other in ((first, second), (second, first)):
            filters = side.filters
            found = side.found
            if side is missing:
                own, shared = self._split(side, other.found.binds)
                found, joined = self._shared(found, shared, other.found.binds)
                filters = own
            timed = self._filter(found, filters, scope, depth).timed
            if timed is None:
                raise has_no_time(side.span, f"this operand of {word}")
            sides.append(timed)
        a, b = sides
        if joined == TRUE:
            return pair(operator, a, b, alone)
        if alone == "left":
            b = replace(b, pattern=test_with(b.pattern, "where", joined))
        else:
            a = replace(a, pattern=test_with(a.pattern, "where", joined))
        return pair(operator, a, b, alone)

    def _split(
        self, side: Operand, others: Names
    ) -> tuple[tuple[q.FilterBy | q.Exists, ...], list[Term]]:
        """Part the filters of a group that may be missing: its own, and the expressions that see the other side too."""
        sure = NONE if side.found.timed is None else side.found.timed.sure
        own: list[q.FilterBy | q.Exists] = []
        shared: list[Term] = []
        for test in side.filters:
            if isinstance(test, q.Exists):
                own.append(test)
                continue
            for part in e.conjuncts(test.expression):
                if (e.mentioned(part, self.names) - sure) & others:
                    shared.append(part)
                else:
                    own.append(q.FilterBy(part, test.span))
        return tuple(own), shared

    def _shared(self, found: Solutions, shared: list[Term], others: Names) -> tuple[Solutions, Term]:
        """Return a group that shows its interval where conditions of a join ask for it, and these conditions."""
        ends = self._ends() if any(map(e.asks_time, shared)) else None
        visible = found.binds | others
        goals = [Compound("sparql", (e.to_rule(part, self.names, visible, ends),)) for part in shared]
        if ends is None or found.timed is None:
            return found, conjunction(goals)
        timed = found.timed
        pattern = test_with(timed.pattern, "check", conjunction(ends.goals))
        times = frozenset((ends.start, ends.end))
        return replace(found, timed=Timed(pattern, timed.sure | times, timed.maybe)), conjunction(goals)

    # conditions

    def _ends(self) -> e.Ends:
        return e.Ends(self.names.fresh("Start"), self.names.fresh("End"))

    def _filter(
        self, found: Solutions, filters: tuple[q.FilterBy | q.Exists, ...], scope: Scope, depth: int
    ) -> Solutions:
        """Return the solutions that pass the filters of their group."""
        for test in filters:
            if isinstance(test, q.Exists):
                found = self._exists(found, test, scope, depth)
            else:
                found = self._tested(found, test.expression)
        return found

    def _tested(self, found: Solutions, expression: Term) -> Solutions:
        timed, timeless = found.timed, found.timeless
        parts = list(e.conjuncts(expression))
        if timed is not None:
            lengths = [length for part in parts if (length := e.window(part)) is not None]
            if lengths and self.infer_windows and _is_inner(timed.pattern):
                timed = replace(timed, pattern=Within(timed.pattern, min(lengths)))
            timed = replace(timed, pattern=self._condition(timed, parts, lambda part: (part,)))
        if timeless is not None:
            goals = [Compound("sparql", (e.to_rule(part, self.names, timeless.binds, None),)) for part in parts]
            looked_at = NONE.union(*(e.mentioned(part, self.names) for part in parts)) & timeless.binds
            fragile = timeless.fragile | (looked_at - timeless.sure)
            timeless = replace(timeless, goals=(*timeless.goals, *goals), fragile=fragile)
        return replace(found, timed=timed, timeless=timeless)

    def _condition(
        self, timed: Timed, parts: list[Term], arguments: Callable[[Term], tuple[Term, ...]]
    ) -> Pattern:
        """Return a pattern on which expressions are asked: `sparql(E)`, or what `arguments` make of it."""
        ends = self._ends() if any(map(e.asks_time, parts)) else None
        goals = [
            Compound("sparql", arguments(e.to_rule(part, self.names, timed.binds, ends))) for part in parts
        ]
        if ends is None:
            return test_with(timed.pattern, "where", conjunction(goals))
        return test_with(timed.pattern, "check", conjunction((*ends.goals, *goals)))

    def bind(self, found: Solutions, expression: Term, variable: Var) -> Solutions:
        """Return solutions with the value of an expression under a new name."""
        name = self.names.of(variable.name)
        timed, timeless = found.timed, found.timeless
        if timed is not None:
            pattern = self._condition(timed, [expression], lambda value: (value, Var(name)))
            timed = Timed(pattern, timed.sure, timed.maybe | {name})
        if timeless is not None:
            goal = Compound("sparql", (e.to_rule(expression, self.names, timeless.binds, None), Var(name)))
            looked_at = e.mentioned(expression, self.names) & timeless.binds
            fragile = timeless.fragile | (looked_at - timeless.sure)
            timeless = Timeless((*timeless.goals, goal), timeless.sure, timeless.maybe | {name}, fragile)
        return replace(found, timed=timed, timeless=timeless)

    # what may be missing or must be

    def _optional(self, found: Solutions, operand: Operand, scope: Scope, depth: int) -> Solutions:
        """Return solutions with those of a group where there are any."""
        goals = operand.found.timeless
        own, shared = self._split_timeless(operand, found.binds)
        narrowed = self._filter(operand.found, own, scope, depth)
        goals, partner = narrowed.timeless, narrowed.timed
        if partner is not None and not scope.is_instant:
            raise refuse(
                "E295", "whether OPTIONAL has a partner cannot be known: it reads a stream", operand.span,
                "use EQUALSOPTIONAL, OPTIONALSEQ, SEQOPTIONAL or WITHIN 0",
            )  # fmt: skip
        timed = found.timed
        if timed is not None:
            if partner is not None:
                timed = self._optional_event(timed, partner, goals, shared)
            elif goals is not None:
                timed = self._left_join(timed, goals, shared)
        timeless = found.timeless
        if timeless is not None and partner is not None:
            raise refuse("E295", "a part of this group has no time, and OPTIONAL behind it reads a stream",
                         operand.span, "write OPTIONAL first, or name the predicates in streamed=")  # fmt: skip
        if timeless is not None and goals is not None:
            whole = Timeless((self._maybe(timeless.binds, goals, shared),), NONE, goals.binds)
            looked_at = (whole.binds & timeless.binds) - timeless.sure
            fragile = timeless.fragile | looked_at | ((goals.binds | goals.fragile) - timeless.sure)
            sure = timeless.sure
            maybe = (timeless.binds | goals.binds) - sure
            timeless = Timeless((*timeless.goals, *whole.goals), sure, maybe, fragile)
        return replace(found, timed=timed, timeless=timeless)

    def _split_timeless(
        self, operand: Operand, others: Names
    ) -> tuple[tuple[q.FilterBy | q.Exists, ...], list[Term]]:
        sure = frozenset.intersection(
            *(part.sure for part in (operand.found.timed, operand.found.timeless) if part is not None)
        )
        own: list[q.FilterBy | q.Exists] = []
        shared: list[Term] = []
        for test in operand.filters:
            if isinstance(test, q.FilterBy) and (e.mentioned(test.expression, self.names) - sure) & others:
                shared.extend(e.conjuncts(test.expression))
            else:
                own.append(test)
        return tuple(own), shared

    def _partners(self, known: Names, goals: Timeless, shared: list[Term]) -> Term:
        """Return the goal of a partner among goals, beside variables that may be known."""
        asked = beside(goals, known, self.names)
        visible = known | goals.binds
        tests = (Compound("sparql", (e.to_rule(part, self.names, visible, None),)) for part in shared)
        return conjunction((*asked.goals, *tests))

    def _maybe(self, known: Names, goals: Timeless, shared: list[Term]) -> Term:
        found = Compound("*->", (self._partners(known, goals, shared), TRUE))
        return Compound(";", (found, TRUE))

    def _left_join(self, timed: Timed, goals: Timeless, shared: list[Term]) -> Timed:
        pattern = test_with(timed.pattern, "event_multiply", self._maybe(timed.binds, goals, shared))
        return Timed(pattern, timed.sure, (timed.binds | goals.binds) - timed.sure)

    def _optional_event(self, timed: Timed, partner: Timed, goals: Timeless | None, shared: list[Term]) -> Timed:
        """Return matches with those partners of the same stamp, or in the background, that there are."""
        visible = timed.binds | partner.binds
        tests = [Compound("sparql", (e.to_rule(part, self.names, visible, None),)) for part in shared]
        partner = replace(partner, pattern=test_with(partner.pattern, "where", conjunction(tests)))
        if goals is None:
            return pair("equals", timed, partner, "left")
        known = self._partners(timed.binds, goals, shared)
        without = replace(timed, pattern=test_with(timed.pattern, "where", negation(known)))
        beside_known = replace(timed, pattern=test_with(timed.pattern, "where", negation(negation(known))))
        multiplied = test_with(timed.pattern, "event_multiply", known)
        with_known = Timed(multiplied, timed.sure | goals.sure, (timed.binds | goals.binds) - timed.sure - goals.sure)
        whole = either(pair("equals", without, partner, "left"), pair("equals", beside_known, partner), with_known)
        assert whole is not None
        return whole

    def _minus(self, found: Solutions, taken: Solutions, span: Span | None) -> Solutions:
        """Return the solutions with which none of the background's agrees in a bound variable."""
        if taken.timed is not None or taken.timeless is None:
            raise refuse("E296", "MINUS reads the stream", span, "use FILTER NOT EXISTS, or a join")
        timed, timeless = found.timed, found.timeless
        if timed is not None:
            goal = self._agreement(timed.sure, timed.binds, taken.timeless)
            if goal is not None:
                timed = replace(timed, pattern=test_with(timed.pattern, "where", negation(goal)))
        if timeless is not None:
            goal = self._agreement(timeless.sure, timeless.binds, taken.timeless)
            if goal is not None:
                fragile = timeless.fragile | ((timeless.binds & taken.binds) - timeless.sure)
                timeless = replace(timeless, goals=(*timeless.goals, negation(goal)), fragile=fragile)
        return replace(found, timed=timed, timeless=timeless)

    def _agreement(self, sure: Names, known: Names, taken: Timeless) -> Term | None:
        """Return the goal that a solution of others agrees in a bound variable; None where they have none in common."""
        common = sorted(known & taken.binds)
        if not common:
            return None
        local = {name: self.names.fresh(name) for name in sorted(taken.binds - known)}
        other = rename(Solutions(timeless=taken), local).timeless
        assert other is not None
        if sure & taken.sure:
            return beside(other, known, self.names).goal
        renaming = {name: self.names.fresh(name) for name in common}
        apart = rename(Solutions(timeless=other), renaming).timeless
        assert apart is not None
        pairs = [(Var(a), Var(b)) for a, b in renaming.items()]
        agree = (
            disjunction((Compound("var", (a,)), Compound("var", (b,)), Compound("==", (a, b)))) for a, b in pairs
        )
        bound = disjunction(conjunction((Compound("nonvar", (a,)), Compound("nonvar", (b,)))) for a, b in pairs)
        return conjunction((*apart.goals, bound, *agree))

    def _exists(self, found: Solutions, test: q.Exists, scope: Scope, depth: int) -> Solutions:
        """Return the solutions for which a group has one inside of their interval, or in the background, or has none."""
        operand = self._operand(test.group, scope, depth + 1)
        own, shared = self._split_exists(operand, found.binds)
        inner = self._filter(operand.found, own, scope, depth)
        if inner.timed is not None and not test.negated:
            raise refuse("E297", "EXISTS reads the stream", test.span, "join the group instead: its events are parts")
        timed, timeless = found.timed, found.timeless
        if timed is not None:
            if inner.timeless is not None:
                timed = replace(timed, pattern=self._refuted(timed, inner.timeless, shared, test.negated))
            if inner.timed is not None:
                timed = replace(timed, pattern=self._absent(timed, inner.timed, shared))
        if timeless is not None and inner.timeless is not None:
            goal = self._witness(timeless.binds, inner.timeless, shared)
            goals = (*timeless.goals, negation(goal) if test.negated else negation(negation(goal)))
            looked_at = (e.variables_of(goal) & timeless.binds) - timeless.sure
            timeless = replace(timeless, goals=goals, fragile=timeless.fragile | looked_at)
        return replace(found, timed=timed, timeless=timeless)

    def _split_exists(
        self, operand: Operand, others: Names
    ) -> tuple[tuple[q.FilterBy | q.Exists, ...], list[Term]]:
        return self._split_timeless(operand, others)

    def _witness(self, known: Names, goals: Timeless, shared: list[Term]) -> Term:
        local = {name: self.names.fresh(name) for name in sorted(goals.binds - known)}
        return rename_term(self._partners(known, goals, shared), local)

    def _refuted(self, timed: Timed, goals: Timeless, shared: list[Term], negated: bool) -> Pattern:
        goal = self._witness(timed.binds, goals, shared)
        return test_with(timed.pattern, "where", negation(goal) if negated else negation(negation(goal)))

    def _absent(self, timed: Timed, blocker: Timed, shared: list[Term]) -> Pattern:
        local = {name: self.names.fresh(name) for name in sorted(blocker.binds - timed.binds)}
        visible = timed.binds | blocker.binds
        ends = self._ends() if any(map(e.asks_time, shared)) else None
        goals = [Compound("sparql", (e.to_rule(part, self.names, visible, ends),)) for part in shared]
        pattern = blocker.pattern
        if ends is not None:
            pattern = test_with(pattern, "check", conjunction((*ends.goals, *goals)))
        else:
            pattern = test_with(pattern, "where", conjunction(goals))
        renamed = rename(Solutions(Timed(pattern, blocker.sure, blocker.maybe)), local).timed
        assert renamed is not None
        return Negation("cnot", timed.pattern, renamed.pattern)


def _is_inner(pattern: Pattern) -> bool:
    """Tell whether all joins of a pattern are inner ones, so that a bound on the whole is one on every part."""
    return not any(
        isinstance(node, Aggregate) or (isinstance(node, Binary) and node.alone is not None)
        for node in postorder(pattern)
    )
