"""Syntax tree -> program text, with as few brackets as the operator tables allow.

Law: `parse(print_program(program)) == program` for every tree that the parser makes, whatever notation it came from.
Operators that the program defines by `op/3` are obeyed from their directive on, as when reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from itertools import starmap
from typing import assert_never

from etalis.data.values import format_atom, format_value
from etalis.language import syntax as s
from etalis.language.operators import (
    ACTION,
    ARGUMENT,
    ARROWS,
    CLAUSE,
    PATTERN,
    PATTERN_OPERATORS,
    PATTERN_WORDS,
    GoalOperators,
    PatternOperator,
    spell,
)
from etalis.language.reactive.constraints import constraint_of
from etalis.language.reactive.printing import write_action, write_reactive
from etalis.language.read.clauses import is_reserved, obey_op
from etalis.language.read.pattern import BODY
from etalis.language.read.tokens import SYMBOL_CHARS

_MICROSECONDS = 1_000_000


def print_program(program: s.Tree) -> str:
    """Write a program, one clause per line."""
    printer = Printer(GoalOperators())
    return "".join(f"{line}\n" for line in map(printer.item, program.items))


def print_item(item: s.Item) -> str:
    """Write one clause with its full stop."""
    return Printer(GoalOperators()).item(item)


def print_pattern(pattern: s.Pattern) -> str:
    """Write a pattern.

    >>> from etalis.language.read.parser import parse_rule
    >>> print_pattern(parse_rule("d <- NOT(c).[a, (b or x)]").pattern)
    'a seq (b or x) cnot c'
    """
    return _standard().pattern(pattern, BODY)


def print_term(term: s.Term) -> str:
    """Write a term.

    >>> from etalis.language.read.parser import parse_term
    >>> print_term(parse_term("'+'(1,*(2,-(3)))"))
    '1 + 2 * - 3'
    """
    return _standard().term(term, CLAUSE)


def print_action(action: s.Action) -> str:
    """Write an action.

    >>> print_action(s.Composed("seq", s.Perform(s.Const("p")), s.FactChange("ins", s.Const("q"))))
    'p seq ins(q)'
    """
    return write_action(_standard(), action, ACTION)


@cache
def _standard() -> Printer:
    """Return the printer with the operators that every program begins with: to make it takes longer than to write."""
    return Printer(GoalOperators())


class Printer:
    """Writes nodes with the goal operators that hold at one point of a program."""

    __slots__ = ("operators",)

    def __init__(self, operators: GoalOperators) -> None:
        self.operators = operators

    def term(self, term: s.Term, limit: int) -> str:
        """Write a term where one that binds more loosely than `limit` needs brackets."""
        match term:
            case s.Var(name=name):
                return "_" if name.startswith("_#") else name
            case s.Const(value=value):
                return format_value(value)
            case s.Compound(name=name, args=args):
                text, priority = self._operation(term)
                if text is None:
                    return f"{format_atom(name)}({self._arguments(args)})"
                return f"({text})" if priority > limit else text
            case s.ListTerm(items=items, tail=tail):
                end = "" if tail is None else f" | {self.term(tail, ARGUMENT)}"
                return f"[{self._arguments(items)}{end}]"
            case _:
                assert_never(term)

    def _arguments(self, terms: Iterable[s.Term]) -> str:
        return ", ".join(map(partial(self.term, limit=ARGUMENT), terms))  # few frames: terms may be deep

    def _operation(self, term: s.Compound) -> tuple[str | None, int]:
        """Write a term with its operator; None if it has none. Return the priority too."""
        match term:
            case s.Compound(name="{}", args=(inner,)):
                return f"{{{self.term(inner, CLAUSE)}}}", 0
            case s.Compound(name=name, args=(a, b)) if name in self.operators.infix:
                row = self.operators.infix[name]
                return _join(
                    self.operand(a, row.left), name, self.operand(b, row.right, right=True), row.priority
                ), row.priority
            case s.Compound(name=name, args=(a,)) if name in self.operators.prefix:
                row = self.operators.prefix[name]
                return _prefix(name, self.operand(a, row.right)), row.priority
            case s.Compound(name=name, args=(a,)) if name in self.operators.postfix:
                row = self.operators.postfix[name]
                return f"{self.operand(a, row.left)} {format_atom(name)}", row.priority
            case _:
                return None, 0

    def operand(self, term: s.Term, limit: int, *, right: bool = False) -> str:
        """Write one side of an operator: an atom that is an operator itself gets brackets.

        On the right of an infix operator a word of patterns can only be an atom, and needs none.
        """
        text = self.term(term, limit)
        if not isinstance(term, s.Const) or not (term.value in self.operators or term.value in ARROWS):
            return text
        return text if right and term.value in PATTERN_WORDS else f"({text})"

    def pattern(self, pattern: s.Pattern, limit: int) -> str:
        """Write a pattern where one that binds more loosely than `limit` needs brackets."""
        match pattern:
            case s.EventPattern():
                return self._event(pattern)
            case s.TimePoint(time=time):
                return seconds(time)
            case s.SubRule(rule=rule):
                return f"({self.rule(rule)})"
            case s.Isolated(pattern=inner):
                return f"iso({self.pattern(inner, PATTERN)})"
            case s.AnyOf(count=count, patterns=patterns):
                return f"any({count}, [{', '.join(self.pattern(p, PATTERN) for p in patterns)}])"
            case s.Aggregate(kind=kind, value=value, pattern=inner, result=result):
                what = kind if value is None else f"{kind}({self.term(value, ARGUMENT)})"
                return f"aggregate({what}, {self.pattern(inner, PATTERN)}, {self.term(result, ARGUMENT)})"
            case _:
                row = _row(pattern)
                text = self._pattern_operation(pattern, row)
                return f"({text})" if row.priority > limit else text

    def _pattern_operation(self, pattern: s.Pattern, row: PatternOperator) -> str:
        match pattern:
            case s.Binary(left=a, right=b) | s.Or(left=a, right=b) | s.Negation(pattern=a, absent=b):
                return f"{self.pattern(a, row.left)} {row.name} {self.pattern(b, row.right)}"
            case s.NotWithin(pattern=a, absent=c, duration=duration):
                return f"{self.pattern(a, row.left)} seq (not {self.pattern(c, 1060)} within {seconds(duration)})"
            case s.Condition(pattern=a, goal=goal) | s.Do(pattern=a, action=goal):
                return f"{self.pattern(a, row.left)} {row.name} {self.operand(goal, row.right, right=True)}"
            case s.Within(pattern=a, duration=duration):
                return f"{self.pattern(a, row.left)} within {seconds(duration)}"
            case s.Last(pattern=a, count=count):
                return f"{self.pattern(a, row.left)} last {count}"
            case s.Repeat(pattern=a, least=least, most=most):
                return f"{self.pattern(a, row.left)} {row.name}{self._bounds(least, most)}"
            case _:
                raise AssertionError(pattern)

    def _bounds(self, least: s.Term, most: s.Term | None) -> str:
        if most is None:
            return ""
        if least == most:
            return f" {self.term(least, 0)}"
        return f" ({self.term(least, ARGUMENT)}, {self.term(most, ARGUMENT)})"

    def _event(self, event: s.EventPattern) -> str:
        """Write an event; a name that is a word of patterns shows by its brackets that it is none here."""
        text = format_atom(event.name)
        if not (text[0].isalnum() or text[0] == "'"):
            text = "'" + text.replace("\\", "\\\\") + "'"
        word = event.name.lower()
        if event.args or word in PATTERN_OPERATORS or word in ARROWS or word == "not":
            return f"{text}({self._attributes(event)})"
        return text

    def _attributes(self, event: s.EventPattern) -> str:
        """Write the arguments of an event: names before their values, and brackets around what would read as such."""
        if event.names:
            return ", ".join(map(self._named, event.names, event.args))
        return ", ".join(self.term(arg, 0 if _reads_as_named(arg) else ARGUMENT) for arg in event.args)

    def _named(self, name: s.Const, value: s.Term) -> str:
        row = self.operators.infix[":"]
        text = self.operand(name, row.left)
        colon = " : " if text[-1] in SYMBOL_CHARS else ": "  # signs that touch are one
        return f"{text}{colon}{self.operand(value, row.right, right=True)}"

    def rule(self, rule: s.Rule) -> str:
        """Write an event rule without its full stop; as a constraint where no rule says what it does."""
        constraint = constraint_of(rule)
        if constraint is not None:
            return write_reactive(self, constraint)
        if rule.alarm is None:
            head = self._event(rule.head)
        else:
            form = "exceptionAlarm" if rule.alarm.kind == "after" else "exceptionAlarmAbsoluteDatetime"
            head = f"{form}({self._event(rule.head)}, {self.term(rule.alarm.when, ARGUMENT)})"
        if rule.action is not None:
            head += f" do {self.operand(rule.action, 1000, right=True)}"
        return f"{self.label(rule.label, rule.properties)}{head} <- {self.pattern(rule.pattern, BODY)}"

    def label(self, label: str | None, properties: tuple[s.Property, ...]) -> str:
        """Write a label with its properties in front of a rule; nothing if there is none."""
        if label is None:
            return ""
        listed = tuple(s.Compound("property", (s.Const(p.name), p.value)) for p in properties)
        return f"{self._event(s.EventPattern(label, (s.ListTerm(listed),) if listed else ()))} rule: "

    def item(self, item: s.Item) -> str:
        """Write a clause with its full stop."""
        text = self._clause(item)
        if isinstance(item, s.Initially) and isinstance(item.goal, s.Compound) and item.goal.name == "op":
            obey_op(item.goal, self.operators)
        return f"{text} ." if text[-1] in SYMBOL_CHARS else f"{text}."

    def _clause(self, item: s.Item) -> str:
        match item:
            case s.Rule():
                return self.rule(item)
            case s.Clause(head=head, body=None):
                return self._goal(s.Compound("db", (head,)) if is_reserved(head) else head, CLAUSE)
            case s.Clause(head=head, body=body):
                assert body is not None
                return f"{self._goal(head, CLAUSE - 1)} :- {self._goal(body, CLAUSE - 1)}"
            case s.LabelProperty(label=label, property=p):
                return self.term(s.Compound("event_rule_property", (s.Const(label), s.Const(p.name), p.value)), CLAUSE)
            case s.Trigger(body=body):
                return self._trigger(item) + ("" if body is None else f" :- {self.term(body, CLAUSE - 1)}")
            case s.Reaction() | s.ActionClause() | s.Always() | s.Constraint() | s.StateDeclaration():
                return write_reactive(self, item)
            case _:
                return f":- {self._directive(item)}"

    def _goal(self, term: s.Term, limit: int) -> str:
        """Write what a clause is made of; a goal named like a word of patterns joins nothing: last(L, X)."""
        if isinstance(term, s.Compound) and term.name in PATTERN_WORDS and len(term.args) == 2:
            return f"{format_atom(term.name)}({self._arguments(term.args)})"
        return self.operand(term, limit)

    def _trigger(self, item: s.Trigger) -> str:
        match item.pattern:
            case s.Compound(name=name, args=args) if any(map(_reads_as_named, args)) or item.names:
                return f"{item.kind}({self._event(s.EventPattern(name, args, names=item.names))})"
            case pattern:
                return self.term(s.Compound(item.kind, (pattern,)), CLAUSE)

    def _directive(self, item: s.Directive) -> str:
        match item:
            case s.EventDeclaration(name=name, attributes=attributes):
                args = tuple(s.Compound(":", (s.Const(a), s.Const(kind))) for a, kind in attributes)
                return f"event({self.term(s.Compound(name, args) if args else s.Const(name), ARGUMENT)})"
            case s.Import(names=names, file=file):
                return f"import {self.indicators(names)} from {format_atom(file)}"
            case s.Export(names=names):
                return f"export {self.indicators(names)}"
            case s.SetFlag(name=name, value=value):
                return self.term(s.Compound("set_flag", (s.Const(name), value)), BODY)
            case s.Declare(kind=kind, names=names):
                return f"{kind} {self.indicators(names)}"
            case s.KnowledgeDeclaration(facts=facts):
                return f"knowledge {self._arguments(starmap(_fact_kind, facts)) or '[]'}"
            case s.Initially(goal=goal):
                return self.term(goal, BODY)
            case _:
                assert_never(item)

    def indicators(self, names: tuple[tuple[str, int], ...]) -> str:
        """Write `f/n, g/m`."""
        return self._arguments(s.Compound("/", (s.Const(name), s.Const(arity))) for name, arity in names) or "[]"

    def seconds(self, time: int) -> str:
        """Write a duration."""
        return seconds(time)


def _reads_as_named(arg: s.Term) -> bool:
    """Tell whether a term in the place of an attribute would be read as a name with its value."""
    return isinstance(arg, s.Compound) and arg.name == ":" and isinstance(arg.args[0], s.Const) and len(arg.args) == 2


def _fact_kind(name: str, arity: int, remover: str | None) -> s.Term:
    kind = s.Compound("/", (s.Const(name), s.Const(arity)))
    return kind if remover is None else s.Compound("-", (kind, s.Compound("/", (s.Const(remover), s.Const(arity)))))


def _row(pattern: s.Pattern) -> PatternOperator:
    """Return the row of the operator that a pattern is written with."""
    match pattern:
        case s.Binary(operator=name, alone=alone):
            return PATTERN_OPERATORS[spell(name, alone)]
        case s.Negation(operator=name) | s.Condition(kind=name):
            return PATTERN_OPERATORS[name]
        case s.Or():
            return PATTERN_OPERATORS["or"]
        case s.NotWithin():
            return PATTERN_OPERATORS["seq"]
        case s.Within():
            return PATTERN_OPERATORS["within"]
        case s.Last():
            return PATTERN_OPERATORS["last"]
        case s.Do():
            return PATTERN_OPERATORS["do"]
        case s.Repeat(most=most):
            return PATTERN_OPERATORS["star_times" if most is None else "ntimes"]
        case _:
            raise AssertionError(pattern)


def _join(left: str, name: str, right: str, priority: int) -> str:
    """Write an infix operation; tight operators stand without spaces where the tokens stay apart."""
    if name == ",":
        return f"{left}, {right}"
    is_sign = all(c in SYMBOL_CHARS and c != "." for c in name)
    tight = (priority <= 400 or name == ":") and is_sign
    if tight and left[-1] not in SYMBOL_CHARS and right[0] not in SYMBOL_CHARS:
        return f"{left}{name}{right}"
    return f"{left} {format_atom(name)} {right}"


def _prefix(name: str, argument: str) -> str:
    """Write a prefix operation; `- 1` is an operation, `-1` a number, `-(a, b)` a compound."""
    tight = name in ("-", "+", "\\") and (argument[0].isalpha() or argument[0] in "_'[{")
    return f"{format_atom(name)}{'' if tight else ' '}{argument}"


def seconds(time: int) -> str:
    """Write microseconds as seconds, exactly.

    >>> seconds(1_500_000), seconds(60_000_000)
    ('1.5', '60')
    """
    whole, rest = divmod(abs(time), _MICROSECONDS)
    text = f"{whole}.{rest:06}".rstrip("0") if rest else str(whole)
    return f"-{text}" if time < 0 else text
