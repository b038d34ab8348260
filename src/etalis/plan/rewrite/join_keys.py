"""Conditions that are equalities become join keys: `V = W`, `X =:= Y + 500`, a look-up of a fact `link(I, J)`.

So do variables that both sides have and one may leave unbound, as after an `or`: they agree where both are bound.

A key only narrows the candidates; the condition stands where it was written and judges them. So it is exact as long as
a pair that the key leaves out would have failed in silence. Under `unrestricted`, where nothing is consumed, an
equality keys the innermost join that has its variables on two sides; else only the join that it stands on, whose
candidates are what passes its tests; and none where the newest instance replaces the others, whether it passes or not.
What comes before an equality, in its condition and below, must be silent: it raises nothing for plain numbers, and
`KeyPair.numbers` are those that must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.check.goals import BINDS_NOTHING, BUILTINS, COMPARISONS, conjuncts, indicator
from etalis.language.traversal import term_variables
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.retention import join_key, shared_names
from etalis.plan.rewrite.linear import separate

Names = frozenset[str]

LARGEST = 1e30  # of plain numbers: what is computed from a few of them is far from the limits of floats
_MOST_NODES = 8
_MOST_PAIRS = 3
_HARMLESS = frozenset({("+", 2), ("-", 2), ("*", 2), ("min", 2), ("max", 2), ("-", 1), ("+", 1), ("abs", 1)})
_PURE = _HARMLESS | frozenset(
    {("/", 2), ("//", 2), ("div", 2), ("mod", 2), ("rem", 2), ("gcd", 2)}
    | {(name, 1) for name in ("sign", "floor", "ceiling", "round", "truncate", "integer")}
)
_SAME = frozenset({("=", 2), ("==", 2)})
_CONTROL = frozenset({(",", 2), (";", 2), ("->", 2), ("\\+", 1), ("not", 1)})
_SILENT = (BINDS_NOTHING - COMPARISONS) | {("=", 2), ("sparql", 2), ("true", 0), ("fail", 0), ("false", 0)}


@dataclass(frozen=True, slots=True)
class _Needed:
    """A conjunct that every match needs, and the variables that are plain numbers where what comes before is silent."""

    goal: s.Compound
    numbers: Names


def key_joins(node: p.Node) -> p.Node:
    """Give the joins of a plan the keys that its conditions are good for."""
    return _keyed(node, ())


def _keyed(node: p.Node, above: tuple[_Needed, ...]) -> p.Node:
    """Return a node with keys; `above` is what conditions further out need, none of which anything may come before."""
    if p.is_single(node):
        return node
    match node:
        case p.Source() | p.Tick():
            return node
        case p.Join():
            return _keyed_join(node, above)
        case p.Union(branches=branches):
            return replace(node, branches=tuple(_keyed(branch, above) for branch in branches))
        case p.SomeOf(constituents=constituents):
            several = tuple(_keyed(part, ()) for part in constituents)
            return replace(node, constituents=several, tests=_keyed_tests(node.tests))
        case p.Filter(child=child):
            return replace(node, child=_keyed(child, _all_needed(node, above)), tests=_keyed_tests(node.tests))
        case p.Repetition(left=left, element=element):
            first = None if left is None else _keyed(left, ())
            return replace(node, left=first, element=_keyed(element, ()), tests=_keyed_tests(node.tests))
        case p.Fold(opener=opener, element=element):
            first = None if opener is None else _keyed(opener, ())
            return replace(node, opener=first, element=_keyed(element, ()), tests=_keyed_tests(node.tests))
        case p.Deadline(left=left, absent=absent):
            return replace(node, left=_keyed(left, ()), absent=_keyed(absent, ()), tests=_keyed_tests(node.tests))
        case _:
            assert_never(node)


def _keyed_tests(tests: tuple[p.Test, ...]) -> tuple[p.Test, ...]:
    return tuple(replace(t, node=_keyed(t.node, ())) if isinstance(t, p.Absent) else t for t in tests)


def _keyed_join(node: p.Join, above: tuple[_Needed, ...]) -> p.Join:
    needed = _all_needed(node, () if node.policy.restricts else above)
    pairs = () if node.policy.keep == "newest" or node.alone or _counts(node) else _chosen(node, needed)
    below = () if node.policy.restricts or node.alone else needed
    left, right = _keyed(node.left, below), _keyed(node.right, below)
    return replace(node, left=left, right=right, tests=_keyed_tests(node.tests), keys_on=pairs)


def _counts(node: p.Join) -> bool:
    """Tell whether a side is a repetition: what follows one is found along with it."""
    sides = [child.child if isinstance(child, p.Filter) else child for child in p.children(node)]
    return any(isinstance(side, p.Repetition) for side in sides)


def _chosen(node: p.Join, needed: Iterable[_Needed]) -> tuple[p.KeyPair, ...]:
    """Return the keys of a join: those that every instance has, else all, else a look-up if there is no other."""
    found = tuple(dict.fromkeys(pair for one in needed for pair in _pairs(node, one)))
    firm = tuple(pair for pair in found if pair.kind == "value" and not pair.numbers)
    loose = tuple(p.KeyPair("bound", s.Var(v), s.Var(v)) for v in shared_names(node) if v not in join_key(node))
    computed = (*(pair for pair in found if pair.kind != "fact"), *loose)[:_MOST_PAIRS]
    if firm or computed or join_key(node):
        return firm or computed
    return found[:1]


def _firm(node: p.Node) -> Names:
    return frozenset(v for v in node.exports if v[0] != "$") & sure(node)


def _all_needed(node: p.Join | p.Filter, above: tuple[_Needed, ...]) -> tuple[_Needed, ...]:
    """Return what the conditions of a node need, and what is needed further out where these are silent."""
    found: list[_Needed] = []
    numbers: Names = frozenset()
    for test in node.tests:
        match test:
            case p.GoalTest(kind="where" | "check", goal=goal):
                for conjunct in conjuncts(goal):
                    if isinstance(conjunct, s.Compound):
                        found.append(_Needed(conjunct, numbers))
                    guards = _guards(conjunct)
                    if guards is None:
                        return tuple(found)
                    numbers |= guards
            case p.GoalTest() | p.Action():
                return tuple(found)
            case _:
                pass  # says nothing, whatever it decides
    return (*found, *(replace(one, numbers=one.numbers | numbers) for one in above))


def _guards(goal: s.Term) -> Names | None:
    """Return the variables that must be plain numbers for a goal to raise nothing; None if that does not do."""
    called = indicator(goal)
    if called in _SILENT:
        return frozenset()
    if not isinstance(goal, s.Compound):
        return None
    if called in COMPARISONS or called == ("is", 2):
        numeric = goal.args if called in COMPARISONS else goal.args[1:]
        return _variables(numeric) if all(_is_arithmetic(x, _HARMLESS) for x in numeric) else None
    if called in _CONTROL:
        parts = [_guards(part) for part in goal.args]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    return None


def _variables(terms: Iterable[s.Term]) -> Names:
    return frozenset(term_variables(*terms))


def _is_arithmetic(term: s.Term, functions: frozenset[tuple[str, int]]) -> bool:
    """Tell whether a term is a short expression of some functions over variables and numbers that are not too large."""
    waiting, nodes = [term], 0
    while waiting:
        nodes += 1
        match waiting.pop():
            case s.Var():
                pass
            case s.Const(value=int() | float() as value) if -LARGEST < value < LARGEST:
                pass
            case s.Compound(name=name, args=args) if (name, len(args)) in functions:
                waiting.extend(args)
            case _:
                return False
    return nodes <= _MOST_NODES


def _pairs(node: p.Join, needed: _Needed) -> Iterator[p.KeyPair]:
    """Yield the key that a conjunct is for a join, if it is one."""
    left, right = _firm(node.left), _firm(node.right)
    goal, called = needed.goal, indicator(needed.goal)
    if not needed.numbers <= left | right:
        return
    numbers = tuple(sorted(needed.numbers))
    if called in _SAME:
        for a, b in (goal.args, goal.args[::-1]):
            if isinstance(a, s.Var) and isinstance(b, s.Var) and a.name in left - right and b.name in right - left:
                yield p.KeyPair("value", a, b, numbers)
    elif called in {("=:=", 2), ("is", 2)}:
        if all(_is_arithmetic(x, _PURE) for x in goal.args) and _variables(goal.args) <= left | right:
            x, y = goal.args
            yield from (p.KeyPair(kind, a, b, numbers) for kind, a, b in separate(x, y, left, right))
    elif called not in BUILTINS and all(isinstance(x, s.Var | s.Const) for x in goal.args):
        mine = [x for x in goal.args if isinstance(x, s.Var) and x.name in left - right]
        theirs = [x for x in goal.args if isinstance(x, s.Var) and x.name in right - left]
        if mine and theirs:
            yield p.KeyPair("fact", mine[0], theirs[0], numbers, goal)
