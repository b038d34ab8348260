"""Recursive rules in the machine give what the engine gives, wherever batches are cut and whatever the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.recursion import opcodes as tape
from etalis.columnar.recursion.component import Recursion
from etalis.columnar.run import ColumnRun, run_on
from etalis.data.values import Value, real
from etalis.errors import EventError, LimitError
from etalis.plan.types import Types
from etalis.temporal.event import Event
from helpers.agreement import check_carried

CLOSURE = "tc(X, Y) <- a(X, Y). tc(X, Y) <- tc(X, Z) seq a(Z, Y)."
SUM = "s(0) <- go(_). s(N) <- s(M) seq a(X) where N is M + X."


def events(*rows: tuple[str, Sequence[Value], int]) -> list[Event]:
    return [Event.make(name, tuple(args), at, at) for name, args, at in rows]


def over_columns(text: str, stream: list[Event], types: Types | None = None, **settings: object) -> ColumnRun:
    """Start a run all of whose rules are in the machine."""
    run = ColumnRun(etalis.compile(text, **settings).compiled, types or find_types(stream))
    assert not run.at_a_time, run.choice.describe()
    assert any(isinstance(component, Recursion) for component in run.components)
    return run


def found(run: ColumnRun, stream: list[Event], size: int, types: Types | None = None) -> list[Event]:
    types = types or find_types(stream)
    rows = [e for low in range(0, len(stream), size) for e in run.process(gather(stream[low : low + size], types))]
    return [*rows, *run.close()]


def check(
    text: str, stream: list[Event], types: Types | None = None, policy: str = "unrestricted", tidies: int | None = None
) -> list[Event]:
    """Compare with the engine for several cuts; return what was found."""
    engine = etalis.compile(text, event_consumption_policy=policy).engine()
    wanted = [*engine.run(stream), *engine.close()]
    for size in (1, 3, 1000):
        run = over_columns(text, stream, types, event_consumption_policy=policy)
        if tidies is not None:
            run.components[0].spare = tidies  # type: ignore[union-attr]
        assert found(run, stream, size, types) == wanted
        assert list(map(str, run.errors)) == list(map(str, engine.errors))
    check_carried(engine.program.engine(), stream, types or find_types(stream), wanted)
    return wanted


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent", "continuous", "snoop_recent"])
def test_closure(policy: str) -> None:
    edges = [(1, 2), (2, 3), (3, 1), (1, 4), (4, 2), (2, 5), (5, 6), (3, 5), (6, 1), (1, 2)]
    assert check(CLOSURE, events(*(("a", edge, at // 2) for at, edge in enumerate(edges))), policy=policy)


def test_texts_of_a_round_come_in_their_order() -> None:
    edges = [("zu", "b"), ("Öl", "b"), ("b", "ä"), ("null", "b"), ("b", "c"), ("", "c"), ("c", "zu")]
    check(CLOSURE, events(*(("a", edge, at // 3) for at, edge in enumerate(edges))))


def test_many_instances_wait() -> None:
    edges = [(at // 40, 1000 + at) for at in range(4000)] + [(1000 + at, 7) for at in range(0, 4000, 100)]
    stream = events(*(("a", edge, at) for at, edge in enumerate(edges)))
    run = over_columns(CLOSURE, stream, event_consumption_policy="unrestricted")
    engine = etalis.compile(CLOSURE).engine(policy="unrestricted")
    assert found(run, stream, 500) == list(engine.run(stream))


def test_numbers_beyond_64_bits_inside_a_condition_are_exact() -> None:
    text = "big(X) <- a(X). big(Y) <- big(X) seq b(Y) where X * X * X - Y > 1000000000000000000000000000000."
    check(text, events(("a", [1 << 60], 0), ("b", [5], 1), ("b", [1 << 61], 2), ("b", [7], 3), ("b", [8], 4)))


def test_a_sum_beyond_64_bits_is_an_error() -> None:
    stream = events(("go", [0], 0), ("a", [(1 << 63) - 1], 1), ("a", [1], 2))
    run = over_columns(SUM, stream)
    with pytest.raises(EventError, match="9223372036854775808 is an integer that columns cannot hold"):
        found(run, stream, 10)


def test_nulls_floats_and_zeros() -> None:
    types: Types = {("go", 1): ("int",), ("a", 1): ("float",)}
    text = "s(0.5) <- go(_). s(N) <- s(M) seq a(X) where (N is M + X, N =\\= 0.25). s(X) <- s(X) and a(X)."
    rows = [real(0.0), real(-0.0), 1.5, "null", 1e308, 1e308, real(-1.0), -0.25]
    check(text, events(("go", [0], 0), *(("a", [x], at) for at, x in enumerate(rows, 1))), types)
    whole: Types = {("go", 1): ("int",), ("a", 1): ("int",)}
    check(SUM, events(("go", [0], 0), *(("a", [x], at) for at, x in enumerate([3, "null", -5, 0], 1))), whole)
    check("s(X) <- a(X). s(X) <- s(X) seq a(X).", events(*(("a", [x], x == 2) for x in (3, "null", 2, 2))), whole)


def test_conditions_of_every_kind() -> None:
    text = """
    n(X, t) <- a(X).
    n(Y, T) <- n(X, T) seq a(Z) where (Y is max(X, Z) - abs(-1), (Y > 3 ; Y =:= 1.0 ; X \\= Z), \\+ Y = 9).
    n(X, W) <- n(X, T) seq b(W) where (T \\= W, p(X, _)).
    n(Y, u) <- n(X, _) seq b(W) check (Y is X + 1, t1(S), S < 2, (W == q -> true ; X > 1)).
    p(5, 1). p(1, 2). p(4, 4).
    """
    rows = [("a", [5]), ("b", ["q"]), ("a", [1]), ("b", ["r"]), ("a", [4]), ("b", ["t"]), ("a", [10]), ("b", ["q"])]
    assert check(text, events(*((name, args, at) for at, (name, args) in enumerate(rows))))


def test_absences_in_a_loop() -> None:
    text = """
    on(X) <- a(X). on(X) <- (on(X) seq b(X)) cnot c(X). on(X) <- (on(X) and c(X)) within 3.
    on(Y) <- (b(Y) fnot on(Y)) or (a(Y) seq (d(Y) fnot c(Y)) within 2).
    """
    rows = [
        ("a", 1),
        ("b", 1),
        ("c", 1),
        ("b", 1),
        ("b", 2),
        ("a", 2),
        ("b", 2),
        ("c", 2),
        ("b", 2),
        ("b", 3),
        ("d", 2),
        ("b", 1),
    ]
    assert check(text, events(*((name, [x], at * 1_000_000) for at, (name, x) in enumerate(rows))))


def test_recursion_without_an_end_is_stopped_as_by_the_engine() -> None:
    text = "n(X) <- a(X). n(Y) <- n(X) and n(X) where Y is X + 1."
    stream = events(("a", [0], 0))
    said = []
    for start in (
        lambda: list(etalis.compile(text, max_derivations=50).engine(policy="unrestricted").run(stream)),
        lambda: found(
            over_columns(text, stream, max_derivations=50, event_consumption_policy="unrestricted"), stream, 9
        ),
    ):
        with pytest.raises(LimitError) as error:
            start()
        said.append(str(error.value))
    assert said[0] == said[1]


def test_what_waits_is_bounded_by_windows() -> None:
    text = "p(X) <- a(X). p(X) <- ((p(X) seq b(X)) within 2) cnot c(X)."
    rows = [(name, [f"key{at}"], at * 1_000_000) for at in range(3000) for name in "abc"]
    stream = events(*rows)
    run = over_columns(text, stream, event_consumption_policy="unrestricted")
    (component,) = run.components
    assert isinstance(component, Recursion)
    component.spare = 100
    engine = etalis.compile(text).engine(policy="unrestricted")
    assert found(run, stream, 300) == list(engine.run(stream))
    assert len(component.texts.known) < 2000
    assert component.reg[tape.LIVE] < 2000


def test_texts_are_numbered_anew_when_most_are_gone() -> None:
    edges = [(f"n{at}", f"n{at + 1}") for at in range(0, 2000, 7)] + [
        ("n1", "n0"),
        ("n0", "n1"),
        ("x", "n1"),
        ("b", "x"),
    ]
    text = "tc(X, Y) <- a(X, Y). tc(X, Y) <- tc(X, Z) seq a(Z, Y) within 1. loop(x, X) <- tc(X, X) fnot tc(b, X)."
    check(text, events(*(("a", edge, at * 100_000) for at, edge in enumerate(edges))), tidies=1)


def test_what_has_no_kernel_is_said() -> None:
    text = "s(X) <- a(X). s(R) <- s(_) seq aggregate(count, a(_), R)."
    run = ColumnRun(etalis.compile(text).compiled, {("a", 1): ("int",)})
    assert "rule 2: it is recursive, and recursion has no kernel for the plan node Fold" in run.choice.describe()
    run = ColumnRun(etalis.compile(CLOSURE, max_derivations=1 << 30).compiled, {("a", 2): ("int", "int")})
    assert "max_derivations is too large" in run.choice.describe()


def test_what_the_machine_cannot_hold_stays_in_the_engine(caplog: pytest.LogCaptureFixture) -> None:
    stream = events(("a", (1, tape.NULL), 1), ("a", (2, 3), 2), ("a", (3, 4), 3))
    program = etalis.compile(CLOSURE)
    one, other = (program.engine(policy="unrestricted") for _ in range(2))
    wanted = list(one.run(stream))
    found = list(other.run(stream[:1]))
    run = run_on(other, find_types(stream))
    run.load()
    found += run.process(gather(stream[1:], find_types(stream)))
    run.save()
    assert found == wanted
    assert not run.components
    assert "an integer that columns cannot hold" in caplog.text


def test_what_was_made_at_a_moment_is_known_to_either() -> None:
    text = ":- set_flag(max_derivations, 100). tc(X, Y) <- a(X, Y). tc(X, Y) <- tc(X, Z) and a(Z, Y)."
    stream = events(*(("a", (i % 3, (i + 1) % 3), 5) for i in range(12)))
    check_carried(
        etalis.compile(text).engine(), stream, find_types(stream), list(etalis.compile(text).engine().run(stream))
    )


def test_what_is_absent_may_have_values_of_another_type() -> None:
    text = "r(X) <- a(X). r(X) <- (r(X) seq b(X)) cnot c(X)."
    stream = events(("a", ("x",), 1), ("c", (0,), 2), ("c", (1,), 2), ("b", ("x",), 3))
    run = ColumnRun(etalis.compile(text).compiled, find_types(stream))
    assert found(run, stream, 2) == list(etalis.compile(text).engine().run(stream))
    assert "X has values of several types" in run.choice.describe()
