"""Are two event rules the same, up to the names of their variables?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from etalis.errors import Source
from etalis.language.printer import print_program
from etalis.language.rules import event_rules
from etalis.language.syntax import Program, Rule
from etalis.language.tokens import Tokenizer


def is_same_rule(a: Rule, b: Rule) -> bool:
    """Tell whether two rules differ in names of variables, label and properties at most.

    >>> from etalis.language.parser import parse_rule
    >>> is_same_rule(parse_rule("d(X, Y) <- a(X, Y, _)"), parse_rule("r rule: d(A, B) <- a(A, B, C)"))
    True
    """
    return _shape(a) == _shape(b)


def _shape(rule: Rule) -> list[tuple[str, object]]:
    """Return the tokens of a rule, each variable as a number; one that occurs once has none."""
    plain = event_rules(Program((replace(rule, label=None, properties=()),)))[0]
    source = Source("<rule>", print_program(Program((plain,))))
    tokens = [token[:2] for clause in Tokenizer(source).clauses() for token in clause]
    times = Counter(value for kind, value in tokens if kind == "var")
    numbers: dict[object, int] = {}
    return [
        (kind, (numbers.setdefault(value, len(numbers)) if times[value] > 1 and value != "_" else None))
        if kind == "var"
        else (kind, value)
        for kind, value in tokens
    ]
