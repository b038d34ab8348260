"""Messages for syntax errors in patterns and actions: what was found, what was expected, what may have been meant."""

from __future__ import annotations

from etalis.language.check.spelling import suggest
from etalis.language.operators import (
    ACTION_OPERATORS,
    ARROWS,
    PATTERN_WORDS,
    find_action_operator,
    find_operator,
    is_arrow,
)
from etalis.language.read.foreign_signs import MEANT
from etalis.language.read.reader import TermReader, describe, is_new_clause, missing_stop
from etalis.language.read.tokens import ClauseError, Token
from etalis.language.read.units import NUMBERS, joins_durations, parts_joined, wrong_unit
from etalis.temporal.duration import UNITS

_UNIT_NAMES = "the units are us, ms, s, min, h, d and week"
_ARROW_HINT = "is a full stop missing? A rule inside a rule needs brackets"
_OUTER_HINT = "a part may be missing of seq, equals and `and`, on one side: a seq? b, a ?seq b, a equals? b, a and? b"
REPEAT = "a repetition is an action that calls itself: action all :- one seq all. action all :- \\+ more."
_TEST = "a test is a step of its own: X > 1 seq ins(p(X))"
_JOINED = "actions are joined by seq, par and or: a seq b, a par b, a or b"
_CHOICE = "a choice is written (Test -> Action ; Action)"
# What patterns, goals and other languages have between parts, and what is written between actions.
_BETWEEN_ACTIONS = {
    "and": "one after the other is written a seq b, in any order a par b",
    "|": "interleaved is written a par b, a choice a or b",
    "where": _TEST, "check": _TEST, "timestamp": _TEST, "if": _TEST, "when": _TEST, "ntimes": REPEAT,
    "star_times": REPEAT, "cnot": "that a goal has no solution is the step \\+ p(X)", "times": REPEAT,
    "fnot": "that a goal has no solution is the step \\+ p(X)", "then": "did you mean seq?", "else": _CHOICE,
    "within": "only await(Pattern within Duration) takes time", "&": "did you mean par?", "#": "did you mean par?",
    "&&": "did you mean seq?", "||": "did you mean or?", "\\/": "did you mean or?", "/\\": "did you mean par?",
    "*->": _CHOICE, "*": "did you mean seq?", "do": "what is done is joined by seq: do a seq b",
    "on": "is a full stop missing?",
}  # fmt: skip
_NOT_HINT = "use cnot: (a seq b) cnot c, or fnot for never before"


def wrong_operand(reader: TermReader, token: Token) -> ClauseError:
    """Say why no event can begin at a token."""
    kind, value, _, _ = token
    if kind == "var" and find_operator(token) is None:
        hint = f"names of events begin with a small letter, or are quoted: '{value}'"
        return reader.refusal("E113", f"the variable {describe(token)} cannot be an event", token, hint)
    if kind == "punct" and value in "[{":
        return reader.refusal(
            "E113", f"{describe(token)} begins no event", token, "lists belong in NOT(c).[a, b] and any(2, [a, b, c])"
        )
    if kind == "name" and find_operator(token) is None and not is_arrow(token):
        return reader.refusal("E113", f"{describe(token)} is no event", token, "quote the name if you mean it")
    if token[0] == "punct" and value == "|":
        return reader.refusal("E108", "an event is missing before `|`", token, "alternatives are written a or b")
    return reader.refusal("E108", f"an event is missing before {describe(token)}", token)


def wrong_operator(reader: TermReader, opening: int | None) -> ClauseError:
    """Say what is wrong with a token that follows a pattern and is no operator."""
    token = reader.tokens[reader.at]
    kind, value, _, _ = token
    if kind in ("end", "eof"):
        return reader.wrong_next(opening)
    if is_new_clause(reader):
        return missing_stop(reader)
    if kind in ("name", "quoted", "var"):
        return _wrong_word(reader, token)
    if kind == "punct" and value == "," and joins_durations(reader):
        return parts_joined(reader)
    if kind == "punct" and value == ",":
        hint = "join events with `and` or `seq`; put several goals in brackets: where (X > 1, p(X))"
        return reader.refusal("E117", "a comma does not join events", token, hint)
    if kind == "punct" and value in ")]}":
        return reader.refusal("E108", f"{describe(token)} closes nothing", token)
    if kind == "punct" and value == "|":
        return reader.refusal("E109", "`|` is not an operator of patterns", token, "did you mean or?")
    hint = "say how they belong together: a seq b, a and b, a or b"
    return reader.refusal("E108", f"an operator is missing before {describe(token)}", token, hint)


def _wrong_word(reader: TermReader, token: Token) -> ClauseError:
    word = token[1].lower()
    if word == "not":
        return reader.refusal("E110", "`not` is not written between events", token, _NOT_HINT)
    if word in ARROWS:
        number = reader.tokens[reader.at + 1][0] == "number"
        hint = "put a space between < and the minus: X < -1" if number else _ARROW_HINT
        return reader.refusal("E108", "a second arrow in one rule", token, hint)
    if word.strip("?") in PATTERN_WORDS and word.strip("?") != word:
        hint = _OUTER_HINT
    elif word in MEANT:
        hint = f"did you mean {MEANT[word]}?"
    elif word in (":-", "-->"):
        hint = "event rules are written Head <- Pattern"
    elif token[1] in reader.operators.infix and reader.operators.infix[token[1]].priority == 700:
        hint = f"a condition is written behind `where`: a(X) where X {token[1]} 1"
    else:
        near = suggest(word, PATTERN_WORDS)
        unit = _wrong_unit(reader, token) if near is None else None
        if unit is not None:
            return unit
        hint = near or "the operators are seq, and, or, par, cnot, fnot, where, within, ..."
    return reader.refusal("E109", f"{describe(token)} is not an operator of patterns", token, hint)


def _wrong_unit(reader: TermReader, token: Token) -> ClauseError | None:
    """Say what is wrong with a word behind a number, which in a pattern can only be its unit."""
    if (
        reader.tokens[reader.at - 1][0] in NUMBERS
        and token[0] == "name"
        and token[1][0].isalpha()
        and token[1] not in UNITS
    ):
        return wrong_unit(reader) or reader.refusal("E125", f"{describe(token)} is no unit of time", token, _UNIT_NAMES)
    return wrong_unit(reader)


def wrong_action(reader: TermReader, token: Token) -> ClauseError | None:
    """Say why no action can begin at a token, None if one may."""
    kind, value, _, end = token
    if kind in ("end", "eof") or (kind == "punct" and value not in "([{"):
        return reader.refusal("E108", f"an action is missing before {describe(token)}", token)
    after = reader.tokens[reader.at + 1]
    is_word = kind in ("name", "var") and not (after[1] == "(" and after[2] == end)
    word = str(value).lower()
    if is_word and word == "not":
        hint = "that a goal has no solution is written \\+ p(X), that an action cannot be done impossible(A)"
        return reader.refusal("E122", "`not` is no action", token, hint)
    if is_word and word == "if" and after[0] in ("name", "var", "quoted", "punct"):
        return reader.refusal("E122", "`if` does not stand in an action", token, _CHOICE)
    if is_word and (word in ("else", "undo", "do") or word in ACTION_OPERATORS or word in PATTERN_WORDS):
        return reader.refusal("E108", f"an action is missing before {describe(token)}", token)
    if kind == "var":
        return _open_step(reader, token, after)
    return None


def _open_step(reader: TermReader, token: Token, after: Token) -> ClauseError | None:
    """Say that a variable is no step, where one stands alone."""
    if after[0] in ("end", "eof") or after[1] in (")", ",", "|") or find_action_operator(after) is not None:
        hint = "write the step: ins(Fact), raise(Event), effect(name(X)), a goal"
        return reader.refusal("E121", f"the variable {describe(token)} is no step of an action", token, hint)
    return None


def wrong_action_operator(reader: TermReader, opening: int | None) -> ClauseError:
    """Say what is wrong with a token that follows an action and is no operator."""
    token = reader.tokens[reader.at]
    kind, value, _, _ = token
    if kind in ("end", "eof"):
        return reader.wrong_next(opening)
    if opening is None and is_new_clause(reader, on_margin=True):
        return missing_stop(reader)
    unit = wrong_unit(reader)
    if unit is not None:
        return unit
    if kind not in ("name", "quoted", "var") and value != "|":
        hint = f"say how they belong together: {_JOINED.partition(': ')[2]}"
        return reader.refusal("E108", f"expected an operator of actions, found {describe(token)}", token, hint)
    word = value.lower()
    meant = _BETWEEN_ACTIONS.get(word) or suggest(word, (*ACTION_OPERATORS, "else", "undo"))
    code = "E109" if meant is None else "E122"
    return reader.refusal(code, f"{describe(token)} is not an operator of actions", token, meant or _JOINED)
