"""Are two event rules the same, up to the names of their variables, or is one an instance of the other?"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass, replace

from etalis.errors import Source
from etalis.language.printer import print_program
from etalis.language.read.tokens import Tokenizer
from etalis.language.rules import event_rules
from etalis.language.syntax import Rule, Tree, Var


def is_same_rule(a: Rule, b: Rule) -> bool:
    """Tell whether two rules differ in names of variables, label and properties at most.

    >>> from etalis.language.read.parser import parse_rule
    >>> is_same_rule(parse_rule("d(X, Y) <- a(X, Y, _)"), parse_rule("r rule: d(A, B) <- a(A, B, C)"))
    True
    """
    return _are_same(_plain(a), _plain(b))


def fits(rule: Rule, label: str, wanted: Rule | str) -> bool:
    """Tell whether a rule, which goes by a label, is among those that are wanted: by label, by rule, or by both.

    A wanted rule with a label may be an instance of the rule: its variables may have got values in a goal.

    >>> from etalis.language.read.parser import parse_rule
    >>> fits(parse_rule("e(X) <- a(X)"), "r1", parse_rule("r1 rule: e(5) <- a(5)"))
    True
    """
    if isinstance(wanted, str):
        return label == wanted
    if wanted.label not in (None, label):
        return False
    one, of = _plain(wanted), _plain(rule)
    return _are_same(one, of) or (wanted.label is not None and _is_instance(one, of, {}))


def _are_same(a: Rule, b: Rule) -> bool:
    """Tell whether two plain rules differ in names of variables at most; those that make other events do."""
    kinds = [(rule.head.name, len(rule.head.args)) for rule in (a, b)]
    return kinds[0] == kinds[1] and _shape(a) == _shape(b)


def _is_instance(one: object, of: object, values: dict[str, object]) -> bool:
    """Tell whether a node is what another becomes when its variables get values."""
    if isinstance(of, Var):
        return values.setdefault(of.name, one) == one
    if isinstance(of, tuple):
        return (
            isinstance(one, tuple)
            and len(one) == len(of)
            and all(_is_instance(a, b, values) for a, b in zip(one, of, strict=True))
        )
    if not is_dataclass(of) or isinstance(of, type) or type(one) is not type(of):
        return one == of
    return all(_is_instance(getattr(one, f.name), getattr(of, f.name), values) for f in fields(of) if f.compare)


def _plain(rule: Rule) -> Rule:
    return event_rules(Tree((replace(rule, label=None, properties=()),)))[0]


def _shape(rule: Rule) -> list[tuple[str, object]]:
    """Return the tokens of a plain rule, each variable as a number; one that occurs once has none."""
    source = Source("<rule>", print_program(Tree((rule,))))
    tokens = [token[:2] for clause in Tokenizer(source).clauses() for token in clause]
    times = Counter(value for kind, value in tokens if kind == "var")
    numbers: dict[object, int] = {}
    return [
        (kind, (numbers.setdefault(value, len(numbers)) if times[value] > 1 and value != "_" else None))
        if kind == "var"
        else (kind, value)
        for kind, value in tokens
    ]
