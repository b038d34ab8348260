"""Conditions that bind values from facts, over columns: `detect` and `push` agree, and facts may change between."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.columnar.conditions import lookups
from etalis.errors import EventError
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

TEXT = ":- event(a(s: string, n: int)). d(S, C) <- a(S, N) where (price(S, P), C is P * N)."
ROWS = pa.table({"at": [1, 2, 3, 4], "event": ["a"] * 4, "s": ["pen", "ink", "cup", "pen"], "n": [1, 2, 3, 4]})
GIVEN = {"time": "at", "event": "event"}


def pushed(engine: Any, rows: pa.Table) -> list[tuple[Any, ...]]:
    found = [e for row in rows.to_pylist() for e in engine.push("a", row["s"], row["n"], at=row["at"])]
    return [(e.args, e.end) for e in found]


def detected(table: pa.Table) -> list[tuple[Any, ...]]:
    return [((row["S"], row["C"]), row["end"]) for row in table.to_pylist()]


def test_knowledge_given_as_a_table(tmp_path: Path) -> None:
    program = etalis.compile(":- event(d(s: string, c: int)). " + TEXT)
    path = tmp_path / "price.csv"
    path.write_text("s,p\npen,2\nink,7\n")
    assert program.load_facts("price", path) == 2
    assert program.explain(ROWS, **GIVEN) == "over columns: rule 1"
    expected = [(("pen", 2), 1), (("ink", 14), 2), (("pen", 8), 4)]
    assert pushed(program.engine(), ROWS) == expected
    found = program.detect(ROWS, **GIVEN)
    assert [((row["s"], row["c"]), row["end"]) for row in found.to_pylist()] == expected


def test_an_attribute_of_no_declared_type_has_that_of_the_facts() -> None:
    program = etalis.compile(":- event(a(s: string, n: int)). d(S, P) <- a(S, N) where price(S, P).")
    program.load_facts("price", [("pen", 2), ("ink", "null")])
    assert program.explain(ROWS, **GIVEN) == "over columns: rule 1"
    assert program.detect(ROWS, **GIVEN)["P"].to_pylist() == [2, None, 2]
    other = etalis.compile(":- event(a(s: string, n: int)). d(S, P) <- a(S, N) where price(S, P).")
    other.load_facts("price", [("pen", "it's"), ("ink", "null")])
    assert other.detect(ROWS, **GIVEN)["P"].to_pylist() == ["it's", None, "it's"]


@pytest.mark.parametrize("other", ["low", 1 << 63, 2.5])
def test_facts_of_several_types(other: Any) -> None:
    program = etalis.compile(":- event(a(s: string, n: int)). d(S, C) <- a(S, N) where price(S, C).")
    program.load_facts("price", [("pen", 2), ("ink", other)])
    assert program.explain(ROWS, **GIVEN) == "over columns: rule 1"
    if other == 1 << 63:  # of results, no column has such a number
        with pytest.raises(EventError, match="outside 64 bits"):
            program.detect(ROWS, **GIVEN)
        return
    expected = [((s, str(c)), end) for (s, c), end in pushed(program.engine(), ROWS)]
    assert detected(program.detect(ROWS, **GIVEN)) == expected


@pytest.mark.parametrize("other", ["low", 1 << 63, 2.5])
def test_why_facts_have_no_flat_type(other: Any) -> None:
    program = etalis.compile("d(S, C) <- a(S, N) where price(S, C). d(S, C) <- d(S, C) seq a(S, _).")
    program.load_facts("price", [("pen", 2), ("ink", other)])
    told = program.explain(ROWS, **GIVEN)
    assert "rule 1: it is recursive, and C, which price(S, C) binds, has no flat type: facts of price/2 have" in told


def test_facts_that_change_between_tables(caplog: pytest.LogCaptureFixture) -> None:
    text = ":- event(a(s: string, n: int)). d(S, C) <- (a(S, N) where price(S, C)) seq a(S, _)."
    program = etalis.compile(text)
    program.load_facts("price", [("pen", 2), ("ink", 7)])
    live, over = program.engine(policy="chronological"), program.engine(policy="chronological")

    def take(first: int) -> tuple[list[Any], list[Any], str]:
        rows = ROWS.set_column(0, "at", pa.array([first + i for i in range(4)]))
        told = over.explain(rows, **GIVEN)
        found = detected(over.detect(rows, **GIVEN))
        return pushed(live, rows), [((s, int(c) if str(c).isdigit() else c), end) for (s, c), end in found], told

    expected, found, told = take(10)
    assert found == expected == [(("pen", 2), 13)]
    assert told == "over columns: rule 1"
    for engine in (live, over):  # ink waits with 7
        engine.reload("price", [("pen", "high"), ("ink", "x")])
    with caplog.at_level(logging.WARNING, "etalis.columns"):
        expected, found, told = take(20)
    assert found == expected
    assert (("ink", 7), 21) in found
    assert "event at a time: what waits has values that are no string" in caplog.text
    assert told == "over columns: rule 1"
    for engine in (live, over):
        engine.assert_fact("price", "cup", 1)
    expected, found, told = take(30)
    assert found == expected
    assert told == "over columns: rule 1"


def test_a_number_that_grows_beyond_64_bits_is_refused() -> None:
    program = etalis.compile(TEXT)
    program.load_facts("price", [("pen", (1 << 63) - 1)])
    with pytest.raises(EventError, match="outside 64 bits"):
        program.detect(ROWS, **GIVEN)


def test_many_solutions_through_rules() -> None:
    text = """
    near(X, Y) :- link(X, Y, W), W < 3.
    link(1, 2, 1). link(1, 3, 2). link(1, 4, 3). link(2, 3, 0). link(3, 9, 9).
    d(X, Y) <- a(X) event_multiply near(X, Y).
    e(X, Z) <- d(X, Y) seq d(Y, Z).
    """
    events = [Event.make("a", (x,), 10**6 * t, 10**6 * t) for t, x in enumerate((1, 2, 3, 1, 4, 2, 1))]
    for policy in ("unrestricted", "recent", "chronological", "continuous", "cumulative"):
        assert check(text, events, policy)


FACTS = """
f(1, 2). f(1, 5). f(2, 2). f(3, 4611686018427387905). f(null, 1).
g(1, 0.5). g(1, 1.0e308). g(2, -0.0).
t(2, x). t(5, 'null'). t(2, y).
"""
STEPS = (
    "f(X, Y), Y > N",
    "f(X, Z), Y is Z * N",
    "f(X, Z), Z * Z > N, Y = X",
    "f(X, Z), g(X, W), Y is W * 10",
    "f(X, Z), g(X, W), Y is W + Z - N",
    "f(X, Z), t(Z, Y)",
    "f(X, Z), t(Z, Y), Y \\= x",
    "N < 2, f(N, Y)",
    "M is N - 1, f(M, Y), Y =\\= X",
    "f(1, Y), f(2, Y)",
    "f(Y, 2), Y == N",
    "f(X, Y), f(Y, _)",
    "f(X, _), Y = N",
    "f(null, Y)",
    "Y is X + N",
)
TIMED = (
    "t2(Y)",
    "t1(S), t2(E), E - S < 1, Y = N",
    "t2(T), T > 2, f(X, Y)",
    "t2(T), f(X, Y), T >= Y",
    "t2(T), Y is T * 2",
    "t2(T), M is T * 2, M =:= 3, f(X, Y)",
    "t2(T), T == 2, Y = T",
    "t2(T), T = 1.5, Y = N",
    "t1(T), 2 is T, Y = N",
    "t1(T), t2(T), f(X, Y)",
    "t2(T), f(T, Y)",
    "t2(T), M = T, f(M, Y)",
    "t2(T), f(X, Y), t(T, _)",
)


KINDS = [(kind, goal) for kind in ("where", "event_multiply") for goal in STEPS] + [("check", goal) for goal in TIMED]


@pytest.mark.parametrize(("kind", "goal"), KINDS)
@pytest.mark.parametrize("most", [1_000, 1])
def test_look_ups_and_calculations(goal: str, kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "_MANY", most)
    monkeypatch.setattr(lookups, "MOST", most)
    program = f"{FACTS} d(X, Y) <- a(X, N) {kind} ({goal})."
    values = [(1, 1), (1, 3), (2, 1), (3, 1), (1, 1), (4, 0), (2, 2)]
    events = [Event.make("a", row, 10**6 * (t // 2), 5 * 10**5 * t) for t, row in enumerate(values)]
    assert check(program, events)
    events.append(Event.make("a", ("null", 1), 10**7, 10**7))
    assert check(program, events)


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological"])
def test_what_facts_bind_blocks_on_an_engine_that_goes_on(policy: str) -> None:
    text = (
        "d(X) <- (a(X) seq b(X)) cnot (n(Z) where q(Z, X)). e(X) <- b(X) fnot (n(Z) where q(Z, X)). q(1, 2). q(0, 1)."
    )
    stream = [Event.make("aabbn"[i * 7 % 5], (i * i % 3,), i * 400_000, i * 400_000) for i in range(60)]
    assert check(text, stream, policy)


def test_halves_of_characters() -> None:
    values = [(0xD800,), (65,), (0xDC00,), (65,)]
    events = [Event.make("a", row, 10**6 * t, 10**6 * t) for t, row in enumerate(values)]
    assert check("d(Y) <- a(X) where char_code(Y, X). e(Y) <- d(Y) seq d(Y).", events, "unrestricted")
    half = chr(0xD800)
    assert check(f"name(65, '{half}'). name(66, b). d(Y) <- a(X) where name(X, Y).", events)
