"""Programs that the paragraphs on the meaning of actions speak of are read, written and free of errors.

Definition 24.5, 24.8, 24.9, 24.10, 24.11, 24.12, 24.13, 24.14, 24.15, 24.16, 24.17, 24.18, 24.19, 24.20, 24.21, 24.22,
24.23, 24.24, 24.25, 24.26, 24.27, 24.28, 24.29, 24.31, 24.32, 24.33, 24.34, 24.35, 24.36, 24.37, 24.38, 24.39, 24.40,
24.41, 24.42 and 24.43.
"""

from __future__ import annotations

import pytest

from etalis.language.check.checks import check
from etalis.language.printer import print_program
from etalis.language.read.parser import parse

STATE = ":- state p/0, q/0, x/0, y/0, go/0, ok/0, a/1, stock/1, account/2 key 1. :- dynamic absent/0.\n"
TRANSFER = (
    "on e(M, A, B) do transfer(M, A, B). action transfer(M, A, B) :- N is -M, take(A, M) seq take(B, N). "
    "action take(A, M) :- account(A, B), R is B - M, R >= 0, set(account(A, R))."
)
EXAMPLES = [
    "on e do ins(p) seq ins(q).",
    "r rule: on e do p seq ins(p).",
    "on e do (ins(p) seq absent seq ins(p)) or ins(q).",
    TRANSFER,
    "on e do (x seq ins(y)) par (y seq ins(x)).",
    "on e do iso(ins(a(1)) seq ins(a(2)) seq ins(a(3))) par ins(q).",
    "on e do iso(ins(p) seq go seq ins(ok)) par (p seq ins(go)).",
    "on e do possible(ins(p) seq p) seq impossible(abort) seq ins(ok).",
    "on e do (stock(_) -> ins(p) ; possible(q) -> skip ; ins(q)).",
    "on e do drain. action drain :- a(X) seq del(a(X)) seq raise(gone(X)) seq drain. action drain :- \\+ a(_).",
    "always \\+ (account(_, B), B < 0). on e(A) do set(account(A, 5)).",
    "d rule: on e do (effect(visa) seq ins(p)) par effect(b) undo del(p).",
    "on (b seq c) within 9 if ok do ins(x) else raise(late, after(5)).",
    "on e(X) seq f(X) within 9 do raise(x) seq raise(y). on x do raise(z). on y do skip.",
    "r([property(priority, 2)]) rule: on e do skip.",
    "q rule: on e(I) do effect(ask(I)) seq await(quoted(I, P) within 5) seq effect(buy(I, P)).",
    "on e do (ins(p) par del(q)) subject_to (happens(ins(p)), never(raise(_))).",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_example_is_read_and_has_no_problem(text: str) -> None:
    program = parse(STATE + text)
    assert parse(print_program(program)) == program
    found = [problem for problem in check(program) if problem.code != "W209"]
    assert found == []
