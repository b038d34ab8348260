"""Terms without variables as runtime values, and the variables of terms and patterns."""

from __future__ import annotations

from typing import assert_never

from etalis.data.values import Struct, Value
from etalis.language import traversal
from etalis.language.syntax import Compound, Const, ListTerm, Pattern, Rule, Term, Var


def ground(term: Term) -> Value | None:
    """Return the value that a term stands for, None if it has variables.

    >>> from etalis.language.syntax import Compound, Const
    >>> ground(Compound("f", (Const(1), Const("x"))))
    f(1,x)
    """
    match term:
        case Const(value=value):
            return value
        case Var():
            return None
        case Compound(name=name, args=args):
            values = _all(args)
            return None if values is None else Struct(name, values)
        case ListTerm(items=items, tail=tail):
            values = _all(items)
            end = () if tail is None else ground(tail)
            return None if values is None or end is None else listed(values, end)
        case _:
            assert_never(term)


def _all(terms: tuple[Term, ...]) -> tuple[Value, ...] | None:
    values = tuple(map(ground, terms))
    return None if None in values else values


def listed(values: tuple[Value, ...], end: Value) -> Value:
    """Return a list with a tail: a tuple if the tail is one, otherwise the chain of pairs that a partial list is."""
    if isinstance(end, tuple):
        return values + end
    for value in reversed(values):
        end = Struct("[|]", (value, end))
    return end


def unlisted(value: Value, count: int) -> tuple[Value, ...] | None:
    """Return so many first elements of a list, which may be a partial one, and its rest; None if it has not so many.

    >>> unlisted((1, 2, 3), 2), unlisted(listed((1,), "x"), 1), unlisted((1,), 2)
    ((1, 2, (3,)), (1, 'x'), None)
    """
    front: list[Value] = []
    while len(front) < count and isinstance(value, Struct) and value.name == "[|]" and len(value.args) == 2:
        front.append(value.args[0])
        value = value.args[1]
    more = count - len(front)
    if not more:
        return (*front, value)
    return (*front, *value[:more], value[more:]) if isinstance(value, tuple) and len(value) >= more else None


def variables(node: Term | Pattern | Rule) -> tuple[str, ...]:
    """Return the names of the variables in a node, each once, in the order they are first met."""
    if isinstance(node, Rule):
        found = traversal.rule_variables(node)
    elif isinstance(node, Var | Const | Compound | ListTerm):
        found = traversal.variables(node)
    else:
        found = traversal.pattern_variables(node)
    return tuple(dict.fromkeys(v.name for v in found))
