"""Runs random goals over all built-in predicates: each must end in answers or in an error of Prolog, and soon.

Arguments are drawn from terms of all kinds: unbound and shared variables, numbers of all sizes, texts, lists with and
without an end, goals, deep and cyclic terms. Usage: python tests/fuzz_goals.py --count 100000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from itertools import islice

from etalis.data.values import Rational, real
from etalis.language.lower import load_clauses
from etalis.language.read.parser import parse
from etalis.logic.arithmetic.functions import BINARY, UNARY
from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.control import FORMS
from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import LIST, Term, Variable, make_list
from etalis.logic.terms.write import INFIX, format_term

LIMIT = 1.0  # seconds of this process's time for one goal
STEPS = 20_000
ANSWERS = 5
KNOWLEDGE = """
p(1). p(2). p(a).
q(X, Y) :- p(X), p(Y).
loop :- loop.
grow(X) :- grow(f(X)).
len([], 0).
len([_|T], N) :- len(T, M), N is M + 1.
:- dynamic d/1.
:- table path/2.
path(X, Y) :- edge(X, Y).
path(X, Y) :- path(X, Z), edge(Z, Y).
edge(1, 2). edge(2, 3). edge(3, 1).
"""
ATOMS = [
    *[
        "a",
        "b",
        "abc",
        "",
        "hello world",
        "A",
        "[]",
        "{}",
        "true",
        "fail",
        "!",
        "inf",
        "nan",
        "t",
        "x y",
        "é日",
        "0",
        "12",
        "1.5",
    ],
    *[
        "+",
        "-",
        "<",
        "@<",
        "@>=",
        "user_output",
        "integer",
        "list",
        "count",
        "p/1",
        "f(X, Y)",
        "a b (",
        "0'a",
        "1r3",
        "yfx",
    ],
    *["~w", "~a ~d", "~2f~e", "~t~w~30|", "~*c~s", "~p~q~n", "~c", "~r", "~8r", "~`xt~40|", "~99999999c", "~i~~", "~D"],
]
NUMBERS = [
    *[0, 1, 2, 3, 7, -1, -5, 10, 97, 255, 1200, 1 << 31, 1 << 64, -(1 << 70), 10**30, 10**9, 55296, 0x110000],
    *[real(0.0), real(1.0), 0.5, -2.5, 1e-300, real(1e300), 3.7, real(1e22), real(float("inf"))],
    *[Rational(1, 3), Rational(-7, 2)],
]
GOALS: list[Term] = [
    *["true", "fail", "loop", "!", "repeat", "nl", ("p",), ("q",), ("grow", 1), ("throw", "ball"), ("=",), ("member",)],
    *[("succ",), ("append",), ("compare",), ("atom_length",), ("plus",), ("format", "x")],
]


class Maker:
    """Makes random goals; `pool` holds the variables of the goal under way."""

    def __init__(self, rng: random.Random, predicates: list[Key]) -> None:
        self.rng = rng
        self.predicates = predicates
        self.pool: list[Variable] = []

    def goal(self, depth: int = 0) -> Term:
        """Return a goal: mostly one call, sometimes a control construct over several."""
        if not depth:
            self.pool = [Variable() for _ in range(3)]
        if depth < 2 and self.rng.random() < 0.2:
            name = self.rng.choice((",", ",", ",", ";", "->", "*->", "\\+", "findall", "forall", "catch"))
            match name:
                case "\\+":
                    return (name, self.goal(depth + 1))
                case "findall":
                    return (name, self.term(), self.goal(depth + 1), self.term())
                case "catch":
                    return (name, self.goal(depth + 1), self.term(), self.goal(depth + 1))
                case _:
                    return (name, self.goal(depth + 1), self.goal(depth + 1))
        name, arity = self.rng.choice(self.predicates)
        return (name, *(self.term() for _ in range(arity))) if arity else name

    def term(self, depth: int = 0) -> Term:
        """Return a term of any kind."""
        choice = self.rng.random()
        if choice < 0.22 or depth > 3:
            return self.rng.choice(self.pool)
        if choice < 0.4:
            return self.rng.choice(ATOMS)
        if choice < 0.56:
            return self.rng.choice(NUMBERS)
        if choice < 0.76:
            return self.list(depth + 1)
        return self.compound(depth + 1)

    def list(self, depth: int) -> Term:
        """Return a list, now and then a long one or one without an end."""
        kind = self.rng.random()
        if kind < 0.1:
            return make_list(self.rng.choice(NUMBERS) for _ in range(self.rng.randrange(2000)))
        if kind < 0.25:
            return make_list(self.rng.choice(("a", "1", "x", 97, 49, 46)) for _ in range(self.rng.randrange(6)))
        tail = () if kind < 0.9 else self.rng.choice(self.pool) if kind < 0.97 else "tail"
        items = [self.pair(depth) if kind < 0.45 else self.term(depth) for _ in range(self.rng.randrange(5))]
        return make_list(items, tail)

    def pair(self, depth: int) -> Term:
        """Return `Key-Value` or `Name=Value`."""
        return (self.rng.choice(("-", "-", "=")), self.term(depth), self.term(depth))

    def compound(self, depth: int) -> Term:
        """Return a compound: an expression, a goal, an option, or one that is deep or contains itself."""
        kind = self.rng.random()
        if kind < 0.3:
            if self.rng.random() < 0.6:
                return (self.rng.choice(sorted(BINARY)), self.term(depth), self.term(depth))
            return (self.rng.choice(sorted(UNARY)), self.term(depth))
        if kind < 0.5:
            goal = self.rng.choice(GOALS)
            if isinstance(goal, str):
                return goal
            return (*goal, *(self.term(depth) for _ in range(self.rng.randrange(1, 3))))
        if kind < 0.55:
            nested: Term = "x"
            for _ in range(self.rng.choice((10, 1_000, 30_000))):
                nested = ("f", nested) if kind < 0.52 else (LIST, nested, ())
            return nested
        if kind < 0.57:
            knot = Variable()
            knot.ref = ("f", knot, self.rng.choice(self.pool))
            return knot
        if kind < 0.75:
            name = self.rng.choice(
                ("atom", "chars", "codes", "count", "sum", "max", "quoted", "/", ":-", "^", "oneof", "datetime")
            )
            return (name, *(self.term(depth) for _ in range(self.rng.choice((1, 2, 2, 6)))))
        name = self.rng.choice(("f", "g", "p", "d", "$VAR", *sorted(INFIX)))
        return (name, *(self.term(depth) for _ in range(self.rng.randrange(1, 4))))


def attempt(database: Database, goal: Term) -> str:
    """Run a goal; return how it ended, or raise what should not happen."""
    variables: dict[str, Variable] = {}
    solver = Solver(database, GoalLimits(steps=STEPS, depth=50_000, size=200_000), clock=lambda: 0.0)
    try:
        count = len(list(islice(solver.solve(Goal(goal, variables)), ANSWERS)))
    except LogicLimitError as error:
        return f"limit of {error.term[1][1]}"
    except LogicError as error:
        str(error)
        formal = error.term[1] if isinstance(error.term, tuple) and error.term[:1] == ("error",) else "ball"
        return str(formal[0] if isinstance(formal, tuple) and formal else formal)[:30]
    return "yes" if count else "no"


def run(count: int, seed: int, *, loud: bool = True) -> tuple[Counter[str], list[str], float]:
    """Run goals; return how they ended, what went wrong, and the longest time."""
    rng = random.Random(seed)
    tree = parse(KNOWLEDGE)
    base = load_clauses(tree)
    predicates = [key for key in sorted({*base.known(), *FORMS, ("loop", 0), ("len", 2)}) if not key[0].startswith("$")]
    maker = Maker(rng, predicates)
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    slowest = 0.0
    database = base
    for number in range(count):
        if number % 200 == 0:
            database = load_clauses(tree)
        goal = maker.goal()
        found = len(wrong)
        start = time.process_time()
        try:
            ends[attempt(database, goal)] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            wrong.append(f"goal {number} {_shown(goal)}: {type(error).__name__}: {error}")
        spent = time.process_time() - start
        slowest = max(slowest, spent)
        if spent > LIMIT:
            wrong.append(f"goal {number} {_shown(goal)}: {spent:.1f} s")
        if loud and len(wrong) > found:
            print(wrong[-1], flush=True)
    return ends, wrong, slowest


def _shown(goal: Term) -> str:
    return format_term(goal, depth=8, width=12)


def main() -> int:
    """Print the figures; return 1 if a goal misbehaved."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    ends, wrong, slowest = run(chosen.count, chosen.seed)
    print(f"{chosen.count} goals, seed {chosen.seed}: {len(wrong)} wrong, slowest {slowest * 1000:.0f} ms")
    print(", ".join(f"{end} {number}" for end, number in ends.most_common()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
