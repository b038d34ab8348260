"""Tokens -> actions of reactive rules, by the operator table of actions (definition 24.6).

What is no form of an action is a goal: a term of at most 999, read by the `TermReader`. Between brackets stands an
action, unless an operator of goals follows them: `(X + 1) * 2 > Y`. Half of an if-then-else means something only left
of `;` (a `_Then`). Law: parts are read in the order of the tree, as patterns are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from etalis.errors import Span
from etalis.language import syntax as s
from etalis.language.operators import ACTION, ACTION_OPERATORS, ARGUMENT, ActionOperator, find_action_operator
from etalis.language.read.messages import REPEAT, wrong_action, wrong_action_operator
from etalis.language.read.pattern import PatternParser
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import Token, refusal
from etalis.language.read.units import seconds_of
from etalis.temporal.duration import DurationError

_NO_ELSE = "write (Test -> Action ; skip) where nothing is done otherwise"
_IN_BRACKETS = "write (Test -> (A or B) ; C), or (Test -> A ; skip)"
_NO_TEST = "the test of `->` is a goal, possible(Action) or impossible(Action)"
_JOINED = frozenset(ACTION_OPERATORS) | {"|", "*->", ":-", "<-", "-->", "rule:", "do"}


@dataclass(frozen=True, slots=True)
class _Then:
    """`Test -> Action`, which waits for its `; Otherwise`."""

    test: s.Perform | s.Possibility
    action: s.Action
    span: Span


Operand: TypeAlias = s.Action | _Then


class ActionParser:
    """Reads actions at the place where a reader stands."""

    __slots__ = ("commas", "patterns", "reader")

    def __init__(self, patterns: PatternParser) -> None:
        self.patterns = patterns
        self.reader: TermReader = patterns.reader
        self.commas: list[s.Composed] = []

    def action(self, limit: int = ACTION) -> s.Action:
        """Read an action that binds at most as loosely as `limit`."""
        return _whole(self._operation(limit))

    def _operation(self, limit: int) -> Operand:
        reader = self.reader
        reader.enter()
        left: Operand = self._operand()
        priority = 0
        while True:
            token = reader.tokens[reader.at]
            row = find_action_operator(token)
            if row is None or row.priority > limit:
                break
            if priority > row.left:
                raise _no_else(left) if isinstance(left, _Then) else reader.clash(token)
            reader.at += 1
            left, priority = self._combine(row, left), row.priority
        reader.depth -= 1
        return left

    def _combine(self, row: ActionOperator, left: Operand) -> Operand:
        """Read the right side of an operator and make the node."""
        reader = self.reader
        if isinstance(left, _Then):
            if row.makes != "else":
                raise _no_else(left, _IN_BRACKETS)
            otherwise = self.action(row.right)
            return s.IfThenElse(left.test, left.action, otherwise, reader.between(left.span, otherwise.span))
        match row.makes:
            case "then":
                test = self._test(left)
                action = self.action(row.right)
                return _Then(test, action, reader.between(left.span, action.span))
            case "subject_to":
                constraint = reader.term(row.right)
                return s.SubjectTo(left, constraint, reader.between(left.span, constraint.span))
            case "else" | "or":
                return self._composed("or", left, row)
            case _:
                found = self._composed(row.makes, left, row)
                self.commas += [found] if row.name == "," else []
                return found

    def _composed(self, operator: Literal["seq", "par", "or"], left: s.Action, row: ActionOperator) -> s.Composed:
        right = self.action(row.right)
        return s.Composed(operator, left, right, self.reader.between(left.span, right.span))

    def _test(self, left: s.Action) -> s.Perform | s.Possibility:
        """Return what stands left of `->` as one test."""
        if isinstance(left, s.Possibility):
            return left
        *several, goal = self._goals(left)
        for before in reversed(several):
            goal = s.Compound(",", (before, goal), self.reader.between(before.span, goal.span))
        return s.Perform(goal, left.span)

    def _goals(self, action: s.Action) -> list[s.Term]:
        """Return the goals that commas join."""
        match action:
            case s.Perform(goal=goal):
                return [goal]
            case s.Composed(left=left, right=right) if any(action is found for found in self.commas):
                return [*self._goals(left), *self._goals(right)]
            case _:
                assert action.span is not None
                raise refusal("E121", "this cannot be tested: it is no goal", action.span, _NO_TEST)

    def _operand(self) -> Operand:
        """Read one step, form, or action in brackets."""
        reader = self.reader
        token = reader.tokens[reader.at]
        kind, value, _, end = token
        after = reader.tokens[reader.at + 1] if kind not in ("end", "eof") else token
        touches = after[0] == "punct" and after[1] == "(" and after[2] == end
        if kind == "punct" and value == "(" and not self._is_term(reader.at):
            return self._bracketed()
        if kind in ("name", "quoted") and touches and value in FORMS and not self._is_term(reader.at + 1):
            return self._form(value, token)
        if kind in ("name", "quoted") and not touches and value in _PLAIN and not self._goes_on(reader.at + 1):
            reader.at += 1
            return _PLAIN[value](reader.span_of(token))
        return self._step(token)

    def _is_term(self, opening: int) -> bool:
        """Tell whether the bracket at a token belongs to a term that goes on behind it."""
        return self._goes_on(self.reader.group_end(opening))

    def _goes_on(self, at: int) -> bool:
        """Tell whether an operator of goals that a step may have stands at a token."""
        kind, value, _, _ = self.reader.tokens[at]
        if kind not in ("name", "quoted"):
            return False
        operators = self.reader.operators
        return any(value in rows and rows[value].priority <= ARGUMENT for rows in (operators.infix, operators.postfix))

    def _bracketed(self) -> Operand:
        reader = self.reader
        opening = reader.at
        reader.at += 1
        reader.enter()
        found = self.action()
        reader.depth -= 1
        self._close(opening)
        return found

    def _step(self, token: Token) -> s.Action:
        """Read a goal: a test, or a call of an action."""
        reader = self.reader
        refused = None if token[0] in ("name", "var") and self._goes_on(reader.at + 1) else wrong_action(reader, token)
        if refused is not None:
            raise refused
        goal = reader.term(ARGUMENT)
        match goal:
            case s.Const(value=str() as name) if name in _PLAIN:
                return _PLAIN[name](goal.span)
            case s.Const(value=str()):
                return s.Perform(goal, goal.span)
            case s.Compound(name=name, args=(_, _)) if name in _JOINED:
                hint = f"write A {name} B"
                raise reader.refusal("E121", f"`{name}` is written between its two sides", token, hint)
            case s.Compound(name="star_times", args=(_,)):
                raise reader.refusal("E122", "`star_times` repeats events, no actions", token, REPEAT)
            case s.Compound():
                return s.Perform(goal, goal.span)
            case s.Var() if reader.tokens[reader.at][0] in ("name", "var"):
                raise wrong_action_operator(reader, None)
            case _:
                assert goal.span is not None
                hint = "a step changes a fact, raises an event, makes an effect, calls an action or asks a goal"
                raise refusal("E121", "this is no step of an action", goal.span, hint)

    def _form(self, word: str, token: Token) -> s.Action:
        """Read a form that begins with a word and a bracket."""
        reader = self.reader
        reader.at += 2
        reader.enter(2)
        found = FORMS[word](self, token)
        reader.depth -= 2
        return found

    def _span_from(self, token: Token) -> Span:
        return Span(self.reader.source, token[2], self.reader.tokens[self.reader.at - 1][3])

    def _arguments(self, token: Token, least: int, most: int, form: str) -> tuple[s.Term, ...]:
        found = self.reader.arguments()
        if not least <= len(found) <= most:
            raise refusal("E121", f"`{token[1]}` is written {form}", self._span_from(token))
        return found

    def _close(self, opening: int) -> None:
        if not self.reader.skip(")"):
            raise wrong_action_operator(self.reader, opening)

    def fact_change(self, token: Token) -> s.Action:
        """Read the rest of `ins(Fact)`, `del(Fact)` or `set(Fact)`."""
        (fact,) = self._arguments(token, 1, 1, f"{token[1]}(Fact)")
        if not isinstance(fact, s.Compound) and not (isinstance(fact, s.Const) and isinstance(fact.value, str)):
            raise refusal("E121", "this is no fact", _place(fact), f"write {token[1]}(name(arguments))")
        kind: Literal["ins", "del", "set"] = "ins" if token[1] == "ins" else "del" if token[1] == "del" else "set"
        return s.FactChange(kind, fact, self._span_from(token))

    def raising(self, token: Token) -> s.Action:
        """Read the rest of `raise(Event)` or `raise(Event, after(Seconds))`."""
        event, *when = self._arguments(token, 1, 2, "raise(Event) or raise(Event, after(Duration))")
        if not isinstance(event, s.Compound) and not (isinstance(event, s.Const) and isinstance(event.value, str)):
            hint = "an event is a name, perhaps with attributes: raise(alert(X))"
            raise refusal("E121", "this is no event", _place(event), hint)
        after: s.Term | None = None
        if when:
            match when[0]:
                case s.Compound(name="after", args=(delay,)):
                    after = _seconds(delay)
                case other:
                    hint = "write raise(Event, after(10 min))"
                    raise refusal("E121", "this says no time at which to raise the event", _place(other), hint)
        return s.Raise(event, after, self._span_from(token))

    def effect(self, token: Token) -> s.Action:
        """Read the rest of `effect(name(Arguments...))`."""
        (call,) = self._arguments(token, 1, 1, "effect(name(Arguments...))")
        if not isinstance(call, s.Compound) and not (isinstance(call, s.Const) and isinstance(call.value, str)):
            hint = "write effect(name(arguments)); the host registers what is done by program.effect"
            raise refusal("E121", "an effect is named in the program", _place(call), hint)
        return s.Effect(call, self._span_from(token))

    def isolated(self, token: Token) -> s.Action:
        """Read the rest of `iso(Action)`."""
        opening = self.reader.at - 1
        action = self.action()
        self._close(opening)
        return s.IsoAction(action, self._span_from(token))

    def possibility(self, token: Token) -> s.Action:
        """Read the rest of `possible(Action)` or `impossible(Action)`."""
        opening = self.reader.at - 1
        action = self.action()
        self._close(opening)
        return s.Possibility(action, token[1] == "possible", self._span_from(token))

    def awaiting(self, token: Token) -> s.Action:
        """Read the rest of `await(Pattern within Duration)`."""
        opening = self.reader.at - 1
        pattern = self.patterns.pattern(1060)
        if not isinstance(pattern, s.Within):
            hint = "write await(answer(X) within 10 min)"
            raise refusal("E121", "`await` needs a `within` that says how long", self._span_from(token), hint)
        self._close(opening)
        return s.Await(pattern.pattern, pattern.duration, self._span_from(token))


FORMS: Mapping[str, Callable[[ActionParser, Token], s.Action]] = MappingProxyType(
    dict.fromkeys(("ins", "del", "set"), ActionParser.fact_change)
    | dict.fromkeys(("possible", "impossible"), ActionParser.possibility)
    | {"raise": ActionParser.raising, "effect": ActionParser.effect}
    | {"iso": ActionParser.isolated, "await": ActionParser.awaiting}
)
_PLAIN: Mapping[str, Callable[[Span | None], s.Action]] = MappingProxyType({"skip": s.Skip, "abort": s.Abort})


def _whole(found: Operand) -> s.Action:
    """Refuse half of an if-then-else."""
    if isinstance(found, _Then):
        raise _no_else(found)
    return found


def _no_else(half: _Then, hint: str = _NO_ELSE) -> Exception:
    return refusal("E121", "`->` has no `;`: what is done otherwise must be said", half.span, hint)


def _seconds(delay: s.Term) -> s.Term:
    """Return a delay, which may be text in quotes, as a number of seconds."""
    if not isinstance(delay, s.Const) or not isinstance(delay.value, str):
        return delay
    try:
        return s.Const(seconds_of(delay), delay.span)
    except DurationError as error:
        raise refusal(error.code, error.message, _place(delay), error.hint) from None


def _place(term: s.Term) -> Span:
    assert term.span is not None
    return term.span
