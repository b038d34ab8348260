"""Who makes the rows of a `run` may ask and change the engine between them: as if the rows were pushed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import etalis
from etalis.engine import Engine

PROGRAM = """
    :- dynamic known/1.
    pair(X, Y) <- b(X) seq a(Y).
    alone(X) <- a(X) seq (not c within 2).
    big(X) <- a(X) where X > 100.
    listed(X) <- a(X) where known(X).
    """
Row = tuple[Any, ...]
ROWS: list[Row] = [("c", 0), ("b", 1, 1), ("a", 2, 2), ("a", 3, 3), ("b", 4, 3), ("a", 5, 9), ("a", 6, 12)]
Visit = Callable[[Engine], Any]
FLAGS: list[dict[str, Any]] = [
    {},
    {"out_of_order": "on", "ooo_window": 3},
    {"out_of_order": "on", "ooo_window": 3, "reporting": "on_arrival"},
    {"revision_flag": "on"},
]
VISITS: dict[str, Visit] = {
    "insert_rule": lambda engine: engine.insert_rule("z(X) <- a(X)."),
    "delete_rule": lambda engine: engine.delete_rule("pair(X, Y) <- b(X) seq a(Y)."),
    "push": lambda engine: engine.push("b", 7, at=8),
    "run": lambda engine: list(engine.run([("b", 7, 8), ("a", 7, 8.5)])),
    "advance": lambda engine: engine.advance(to=8),
    "assert_fact": lambda engine: engine.assert_fact("known", 6),
    "reset": lambda engine: engine.reset(),
    "on": lambda engine: engine.on("pair", lambda _: None),
    "state": lambda engine: engine.state(),
    "now": lambda engine: engine.now,
}


def by_row(engine: Engine, visit: Visit, place: int) -> list[Any]:
    found: list[Any] = []
    for number, (name, *args, at) in enumerate(ROWS):
        if number == place:
            found.append(repr(visit(engine)))
        found += engine.push(name, *args, at=at)
    return found


def in_one(engine: Engine, visit: Visit, place: int) -> list[Any]:
    found: list[Any] = []

    def rows() -> Iterator[Row]:
        for number, row in enumerate(ROWS):
            if number == place:
                found.append(repr(visit(engine)))
            yield row

    for match in engine.run(rows()):
        found.append(match)
    return found


@pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")
@pytest.mark.parametrize("level", [None, "ids"])
@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize("place", range(len(ROWS)))
@pytest.mark.parametrize("visit", VISITS.values(), ids=VISITS.keys())
def test_rows_are_taken_as_if_pushed(visit: Visit, place: int, level: str | None, flags: dict[str, Any]) -> None:
    program = etalis.compile(PROGRAM, **flags)
    seen = []
    for take in (by_row, in_one):
        engine = program.engine(policy="unrestricted", justification=level)
        found = take(engine, visit, place)
        letters = list(engine.dead_letters)
        seen.append((*map(repr, (found, letters, engine.now)), repr(engine.close())))
    assert seen[0] == seen[1]


def test_a_snapshot_between_rows_has_the_time_of_the_last_one() -> None:
    program = etalis.compile("pair(X, Y) <- b(X) seq a(Y).")
    engine, kept = program.engine(policy="unrestricted"), []

    def rows() -> Iterator[Row]:
        yield "b", 1, 1
        yield "b", 2, 5
        kept.append(engine.snapshot())
        yield "a", 3, 6

    assert [match.args for match in engine.run(rows())] == [(1, 3), (2, 3)]
    again = program.restore(kept[0])
    assert again.now == 5
    assert again.push("a", 4, at=3) == ()
    assert again.dead_letter_count == 1


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_rules_may_change_before_the_first_row_is_read(flags: dict[str, Any]) -> None:
    engine = etalis.compile("d(X) <- b(X).", **flags).engine(policy="unrestricted")
    found = engine.run(iter([("a", 1, 1), ("a", 2, 2)]))
    engine.insert_rule("z(X) <- a(X).")
    assert [match.args for match in [*found, *engine.close()]] == [(1,), (2,)]


def test_who_makes_the_rows_uses_up_what_a_limit_admits() -> None:
    engine = etalis.compile("pair(X, Y) <- b(X) seq a(Y).", hard_limit=2).engine(policy="unrestricted")

    def rows() -> Iterator[Row]:
        engine.push("a", 1, at=0)
        engine.push("a", 1, at=1)
        yield "b", 1, 2
        yield "a", 2, 3

    assert [match.args for match in engine.run(rows())] == [(1, 2)]
