"""One thread at a time in an engine, any number of engines of one program at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import etalis
from etalis import Engine, Event, EventError

PAIR = "d(X, Y) <- (a(X) seq b(Y)) within 10."
WAITING = " :- set_flag(out_of_order, on). :- set_flag(ooo_window, 5)."
FOREIGN = "d(X) <- a(X) where slow(X)."


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Meeting:
    """A point inside an engine at which one thread waits until another has tried to come in."""

    def __init__(self) -> None:
        self.inside, self.tried = threading.Event(), threading.Event()

    def wait(self, *_: Any) -> bool:
        self.inside.set()
        assert self.tried.wait(10)
        return True

    def try_meanwhile(self, first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, str]:
        """Return what the first call gives, and how the second one, which comes meanwhile, is refused."""
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(first)
            assert self.inside.wait(10)
            try:
                with pytest.raises(EventError) as refused:
                    second()
            finally:
                self.tried.set()
            return running.result(10), refused.value.problems[0].code


def engine_of(program: str, **flags: object) -> Engine:
    return etalis.compile(program, **flags).engine(policy="unrestricted")


@pytest.mark.parametrize(
    "second",
    [
        lambda engine: engine.push("a", 2, at=2),
        lambda engine: engine.push("a", 2, at=2.5),
        lambda engine: engine.push(Event("a", 2, at=2)),
        lambda engine: list(engine.run([("a", 2, 2)])),
        lambda engine: list(engine.run([{"event": "a", "at": 2.5, "args": [2]}])),
        lambda engine: engine.advance(to=9),
        lambda engine: engine.close(),
        lambda engine: engine.snapshot(),
        lambda engine: engine.insert_rule("e(X) <- a(X)."),
        lambda engine: engine.query("X = 1"),
        lambda engine: engine.assert_fact("p", 1),
        lambda engine: engine.reset(),
    ],
)
def test_who_comes_while_another_is_inside_is_refused_and_changes_nothing(second: Callable[[Engine], Any]) -> None:
    meeting = Meeting()
    program = etalis.compile(FOREIGN, register={"slow/1": lambda x: meeting.wait(x)})
    engine = program.engine()
    found, code = meeting.try_meanwhile(lambda: engine.push("a", 1, at=1), lambda: second(engine))
    assert (code, [str(match) for match in found]) == ("E350", ["d(1) [1, 1]"])
    assert engine.now == 1
    assert [str(match) for match in engine.push("a", 3, at=3)] == ["d(3) [3, 3]"]


def test_the_refusal_says_what_to_do() -> None:
    meeting = Meeting()
    engine = engine_of("d(X) <- a(X).")
    engine.on("d", meeting.wait)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(engine.push, "a", 1, at=1)
        assert meeting.inside.wait(10)
        with pytest.raises(EventError, match="give each thread an engine of its own"):
            engine.push("a", 2, at=2)
        meeting.tried.set()
        assert len(running.result()) == 1


@pytest.mark.parametrize("program", [PAIR, PAIR + WAITING])
def test_rows_are_read_inside(program: str) -> None:
    meeting = Meeting()
    engine = engine_of(program)

    def rows() -> Iterator[Any]:
        yield ("a", 1, 1)
        meeting.wait()
        yield ("b", 2, 2)

    def run() -> list[str]:
        return [str(match) for match in [*engine.run(rows()), *engine.close()]]

    assert meeting.try_meanwhile(run, lambda: engine.push("a", 9, at=1)) == (["d(1, 2) [1, 2]"], "E350")


@pytest.mark.parametrize("program", [PAIR, PAIR + WAITING])
def test_a_match_is_handed_out_outside(program: str) -> None:
    engine = engine_of(program)
    found = []
    for match in engine.run([("a", 1, 1), ("b", 2, 2), ("a", 3, 30), ("b", 4, 31), ("a", 5, 60)]):
        found.append(str(match))
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(engine.query, "X = 1").result() == [{"X": 1}]
    assert found == ["d(1, 2) [1, 2]", "d(3, 4) [30, 31]"]


def test_one_thread_after_the_other() -> None:
    engine = engine_of(PAIR)
    found: list[str] = []
    for i in range(20):
        thread = threading.Thread(target=lambda i=i: found.extend(map(str, engine.push("ab"[i % 2], i, at=i))))
        thread.start()
        thread.join()
    assert len(found) == sum(1 for x in range(0, 20, 2) for y in range(x + 1, 20, 2) if y - x <= 10)


def test_callbacks_and_functions_may_push() -> None:
    engine = engine_of("d(X) <- a(X). e(X) <- b(X).")
    engine.on("d", lambda match: engine.push("b", match.x, at=match.end))
    assert [str(match) for match in engine.push("a", 1, at=1)] == ["d(1) [1, 1]", "e(1) [1, 1]"]
    inner: list[Any] = []
    program = etalis.compile(FOREIGN, register={"slow/1": lambda x: bool(inner.append(nested.query("X = 1")) or True)})
    nested = program.engine()
    assert len(nested.push("a", 1, at=1)) == 1
    assert inner == [[{"X": 1}]]


def test_an_error_leaves_the_engine_open() -> None:
    engine = engine_of(PAIR)
    with pytest.raises(EventError, match="E301"):
        engine.push("a", object(), at=1)
    with pytest.raises(EventError, match="E301"):
        list(engine.run([("a", object(), 1)]))
    rows = engine.run([("a", 1, 1), ("b", 2, 2), ("b", 3, 3)])
    assert str(next(rows)) == "d(1, 2) [1, 2]"
    del rows  # a generator that is not run to its end
    with ThreadPoolExecutor(1) as pool:
        assert [str(match) for match in pool.submit(engine.push, "b", 4, at=4).result()] == ["d(1, 4) [1, 4]"]


@pytest.mark.parametrize("program", [PAIR, PAIR + WAITING, "d(X) <- a(X) where (Y is X * 2, Y > 0)."])
def test_threads_at_random_are_served_or_refused(program: str) -> None:
    """What was not refused has been taken, each event once and by itself."""
    engine = engine_of(program)
    taken: list[int] = []
    refused: list[str] = []

    def feed(first: int) -> None:
        for i in range(first, 4_000, 4):
            try:
                engine.push("a", i, at=0)
                taken.append(i)
            except EventError as error:
                refused.append(error.problems[0].code)

    threads = [threading.Thread(target=feed, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused) <= {"E350"}
    assert len(taken) + len(refused) == 4_000
    if program == PAIR:
        found = engine.push("b", 0, at=1)
        assert sorted(match.x for match in found) == sorted(taken)


def test_engines_of_one_program_in_threads_of_their_own() -> None:
    program = etalis.compile(
        "d(X, Y) <- (a(X) seq b(Y)) within 10 where p(X, Y). p(X, Y) :- q(X), Y is X + 1. q(X) :- member(X, [1, 2, 3])."
    )

    def run(seed: int) -> list[str]:
        rows = [("ab"[(i + seed) % 2], (i * 7 + seed) % 5, i) for i in range(300)]
        return [str(match) for match in program.engine(policy="unrestricted").run(rows)]

    wanted = [run(seed) for seed in range(8)]
    assert all(wanted)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(run, range(8))) == wanted
