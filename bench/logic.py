"""The logic machine alone: naive reverse, 8 queens, tak, tabled transitive closure, and look-ups of indexed facts.

With SWI-Prolog on the path the same programs run there and the ratio within this run counts; without it the figures are
absolute and say so. Every answer is checked. Usage: python bench/logic.py [name ...] [--repetitions 3] [--no-swi]
"""

from __future__ import annotations

import argparse
import gc
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from ratio import WrongAnswerError

from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver

NREV = """
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).
nrev([], []).
nrev([H|T], R) :- nrev(T, RT), app(RT, [H], R).
range(N, N, [N]) :- !.
range(I, N, [I|T]) :- J is I + 1, range(J, N, T).
bench(0) :- !.
bench(N) :- range(1, 30, L), nrev(L, R), R = [30|_], M is N - 1, bench(M).
"""
QUEENS = """
queens(N, Qs) :- numbers(1, N, Ns), place(Ns, [], Qs).
place([], Qs, Qs).
place(Free, Safe, Qs) :- pick(Q, Free, Rest), \\+ attacked(Q, 1, Safe), place(Rest, [Q|Safe], Qs).
pick(X, [X|T], T).
pick(X, [H|T], [H|R]) :- pick(X, T, R).
attacked(X, N, [Y|_]) :- X is Y + N ; X is Y - N.
attacked(X, N, [_|Ys]) :- M is N + 1, attacked(X, M, Ys).
numbers(N, N, [N]) :- !.
numbers(I, N, [I|T]) :- J is I + 1, numbers(J, N, T).
bench(N) :- findall(Q, queens(8, Q), L), length(L, N).
"""
TAK = """
tak(X, Y, Z, A) :- X =< Y, !, A = Z.
tak(X, Y, Z, A) :-
    X1 is X - 1, tak(X1, Y, Z, A1), Y1 is Y - 1, tak(Y1, Z, X, A2), Z1 is Z - 1, tak(Z1, X, Y, A3), tak(A1, A2, A3, A).
bench(A) :- tak(18, 12, 6, A).
"""
CLOSURE = """
:- table reach/2.
reach(X, Y) :- edge(X, Y).
reach(X, Y) :- reach(X, Z), edge(Z, Y).
bench(N) :- findall(Y, reach(1, Y), L), length(L, N).
"""
LOOKUPS = """
bench(N) :- between(1, N, I), K is I mod 100000, fact(K, V), V < 0.
bench(_).
"""


@dataclass(frozen=True)
class Program:
    """A program, the goal that is timed, its answer, and what it counts."""

    name: str
    text: str
    goal: str
    answer: str
    work: int
    unit: str
    relation: str = ""
    rows: tuple[tuple[int, int], ...] = ()
    target: float = 0.0  # units per second that are asked for


def _edges(nodes: int) -> tuple[tuple[int, int], ...]:
    circle = [(i, i % nodes + 1) for i in range(1, nodes + 1)]
    return (*circle, *((i, i * 7 % nodes + 1) for i in range(1, nodes + 1)))


def programs() -> tuple[Program, ...]:
    """Return the programs, their facts made."""
    facts = tuple((i, i * 3 + 1) for i in range(100_000))
    return (
        Program("nrev30", NREV, "bench(400)", "yes", 400 * 496, "LI"),
        Program("queens8", QUEENS, "bench(N)", "92", 1, "runs"),
        Program("tak", TAK, "bench(A)", "7", 63_609, "calls"),
        Program("closure2000", CLOSURE, "bench(N)", "2000", 4_000, "edges", "edge", _edges(2_000)),
        Program("lookups", LOOKUPS, "bench(1000000)", "yes", 1_000_000, "look-ups", "fact", facts, 300_000.0),
    )


def run_ours(program: Program) -> float:
    """Return the seconds that the goal takes, its answer checked."""
    database = load_clauses(parse(program.text))
    if program.rows:
        database.add_rows(program.relation, 2, program.rows)
    solver = Solver(database, GoalLimits(steps=1_000_000_000, depth=10_000_000))
    goal = to_logic(parse_term(program.goal))
    gc.collect()
    began = time.process_time()
    solution = next(iter(solver.solve(goal)), None)
    spent = time.process_time() - began
    found = None if solution is None else str(next(iter(solution.values()), "yes"))
    if found != program.answer:
        raise WrongAnswerError(f"{program.name}: {found}, not {program.answer}")
    return spent


def run_swi(program: Program, swipl: str) -> float:
    """Return the seconds that SWI-Prolog takes for the same goal."""
    name = next((part for part in ("N", "A") if f"({part})" in program.goal), None)
    timed = (
        "statistics(cputime, T0), {goal}, statistics(cputime, T1), T is T1 - T0, "
        "format('~w ~w~n', [T, {shown}])".format(goal=program.goal, shown=name or "yes")
    )
    facts = "".join(f"{program.relation}({a}, {b}).\n" for a, b in program.rows)
    text = f"{program.text}{facts}\n:- initialization(({timed}, halt)).\n"
    with tempfile.NamedTemporaryFile("w", suffix=".pl") as file:
        file.write(text)
        file.flush()
        command = [swipl, "-q", "-O", file.name]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
        )
    seconds, _, answer = done.stdout.strip().partition(" ")
    if answer != program.answer:
        raise WrongAnswerError(f"{program.name} in SWI-Prolog: {answer or done.stderr.strip()}, not {program.answer}")
    return float(seconds)


def run_calls(repetitions: int, count: int = 300_000) -> float:
    """Return calls per second of a prepared goal on facts with one argument bound, machine and all."""
    database = load_clauses(parse("get(K, V) :- fact(K, V)."))
    database.add_rows("fact", 2, [(i, i + 1) for i in range(10_000)])
    prepared = Solver(database).prepare(to_logic(parse_term("get(K, V)")), ["K"], ["V"])
    best = 0.0
    for _ in range(repetitions):
        began = time.process_time()
        for i in range(count):
            found = prepared(i % 10_000)
        best = max(best, count / (time.process_time() - began))
        if found != ((count - 1) % 10_000 + 1,):
            raise WrongAnswerError(f"prepared call: {found}")
    return best


def main() -> int:
    """Print a line for each program; return 1 if an answer is wrong."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--repetitions", type=int, default=3)
    options.add_argument("--no-swi", action="store_true")
    chosen = options.parse_args()
    swipl = None if chosen.no_swi else shutil.which("swipl")
    print("ratios to SWI-Prolog in this run" if swipl else "absolute figures: SWI-Prolog is not installed")
    try:
        for program in programs():
            if chosen.names and program.name not in chosen.names:
                continue
            ours = min(run_ours(program) for _ in range(chosen.repetitions))
            rate = program.work / ours
            line = f"{program.name:12} {ours:8.3f} s {rate:12,.0f} {program.unit}/s"
            if swipl:
                theirs = min(run_swi(program, swipl) for _ in range(chosen.repetitions))
                line += f"   SWI-Prolog {theirs:7.3f} s   ratio {ours / max(theirs, 1e-4):6.1f}"
            mark = " !" if program.target and rate < program.target else ""
            print(line + mark, flush=True)
        if not chosen.names or "calls" in chosen.names:
            rate = run_calls(chosen.repetitions)
            print(f"{'calls':12} {'':10} {rate:12,.0f} prepared calls/s through a clause to a fact")
    except WrongAnswerError as error:
        print(f"wrong answer: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
