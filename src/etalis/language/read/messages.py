"""Messages for syntax errors in patterns: what was found, what was expected, and what may have been meant."""

from __future__ import annotations

from etalis.language.check.spelling import suggest
from etalis.language.operators import ARROWS, PATTERN_WORDS, find_operator, is_arrow
from etalis.language.read.foreign_signs import MEANT
from etalis.language.read.reader import TermReader, describe, is_new_clause, missing_stop
from etalis.language.read.tokens import ClauseError, Token
from etalis.language.read.units import NUMBERS, joins_durations, parts_joined, wrong_unit
from etalis.temporal.duration import UNITS

_UNIT_NAMES = "the units are us, ms, s, min, h, d and week"
_ARROW_HINT = "is a full stop missing? A rule inside a rule needs brackets"
_OUTER_HINT = "a part may be missing of seq, equals and `and`, on one side: a seq? b, a ?seq b, a equals? b, a and? b"
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
