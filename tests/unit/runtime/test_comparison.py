"""What a changed program gains and loses: atoms on intervals, as often as they occur, whatever rule made them."""

from __future__ import annotations

import etalis
from etalis.runtime.comparison import compare_matches
from etalis.temporal.event import Event, Retraction

ROWS = [("a", 1, 0), ("b", 1, 4), ("a", 2, 10), ("b", 2, 30)]


def shown(differences: list[etalis.Difference]) -> list[str]:
    return [str(difference) for difference in differences]


def test_programs() -> None:
    old = etalis.compile("d(X) <- (a(X) seq b(X)) within 10.")
    new = etalis.compile("label rule: d(X) <- (a(X) seq b(X)) within 30. e(X) <- b(X) where X > 1.")
    assert shown(old.compare(new, iter(ROWS))) == ["gained d(2) [10, 30]", "gained e(2) [30, 30]"]
    assert shown(new.compare(old, ROWS)) == ["lost d(2) [10, 30]", "lost e(2) [30, 30]"]
    assert old.compare(etalis.compile("r9 rule: d(X) <- (a(X) seq b(X)) within 11."), ROWS) == []


def test_what_comes_at_the_end_counts() -> None:
    old, new = (etalis.compile(f"d(X) <- b(X) seq (not a(X) within {n}).") for n in (5, 6))
    assert shown(old.compare(new, ROWS[:2])) == ["lost d(1) [4, 9]", "gained d(1) [4, 10]"]


def test_policy_is_that_of_both() -> None:
    old, new = etalis.compile("d(X) <- a(X) seq b(_)."), etalis.compile("d(X) <- a(X) seq b(X).")
    rows = [("a", 1, 0), ("a", 2, 1), ("b", 1, 2)]
    assert shown(old.compare(new, rows)) == ["gained d(1) [0, 2]", "lost d(2) [1, 2]"]
    assert shown(old.compare(new, rows, policy="unrestricted")) == ["lost d(2) [1, 2]"]


def test_bags_and_what_was_taken_back() -> None:
    a, b = Event.make("a", (1,), 0, 1, "r1"), Event.make("a", (1,), 0, 1, "r2")
    back = Retraction.of(a)
    assert compare_matches([a, a], [b, b]) == []
    assert [d.change for d in compare_matches([a], [b, b, b])] == ["gained", "gained"]
    assert compare_matches([a, back], []) == []
    assert [d.match.rule for d in compare_matches([a], [])] == ["r1"]
