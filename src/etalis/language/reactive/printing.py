"""Clauses of reactive rules -> program text, with as few brackets as the operator table of actions allows."""

from __future__ import annotations

import re
from typing import Protocol, assert_never

from etalis.data.values import format_atom
from etalis.language import syntax as s
from etalis.language.operators import (
    ACTION,
    ACTION_OPERATORS,
    ARGUMENT,
    ARROWS,
    CONDITION,
    PATTERN,
    PATTERN_WORDS,
    GoalOperators,
)
from etalis.language.read.pattern import BODY

_WORD = re.compile(r"[^\W\d]\w*|'(?:[^'\\]|''|\\.)*'")
_NEVER = re.compile(r"never\b(?!\()")
_MARKS = ARROWS | {"rule", "rule:", ":", ":-", "-->"}
ACTION_WORDS = frozenset({"skip", "abort", "not", "if", "else", "undo", "do"})


class NodePrinter(Protocol):
    """What writes terms and patterns."""

    operators: GoalOperators

    def term(self, term: s.Term, limit: int) -> str: ...
    def operand(self, term: s.Term, limit: int, *, right: bool = False) -> str: ...
    def pattern(self, pattern: s.Pattern, limit: int) -> str: ...
    def label(self, label: str | None, properties: tuple[s.Property, ...]) -> str: ...
    def indicators(self, names: tuple[tuple[str, int], ...]) -> str: ...
    def seconds(self, time: int) -> str: ...


def write_reactive(to: NodePrinter, item: s.ReactiveItem) -> str:
    """Write a clause of reactive rules without its full stop."""
    match item:
        case s.Reaction(pattern=pattern, condition=condition):
            tested = "" if condition is None else f" if {_asked(to, condition, CONDITION)}"
            first = _first(to, to.pattern(pattern, PATTERN))
            text = f"on {first}{tested} do {write_action(to, item.action, ACTION)}"
            more = (("else", item.otherwise), ("undo", item.undo))
            text += "".join(f" {word} {write_action(to, part, ACTION)}" for word, part in more if part is not None)
            return to.label(item.label, item.properties) + text
        case s.ActionClause(head=head, body=body):
            return f"action {_first(to, _goal(to, head))} :- {write_action(to, body, ACTION)}"
        case s.Always(goal=goal):
            return f"always {_first(to, _asked(to, goal, BODY))}"
        case s.Constraint():
            return f"constraint {format_atom(item.label)}: {_constraint(to, item)}"
        case s.StateDeclaration(predicates=predicates):
            return ":- state " + ", ".join(
                to.indicators(((name, arity),)) + ("" if key is None else f" key {key}")
                for name, arity, key in predicates
            )
        case _:
            assert_never(item)


def _first(to: NodePrinter, text: str) -> str:
    """Return what follows the word of a clause, in brackets if that could be taken for a name or a label."""
    found = _WORD.match(text)
    word = "" if found is None else found[0].strip("'").lower()
    plain = text[0] in "([{" or text[0].isdigit() or text.startswith("\\+")
    if found is not None:
        plain = word not in _MARKS and (text.startswith("(", found.end()) or word not in to.operators)
    return text if plain else f"({text})"


def _constraint(to: NodePrinter, item: s.Constraint) -> str:
    pattern = to.pattern(item.pattern, PATTERN)
    if item.required is None:
        return f"never {pattern}"
    if _NEVER.match(pattern):
        pattern = f"({pattern})"
    within = "" if item.duration is None else f" within {to.seconds(item.duration)}"
    if item.mode == "around":
        # a window of its own would be read as that of the constraint
        limit = 0 if not within and isinstance(item.required, s.Within) else 1060 if within else PATTERN
        return f"{pattern} requires {to.pattern(item.required, limit)}{within}"
    required = to.pattern(item.required, PATTERN)
    return f"{pattern} requires {required} {item.mode}{within}"


def write_action(to: NodePrinter, action: s.Action, limit: int) -> str:
    """Write an action where one that binds more loosely than `limit` needs brackets."""
    match action:
        case s.FactChange(kind=kind, fact=fact):
            return f"{kind}({to.term(fact, ARGUMENT)})"
        case s.Raise(event=event, after=after):
            delay = "" if after is None else f", after({to.term(after, ARGUMENT)})"
            return f"raise({to.term(event, ARGUMENT)}{delay})"
        case s.Effect(call=call):
            return f"effect({to.term(call, ARGUMENT)})"
        case s.Perform(goal=goal):
            return _goal(to, goal)
        case s.Skip():
            return "skip"
        case s.Abort():
            return "abort"
        case s.IsoAction(action=inner):
            return f"iso({write_action(to, inner, ACTION)})"
        case s.Possibility(action=inner, holds=holds):
            return f"{'possible' if holds else 'impossible'}({write_action(to, inner, ACTION)})"
        case s.Await(pattern=pattern, duration=duration):
            return f"await({to.pattern(pattern, 1060)} within {to.seconds(duration)})"
        case s.IfThenElse():
            return f"({_choice(to, action)})"
        case s.Composed() | s.SubjectTo():
            return _operation(to, action, limit)
        case _:
            assert_never(action)


def _choice(to: NodePrinter, action: s.IfThenElse) -> str:
    """Write an if-then-else without the brackets around it, which those behind its `;` do not need."""
    done = write_action(to, action.action, ACTION_OPERATORS["->"].right)
    rest = action.otherwise
    other = _choice(to, rest) if isinstance(rest, s.IfThenElse) else write_action(to, rest, ACTION)
    return f"{_test(to, action.test)} -> {done} ; {other}"


def _operation(to: NodePrinter, action: s.Composed | s.SubjectTo, limit: int) -> str:
    match action:
        case s.Composed(operator=operator, left=left, right=right):
            row = ACTION_OPERATORS[operator]
            text = f"{write_action(to, left, row.left)} {operator} {write_action(to, right, row.right)}"
        case s.SubjectTo(action=inner, constraint=constraint):
            row = ACTION_OPERATORS["subject_to"]
            text = f"{write_action(to, inner, row.left)} subject_to {to.operand(constraint, row.right, right=True)}"
    return f"({text})" if row.priority > limit else text


def _test(to: NodePrinter, test: s.Perform | s.Possibility) -> str:
    """Write what stands left of `->`: goals that a comma joins need brackets as they would alone."""
    match test:
        case s.Perform(goal=s.Compound(name=",", args=(first, rest))):
            return f"{_test(to, s.Perform(first))}, {_test(to, s.Perform(rest))}"
        case _:
            return write_action(to, test, ACTION_OPERATORS["->"].left)


def _asked(to: NodePrinter, goal: s.Term, limit: int) -> str:
    """Write a goal; one named like a word of patterns joins nothing: last(L, X)."""
    if isinstance(goal, s.Compound) and goal.name in PATTERN_WORDS and len(goal.args) == 2:
        return _goal(to, goal)
    return to.operand(goal, limit)


def _goal(to: NodePrinter, goal: s.Term) -> str:
    """Write a goal that is a step: what an action or a pattern could be read for is written as a compound."""
    match goal:
        case s.Const(value=str() as name) if name in to.operators or name.lower() in ACTION_WORDS | PATTERN_WORDS:
            return f"{format_atom(name)}()"
        case s.Compound(name=name, args=args) if _is_loose(to.operators, name, len(args)):
            return f"{format_atom(name)}({', '.join(to.term(arg, ARGUMENT) for arg in args)})"
        case _:
            return to.term(goal, ARGUMENT)


def _is_loose(operators: GoalOperators, name: str, arity: int) -> bool:
    """Tell whether a goal written with its operator would need brackets, or be read as something else."""
    rows = operators.infix if arity == 2 else operators.prefix if arity == 1 else {}
    return (name in rows and rows[name].priority > ARGUMENT) or name in PATTERN_WORDS
