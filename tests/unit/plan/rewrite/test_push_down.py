"""Which conjuncts become prefilters of which parts, by policy: before and after."""

from __future__ import annotations

from dataclasses import replace

import pytest

import etalis
from etalis.plan import algebra as p
from etalis.plan.explain.wording import event_text, term_text
from etalis.temporal.policy import POLICIES

UNRESTRICTED, NEWEST = "unrestricted", "snoop_recent"
CONSUMING = sorted(name for name, row in POLICIES.items() if row.consume)


def plan(rule: str, policy: str) -> p.Node:
    (head,) = etalis.compile(rule).compiled.plans(policy)
    return head.body


def prefilters(node: p.Node) -> list[str]:
    """What is asked where: the events of a part, and its prefilter."""
    found = []
    for part in p.walk(node):
        for test in p.tests(part):
            if isinstance(test, p.Prefilter):
                events = " ".join(event_text(n) for n in p.walk(part) if isinstance(n, p.Source))
                found.append(f"{events}: {term_text(test.goal)}")
    return found


def settled(node: p.Node) -> list[tuple[int, ...]]:
    return [test.settled for part in p.walk(node) for test in p.tests(part) if isinstance(test, p.GoalTest)]


TWO = "d(A, B) <- (a(I, A) seq b(I, B)) where ({0})."
THREE = "d(A, B, C) <- ((a(A) seq b(B)) seq c(C)) where ({0})."


@pytest.mark.parametrize(
    ("rule", "policies", "expected"),
    [
        # split, and each to its side
        (TWO.format("A < 10, B > 9"), (UNRESTRICTED, *CONSUMING), ["a(I, A): A < 10", "b(I, B): B > 9"]),
        (TWO.format("A < 10, B > 9"), (NEWEST,), ["b(I, B): B > 9"]),
        (TWO.format("A < 10, A > 2, A + B > 3"), (UNRESTRICTED, *CONSUMING), ["a(I, A): A < 10, A > 2"]),
        (TWO.format("T is A + 1, T < 10, B > T"), (UNRESTRICTED, *CONSUMING), ["a(I, A): T is A + 1, T < 10"]),
        (TWO.format("(A < 1 ; A > 9), \\+ B = 3"), (UNRESTRICTED,), ["a(I, A): A < 1 ; A > 9", "b(I, B): \\+ B = 3"]),
        (TWO.format("number(A), atom(B), B @> c"), (UNRESTRICTED,), ["a(I, A): number(A)", "b(I, B): atom(B), B @> c"]),
        (TWO.format("atom_length(A, L), L > 3"), (UNRESTRICTED,), ["a(I, A): atom_length(A, L), L > 3"]),
        (TWO.format("(atom(A) ; A > 3), A = f(C), C \\= B"), (UNRESTRICTED,), ["a(I, A): atom(A) ; A > 3"]),
        (
            TWO.format("sparql(A < 10), sparql(B > 9), sparql(A < B)"),
            (UNRESTRICTED, *CONSUMING),
            ["a(I, A): sparql(A < 10)", "b(I, B): sparql(B > 9)"],
        ),
        (
            TWO.format("sparql(strlen(A), L), sparql(L > 3)"),
            (UNRESTRICTED,),
            ["a(I, A): sparql(strlen(A), L), sparql(L > 3)"],
        ),
        # what all parts share, under every policy
        (TWO.format("I > 2"), POLICIES, ["a(I, A): I > 2", "b(I, B): I > 2"]),
        (
            "d(I) <- (a(I) and (b(I) or c(I))) where I > 2.",
            POLICIES,
            ["a(I): I > 2", "b(I) c(I): I > 2"],
        ),
        # any depth where nothing is consumed, else a composite operand as its matches come out
        (THREE.format("A < 1, B < 2, C < 3"), (UNRESTRICTED,), ["a(A): A < 1", "b(B): B < 2", "c(C): C < 3"]),
        (THREE.format("A < 1, B < 2, C < 3"), CONSUMING, ["a(A) b(B): A < 1, B < 2", "c(C): C < 3"]),
        (THREE.format("A < 1, B < 2, C < 3"), (NEWEST,), ["c(C): C < 3"]),
        (THREE.format("A + B < 3"), (UNRESTRICTED, *CONSUMING), ["a(A) b(B): A + B < 3"]),
        ("d(X) <- ((a(X) seq b) or (c(X) seq e)) where X > 1.", (UNRESTRICTED,), ["a(X): X > 1", "c(X): X > 1"]),
        ("d(X) <- ((a(X) seq b) or (c(X) seq e)) where X > 1.", (*CONSUMING, NEWEST), []),
        ("d(X) <- (a(X) and b) where X > 1.", (NEWEST,), []),
        # never into what is counted or summed, nor where its operator would report a count
        ("d(X, Y) <- (a(X) seq b(Y) ntimes 2) where (X > 1, Y > 1).", (UNRESTRICTED, *CONSUMING), ["a(X): X > 1"]),
        ("d(X, Y) <- (a(X) seq b(Y) ntimes 2) where (X > 1, Y > 1).", (NEWEST,), []),
        ("d(X, Y) <- (a(X) seq b(Y) ntimes X) where X > 1.", POLICIES, []),
        ("d(X) <- (b(X) ntimes 2) where X > 1.", POLICIES, []),
        ("d(X) <- ((b(X) ntimes 2) seq c) where X > 1.", POLICIES, []),
        ("d(X, Y) <- aggregate(count, b(X, Y), N) where (X > Y).", POLICIES, []),
        ("d(X, N) <- (a(X) seq aggregate(count, b, N)) where (X > 1, N > 1).", POLICIES, ["a(X): X > 1"]),
        ("d(X, N) <- (a(X) seq aggregate(sum(Y), b(Y), N)) where (X > 1, N > 1).", POLICIES, []),
        ("d(X) <- (a(X) seq (not b within 2)) where X > 1.", POLICIES, ["a(X): X > 1"]),
        # not what asks knowledge, nor what stands behind it
        (TWO.format("A < 1, q(A), B > 2"), (UNRESTRICTED, *CONSUMING), ["a(I, A): A < 1"]),
        *((TWO.format(f"{goal}, B > 2"), POLICIES, []) for goal in ("!", "t2(A)", "member(A, [1, 2])", "length(A, 2)")),
        *((TWO.format(f"{goal}, B > 2"), POLICIES, []) for goal in ("A > cputime", "\\+ q(A)", "(A > 1 ; q(A))")),
        ("d(A) <- (a(A) seq b(B)) where q(A) where A > 1.", POLICIES, []),
        # not past an action or a goal on the way, which would be missed
        ("d(A) <- (((a(A) seq b) do q(A)) seq c) where A > 1.", (UNRESTRICTED,), ["a(A) b: A > 1"]),
        ("d(A) <- (((a(A) seq b) where q(A)) seq c) where A > 1.", (UNRESTRICTED,), ["a(A) b: A > 1"]),
        ("d(A) <- ((a(A) do q(A)) seq c) where A > 1.", (UNRESTRICTED,), ["a(A): A > 1"]),
        # not what a part may leave unbound
        ("d(X) <- ((a(X) or b(Y)) seq c) where (X = 1, Y = 1).", POLICIES, []),
        ("d(X) <- ((a(X) or b(Y)) seq c) where (sparql('!'(bound(X))), sparql(bound(Y))).", POLICIES, []),
        # in negated patterns, which follow no policy
        ("d <- (a seq b) cnot ((c(X) seq e(Y)) where (X > 1, Y > 1)).", POLICIES, ["c(X): X > 1", "e(Y): Y > 1"]),
        # on one event there is nothing to push
        ("d(X) <- a(X) where X > 1.", POLICIES, []),
    ],
)
def test_prefilters(rule: str, policies: tuple[str, ...], expected: list[str]) -> None:
    for policy in policies:
        assert prefilters(plan(f"q(1).\n{rule}", policy)) == expected, policy


def test_settled_are_the_conjuncts_that_prefilters_show() -> None:
    assert settled(plan(TWO.format("A < B, A < 10, T is A + 1, T > 3, B > 9, I > 2"), UNRESTRICTED)) == [(1, 3, 4, 5)]
    assert settled(plan(TWO.format("A < 10, B > 9"), NEWEST)) == [(1,)]


def test_a_prefilter_stands_after_the_tests_of_its_part() -> None:
    node = plan("q(1).\nd(A) <- ((a(A) where q(A)) seq c) where A > 1.", UNRESTRICTED)
    (part,) = [n for n in p.walk(node) if isinstance(n, p.Filter)]
    assert [type(test) for test in part.tests] == [p.GoalTest, p.Prefilter]


def test_an_action_of_a_part_stays_below_its_prefilter() -> None:
    node = plan("q(1).\nd(A) <- ((a(A) do q(A)) seq c) where A > 1.", UNRESTRICTED)
    outer, inner = [n for n in p.walk(node) if isinstance(n, p.Filter)]
    assert isinstance(outer.tests[0], p.Prefilter)
    assert replace(inner, tests=()).child == p.Source("a", inner.child.args, ("A",))  # type: ignore[union-attr]


def test_explain_shows_prefilters() -> None:
    text = etalis.compile(TWO.format("A < 10, B > 9")).explain(policy=UNRESTRICTED)
    assert "prefilter A < 10" in text
