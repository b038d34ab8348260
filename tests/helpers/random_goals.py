"""Random goals over values of all kinds, and the clauses that they call."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from etalis.data.values import Struct, real
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.terms.unify import Variable

CLAUSES = """
near(A, B) :- border(A, B).
near(A, B) :- border(B, A).
border(a, b). border(b, c). border(1, 2). border(2.0, 1).
limit(a, 1, 2.5). limit(a, 2, 0.5). limit(b, 3, 1). limit(1, a, 2.0). limit(2.0, 1, 1).
bound(1). bound(3). bound(2.0).
big(X) :- bound(L), X > L.
sum(X, Y, Z) :- Z is X + Y.
pick(X, Y) :- limit(X, Y, _), \\+ bound(Y).
pick(X, none) :- \\+ limit(X, _, _).
swap(f(X, Y), g(Y, X)).
path(X, Y) :- border(X, Y).
path(X, Z) :- border(X, Y), path(Y, Z).
first([X|_], X).
sign(X, neg) :- X < 0, !.
sign(_, pos).
level(X, L) :- integer(X), !, (X > 1 -> L = high ; L = low).
level(X, none) :- atom(X), \\+ border(X, _), !.
level(f(X, Y), Y) :- bound(X), !, border(Y, _), !.
level(X, L) :- limit(X, L, _).
once_only(X, Y) :- limit(X, Y, _), !, Y \\== a.
"""
RELATIONS = """
edge(a, b). edge(b, c). edge(a, c). edge(c, d). edge(1, 2). edge(2, 3). edge(a, b). edge(e, 2.0).
ring(a, b). ring(b, c). ring(c, a). ring(c, d).
cost(a, b, 2). cost(b, c, 3). cost(a, c, 7). cost(c, d, 1). cost(d, e, none).
red(a). red(c). red(2).
either(X, Y) :- edge(X, Y).
either(X, Y) :- ring(X, Y), \\+ edge(X, Y).
above(X, Y) :- edge(X, Y).
above(X, Z) :- edge(X, Y), above(Y, Z).
below(Y, X) :- edge(X, Y).
below(Z, X) :- below(Y, X), edge(Y, Z).
same(X, X).
same(X, Z) :- edge(X, Y), same(Y, Z).
steps(X, X, 0).
steps(X, Z, N) :- edge(X, Y), steps(Y, Z, M), N is M + 1.
route(X, Y, C) :- cost(X, Y, C).
route(X, Z, C) :- cost(X, Y, A), route(Y, Z, B), C is A + B.
loop(X, Y) :- ring(X, Y).
loop(X, Z) :- ring(X, Y), loop(Y, Z).
:- table reach/2.
reach(X, Y) :- ring(X, Y).
reach(X, Z) :- reach(X, Y), ring(Y, Z).
even(X, X).
even(X, Z) :- edge(X, Y), odd(Y, Z).
odd(X, Z) :- edge(X, Y), even(Y, Z).
lowest(X, Y) :- edge(X, Z), !, lowest(Z, Y).
lowest(X, X).
count(0, []) :- !.
count(N, [N|L]) :- N > 0, N < 9, M is N - 1, count(M, L).
total([], 0).
total([X|L], S) :- total(L, T), S is X + T.
"""

HUGE = (1 << 1030, -(1 << 2000), 10**300, 1 << 29, (1 << 29) - 1, -(10**15))
SMALL = (-3, -1, 0, 1, 1, 2, 2, 3)
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (*SMALL, *SMALL, *HUGE, "null"),
    "float": (
        *(-1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, real(1.0), real(2.0), 1e300, 1.7e308, float("inf"), "null"),
        *(-2.5, 1e15, -999.25),
    ),
    "number": (*SMALL, 0.5, real(1.0), real(-2.0), "null"),
    "string": ("a", "a", "b", "b", "c", "null", "é", "12", ""),
    "term": (
        *SMALL, *SMALL, *HUGE, 0.5, real(1.0), real(2.0), 1.7e308, float("-inf"), "a", "a", "b", "pi", "null", (), (1,),
        (1, "a", 2), ("b", "a"), (Struct("-", ("a", 1)), Struct("-", ("b", 2))), Struct("+", (1, 2)),
        Struct("f", (1, "a")), Struct("[|]", (1, "a")), Struct("-", ("a", 2)),
    ),
}  # fmt: skip
BINARY = [
    "+",
    "+",
    "-",
    "*",
    "/",
    "//",
    "mod",
    "div",
    "rem",
    "min",
    "max",
    "**",
    "**",
    "^",
    "/\\",
    ">>",
    "atan2",
    "copysign",
]
UNARY = [
    "-", "+", "abs", "floor", "round", "sqrt", "float", "sign", "\\", "ceiling", "truncate", "integer", "exp", "log",
    "log2", "sin", "cos", "tan", "atan", "asin", "acos",
]  # fmt: skip
OWN = ["near", "border", "path", "pick", "sign", "swap", "first", "level", "once_only"]
BUILT_IN = ["member", "memberchk", "length", "msort", "atom_length", "sum_list", "@<", "atom_number", "last"]
THREE = ["limit", "limit", "sum", "between", "nth0", "atom_concat", "append"]
TESTS = ["integer", "float", "number", "atom", "is_list", "bound", "big", "var", "compound"]
EXPRESSIONS = ["+", "-", "*", "/", "<", ">", "<=", ">=", "=", "!=", "&&", "||", "sameterm", "concat", "coalesce", "in"]
CONSTANTS = (-2, 0, 1, 1, 2, 3, 0.5, real(2.0), "a", "b", "none", "null", (), "pi")


class GoalAuthor:
    """Writes a goal over inputs A to D, whose variables X to W mean more than one thing at most of their places."""

    def __init__(self, seed: int, deepest: int = 3) -> None:
        self.random = Random(seed)
        self.types = {name: self.pick(sorted(VALUES)) for name in "ABCD"}
        self.values = [self.pick(VALUES[kind]) for kind in self.types.values()]
        self.variables = {name: Variable() for name in "ABCDXYZW"}
        self.goal = Goal(self.conjunction(self.pick(range(deepest + 1))), self.variables)
        self.outputs = [name for name in "XYZ" if self.random.random() < 0.5]

    def pick(self, several: Sequence[Any]) -> Any:
        return several[self.random.randrange(len(several))]

    def variable(self) -> Variable:
        return self.variables[self.pick("AABBCCDDXXXYYZW")]

    def number(self, depth: int) -> Any:
        match self.random.randrange(10) if depth else 9:
            case 0 | 1 | 2:
                return (self.pick(BINARY), self.number(depth - 1), self.number(depth - 1))
            case 3:
                return (self.pick(UNARY), self.number(depth - 1))
            case 4:
                return self.pick((-1, 0, 1, 2, 3, 8, 9, 0.5, 1.5, real(2.0), "pi"))
            case _:
                return self.variable()

    def expression(self, depth: int) -> Any:
        match self.random.randrange(8) if depth else 7:
            case 0 | 1 | 2:
                return (self.pick(EXPRESSIONS), self.expression(depth - 1), self.expression(depth - 1))
            case 3:
                return (self.pick(("!", "neg", "bound", "str", "coalesce")), self.expression(depth - 1))
            case _:
                return self.pick((self.thing(0), self.pick(CONSTANTS), self.variable()))

    def thing(self, depth: int = 2) -> Any:
        match self.random.randrange(12) if depth else 9:
            case 0:
                return ("f", self.thing(depth - 1), self.thing(depth - 1))
            case 1:
                return ("[|]", self.thing(depth - 1), self.thing(depth - 1))
            case 2:
                return ("[|]", self.thing(depth - 1), ())
            case 3:
                return ("-", self.thing(depth - 1), self.thing(depth - 1))
            case 4 | 5:
                return self.pick(CONSTANTS)
            case _:
                return self.variable()

    def simple(self) -> Any:
        match self.random.randrange(18):
            case 16:
                return ("sparql", self.expression(2))
            case 17:
                return ("sparql", self.expression(2), self.thing(0))
            case 0 | 1 | 2:
                return (self.pick(("<", ">", "=<", ">=", "=:=", "=\\=")), self.number(2), self.number(2))
            case 3 | 4:
                return ("is", self.thing(1), self.number(2))
            case 5 | 6:
                return (self.pick(("=", "=", "\\=", "==", "\\==")), self.thing(), self.thing())
            case 7 | 8 | 9:
                return (self.pick(OWN), self.thing(1), self.thing(1))
            case 10:
                return (self.pick(BUILT_IN), self.thing(), self.thing())
            case 11 | 12:
                return (self.pick(THREE), self.thing(1), self.thing(1), self.thing(1))
            case 13 | 14:
                return (self.pick(TESTS), self.thing(1))
            case _:
                inner = ("limit", self.variable(), self.variable(), self.variable())
                return self.pick(("true", "unknown", "!", ("findall", self.variable(), inner, self.variable())))

    def any_goal(self, depth: int) -> Any:
        match self.random.randrange(14) if depth else 13:
            case 0:
                return (";", self.conjunction(depth - 1), self.conjunction(depth - 1))
            case 1:
                then = ("->", self.conjunction(depth - 1), self.conjunction(depth - 1))
                return (";", then, self.conjunction(depth - 1))
            case 2:
                return (self.pick(("\\+", "once", "ignore", "call")), self.conjunction(depth - 1))
            case 3:
                return (self.pick(("forall", "->")), self.conjunction(depth - 1), self.conjunction(depth - 1))
            case _:
                return self.simple()

    def conjunction(self, depth: int) -> Any:
        goals = [self.any_goal(depth) for _ in range(self.random.randrange(1, 2 + depth))]
        found = goals.pop()
        while goals:
            found = (",", goals.pop(), found)
        return found


_PLAIN = ("a", "a", "b", "c", "d", 1, 2, 3)


class RelationAuthor(GoalAuthor):
    """Writes goals that relations and recursive clauses mostly have several solutions for, over plain values."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, deepest=1)
        self.values = [self.pick(_PLAIN if kind == "term" else VALUES[kind][:6]) for kind in self.types.values()]
        self.outputs = [name for name in "XYZ" if self.random.random() < 0.7]

    def variable(self) -> Variable:
        return self.variables[self.pick("ABCDXXXYYYZZW")]

    def simple(self) -> Any:
        match self.random.randrange(14):
            case 0:
                return ("is", self.variable(), self.number(2))
            case 1:
                return (self.pick(("\\=", "==", "\\==", "@<")), self.variable(), self.variable())
            case 2:
                return ("red", self.variable())
            case 3:
                return (self.pick(("<", ">=")), self.variable(), self.pick((1, 2, 3)))
            case 4:
                return ("count", self.pick((0, 2, self.variable())), self.variable())
            case 5:
                return ("member", self.variable(), ("[|]", "a", ("[|]", self.variable(), ())))
            case 6 | 7:
                return (self.pick(("steps", "route", "cost")), self.variable(), self.variable(), self.variable())
            case _:
                return (self.pick(RELATED), self.pick((self.variable(), self.variable(), "a")), self.variable())


RELATED = ["edge", "ring", "either", "above", "above", "below", "same", "loop", "reach", "even", "lowest", "total"]
