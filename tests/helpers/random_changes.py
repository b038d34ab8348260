"""Random goals that change facts, over facts of several kinds and clauses that change some, too."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from etalis.data.values import Struct, real
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.terms.unify import Variable

FACTS = """
:- dynamic free/2.
stock(a, 1). stock(b, 2). stock(c, 3). stock(1, a).
at(a, b). at(b, c). at(c, c). at(a, 1).
count(a, 1, x). count(b, 2.0, y). count(2, 2, 2).
mark(a). mark(1). mark(2.0).
odd(f(1), a). odd(a, 2). odd(X, X).
total(0).
bump(K) :- retract(stock(K, N)), !, M is N + 1, assert(stock(K, M)).
bump(K) :- assert(stock(K, 1)).
add(N) :- total(T), S is T + N, retract(total(T)), assert(total(S)).
move(X, Y) :- retractall(at(X, _)), assertz(at(X, Y)).
note(X) :- mark(X).
note(X) :- \\+ mark(X), assert(mark(X)).
size(K, L) :- stock(K, N), (N > 1 -> L = many ; L = few).
put(X, X) :- assert(free(X, same)).
put(a, b) :- assert(free(a, b)).
"""
PREDICATES = {"stock": 2, "at": 2, "count": 3, "mark": 1, "odd": 2, "total": 1, "free": 2, "new": 2, "fresh": 1}
CALLS = {"bump": 1, "add": 1, "move": 2, "note": 1, "size": 2, "put": 2}
VALUES: Sequence[Any] = (
    *("a", "b", "c", "a", "b", 1, 2, 3, 1, 2, 0.5, real(2.0), real(1.0), "null", ()),
    *(("a",), Struct("f", (1,)), 10**400, None, 1.0, 2.5),
)


class ChangeAuthor:
    """Writes a goal over inputs A to C, and the values that it is asked with, one row after the other."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.variables = {name: Variable() for name in "ABCXYZ"}
        self.goal = Goal(self.conjunction(2), self.variables)
        self.rows = [tuple(self.pick(VALUES) for _ in "ABC") for _ in range(8)]

    def pick(self, several: Sequence[Any]) -> Any:
        return several[self.random.randrange(len(several))]

    def thing(self) -> Any:
        match self.random.randrange(16):
            case 0 | 1:
                return self.pick(("a", "b", 1, 2, real(2.0)))
            case 2:
                return ("f", self.variable()) if self.random.random() < 0.3 else self.variable()
            case 3:
                return Variable()
            case _:
                return self.variable()

    def variable(self) -> Variable:
        return self.variables[self.pick("AAABBBCXXYYZ")]

    def fact(self) -> Any:
        name = self.pick((*PREDICATES, "stock", "at", "total"))
        return (name, *(self.thing() for _ in range(PREDICATES[name])))

    def simple(self) -> Any:
        match self.random.randrange(20):
            case 0 | 1 | 2 | 3:
                return ("retract", self.fact())
            case 4 | 5 | 6 | 7:
                return (self.pick(("assert", "assert", "assertz", "asserta")), self.fact())
            case 8 | 9:
                return ("retractall", self.fact())
            case 10 | 11 | 12:
                return self.fact()
            case 13 | 14:
                return ("is", self.variable(), (self.pick("+-*"), self.variable(), self.pick((1, 2, self.variable()))))
            case 15:
                return (self.pick(("<", ">=", "=:=")), self.variable(), self.pick((1, 2)))
            case 16:
                return (self.pick(("=", "\\=", "==", "\\==")), self.variable(), self.thing())
            case 17:
                return self.pick(("true", "fail", "!", "unknown", ("atom_length", self.variable(), self.variable())))
            case _:
                name = self.pick(tuple(CALLS))
                return (name, *(self.thing() for _ in range(CALLS[name])))

    def any_goal(self, depth: int) -> Any:
        match self.random.randrange(12) if depth else 11:
            case 0 | 1:
                then = ("->", self.conjunction(depth - 1), self.conjunction(depth - 1))
                return (";", then, self.conjunction(depth - 1)) if self.random.random() < 0.8 else then
            case 2:
                return (self.pick(("\\+", "once", "ignore")), self.conjunction(depth - 1))
            case 3 if self.random.random() < 0.5:
                return (";", self.conjunction(depth - 1), self.conjunction(depth - 1))
            case _:
                return self.simple()

    def conjunction(self, depth: int) -> Any:
        found = self.any_goal(depth)
        for _ in range(self.random.randrange(2 + depth)):
            found = (",", self.any_goal(depth), found)
        return found
