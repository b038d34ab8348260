"""What an engine says it holds on to."""

from __future__ import annotations

import pytest

import etalis


def held(text: str, *events: tuple[object, ...], **flags: object) -> dict[tuple[str, str], tuple[int, object]]:
    engine = etalis.compile(text, **flags).engine(policy="unrestricted")
    list(engine.run(events))
    return {(x.operator, x.part): (x.instances, x.oldest) for x in engine.state() if x.instances}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d <- a(X) seq b(X).", {("seq", "left"): (3, 1)}),
        ("d <- a(X) and b(X).", {("and", "left"): (3, 1)}),
        ("d <- (a(X) seq b(X)) cnot a(Y).", {("seq", "left"): (3, 1), ("seq", "absent"): (3, 1)}),
        ("d(X) <- a(X) seq (not b(X) within 9).", {("not within", "opened"): (3, 1)}),
        ("d <- a(X) seq b(_) ntimes 2.", {("repetition", "opened"): (3, 1)}),
        ("d <- a(_) ntimes 5.", {("repetition", "opened"): (3, 1)}),
        ("d(N) <- a(X) seq aggregate(count, b(_), N).", {("aggregate", "opened"): (3, 1)}),
        ("d(N) <- aggregate(count, a(_), N) last 2.", {("aggregate", "opened"): (2, 2)}),
    ],
)
def test_instances_are_counted_by_operator(text: str, expected: dict[tuple[str, str], tuple[int, object]]) -> None:
    assert held(text, ("a", 1, 1), ("a", 2, 2), ("a", 3, 3)) == expected


def test_what_is_held_and_remembered_is_counted() -> None:
    rows = [("a", 1, 1), ("a", 2, 2)]
    text = "d <- a(X) seq b(X)."
    assert held(text, *rows, out_of_order="on")[("out_of_order", "held")] == (2, 1)
    assert held(text, *rows, revision_flag="on")[("revision", "history")] == (2, 1)


def test_rules_that_share_an_operator_are_named_together() -> None:
    engine = etalis.compile("x: d(X) <- a(X) seq b(X). y: e(X) <- a(X) seq b(X).").engine()
    engine.push("a", 1, at=1)
    (left,) = [row for row in engine.state() if row.instances]
    assert left.rules == ("x", "y")
    assert 50 < left.bytes < 500


def test_what_has_left_its_window_is_gone() -> None:
    rows = [("a", i, i) for i in range(1000)]
    ((_, (instances, oldest)),) = held("d <- (a(X) seq b(X)) within 10.", *rows).items()
    assert (instances, oldest) == (11, 989)
