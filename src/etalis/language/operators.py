"""The operator tables: one for goals, one for patterns, one for actions (definition 1.9, 1.13 and 24.6).

A larger priority binds looser. Goals have the operators of standard Prolog and those that `op/3` adds. The words of
patterns are goal operators too, with the same priorities, so that a rule can be handed to `ins_event_rule/1` as a term;
as all of them bind looser than 999, the condition of a modifier never swallows what follows it. A step of an action is
a term of at most 999 for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from etalis.language.read.tokens import Token
from etalis.language.syntax import Side
from etalis.temporal.relation import RELATIONS

ARGUMENT = 999  # the loosest term that stands between commas
PATTERN = 1123  # the loosest pattern that stands between commas: all but `do`
CLAUSE = 1200
ACTION = 1100  # the loosest action: all there are
CONDITION = 1100  # the loosest goal behind the `if` of a reaction


class TermOperator(NamedTuple):
    """A goal operator: its own priority and the loosest its sides may be (left is 0 for a prefix operator)."""

    priority: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class PatternOperator:
    """An operator between patterns; `kind` says what node it makes, `name` is its plain spelling.

    `relation` is that of a binary operator, `alone` the side that matches without a partner too: `seq?` has it left.
    """

    name: str
    kind: str
    priority: int
    left: int
    right: int
    relation: str = ""
    alone: Side | None = None


@dataclass(frozen=True, slots=True)
class ActionOperator:
    """An operator between actions; `makes` is what node: of `Composed`, or one of its own."""

    name: str
    makes: Literal["or", "else", "then", "subject_to", "par", "seq"]
    priority: int
    left: int
    right: int


ACTION_OPERATORS: Mapping[str, ActionOperator] = MappingProxyType(
    {
        row.name: row
        for row in (
            ActionOperator("or", "or", 1100, 1099, 1100),
            ActionOperator(";", "else", 1100, 1099, 1100),
            ActionOperator("->", "then", 1070, 1069, 1069),
            ActionOperator("subject_to", "subject_to", 1060, 1060, ARGUMENT),
            ActionOperator("par", "par", 1050, 1050, 1049),
            ActionOperator("seq", "seq", 1025, 1025, 1024),
            ActionOperator(",", "seq", 1000, 1000, ARGUMENT),
        )
    }
)


def spell(relation: str, alone: Side | None) -> str:
    """Return how a binary operator is written: the question mark is on the side that may be missing.

    >>> spell("seq", None), spell("seq", "left"), spell("seq", "right")
    ('seq', 'seq?', '?seq')
    """
    return f"{relation}?" if alone == "left" else f"?{relation}" if alone == "right" else relation


def _pattern_rows() -> tuple[tuple[str, PatternOperator], ...]:
    looser = {"par": 1045, "and": 1040}
    modifiers = ("where", "check", "timestamp", "event_multiply", "within", "last")
    kinds = {"within": "within", "last": "last"}
    rows = []
    for word, relation in RELATIONS.items():
        given = looser.get(word, 1025)
        for alone in (None, "left", "right") if relation.alone else (None,):
            spelling = spell(word, alone)
            rows.append(PatternOperator(spelling, "relation", given, given, given - 1, word, alone))
    rows += [PatternOperator(word, kinds.get(word, "condition"), 1060, 1060, ARGUMENT) for word in modifiers]
    rows += [PatternOperator(word, "negation", 1031, 1031, 1030) for word in ("cnot", "fnot")]
    rows += [
        PatternOperator("do", "do", 1124, 1124, 1000),
        PatternOperator("or", "or", 1053, 1053, 1052),
        PatternOperator("ntimes", "ntimes", 1020, 1019, ARGUMENT),
        PatternOperator("star_times", "star_times", 200, 199, 0),
    ]
    return tuple((row.name, row) for row in rows)


_BY_WORD = dict(_pattern_rows())
_SYNONYMS = {"\\/": "or", "#": "par", "/\\": "and", "*": "seq"}

PATTERN_OPERATORS: Mapping[str, PatternOperator] = MappingProxyType(
    _BY_WORD | {sign: _BY_WORD[word] for sign, word in _SYNONYMS.items()}
)
# Words that could stand between patterns; none of them can be redefined by op/3.
PATTERN_WORDS = frozenset(_BY_WORD)
ARROWS = frozenset({"<-", "iff"})

_PREFIX = {
    1200: ("fx", ":- ?-"),
    1150: (
        "fx",
        "dynamic discontiguous initialization knowledge meta_predicate module_transparent multifile public table",
    ),
    900: ("fy", "\\+"),
    200: ("fy", "- + \\"),
}
_INFIX = (
    (1200, "xfx", ":- --> <-"),
    (1200, "xfy", "rule:"),
    (1100, "xfy", ";"),
    (1050, "xfy", "-> *->"),
    (1000, "xfy", ","),
    (990, "xfx", ":="),
    (700, "xfx", "< = =.. =@= \\=@= =:= =< == =\\= > >= @< @=< @> @>= \\= \\== as is >:< :<"),
    (600, "xfy", ":"),
    (500, "yfx", "+ - /\\ \\/ xor"),
    (400, "yfx", "* / // mod rdiv << >> div rem"),
    (200, "xfx", "**"),
    (200, "xfy", "^"),
)
TYPES = ("xfx", "xfy", "yfx", "fy", "fx", "xf", "yf")


class GoalOperators:
    """The operators of goals as they stand at one point of a program."""

    __slots__ = ("infix", "postfix", "prefix")

    def __init__(self) -> None:
        self.prefix: dict[str, TermOperator] = dict(_STANDARD.prefix)
        self.infix: dict[str, TermOperator] = dict(_STANDARD.infix)
        self.postfix: dict[str, TermOperator] = dict(_STANDARD.postfix)

    @classmethod
    def standard(cls) -> GoalOperators:
        """Return those that every program begins with."""
        found = cls.__new__(cls)
        found.prefix, found.infix, found.postfix = {}, {}, {}
        rows = [*((priority, *row) for priority, row in _PREFIX.items()), *_INFIX]
        for priority, kind, names in rows:
            for name in names.split():
                found.define(priority, kind, name)
        for row in _BY_WORD.values():
            table = found.postfix if row.kind == "star_times" else found.infix
            table[row.name] = TermOperator(row.priority, row.left, row.right)
        return found

    def define(self, priority: int, kind: str, name: str) -> None:
        """Do what `op(priority, kind, name)` says; priority 0 takes the operator away."""
        left = priority if kind[0] == "y" else priority - 1
        right = priority if kind[-1] == "y" else priority - 1
        if len(kind) == 3:
            table, row = self.infix, TermOperator(priority, left, right)
        elif kind[0] == "f":
            table, row = self.prefix, TermOperator(priority, 0, right)
        else:
            table, row = self.postfix, TermOperator(priority, left, 0)
        table.pop(name, None)
        if priority:
            table[name] = row

    def __contains__(self, name: object) -> bool:
        return name in self.prefix or name in self.infix or name in self.postfix


_STANDARD = GoalOperators.standard()


def find_operator(token: Token) -> PatternOperator | None:
    """Return the pattern operator that a token spells, in whatever case or quotes."""
    kind, value, _, _ = token
    if kind != "name" and kind != "quoted" and kind != "var":
        return None
    row = PATTERN_OPERATORS.get(value)
    if row is None and not value.islower():
        row = PATTERN_OPERATORS.get(value.lower())
    return row


def find_action_operator(token: Token) -> ActionOperator | None:
    """Return the operator between actions that a token spells, words in whatever case or quotes."""
    kind, value, _, _ = token
    if kind not in ("name", "quoted", "var", "punct") or (value == "," and kind != "punct"):
        return None
    return ACTION_OPERATORS.get(value.lower())


def is_arrow(token: Token) -> bool:
    """Tell whether a token is `<-` or `iff`."""
    return token[0] in ("name", "quoted", "var") and token[1].lower() in ARROWS
