"""Random programs and streams: every operator, valid by construction, small enough to run by the thousand.

A program is drawn as a syntax tree; `Shape` says how large it is and which kinds of node it may have, so that a back
end for a part of the language draws that part. Heads take their variables from what the pattern binds. Law: time
ends. Events of `TIMELY` names never depend on alarms or absences, and only they stand where one of these waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from hypothesis import strategies as st

from etalis.data.values import Struct, Value, real
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings, left_of
from etalis.language.check.shapes import pattern_shape
from etalis.language.read.parser import parse
from etalis.language.rules import knowledge_changes, lift
from etalis.language.traversal import postorder, rewrite, with_patterns
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]

SECOND = 1_000_000
RECEIVED: Mapping[str, int] = {"a": 1, "b": 1, "c": 2, "n": 0}
TIMELY: Mapping[str, int] = {**RECEIVED, "d": 1, "e": 2}
LATE: Mapping[str, int] = {"f": 1, "h": 2}
ALARM = "g"
ARITIES: Mapping[str, int] = {**TIMELY, **LATE, ALARM: 1}
HEADS = ("d", "e", "b", "f", "f", "h", ALARM)  # b is received too
VARIABLES = ("X", "Y", "Z")
VALUES: tuple[Value, ...] = (*[0] * 12, *[1] * 6, 2, 2, "x", real(1.0), Struct("s", (1,)), (0, 1))

KNOWLEDGE = (
    *(
        s.Clause(s.Compound(name, tuple(map(s.Const, values))))
        for name, values in (("p", (0, 1)), ("p", (1, 2)), ("p", (1, 0)), ("q", (1,)), ("q", ("x",)))
    ),
    *(item for item in parse("n(X, Y) :- p(X, Y). n(X, Y) :- p(Y, X), X \\= Y.").items if isinstance(item, s.Clause)),
)
BINARY = (
    "seq",
    "seq",
    "seq",
    "seq",
    "and",
    "and",
    "par",
    "equals",
    "meets",
    "during",
    "starts",
    "finishes",
    "forall_seq",
    "follows",
)
OUTER: tuple[tuple[str, s.Side], ...] = (  # first those that are known at once, or after their stamp
    ("seq", "right"), ("seq", "right"), ("equals", "left"), ("equals", "right"), ("equals", "left"),
    ("seq", "left"), ("seq", "left"), ("and", "left"), ("and", "right"),
)  # fmt: skip
KINDS = (
    *["event"] * 6, *["binary"] * 6, "or", "or", "within", "where", "check", "event_multiply", "cnot", "cnot", "fnot",
    "not_within", "repeat", "anchored", "anchored", "sliding", "opened", "opened", "iso", "any", "point",
    "sub_rule", "do", "chain", "chain", "chain",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """How large programs are, and what they are made of."""

    rules: int = 6
    leaves: int = 5
    depth: int = 4
    kinds: tuple[str, ...] = KINDS
    values: tuple[Value, ...] = VALUES
    policies: tuple[str, ...] = tuple(POLICIES)
    alarms: bool = True
    events: int = 14
    moments: int = 6
    fed: int = 1  # how often rules read what rules make


WHOLE = Shape()


@dataclass(slots=True)
class Author:
    """Writes the pattern of one rule: what it may still use up, and which events it may name."""

    draw: Draw
    shape: Shape
    names: tuple[str, ...]
    left: int
    may_wait: bool
    defines: tuple[str, ...]

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))  # type: ignore[no-any-return]

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))  # type: ignore[no-any-return]

    def rarely(self, times: int) -> bool:
        """Once in so many times; the simplest answer is no."""
        return self.number(1, times) == times

    def seconds(self, least: int = 1, most: int = 5) -> int:
        return self.number(least, most) * SECOND

    def variable(self) -> s.Var:
        return s.Var(self.pick(VARIABLES))

    def term(self) -> s.Term:
        """A variable, most of the time; anonymous ones are numbered when the text is read."""
        return s.Const(self.pick(self.shape.values)) if self.rarely(12) else self.pick(TERMS)

    def event(self) -> s.EventPattern:
        self.left -= 1
        name = self.pick(self.names)
        return s.EventPattern(name, tuple(self.term() for _ in range(ARITIES[name])))

    def pattern(self, depth: int) -> s.Pattern:
        """A pattern of at most this depth; no more leaves than are left, but for the least an operator needs."""
        kind = self.pick(self.shape.kinds) if depth > 0 and self.left > 1 else "event"
        return getattr(self, f"_{kind}")(depth - 1)  # type: ignore[no-any-return]

    def _event(self, depth: int) -> s.Pattern:
        return self.event()

    def _point(self, depth: int) -> s.Pattern:
        return s.TimePoint(self.seconds(0, 6))

    def _binary(self, depth: int) -> s.Pattern:
        return s.Binary(self.pick(BINARY), self.pattern(depth), self.pattern(depth))

    def _outer(self, depth: int) -> s.Pattern:
        """An operator of which one part may be missing; in a window, where that is known as time passes."""
        operator, alone = self.pick(OUTER if self.may_wait else OUTER[:5])
        left, right = self.pattern(depth), self.pattern(depth)
        if isinstance(right, s.Repeat | s.Aggregate) and operator == "seq":
            right = self.event()
        if self.rarely(3):
            missing = right if alone == "left" else left
            missing = s.Condition("where", missing, self.pick([goal for goal in GOALS if goal not in LOOSE]))
            left, right = (left, missing) if alone == "left" else (missing, right)
        found = s.Binary(operator, left, right, alone=alone)
        if (operator, alone) in OUTER[5:] or self.rarely(3):
            return s.Within(found, self.seconds())
        return found

    def _judged(self, depth: int) -> s.Pattern:
        """A negation whose blockers have a condition over both sides."""
        pattern, absent = self.pattern(depth), self.pattern(min(depth, 1))
        condition = s.Condition("where", absent, self.pick([goal for goal in GOALS if goal not in LOOSE]))
        return s.Negation(self.pick(("cnot", "cnot", "fnot")), pattern, condition)

    def _chain(self, depth: int) -> s.Pattern:
        """A sequence of several parts, repetitions among them, perhaps with an absence in its gap."""
        kinds = ("event", "event", "repeat", "within")
        parts = [self._event(0), *(getattr(self, f"_{self.pick(kinds)}")(0) for _ in range(self.number(1, 3)))]
        chain = reduce(lambda a, b: s.Binary("seq", a, b), parts)
        match self.pick(("plain", "cnot", "opened", "iso")):
            case "cnot":
                return s.Negation("cnot", chain, self.event())
            case "opened":
                return s.Binary("seq", chain, self._aggregate(0))
            case "iso":
                return s.Isolated(chain)
            case _:
                return chain

    def _or(self, depth: int) -> s.Pattern:
        return s.Or(self.pattern(depth), self.pattern(depth))

    def _within(self, depth: int) -> s.Pattern:
        return s.Within(self.pattern(depth), self.seconds())

    def _where(self, depth: int) -> s.Pattern:
        return self._condition("where", self.pattern(depth), GOALS)

    def _check(self, depth: int) -> s.Pattern:
        return self._condition("check", self.pattern(depth), CHECKS)

    def _event_multiply(self, depth: int) -> s.Pattern:
        return self._condition("event_multiply", self.pattern(depth), CHOICES)

    def _condition(self, kind: str, inner: s.Pattern, goals: Mapping[s.Term, str]) -> s.Pattern:
        """A condition that has what it computes with, most of the time."""
        bound = {"R", *"XYZ"} if self.rarely(6) else bindings(inner)[id(inner)].perhaps
        return s.Condition(kind, inner, self.pick([goal for goal, needs in goals.items() if bound >= set(needs)]))

    def _cnot(self, depth: int) -> s.Pattern:
        return s.Negation("cnot", self.pattern(depth), self.pattern(min(depth, 2)))

    def _fnot(self, depth: int) -> s.Pattern:
        return s.Negation("fnot", self.pattern(depth), self.pattern(min(depth, 2)))

    def _not_within(self, depth: int) -> s.Pattern:
        """An absence by deadline, where time is sure to end; else a plain negation."""
        if not self.may_wait:
            return self._cnot(depth)
        awaiting = replace(self, names=tuple(name for name in self.names if name in TIMELY), defines=())
        left = awaiting.pattern(depth)
        self.left = awaiting.left
        return s.NotWithin(left, self.pattern(min(depth, 2)), self.seconds(1, 3))

    def _repeat(self, depth: int) -> s.Pattern:
        """A repetition; a count that turns out to have no value left of it is repaired when the rule is whole."""
        least = self.number(1, 3)
        most = self.pick((least, least, least + 1, None))
        inner = self.pattern(min(depth, 2))
        if most is None:
            return s.Repeat(inner, s.Const(1), None)
        if self.rarely(4):
            count = self.variable()
            return s.Repeat(inner, count, self.pick((count, s.Const(3))))
        return s.Repeat(inner, s.Const(least), s.Const(most))

    def _anchored(self, depth: int) -> s.Pattern:
        return s.Binary("seq", self.pattern(depth), self._repeat(depth))

    def _aggregate(self, depth: int) -> s.Aggregate:
        inner = self.pattern(min(depth, 2))
        bound = sorted(bindings(inner)[id(inner)].perhaps & set(VARIABLES))
        kind = self.pick(tuple(FOLDS) if bound else ("count",))
        value = s.Var(self.pick(bound)) if FOLDS[kind].has_value else None
        return s.Aggregate(kind, value, inner, self.pick(LIST_RESULTS if kind == "list" else RESULTS))

    def _sliding(self, depth: int) -> s.Pattern:
        fold = self._aggregate(depth)
        match self.pick(("all", "within", "last", "where")):
            case "within":
                return s.Within(fold, self.seconds())
            case "last":
                return s.Last(fold, self.number(1, 3))
            case "where":
                return self._condition("where", fold, GOALS)
            case _:
                return fold

    def _opened(self, depth: int) -> s.Pattern:
        return s.Binary("seq", self.pattern(depth), self._aggregate(depth))

    def _do(self, depth: int) -> s.Pattern:
        return s.Do(self.pattern(depth), self.pick((_call("q", _X), s.Const("true"))))

    def _sub_rule(self, depth: int) -> s.Pattern:
        """A rule in place, where it may define one."""
        if not self.defines:
            return self.event()
        pattern = self.pattern(depth)
        return s.SubRule(_whole_rule(self, self.pick(self.defines), pattern))

    def _iso(self, depth: int) -> s.Pattern:
        return s.Isolated(self.pattern(depth))

    def _any(self, depth: int) -> s.Pattern:
        drawn = [self.pattern(min(depth, 1)) for _ in range(self.number(2, 3))]
        several = tuple({pattern_shape(pattern): pattern for pattern in drawn}.values())
        return s.AnyOf(min(self.number(1, 2), len(several)), several)


def _call(name: str, *args: s.Term) -> s.Term:
    return s.Compound(name, args)


def _both(*goals: s.Term) -> s.Term:
    return goals[0] if len(goals) == 1 else _call(",", goals[0], _both(*goals[1:]))


_X, _Y, _Z, _R, _S, _E = map(s.Var, ("X", "Y", "Z", "R", "S", "E"))
_ZERO, _ONE = s.Const(0), s.Const(1)
_START, _END = _call("t1", _S), _call("t2", _E)
TERMS = (*[_X] * 8, *[_Y] * 6, *[_Z] * 4, *[s.Var("_#1")] * 14, _call("s", _X), s.ListTerm((_X,), _Y))
RESULTS = (_R, _R, _R, _R, _Z, _ONE, s.Const(2))
LIST_RESULTS = (_R, s.ListTerm((_X,), s.Var("R")), s.ListTerm((s.Var("_#1"), _Z), s.Var("_#2")))
GOALS: Mapping[s.Term, str] = {  # each with the variables that it needs
    _call("=", _X, _Y): "",
    _call("p", _X, _Y): "",
    _call("p", _Y, _Z): "",
    _call("q", _X): "",
    _call("=", _Y, _ONE): "",
    _call("\\=", _X, _Y): "XY",
    _call("<", _X, _Y): "XY",
    _call("=:=", _X, _Y): "XY",
    _call("==", _X, _Y): "XY",
    _call(">", _X, _ZERO): "X",
    _call("\\+", _call("q", _X)): "X",
    _call("is", _Z, _call("+", _X, _ONE)): "X",
    _call("is", _Y, _call("*", _X, _X)): "X",
    _both(_call("p", _X, _Z), _call("q", _Z)): "",
    _call(";", _call("=", _X, _ONE), _call("=", _Z, _ZERO)): "X",
    _call("=<", _R, s.Const(2)): "R",
    _call(">", _R, _X): "RX",
    _both(_call("p", _X, _Z), _call(">", _Z, _Y)): "Y",
    _both(_call("=<", _X, _Y), _call("\\+", _call("n", _X, _Y))): "XY",
    _both(_call("n", _X, _Z), _call("\\=", _Z, _ONE)): "X",
    _call(";", _call("->", _call("<", _X, _Y), _call("=", _Z, _ZERO)), _call("=", _Z, _ONE)): "XY",
    _both(_call("member", _X, s.ListTerm((_ZERO, _ONE, s.Const("x")))), _call(">", _X, _ZERO)): "X",
    _both(_call("is", _Z, _call("+", _X, _Y)), _call(">", _call("abs", _Z), _ONE)): "XY",
    _both(_call("findall", _Z, _call("n", _X, _Z), s.Var("L")), _call("length", s.Var("L"), s.Var("N"))): "X",
}
LOOSE = [goal for goal, needs in GOALS.items() if "R" in needs]  # about a result of an aggregate
CHECKS: Mapping[s.Term, str] = {
    _both(_START, _call("<", _S, s.Const(3))): "",
    _both(_START, _END, _call("=\\=", _S, _E)): "",
    _both(_START, _END, _call("is", _Z, _call("-", _E, _S))): "",
    _both(_END, _call(">=", _E, _X)): "X",
    _both(_START, _call(">=", _S, _X)): "X",
}
CHOICES: Mapping[s.Term, str] = {
    _call(";", _call("=", _Y, _ZERO), _call("=", _Y, _ONE)): "",
    _call("p", _X, _Y): "",
    _call("p", _Y, _Z): "",
    _call("member", _Z, s.ListTerm((_ZERO, _ONE, _ZERO))): "",
}


@st.composite
def programs(draw: Draw, shape: Shape = WHOLE) -> s.Tree:
    """Programs of a shape, as trees; print them to run them."""
    names = st.sampled_from(HEADS if shape.alarms else HEADS[:3])
    heads = draw(st.one_of(names.map(lambda name: [name]), st.lists(names, min_size=1, max_size=shape.rules)))
    rules = [_rule(draw, shape, heads, number) for number in range(len(heads))]
    mode = draw(st.sampled_from(("strict", "strict", "weak")))
    flags = () if mode == "strict" else (s.SetFlag("interval_relations", s.Const(mode)),)
    return s.Tree((*flags, *KNOWLEDGE, *rules))


def _rule(draw: Draw, shape: Shape, heads: Sequence[str], number: int) -> s.Rule:
    """One rule: timely, or allowed to wait, or an alarm."""
    name = heads[number]
    names = (*RECEIVED, *RECEIVED, *RECEIVED, *[head for head in heads if name in LATE or head in TIMELY] * shape.fed)
    leaves = draw(st.integers(1, shape.leaves))
    author = Author(draw, shape, names, leaves, name in LATE, tuple(LATE) if name in LATE else ("d", "e"))
    rule = _whole_rule(author, name, author.pattern(draw(st.integers(0, shape.depth))))
    properties = _properties(author)
    return replace(rule, label=f"r{number + 1}", properties=properties) if properties else rule


def _whole_rule(author: Author, name: str, pattern: s.Pattern) -> s.Rule:
    """A rule for a pattern, its head made of what the pattern binds."""
    pattern = _count_with_values(pattern)
    bound = sorted(bindings(pattern)[id(pattern)].perhaps & {*VARIABLES, "R"})
    head = s.EventPattern(name, tuple(_head_term(author, bound) for _ in range(ARITIES[name])))
    return s.Rule(head, pattern, alarm=_alarm(author, bound) if name == ALARM else None)


def _count_with_values(pattern: s.Pattern) -> s.Pattern:
    """Count with numbers where nothing left of a repetition binds the variable it counts with."""
    left = left_of(pattern)
    for node in postorder(pattern):
        if isinstance(node, s.Repeat) and isinstance(node.least, s.Var) and node.least.name not in left[id(node)]:
            counted = replace(node, least=s.Const(2), most=s.Const(2))
            return _count_with_values(rewrite(pattern, lambda x, old=node, new=counted: new if x is old else x))
    return pattern


def _head_term(author: Author, bound: Sequence[str]) -> s.Term:
    return s.Const(author.number(0, 1)) if not bound or author.rarely(10) else s.Var(author.pick(bound))


def _alarm(author: Author, bound: Sequence[str]) -> s.Alarm:
    kind = author.pick(("after", "at"))
    when = s.Var(author.pick(bound)) if bound and author.rarely(5) else s.Const(author.number(1, 5))
    return s.Alarm(kind, when)


def _properties(author: Author) -> tuple[s.Property, ...]:
    given = []
    if author.rarely(4):
        given.append(s.Property("policy", s.Const(author.pick(author.shape.policies))))
    if author.rarely(6):
        given.append(s.Property("window", s.Const(author.number(1, 5))))
    return tuple(given)


@st.composite
def streams(draw: Draw, shape: Shape = WHOLE) -> list[Event]:
    """Streams in order of (end, start): few stamps, so many are equal, and so are rows."""
    few = st.lists(_events(shape), max_size=4)
    many = st.lists(_events(shape), min_size=shape.events // 2, max_size=shape.events)
    return sorted(draw(st.one_of(few, many, many, many)), key=lambda e: (e.end_time, e.start_time))


@st.composite
def _events(draw: Draw, shape: Shape) -> Event:
    name = draw(st.sampled_from(("a", "a", "b", "b", "c", "n")))
    end = draw(st.integers(0, shape.moments))
    length = draw(st.sampled_from((0, 0, 0, 1, 2, 4)))
    values = tuple(draw(st.sampled_from(shape.values)) for _ in range(RECEIVED[name]))
    return Event.make(name, values, (end - length) * SECOND, end * SECOND)


def policies(shape: Shape = WHOLE) -> st.SearchStrategy[str]:
    """A policy for a whole program."""
    return st.sampled_from(shape.policies)


def attribute_names(arity: int) -> tuple[str, ...]:
    """The names that `by_name` gives to attributes."""
    return tuple(f"p{place}" for place in range(arity))


def by_name(tree: s.Tree) -> s.Tree:
    """The same program with its attributes by name, from last to first; events that have an order are declared."""
    rules = [rule for item in tree.items if isinstance(item, s.Rule) for rule in lift(item)]
    ordered = {rule.head.name: len(rule.head.args) for rule in rules} | dict(knowledge_changes(tree).keys())
    declared = [
        s.EventDeclaration(name, tuple((place, "any") for place in attribute_names(arity)))
        for name, arity in ordered.items()
        if arity
    ]
    items = [_rule_by_name(item) if isinstance(item, s.Rule) else with_patterns(item, _by_name) for item in tree.items]
    return s.Tree((*declared, *items))


def _rule_by_name(rule: s.Rule) -> s.Rule:
    return replace(rule, head=_event_by_name(rule.head, drops=False), pattern=_by_name(rule.pattern))


def _by_name(pattern: s.Pattern) -> s.Pattern:
    """Name the attributes of all events but violations, of which there may be several kinds of one name."""

    def change(node: s.Pattern) -> s.Pattern:
        match node:
            case s.SubRule(rule=rule):
                return replace(node, rule=_rule_by_name(rule))
            case s.EventPattern(name=name) if name != "violated":
                return _event_by_name(node)
            case _:
                return node

    return rewrite(pattern, change)


def _event_by_name(event: s.EventPattern, *, drops: bool = True) -> s.EventPattern:
    """Name the attributes of an event; those of no interest are left out, if one is left."""
    pairs = [(s.Const(name), term) for name, term in zip(attribute_names(len(event.args)), event.args, strict=True)]
    kept = [(name, term) for name, term in pairs if not (isinstance(term, s.Var) and term.name.startswith("_"))]
    named = [*reversed(kept or pairs[:1] if drops else pairs)]
    return replace(event, args=tuple(term for _, term in named), names=tuple(name for name, _ in named))
