"""Which variables a node's matches are sure to bind, and when two nodes are the same up to the names of variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import lru_cache
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.traversal import term_variables
from etalis.plan import algebra as p
from etalis.temporal.aggregate import FOLDS


def sure(node: p.Node) -> frozenset[str]:
    """Return the variables that every match of a node binds."""
    match node:
        case p.Source(args=args):
            return frozenset(term_variables(*args))
        case p.Tick():
            return frozenset()
        case p.Join(left=a, right=b, alone=alone):
            return sure(a) if alone == "left" else sure(b) if alone == "right" else sure(a) | sure(b)
        case p.SomeOf(count=count, constituents=constituents):
            times = Counter(name for part in constituents for name in sure(part))
            return frozenset(name for name, number in times.items() if number > len(constituents) - count)
        case p.Union(branches=branches):
            return frozenset.intersection(*map(sure, branches))
        case p.Filter(child=child):
            return sure(child)
        case p.Repetition(left=left, element=element, shared=shared):
            return (sure(element) & frozenset(shared)) | (frozenset() if left is None else sure(left))
        case p.Fold(opener=None, element=element, groups=groups, result=result):
            return frozenset(term_variables(result)) | (sure(element) & frozenset(groups))
        case p.Fold(opener=opener, element=element, groups=groups, result=result):
            assert opener is not None
            # At the opener itself only those groups have a value that must have one there.
            kept = node.at_opener if FOLDS[node.kind].at_opener else frozenset(groups)
            return frozenset(term_variables(result)) | (sure(element) & kept) | sure(opener)
        case p.Deadline(left=left):
            return sure(left)
        case _:
            assert_never(node)


def bound_by_pairs(node: p.Node) -> frozenset[str]:
    """Return the variables that every match of a node binds, but for parts that match alone: every pair."""
    return sure(node.left) | sure(node.right) if isinstance(node, p.Join) else sure(node)


@lru_cache(maxsize=4096)
def _together(numbers: tuple[int | str, ...]) -> frozenset[int | str]:
    return frozenset(numbers)


@lru_cache(maxsize=4096)
def _variable(number: int | str) -> Hashable:
    return ("v", number)


class NodeShape:
    """The shape of a node with variables numbered in order of first occurrence."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int | str:
        """Return the number of a variable; marks keep their names."""
        return name if name[0] == "$" else self.numbers.setdefault(name, len(self.numbers))

    def term(self, term: s.Term | None) -> Hashable:
        match term:
            case None:
                return None
            case s.Var(name=name):
                return _variable(self.number(name))
            case s.Const(value=value):
                return ("c", type(value).__name__, value)
            case s.Compound(name=name, args=args):
                return ("f", name, *map(self.term, args))
            case s.ListTerm(items=items, tail=tail):
                return ("l", self.term(tail), *map(self.term, items))

    def names(self, names: tuple[str, ...]) -> Hashable:
        return _together(tuple(map(self.number, names)))

    def test(self, test: p.Test) -> Hashable:
        match test:
            case p.Window(duration=duration):
                return ("window", duration)
            case p.GoalTest(kind=kind, goal=goal, settled=settled):
                return (kind, self.term(goal), *((settled,) if settled else ()))
            case p.Prefilter(goal=goal):
                return ("prefilter", self.term(goal))
            case p.Absent(kind=kind, node=node, joined=joined, window=window):
                return ("absent", kind, self.node(node), self.names(joined), window, *self.conditions(test))
            case p.Alone(kind=kind):
                return ("alone", kind)
            case p.Action(goal=goal):
                return ("action", self.term(goal))

    def conditions(self, absence: p.Absent | p.Deadline) -> tuple[Hashable, ...]:
        return (*map(self.test, absence.conditions), self.names(absence.brought)) if absence.conditions else ()

    def pair(self, pair: p.KeyPair) -> Hashable:
        terms = self.term(pair.left), self.term(pair.right), self.term(pair.fact)
        return (pair.kind, *terms, self.names(pair.numbers))

    def node(self, node: p.Node) -> Hashable:
        """Return a key that is equal for nodes that differ in the names of variables only."""
        kind = type(node).__name__
        parts = tuple(map(self.node, p.children(node)))
        own = self._own(node)
        tests = tuple(map(self.test, p.tests(node)))
        return (kind, parts, own, tests, self.names(node.exports))

    def _own(self, node: p.Node) -> Hashable:
        match node:
            case p.Source(name=name, args=args):
                return (name, *map(self.term, args))
            case p.Tick(time=time, place=place):
                return (time, place)
            case p.Join(relation=relation, policy=policy, alone=alone, keys_on=pairs):
                apart = ("apart",) if node.is_apart else ()
                return (relation, policy, alone or False, *map(self.pair, pairs), *apart)
            case p.SomeOf(count=count, keys=keys, policy=policy):
                return (count, policy, *map(self.names, keys))
            case p.Union() | p.Filter():
                return ()
            case p.Repetition(left=left, least=least, most=most, shared=shared, policy=policy):
                return (left is None, self.term(least), self.term(most), self.names(shared), policy)
            case p.Fold(opener=opener, kind=kind, value=value, result=result, groups=groups, within=within, last=last):
                names = self.names(groups), self.names(tuple(node.at_opener))
                return (opener is None, kind, self.term(value), self.term(result), names, within, last)
            case p.Deadline(absent=absent, joined=joined, duration=duration, before=before):
                around = () if before is None else (("before", before),)
                return (self.node(absent), self.names(joined), duration, *around, *self.conditions(node))
