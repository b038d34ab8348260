"""Clauses of reactive rules: reactions, clauses of actions, `always`, constraints, declarations of state.

`on`, `action`, `always` and `constraint` are words only where a clause begins, in front of a term: before a bracket
that touches them, an operator, an arrow, a neck or the mark of a label they are names like any others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

from etalis.errors import Span
from etalis.language import syntax as s
from etalis.language.operators import ARGUMENT, CONDITION, PATTERN, find_operator, is_arrow
from etalis.language.read import quantity
from etalis.language.read.actions import ActionParser
from etalis.language.read.clauses import indicators
from etalis.language.read.heads import label_mark, split_label
from etalis.language.read.messages import wrong_action_operator, wrong_operator
from etalis.language.read.pattern import BODY, PatternParser
from etalis.language.read.reader import TermReader, describe
from etalis.language.read.tokens import Token, refusal
from etalis.language.read.units import iso_constant
from etalis.language.traversal import (
    action_variables,
    actions_of,
    pattern_variables,
    patterns_of,
    rewrite_action,
    variables,
    walk_action,
    with_actions,
)
from etalis.temporal.duration import iso_end

_WORDS = frozenset({"on", "action", "always", "constraint"})
_SIDES: tuple[Literal["after", "before"], ...] = ("after", "before")
_REACTION = "write on Pattern do Action, or on Pattern if Goal do Action"
_ACTION = "write action name(Arguments) :- Action."
_LABELLED = "write constraint name: never Pattern."
_CONSTRAINT = "write P requires Q within 10 (or after within, before, next), or never P"
_STATE = "write :- state stock/3 key 1, seen/1."


def reactive_word(reader: TermReader) -> tuple[str, int]:
    """Return the word that makes the clause a reactive one, and its token; no word if it is another clause."""
    tokens = reader.tokens
    at = 0
    if _is_word(reader, at):
        return tokens[at][1].lower(), at
    if tokens[at][0] not in ("name", "quoted", "string"):
        return "", 0
    at = 1
    if _touches(tokens[0], tokens[1]):
        at = reader.find_end(1)
    reader.at, back = at, reader.at
    length = label_mark(reader) if at else 0
    reader.at = back
    if length and _is_word(reader, at + length):
        return tokens[at + length][1].lower(), at + length
    return "", 0


def _is_word(reader: TermReader, at: int) -> bool:
    """Tell whether one of the words stands at a token and begins a clause."""
    token = reader.tokens[at]
    if token[0] not in ("name", "var") or token[1].lower() not in _WORDS:
        return False
    after = reader.tokens[at + 1]
    kind, value, start, end = after
    if kind in ("var", "number", "rational", "string"):
        return find_operator(after) is None and not is_arrow(after)
    if kind == "punct":
        return value in "([{" and start > token[3]
    if kind not in ("name", "quoted") or is_arrow(after) or value in (":-", "-->"):
        return False
    beyond = reader.tokens[at + 2]
    back, reader.at = reader.at, at + 1
    length = label_mark(reader)
    reader.at = back
    if length:
        return False
    if _touches(after, beyond) or (token[1].lower() == "constraint" and beyond[1] == ":"):
        return True
    operators = reader.operators
    if value in operators.infix or value in operators.postfix or find_operator(after) is not None:
        return value in operators.prefix and start > token[3] and end == beyond[2]
    return True


def _touches(token: Token, after: Token) -> bool:
    return after[0] == "punct" and after[1] == "(" and after[2] == token[3]


class ReactionParser:
    """Reads the clauses of reactive rules."""

    __slots__ = ("actions", "patterns", "reader")

    def __init__(self, patterns: PatternParser) -> None:
        self.patterns = patterns
        self.actions = ActionParser(patterns)
        self.reader: TermReader = patterns.reader

    def clause(self, word: str, at: int) -> s.Item:
        """Read the clause that a word at a token begins, perhaps with a label in front of it."""
        reader = self.reader
        self.actions.commas = []
        label: str | None = None
        properties: tuple[s.Property, ...] = ()
        if at:
            label, properties = split_label(self.patterns.pattern(BODY))
            if word != "on":
                message = "only event rules and reactions have a label in front"
                hint = _LABELLED if word == "constraint" else "leave the label out"
                raise reader.refusal("E118", message, reader.tokens[at], hint)
        reader.at = at + 1
        match word:
            case "on":
                return _with_durations(self._reaction(label, properties))
            case "action":
                return _with_durations(self._action())
            case "always":
                goal = self._goal(BODY)
                return s.Always(goal, self._span())
            case _:
                return self._constraint()

    def _reaction(self, label: str | None, properties: tuple[s.Property, ...]) -> s.Reaction:
        reader = self.reader
        pattern = self.patterns.pattern(PATTERN)
        condition = self._goal(CONDITION) if self._skip("if") else None
        if not self._skip("do"):
            token = reader.tokens[reader.at]
            if token[0] in ("end", "eof"):
                raise reader.refusal("E123", "this reaction does nothing", token, _REACTION)
            raise wrong_operator(reader, None) if condition is None else reader.wrong_next(None)
        action = self.actions.action()
        otherwise = self.actions.action() if self._skip("else") else None
        undo = self.actions.action() if self._skip("undo") else None
        self._end()
        return s.Reaction(pattern, action, condition, otherwise, undo, label, properties, self._span())

    def _goal(self, limit: int) -> s.Term:
        goal = self.reader.term(limit)
        if isinstance(goal, s.Compound) and self.reader.is_joined(goal):
            assert goal.span is not None
            hint = "goals are joined by a comma: p(X), X > 5; alternatives by a semicolon"
            raise refusal("E122", f"`{goal.name}` joins no goals", goal.span, hint)
        return goal

    def _action(self) -> s.ActionClause:
        reader = self.reader
        head = reader.term(ARGUMENT)
        token = reader.tokens[reader.at]
        if not isinstance(head, s.Compound) and not (isinstance(head, s.Const) and isinstance(head.value, str)):
            assert head.span is not None
            raise refusal("E123", "an action has a name", head.span, _ACTION)
        if token[1] != ":-" or token[0] != "name":
            if token[0] in ("end", "eof"):
                raise reader.refusal("E123", "this action has no body", token, "write :- skip where nothing is done")
            hint = _ACTION
            raise reader.refusal("E123", f"expected `:-` and what is done, found {describe(token)}", token, hint)
        reader.at += 1
        body = self.actions.action()
        self._end()
        return s.ActionClause(head, body, self._span())

    def _constraint(self) -> s.Item:
        reader = self.reader
        token, colon = reader.tokens[reader.at : reader.at + 2]
        if token[0] not in ("name", "quoted") or colon[0] != "name" or colon[1] != ":":
            raise reader.refusal("E123", "a constraint has a label", token, _LABELLED)
        label = token[1]
        reader.at += 2
        if self._is_never():
            reader.at += 1
            pattern = self.patterns.pattern(PATTERN)
            self._whole()
            return s.Constraint(label, pattern, span=self._span())
        pattern = self.patterns.pattern(PATTERN)
        if not self._skip("requires"):
            token = reader.tokens[reader.at]
            if token[0] in ("end", "eof"):
                raise reader.refusal("E123", "this says no constraint", token, _CONSTRAINT)
            raise wrong_operator(reader, None)
        required = self.patterns.pattern(PATTERN)
        return self._required(label, pattern, required)

    def _required(self, label: str, pattern: s.Pattern, required: s.Pattern) -> s.Item:
        """Read where the required pattern may lie, and end the constraint."""
        duration: int | None = None
        if self._skip("next"):
            self._whole()
            return s.Constraint(label, pattern, required, "next", None, self._span())
        for mode in _SIDES:
            if self._skip(mode):
                duration = quantity.duration(self.reader) if self._skip("within") else None
                self._whole()
                return s.Constraint(label, pattern, required, mode, duration, self._span())
        self._whole()
        if isinstance(required, s.Within):
            duration, required = required.duration, required.pattern
        return s.Constraint(label, pattern, required, "around", duration, self._span())

    def _is_never(self) -> bool:
        token, after = self.reader.tokens[self.reader.at : self.reader.at + 2]
        return token[0] in ("name", "var") and token[1].lower() == "never" and not _touches(token, after)

    def _skip(self, word: str) -> bool:
        """Step over a word of a clause, in whatever case, if it is the next token."""
        kind, value, _, _ = self.reader.tokens[self.reader.at]
        if kind not in ("name", "var") or value.lower() != word:
            return False
        self.reader.at += 1
        return True

    def _end(self) -> None:
        """Refuse what follows the last action of a clause."""
        if self.reader.tokens[self.reader.at][0] != "end":
            raise wrong_action_operator(self.reader, None)

    def _whole(self) -> None:
        """Refuse what follows the last pattern of a clause."""
        if self.reader.tokens[self.reader.at][0] != "end":
            raise wrong_operator(self.reader, None)

    def _span(self) -> Span:
        tokens = self.reader.tokens
        return Span(self.reader.source, tokens[0][2], tokens[self.reader.at - 1][3])


def _with_durations(item: s.Reaction | s.ActionClause) -> s.Item:
    """Return a clause in which a delay that is a free variable with the name of a duration is that duration."""
    actions = actions_of(item)
    steps = [step for part in actions for step in walk_action(part) if isinstance(step, s.Raise)]
    delays = [step.after.name for step in steps if isinstance(step.after, s.Var)]
    if not any(iso_end(name) == len(name) for name in delays):
        return item
    other = item.condition if isinstance(item, s.Reaction) else item.head
    found = [*variables(other)] if other is not None else []
    found += [v for pattern in patterns_of(item) for v in pattern_variables(pattern)]
    times = Counter(v.name for v in [*found, *(v for part in actions for v in action_variables(part))])

    def change(step: s.Action) -> s.Action:
        if isinstance(step, s.Raise) and isinstance(step.after, s.Var) and times[step.after.name] == 1:
            return replace(step, after=iso_constant(step.after))
        return step

    return with_actions(item, lambda action: rewrite_action(action, change))


def declares_state(reader: TermReader) -> bool:
    """Tell whether a directive declares state: `:- state f/n`, but not `:- state(X)`."""
    word, after = reader.tokens[1:3] if len(reader.tokens) > 2 else (reader.tokens[0], reader.tokens[0])
    if word[0] != "name" or word[1] != "state" or _touches(word, after):
        return False
    kind, value, _, _ = after
    return (kind in ("name", "quoted") and value not in reader.operators.infix) or (kind == "punct" and value in "([{")


def read_state(reader: TermReader, span: Span) -> s.Item:
    """Read what follows `:- state`."""
    found: list[tuple[str, int, int | None]] = []
    while True:
        token = reader.tokens[reader.at]
        named = indicators(reader.term(400))
        if len(named) != 1:
            raise reader.refusal("E123", "this names no predicate", token, _STATE)
        found.append((*named[0], _key(reader)))
        if not reader.skip(","):
            return s.StateDeclaration(tuple(found), span)


def _key(reader: TermReader) -> int | None:
    token = reader.tokens[reader.at]
    if token[0] != "name" or token[1] != "key":
        return None
    reader.at += 1
    kind, value, _, _ = token = reader.tokens[reader.at]
    if kind != "number" or not isinstance(value, int):
        message = "how many arguments, the first ones, are the key must be a number"
        raise reader.refusal("E123", message, token, "write stock/3 key 1")
    reader.at += 1
    return value
