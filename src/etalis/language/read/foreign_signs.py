"""Hints for syntax errors: a sign or word of another language, and how it is written here.

A table for each place: at the start of a clause, between patterns, in a goal. A refusal keeps its code and message;
its hint is replaced where a table knows better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from etalis.errors import Problem
from etalis.language.operators import ARROWS, PATTERN_WORDS
from etalis.language.read.tokens import Token

_CODES = frozenset({"E106", "E108", "E109", "E110", "E111", "E113", "E115", "E116", "E125"})
_COMMENT = "a comment begins with %"
_RULE = "event rules are written Head <- Pattern, clauses Head :- Body"
_UNEQUAL = "unequal is written X \\= Y, of numbers X =\\= Y"
_EQUAL = "equal is written X = Y, of numbers X =:= Y"
_NEGATED = "a goal is negated by \\+: \\+ p(X)"
_AND = "goals are joined by a comma, in brackets: where (X > 5, X < 10)"
_OR = "alternatives of goals are joined by a semicolon, in brackets: where (X < 5 ; X > 10)"
_TEXT = "a part of a word is found by sub_atom(Word, Before, _, After, Part)"
_IS = "a variable has one value; another gets its own by `is`: Y is X + 1"
_ATTRIBUTE = "an attribute is read by a variable of the pattern: w(amount: A) where A > 5"
_NAMED = "an event has no name of its own in a pattern; read its attributes: a(X)"
_REPEATED = "a repetition is written a ntimes 3, one or more times a star_times"
_EVERY = "leave it out: every event is tried; how often one may be used is said by the policy"
_GROUP = "leave it out: events belong together if they share a variable, a(Card) seq b(Card)"
_TYPED = "types are declared: :- event(a(x: int)). In a goal, integer(X), number(X) and atom(X) ask for them"
_GOALS = "goals are comparisons and calls of predicates, joined by commas in brackets: where (X > 5, p(X))"
_WINDOW = "a window is written (a seq b) within 5, a time without an event a seq (not b within 5)"
_CONDITION = "a condition is written behind `where`: a(X) where X > 5"
_BRACKETS = "put the event with its condition in brackets: (a(X) where X > 5) seq b(X)"
_DECLARED = "an event is declared by :- event(name(attribute: type))."
_JOINED = "say how they belong together: a seq b, a and b, a or b"
_SELECT = "a rule is written Head <- Pattern where Condition: the head names what is selected"

# Words and signs of other languages, and the operator that says the same here.
MEANT = {
    "then": "seq", "followed_by": "seq", "followedby": "seq", "before": "seq", "next": "seq", "->": "seq", "=>": "seq",
    ">>": "seq", "&": "and", "&&": "and", ";": "or", "|": "or", "||": "or", "overlaps": "par", "while": "during",
    "contains": "during", "without": "cnot", "unless": "cnot", "except": "cnot", "if": "where", "when": "where",
    "having": "where", "filter": "where", "in": "within", "for": "within", "times": "ntimes", "repeat": "ntimes",
}  # fmt: skip
_GOAL_SIGNS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("<>", "!==", "~=", "/=", "^=", "ne", "=!="), _UNEQUAL)
    | dict.fromkeys(("===", "eq", "equals"), _EQUAL)
    | dict.fromkeys(("&&", "&", "and", "and_", "/\\"), _AND)
    | dict.fromkeys(("||", "|", ";", "or", "\\/"), _OR)
    | dict.fromkeys(("like", "ilike", "=~", "~", "contains", "matches", "regexp", "startswith", "endswith"), _TEXT)
    | dict.fromkeys(("+=", "-=", "*=", "++", "--"), _IS)
    | {"<=": "less or equal is written =<", "=>": "greater or equal is written >="}
    | {"le": "less or equal is written =<", "ge": "greater or equal is written >="}
    | {"lt": "less is written <", "gt": "greater is written >"}
    | {"in": "write member(X, [1, 2, 3])", "between": "write where (X >= 1, X =< 5)"}
    | {"else": "write (Condition -> Goal ; Otherwise)", "isa": _TYPED, "instanceof": _TYPED, "::": _TYPED}
    | {"then": "actions are written behind `do`; in a goal write (Condition -> Goal ; true)"}
    | {"?": "write (Condition -> Goal ; Otherwise)", "not": _NEGATED, "!": _NEGATED, ".": _ATTRIBUTE}
)  # fmt: skip
_PATTERN_SIGNS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("{", "[", "?", "^"), _REPEATED)
    | {":": _NAMED, "as": _NAMED, "until": "write (a seq b) cnot c"}
    | dict.fromkeys(("group", "partition", "order", "by"), _GROUP)
    | {"every": _EVERY, "each": _EVERY, "/": "an event is written with its attributes: a(X)"}
    | {"-": "a name with a minus is quoted: 'a-b'"}
    | {"over": _WINDOW, "followed": "did you mean seq?"}
    | {"limit": "how many matches an event may have is said by the policy"}
    | {"at": "the times of a match are read behind `check`: a(X) check t1(T)"}
    | {"return": _SELECT, "select": _SELECT, "emit": _SELECT, "insert": _SELECT}
)  # fmt: skip
_CLAUSE_WORDS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("select", "insert", "create", "if", "when", "every", "pattern", "match", "define"), _SELECT)
    | dict.fromkeys(("import", "from", "include", "use", "load"), "write :- import a/1 from 'file'.")
    | dict.fromkeys(("def", "function", "fun", "fn", "class"), "a function is a clause: twice(X, Y) :- Y is 2 * X.")
    | dict.fromkeys(("let", "var", "const", "set"), "a value is a fact: limit(5).")
    | {"rule": "a label comes first: name rule: Head <- Pattern"}
    | dict.fromkeys(("event", "stream", "schema", "declare"), _DECLARED)
)  # fmt: skip
_DIRECTIVES: Mapping[str, str] = MappingProxyType(
    {"set_flag": "write :- set_flag(name, value).", "print_trigger": "write print_trigger(name/arity)."}
)
_ARROWS = frozenset({"<=", "=>", "<--", "<==", "==>", "::=", ":=", "->", "<:", "<<"})
_GOAL_WORDS = frozenset({"where", "check", "timestamp", "event_multiply", "do", ":-", "?-"})
_REACTIVE = frozenset({"on", "action"})  # clauses of which all behind one of the next words is goals
_ACTING = frozenset({"if", "do", "else", "undo", ":-"})
_AROUND = (PATTERN_WORDS - _GOAL_WORDS - {"and", "or"}) | ARROWS
_COMPARISONS = frozenset({"<", ">", "=<", ">=", "=:=", "=\\=", "==", "="})


def with_foreign_hint(problem: Problem, tokens: Sequence[Token]) -> Problem:
    """Return a refusal with the hint that its place suggests, if one does."""
    if problem.code not in _CODES or problem.span is None:
        return problem
    start = problem.span.start
    at = next((i for i, token in enumerate(tokens) if token[2] == start), None)
    if at is None:
        return problem
    hint = next(_hints(problem, tokens, at), None)
    return problem if hint is None else replace(problem, hint=hint)


def _hints(problem: Problem, tokens: Sequence[Token], at: int) -> Iterator[str]:
    assert problem.span is not None
    text = problem.span.source.text
    is_goal = _is_in_goal(tokens, at)
    if _has_foreign_comment(tokens, at, text):
        yield _COMMENT
    if problem.code == "E106":
        yield from _unfinished(tokens, at, text, is_goal)
        return
    if tokens[at][1] == ";" and "\n" in text[tokens[at][3] : tokens[at + 1][2]]:
        yield "a clause ends with a full stop"
    word = _word(tokens, 1)
    if _word(tokens, 0) == ":-" and word in _CLAUSE_WORDS and (at == 2 or (word == "event" and problem.code != "E116")):
        yield _CLAUSE_WORDS[word]
    first = _word(tokens, 1) if _word(tokens, 0) == ":-" else _word(tokens, 0)
    if first in _DIRECTIVES and at <= 2:
        yield _DIRECTIVES[first]
    if is_goal:
        yield from _in_goal(problem, tokens, at)
    else:
        yield from _in_pattern(problem, tokens, at)


def _word(tokens: Sequence[Token], at: int) -> str:
    """Return a token as it stands, words in small letters; nothing where there is none."""
    if (
        not 0 <= at < len(tokens)
        or not isinstance(tokens[at][1], str)
        or tokens[at][0] in ("quoted", "string", "end", "eof")
    ):
        return ""
    return str(tokens[at][1]).lower()


def _is_in_goal(tokens: Sequence[Token], at: int) -> bool:
    if _word(tokens, 0) in _REACTIVE and _ACTING.intersection(_word(tokens, i) for i in range(1, at)):
        return True
    for i in range(at - 1, -1, -1):
        word = _word(tokens, i)
        if word in _GOAL_WORDS:
            return True
        if word in _AROUND:
            return False
    return False


def _has_foreign_comment(tokens: Sequence[Token], at: int, text: str) -> bool:
    """Tell whether a comment of another language stands before a place: first in the clause, or last on its line."""
    for i in range(at + 1):
        sign = _word(tokens, i)
        is_sign = sign in ("//", "--") or (sign.startswith("#") and (i == 0 or at > i + 1))
        if is_sign and (i == 0 or _is_on_one_line(text, tokens[i - 1][3], tokens[i][2])):
            return i == 0 or sign != "//" or at <= i + 2
    return False


def _is_on_one_line(text: str, start: int, end: int) -> bool:
    return "\n" not in text[start:end]


def _unfinished(tokens: Sequence[Token], at: int, text: str, is_goal: bool) -> Iterator[str]:
    """Yield what may have kept a full stop from being one."""
    rest = text[tokens[at][3] :].split("\n", 1)[0].lstrip()
    if rest.startswith("%") and is_goal:
        yield "% begins a comment; the remainder of a division is written X mod 2"
    if _word(tokens, at) == ";":
        yield "a clause ends with a full stop, not with a semicolon"


def _in_goal(problem: Problem, tokens: Sequence[Token], at: int) -> Iterator[str]:
    here, before = _word(tokens, at), _word(tokens, at - 1)
    if here == "!" and _word(tokens, at + 1) == "=":
        yield _UNEQUAL
    if here == "not" and _word(tokens, at + 1) == "in":
        yield "write \\+ member(X, [1, 2, 3])"
    if before == "not" and _word(tokens, at - 2) == "is":
        yield "write X \\= null"
    if before in ("not", "!") and here not in _GOAL_SIGNS:
        yield _NEGATED
    if before in ("if", "case"):
        yield "write (Condition -> Goal ; Otherwise)"
    if before == "exists":
        yield "write the goal alone; \\+ says that there is none"
    if here == "[" and tokens[at - 1][0] == "var":
        yield f"an element of a list is found by nth0(0, {tokens[at - 1][1]}, Element)"
    if before == "." and tokens[at][0] == "number":
        yield f"write 0.{tokens[at][1]}"
    if problem.code == "E111" and here in _AROUND:
        yield _BRACKETS
    if problem.code == "E111" and here in _COMPARISONS:
        yield "compare two at a time: where (1 < X, X < 5)"
    if here in _GOAL_SIGNS:
        yield _GOAL_SIGNS[here]
    if before == "~":
        yield _NEGATED
    general = ("the operators are", "say how they belong", "did you mean")
    if problem.code in ("E108", "E109") and (problem.hint or "").startswith(general):
        yield _GOALS


def _in_pattern(problem: Problem, tokens: Sequence[Token], at: int) -> Iterator[str]:
    here, before, first = _word(tokens, at), _word(tokens, at - 1), _word(tokens, 0)
    if here in _ARROWS and not any(_word(tokens, i) in ARROWS for i in range(at)):
        yield _RULE
    if first in _CLAUSE_WORDS and at <= 3 and tokens[0][0] in ("name", "var"):
        yield _CLAUSE_WORDS[first]
    if before in ("every", "each", "first", "last", "all", "any", "one"):
        yield _EVERY
    if before in ("*", "+") and problem.code == "E108":
        yield _REPEATED
    if before in ("$", "?", "@") and tokens[at - 1][3] == tokens[at][2]:
        yield "a variable begins with a capital letter: X"
    if before == "." and any(_word(tokens, i) in ARROWS for i in range(at, len(tokens))):
        yield "a full stop is followed by a space or a new line"
    yield from _between(problem, tokens, at)
    if here in _PATTERN_SIGNS and problem.code not in ("E113", "E115"):
        yield _PATTERN_SIGNS[here]


def _between(problem: Problem, tokens: Sequence[Token], at: int) -> Iterator[str]:
    """Yield what may be meant by what stands on both sides of a place in a pattern."""
    here, before, after = (_word(tokens, i) for i in (at, at - 1, at + 1))
    opener = _word(tokens, at - 2)
    if here in ("=>", "->", "<=", "<>", "!", "===", "=~") and opener in ("(", ","):
        name = tokens[at - 1]
        yield (
            f"an attribute by name is written {name[1]}: X"
            if name[0] == "name" and here in ("=>", "->")
            else _CONDITION
        )
    if before in _COMPARISONS and opener in ("(", ","):
        yield _CONDITION
    if tokens[at][0] == "var" and (after in ("=", ":") or after in _COMPARISONS):
        yield _NAMED if after in ("=", ":") else _CONDITION
    if tokens[at][0] == "var" and tokens[at - 1][0] == "var" and opener in ("(", ","):
        yield "attributes are separated by commas: a(X, Y)"
    is_word = here in MEANT or here in _PATTERN_SIGNS or here == "after" or before in PATTERN_WORDS
    if tokens[at][0] == "var" and tokens[at - 1][0] == "name" and before.isidentifier() and not is_word and at > 1:
        yield f"attributes are written in brackets: {before}({tokens[at][1]})"
    if here in ("[", "{") and tokens[at + 1][0] == "var":
        yield f"attributes are written in round brackets: {before}({tokens[at + 1][1]})"
    if here == "when" and _word(tokens, 0) == "on":
        yield "a condition of a reaction is written behind `if`: on a(X) if X > 5 do ..."
    elif here in ("if", "when") and not any(_word(tokens, i) in ARROWS for i in range(at)):
        yield _RULE
    if before == "no":
        yield "an absence is written (a seq b) cnot c"
    if problem.code == "E109" and tokens[at][0] == "name" and after == "(" and here not in _PATTERN_SIGNS:
        yield from () if here in MEANT else (_JOINED,)
    if here == "=" and _word(tokens, at + 2) == "(":
        yield _NAMED
    if here == "!":
        yield "an absence is written (a seq b) cnot c"
    if here == "+":
        yield "did you mean and?" if tokens[at + 1][0] == "name" and after not in PATTERN_WORDS else _REPEATED
    if here == "times" and problem.code == "E115":
        yield _REPEATED
    if here == "after" or (here == ":" and before == "timer"):
        is_duration = here == ":" or tokens[at + 1][0] in ("number", "rational")
        yield _WINDOW if is_duration else "the later event is on the right: a seq b"
    if here == ")" and before == ",":
        yield "an attribute is missing, or the comma is one too many"
    elif here == ")" and problem.code == "E108":
        yield "there is one closing bracket too many, or an opening one is missing"
