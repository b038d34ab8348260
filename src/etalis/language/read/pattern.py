"""Tokens -> patterns and event rules, by the operator table of patterns (definition 1.9).

Terms inside patterns (attributes, conditions, actions) are read by the `TermReader` with the table of goals. Two
operands mean something only next to `seq`: `prolog(Goal)` (a `_Query`) and `not C within d` (an `_Absent`).
Law: parts are read in the order the tree holds them, whatever their order in the text, so that anonymous variables are
numbered as they are when the tree is printed and read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from etalis.errors import Span
from etalis.language import syntax as s
from etalis.language.operators import ARGUMENT, PatternOperator, find_operator, is_arrow
from etalis.language.read import quantity
from etalis.language.read.bracketed import ReadPattern, read_aggregate, read_any_of, read_isolated, read_not
from etalis.language.read.heads import label_mark, make_rule
from etalis.language.read.messages import wrong_operand, wrong_operator
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import Token, refusal
from etalis.language.read.units import joins_durations, parts_joined

BODY = 1199


@dataclass(frozen=True, slots=True)
class _Query:
    """`prolog(Goal)` as an operand: the token where Goal begins."""

    at: int
    span: Span


@dataclass(frozen=True, slots=True)
class _Absent:
    """`not C within d` as an operand."""

    pattern: s.Pattern
    duration: int
    span: Span


Operand: TypeAlias = s.Pattern | _Query | _Absent

_QUERIES = frozenset({"prolog", "query", "db"})
_FORMS: Mapping[str, Callable[[TermReader, ReadPattern], s.Pattern | None]] = MappingProxyType(
    {"iso": read_isolated, "any": read_any_of, "aggregate": read_aggregate, "not": read_not}
)
FORM_WORDS = _QUERIES | frozenset(_FORMS)
# An event of these names and arity two would be an operator in the wrong place.
_ONLY_INFIX = frozenset({"seq", "forall_seq", "and", "or", "par", "cnot", "fnot", "ntimes", "where", "within"})


class PatternParser:
    """Reads patterns at the place where a reader stands."""

    __slots__ = ("reader",)

    def __init__(self, reader: TermReader) -> None:
        self.reader = reader

    def pattern(self, limit: int) -> s.Pattern:
        """Read a pattern that binds at most as loosely as `limit`."""
        return self._whole(self._operation(limit))

    def _whole(self, operand: Operand) -> s.Pattern:
        """Refuse an operand that is no pattern of its own."""
        match operand:
            case _Query(span=span):
                hint = "write it next to an event: a seq prolog(Goal), a where Goal"
                raise refusal("E114", "a goal is no event", span, hint)
            case _Absent(span=span):
                raise refusal("E114", "an absence needs an event before it", span, "write a seq (not c within 5)")
            case _:
                return operand

    def _operation(self, limit: int) -> Operand:
        reader = self.reader
        reader.enter()
        left, priority = self._operand(limit), 0
        while True:
            token = reader.tokens[reader.at]
            row = find_operator(token)
            if row is None or row.priority > limit:
                break
            if priority > row.left:
                raise parts_joined(reader) if joins_durations(reader) else reader.clash(token)
            reader.at += 1
            left, priority = self._combine(row, left), row.priority
        reader.depth -= 1
        return left

    def _combine(self, row: PatternOperator, left: Operand) -> s.Pattern:
        """Read the right side of an operator and make the node."""
        if row.kind == "relation":
            return self._relation(row, left)
        a = self._whole(left)
        reader = self.reader
        match row.kind:
            case "or":
                b = self.pattern(row.right)
                return s.Or(a, b, reader.between(a.span, b.span))
            case "negation":
                b = self.pattern(row.right)
                return s.Negation(row.name, a, b, reader.between(a.span, b.span))
            case "condition":
                goal = reader.term(row.right)
                kind = "check" if row.name == "timestamp" else row.name
                return s.Condition(kind, a, goal, reader.between(a.span, goal.span))
            case "do":
                action = reader.term(row.right)
                return s.Do(a, action, reader.between(a.span, action.span))
            case _:
                return self._counted(row, a)

    def _counted(self, row: PatternOperator, a: s.Pattern) -> s.Pattern:
        """Make the node of an operator whose right side is a number, or nothing."""
        reader = self.reader
        if row.kind == "star_times":
            return s.Repeat(a, s.Const(1), None, self._span_from(a))
        if row.kind == "within":
            return s.Within(a, quantity.duration(reader), self._span_from(a))
        if row.kind == "last":
            return s.Last(a, quantity.count(reader), self._span_from(a))
        least, most = quantity.bounds(reader)
        return s.Repeat(a, least, most, self._span_from(a))

    def _span_from(self, a: s.Pattern) -> Span:
        """Return the span from the start of a pattern to the last token read."""
        return self.reader.between(a.span, self.reader.span_of(self.reader.tokens[self.reader.at - 1]))

    def _relation(self, row: PatternOperator, left: Operand) -> s.Pattern:
        right = self._operation(row.right)
        for operand in (left, right) if row.alone is not None else ():
            if isinstance(operand, _Query | _Absent):
                hint = f"write it next to `{row.relation}`"
                raise refusal("E114", f"only a pattern stands next to `{row.name}`", operand.span, hint)
        if row.name == "seq":
            if isinstance(right, _Query):
                return self._queried(self._whole(left), right)
            if isinstance(left, _Query):
                return self._queried(self._whole(right), left)
            if isinstance(right, _Absent):
                a = self._whole(left)
                return s.NotWithin(a, right.pattern, right.duration, self.reader.between(a.span, right.span))
        a, b = self._whole(left), self._whole(right)
        return s.Binary(row.relation, a, b, self.reader.between(a.span, b.span), row.alone)

    def _queried(self, pattern: s.Pattern, query: _Query) -> s.Pattern:
        reader = self.reader
        back, reader.at = reader.at, query.at  # the goal may stand before the pattern in the text, but not in the tree
        goal = reader.term(ARGUMENT)
        reader.close(query.at - 1)
        reader.at = back
        return s.Condition("where", pattern, goal, pattern.span)

    def _operand(self, limit: int) -> Operand:
        """Read one event, time point, bracket or special form."""
        reader = self.reader
        token = reader.tokens[reader.at]
        kind, value, _, _ = token
        if kind == "number" or kind == "rational":
            operand: Operand = s.TimePoint(quantity.time_point(reader), self._span_from_token(token))
        elif kind == "punct" and value == "(":
            operand = self._bracketed()
        elif kind in ("name", "quoted", "string", "var"):
            operand = self._named(token, limit)
        else:
            raise wrong_operand(reader, token)
        while reader.tokens[reader.at][1] == "." and reader.tokens[reader.at][0] == "name":
            operand = self._dotted(self._whole(operand))
        return operand

    def _dotted(self, pattern: s.Pattern) -> s.Pattern:
        """Read the `.q` of `(P).q`."""
        reader = self.reader
        reader.at += 1
        token = reader.tokens[reader.at]
        if token[0] not in ("number", "rational"):
            raise reader.refusal("E115", "a number of seconds belongs behind the dot", token, "write (a seq b).10")
        return s.Within(pattern, quantity.time_point(reader), self._span_from(pattern))

    def _bracketed(self) -> Operand:
        reader = self.reader
        opening = reader.at
        reader.at += 1
        reader.enter()
        found = self.rule_or_operand()
        reader.depth -= 1
        token = reader.tokens[reader.at]
        if token[1] != ")" or token[0] != "punct":
            raise wrong_operator(reader, opening)
        reader.at += 1
        return s.SubRule(found, found.span) if isinstance(found, s.Rule) else found

    def rule_or_operand(self) -> s.Rule | Operand:
        """Read `Pattern`, `Head <- Pattern` or `label rule: Head <- Pattern`."""
        reader = self.reader
        first = self._operation(BODY)
        label: s.Pattern | None = None
        length = label_mark(reader)
        if length:
            label = self._whole(first)
            reader.at += length
            first = self._operation(BODY)
        token = reader.tokens[reader.at]
        if is_arrow(token):
            reader.at += 1
            head = self._whole(first)
            return make_rule(label, head, self.pattern(BODY), reader)
        if label is not None:
            hint = "write label rule: Head <- Pattern."
            raise reader.refusal("E118", "a labelled clause must be an event rule", token, hint)
        return first

    def _named(self, token: Token, limit: int) -> Operand:
        """Read an event, or a form that begins with a word."""
        reader = self.reader
        kind, value, start, end = token
        after = reader.tokens[reader.at + 1]
        if after[1] != "(" or after[2] != end or after[0] != "punct":
            return self._bare(token, after, limit)
        word = value.lower()
        if word in FORM_WORDS:
            return self._form(word, token, limit)
        if kind == "var":
            raise wrong_operand(reader, token)
        reader.at += 2
        names, args = reader.named(reader.arguments())
        span = Span(reader.source, start, reader.tokens[reader.at - 1][3])
        if len(args) == 2 and word in _ONLY_INFIX:
            raise refusal("E114", f"`{word}` is written between its two sides", span, f"write a {word} b")
        return s.EventPattern(value, args, span, names)

    def _bare(self, token: Token, after: Token, limit: int) -> Operand:
        """Read a word without arguments."""
        reader = self.reader
        kind, value, start, end = token
        if value.lower() == "not":
            reader.at += 1
            return self._absent(token, limit)
        if kind == "name" and value == "-" and after[0] in ("number", "rational"):
            reader.at += 1
            return s.TimePoint(-quantity.time_point(reader), self._span_from_token(token))
        is_sign = kind == "name" and not value[0].isalnum()
        if kind == "var" or is_sign or find_operator(token) is not None:
            raise wrong_operand(reader, token)
        reader.at += 1
        return s.EventPattern(value, (), Span(reader.source, start, end))

    def _form(self, word: str, token: Token, limit: int) -> Operand:
        """Read `not(..)`, `prolog(..)`, `aggregate(..)`, `iso(..)` or `any(..)`."""
        reader = self.reader
        if word in _QUERIES:
            at = reader.at + 2
            reader.at = reader.group_end(at - 1)
            return _Query(at, self._span_from_token(token))
        reader.enter(2)  # a form takes more of the stack than a bracket
        found = _FORMS[word](reader, self.pattern)
        reader.depth -= 2
        if found is not None:
            return found
        reader.at += 1
        return self._absent(token, limit)

    def _absent(self, token: Token, limit: int) -> _Absent:
        """Read what follows the `not` of `A seq (not C within d)`."""
        hint = "write a seq (not c within 5), NOT(c).[a, b] or (a seq b) cnot c"
        if limit < 1060:
            raise self.reader.refusal("E114", "`not` needs brackets around it and its `within`", token, hint)
        found = self.pattern(1060)
        if not isinstance(found, s.Within):
            message = "`not` needs a `within` that says how long nothing may occur"
            raise self.reader.refusal("E114", message, token, hint)
        return _Absent(found.pattern, found.duration, self._span_from_token(token))

    def _span_from_token(self, token: Token) -> Span:
        return Span(self.reader.source, token[2], self.reader.tokens[self.reader.at - 1][3])
