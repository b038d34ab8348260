"""`engine.detect` that fails: the engine stands after whole rows, tells how many, and what they caused is not lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.columnar.component import ColumnComponent
from etalis.columnar.recursion.component import Recursion
from etalis.columnar.state.links import JoinSideLink
from etalis.errors import EtalisError, EventError, LimitError
from etalis.runtime.run_loop import RunLoop

pytestmark = pytest.mark.fast

EVENTS = ":- event(a(x: int, y: int)). :- event(b(x: int, y: int)). :- event(c(x: int, y: int)).\n"
RULES = {
    "joins": """d(X, Y) <- ((a(X, _) seq b(X, Y)) cnot c(X, _)) within 30.
                e(X, N) <- d(X, _) seq aggregate(sum(Y), b(X, Y), N).""",
    "counted": """d(X, 0) <- a(X, _) seq b(X, _) ntimes 2 seq c(X, _).
                  e(X, N) <- aggregate(count, b(X, _), N) within 9.""",
    "timed": """d(X, Y) <- a(X, Y) seq (not b(X, _) within 4).
                exceptionAlarm(e(X, Y), 3) <- a(X, Y). e(0, 0) <- 40.""",
    "missing": """d(X, Y) <- (a(X, Y) seq? b(X, _)) within 4.
                  e(X, Y) <- a(X, _) equals? (b(X, Y) ?equals c(X, _)).""",
    "recursive": "d(X, Y) <- a(X, Y). d(X, Y) <- ((d(X, Z) seq a(Z, Y)) cnot c(X, _)) within 12.",
    "mixed": """d(X, Y) <- (a(X, _) seq b(X, Y)) where Y > 0.
                e(X, Y) <- c(X, Y). e(X, f(Y)) <- e(X, Y) seq b(X, Y).""",
}
LATE = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5).\n"
SCHEMA = pa.schema([("event", "string"), ("at", "int64"), ("x", "int64"), ("y", "int64")])
PLACES = {"columns": [(ColumnComponent, "process"), (Recursion, "process")], "beside": [(RunLoop, "process")]}
Row = tuple[str, int, int, int]


class StopError(BaseException):
    """Comes at any moment, as an interruption by the user does."""


def rows(count: int, seed: int) -> list[Row]:
    rng = random.Random(seed)
    return [
        (rng.choice("aabbc"), rng.randrange(3), rng.randrange(4), at // 2 - rng.randrange(2)) for at in range(count)
    ]


def table(stream: list[Row]) -> pa.Table:
    cells = [{"event": name, "at": at, "x": x, "y": y} for name, x, y, at in stream]
    return pa.Table.from_pylist(cells, schema=SCHEMA)


def listed(found: pa.Table) -> list[tuple[Any, ...]]:
    columns = [found[name].to_pylist() for name in found.column_names if name != "rule"]
    return list(zip(*columns, strict=True))


def detect(engine: etalis.Engine, stream: list[Row], **options: Any) -> list[tuple[Any, ...]]:
    return listed(engine.detect(table(stream), time="at", event="event", **options))


def fails_now_and_then(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, rng: random.Random, often: float = 0.2
) -> None:
    """Let a method do what it does, and sometimes be interrupted then."""
    original: Callable[..., Any] = getattr(owner, name)

    def method(self: Any, *args: Any, **given: Any) -> Any:
        found = original(self, *args, **given)
        if rng.random() < often:
            raise StopError
        return found

    monkeypatch.setattr(owner, name, method)


def taken_with_interruptions(
    engine: etalis.Engine, stream: list[Row], rng: random.Random, batch: int = 16
) -> list[tuple[Any, ...]]:
    """Take rows, going on after each interruption; there must be some."""
    found: list[tuple[Any, ...]] = []
    stops = 0
    while stream:
        try:
            found += detect(engine, stream, batch=batch, threads=rng.choice((1, 2)))
            stream = []
        except StopError:
            stops += 1
            found += listed(engine.unfinished.found)
            stream = stream[engine.unfinished.rows :]
    assert stops > 2
    return found


@pytest.mark.parametrize("late", [False, True], ids=["in order", "late"])
@pytest.mark.parametrize(("rules", "where"), [*((rules, "columns") for rules in RULES), ("mixed", "beside")])
@pytest.mark.parametrize("policy", ["recent", "unrestricted"])
def test_an_engine_goes_on_after_interruptions(
    rules: str, policy: str, where: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = etalis.compile((LATE if late else "") + EVENTS + RULES[rules])
    stream = rows(240, 3)
    if where == "beside" and not late:
        stream.sort(key=lambda row: row[-1])  # rows of a batch are taken in the order of time
    one, other = program.engine(policy=policy), program.engine(policy=policy)
    expected = detect(one, stream, batch=16)
    rng = random.Random(5)
    with monkeypatch.context() as patched:
        for owner, name in PLACES[where]:
            fails_now_and_then(patched, owner, name, rng)
        found = taken_with_interruptions(other, stream, rng)
    assert expected
    later = [(name, x, y, at + 200) for name, x, y, at in rows(60, 4)]  # rows that are held come then at the latest
    expected += detect(one, later)
    found += detect(other, later)
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert (one.now, one.watermark, one.dead_letters) == (other.now, other.watermark, other.dead_letters)
    assert sorted(map(str, one.errors)) == sorted(map(str, other.errors))
    assert one.close() == other.close()


def test_much_that_waits_in_recursion_is_there_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = etalis.compile(EVENTS + "d(X, Y) <- a(X, Y). d(X, Y) <- d(X, Z) seq a(Z, Y).")
    rng = random.Random(1)
    stream = [("a", rng.randrange(4000), rng.randrange(4000), at) for at in range(3000)]
    one, other = (program.engine(policy="unrestricted") for _ in range(2))
    expected = detect(one, stream)
    with monkeypatch.context() as patched:
        fails_now_and_then(patched, Recursion, "process", rng, often=0.5)
        found = taken_with_interruptions(other, stream, rng, batch=400)
    assert found == expected
    assert one.waiting() == other.waiting()


LARGE = 1 << 62
SUMS = "s(X, N) <- a(X, _) seq aggregate(sum(Y), b(X, Y), N)."
NUMBERS = [("a", 1, 0, 1), ("b", 1, 5, 2), ("b", 1, LARGE, 3), ("b", 1, LARGE, 4), ("b", 1, LARGE, 5), ("b", 2, 1, 6)]


def test_a_large_number_leaves_its_batch_to_be_taken_again() -> None:
    engine = etalis.compile(EVENTS + SUMS).engine()
    with pytest.raises(EventError, match="E607") as caught:
        detect(engine, NUMBERS, batch=3)
    assert "3 rows" in caught.value.__notes__[0]
    assert engine.unfinished.rows == 3
    assert engine.unfinished.found["N"].to_pylist() == [0, 5, LARGE + 5]
    assert [e.args for e in engine.push("b", 1, LARGE, at=4)] == [(1, 2 * LARGE + 5)]


def test_a_bad_row_is_a_dead_letter_between_the_others() -> None:
    engine = etalis.compile(EVENTS + SUMS).engine()
    given = table(NUMBERS[:3]).append_column("end", pa.array([1, 2, 1]))
    assert engine.detect(given, time=("at", "end"), event="event", batch=1).num_rows == 2
    assert [letter.reason for letter in engine.dead_letters] == ["it ends before it starts"]
    right = given.slice(2).set_column(4, "end", pa.array([3]))
    assert engine.detect(right, time=("at", "end"), event="event")["N"].to_pylist() == [LARGE + 5]
    assert engine.unfinished is None


def test_too_many_derivations_leave_their_batch() -> None:
    text = "d(X, Y) <- a(X, Y). d(X, N) <- d(X, Y) where (Y < X, N is Y + 1)."
    engine = etalis.compile(EVENTS + text, max_derivations=20).engine()
    stream = [("a", 5, 0, 1), ("a", 50, 0, 2), ("a", 2, 0, 3)]
    with pytest.raises(LimitError):
        detect(engine, stream, batch=1)
    assert engine.unfinished.rows == 1
    assert engine.unfinished.found["Y"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert len(detect(engine, stream[2:])) == 3


@pytest.mark.parametrize(
    "text",
    ["d(X, Y) <- a(X, _) seq b(Y, _). e(X) <- d(X, _).", "exceptionAlarm(d(X, Y), 2) <- a(X, Y). e(X) <- d(X, _)."],
    ids=["one row", "what falls due"],
)
def test_derivations_are_counted_without_recursion(text: str) -> None:
    program = etalis.compile(EVENTS + text, max_derivations=20)
    stream = [*(("a", x, 0, 1) for x in range(11)), ("b", 1, 0, 9)]
    with pytest.raises(LimitError) as pushed:
        list(program.engine(policy="unrestricted").run(stream))
    for batch in (1, 5, 20):
        engine = program.engine(policy="unrestricted")
        with pytest.raises(LimitError) as caught:
            detect(engine, stream, batch=batch)
        assert str(caught.value) == str(pushed.value)
        assert engine.unfinished.rows < len(stream)
    assert detect(program.engine(policy="unrestricted"), [*stream[2:]])


def test_event_at_a_time_the_row_that_fails_is_begun() -> None:
    text = (
        ":- set_flag(max_derivations, 20). d(f(X), Y) <- a(X, Y). d(f(X), N) <- d(f(X), Y) where (Y < X, N is Y + 1)."
    )
    engine = etalis.compile(EVENTS + text).engine()
    stream = [("a", 5, 0, 1), ("a", 50, 0, 2), ("a", 2, 0, 3)]
    with pytest.raises(LimitError):
        detect(engine, stream)
    assert engine.unfinished.rows == 2
    assert engine.unfinished.found.num_rows == 6
    assert len(detect(engine, stream[2:])) == 3


def test_what_has_no_place_in_a_table_is_handed_over_as_events() -> None:
    engine = etalis.compile(EVENTS + SUMS).engine()
    engine.on("s", lambda event: None)  # so that all runs event at a time
    with pytest.raises(EtalisError):
        detect(engine, NUMBERS)
    assert engine.unfinished.rows == 6
    assert [e.args[1] for e in engine.unfinished.events] == [0, 5, LARGE + 5, 2 * LARGE + 5, 3 * LARGE + 5]


def test_who_is_told_may_fail() -> None:
    engine = etalis.compile(EVENTS + SUMS).engine()

    def tell(taken: int, matches: int) -> None:
        if taken > 1:
            raise StopError

    with pytest.raises(StopError):
        detect(engine, NUMBERS[:3], batch=1, threads=1, progress=tell)
    assert (engine.unfinished.rows, engine.unfinished.found.num_rows) == (2, 2)
    assert len(detect(engine, NUMBERS[2:3])) == 1


def test_an_interruption_while_the_state_is_put_back_leaves_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    program = etalis.compile(EVENTS + RULES["joins"])
    stream = rows(80, 2)
    one, other = program.engine(), program.engine()
    expected, calls, save = detect(one, stream[:40]), [], JoinSideLink.save

    def interrupted(side: JoinSideLink) -> None:
        calls.append(side)
        save(side)
        if len(calls) == 1:
            raise StopError

    with monkeypatch.context() as patched:
        patched.setattr(JoinSideLink, "save", interrupted)
        with pytest.raises(StopError):
            detect(other, stream[:40])
    assert len(calls) > 1
    assert expected
    assert detect(one, stream[40:]) == detect(other, stream[40:])
