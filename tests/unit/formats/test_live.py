"""Live sources: lines as they come, files that grow, and what a clock adds; nothing here waits or reads a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.engine import Engine
from etalis.errors import InputError
from etalis.formats import Bad, Item, Pause, Place, Reading, Row, feed, parser_of
from etalis.formats.live import BATCH, Followed, Lines, Reader, Stop, arrive
from etalis.formats.row import ARRIVAL
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS, to_time

SECOND = MICROSECONDS


def row(name: str, at: int, *args: Any) -> Row:
    return Row(Event.make(name, args, at, at), Place("test", 1))


class Script:
    """Arrivals and a clock in one: items come at their times (microseconds), and waiting takes no time."""

    def __init__(self, *steps: tuple[int, Item]) -> None:
        self.steps = list(steps)
        self.time = 0
        self.waited: list[float | None] = []

    def now(self) -> int:
        return self.time

    def wait(self, seconds: float | None) -> list[Item] | None:
        self.waited.append(seconds)
        until = None if seconds is None else self.time + round(seconds * SECOND)
        if not self.steps:
            if until is None:
                return None
            self.time = until
            return []
        if until is not None and until < self.steps[0][0]:
            self.time = until
            return []
        self.time = max(self.time, self.steps[0][0])
        return [self.steps.pop(0)[1]]


def due_of(engine: Engine) -> Callable[[], int | None]:
    return lambda: None if engine.due is None else to_time(engine.due)


def found(text: str, script: Script, lag: int = 0) -> list[tuple[int, str]]:
    """Return what a program finds, each with the time at which it does."""
    engine = etalis.compile(text).engine()
    items = arrive(script, script.now, due_of(engine), lag)
    return [(script.time, str(event)) for event in feed(engine, items, as_given=True)]


LATE = "late(X) <- a(X) seq (not b(X) within 5). pair(X) <- a(X) seq b(X)."


def test_an_absence_comes_when_the_clock_is_past_it() -> None:
    script = Script(
        (SECOND, row("a", ARRIVAL, 1)), (2 * SECOND, row("a", ARRIVAL, 2)), (3 * SECOND, row("b", ARRIVAL, 1))
    )
    assert found(LATE, script) == [(3 * SECOND, "pair(1) [1, 3]"), (7 * SECOND + 1, "late(2) [2, 7]")]
    assert script.waited[-1] is None  # nothing more is due


def test_a_row_that_comes_at_the_very_deadline_is_in_time() -> None:
    script = Script((SECOND, row("a", ARRIVAL, 1)), (6 * SECOND, row("b", ARRIVAL, 1)))
    assert found(LATE, script) == [(6 * SECOND, "pair(1) [1, 6]")]


def test_the_clock_waits_for_what_may_be_late() -> None:
    flags = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 2). "
    script = Script(
        (SECOND, row("a", SECOND, 1)), (7 * SECOND, row("b", 5 * SECOND, 1)), (8 * SECOND, row("a", 8 * SECOND, 2))
    )
    assert found(flags + LATE, script, 2 * SECOND) == [
        (7 * SECOND + 1, "pair(1) [1, 5]"),
        (15 * SECOND + 1, "late(2) [8, 13]"),
    ]


def test_alarms_and_time_points_come_by_the_clock() -> None:
    text = "exceptionAlarm(ring(X), 3) <- a(X). d(X) <- ring(X). noon <- 9."
    script = Script((SECOND, row("a", ARRIVAL, 1)))
    assert found(text, script) == [
        (4 * SECOND + 1, "ring(1) [4, 4]"), (4 * SECOND + 1, "d(1) [4, 4]"), (9 * SECOND + 1, "noon [9, 9]"),
    ]  # fmt: skip


def test_what_time_does_not_settle_is_waited_for_once() -> None:
    script = Script((SECOND, row("a", ARRIVAL, 1)), (9 * SECOND, row("a", ARRIVAL, 2)))
    pauses = [item.to for item in arrive(script, script.now, lambda: 5 * SECOND) if isinstance(item, Pause)]
    assert pauses == [5 * SECOND]


def test_without_a_clock_items_are_as_they_came() -> None:
    items: list[Item] = [row("a", 5), Bad(Place("test", 2), etalis.errors.Problem("E402", "no")), row("b", 3)]
    script = Script(*((0, item) for item in items))
    assert list(arrive(script, None, lambda: None)) == items
    assert script.waited == [None] * 4


def lines(*chunks: bytes, **options: Any) -> tuple[list[str], Lines]:
    taken = Lines(iter(chunks), lambda: None, **options)
    return list(taken), taken


def test_lines_are_put_together_from_chunks() -> None:
    found, rest = lines(b"\xef\xbb\xbfa\nb", "c\né".encode()[:3], "é".encode()[1:] + b"\r\n", b"end", b"")
    assert found == ["a\n", "bc\n", "é\r\n", "end\n"]
    assert rest.rest == b""


def test_a_line_that_is_not_whole_is_left_when_reading_is_stopped() -> None:
    found, rest = lines(b"a\nb")
    assert (found, rest.rest, rest.offset, rest.number) == (["a\n"], b"b", 2, 1)


@pytest.mark.parametrize(("header", "expected"), [(False, ["\n", "\n", "b\n"]), (True, ["h\n", "\n", "b\n"])])
def test_lines_that_were_read_before_come_empty(header: bool, expected: list[str]) -> None:
    assert lines(b"h\na\nb\n", skip=4, header=header)[0] == expected


def test_lines_are_handed_over_before_waiting() -> None:
    log: list[str] = []

    def chunks() -> Iterator[bytes]:
        for chunk in (b"a\n", b"b\nc\n", b""):
            log.append("wait")
            yield chunk

    for line in Lines(chunks(), lambda: log.append("hand over")):
        log.append(line.strip())
    expected = ["hand over", "wait", "a", "hand over", "wait", "b", "c", "hand over", "wait", "hand over"]
    assert log == expected


def test_a_reader_hands_over_batches_and_errors() -> None:
    def items(hand_over: Callable[[], None]) -> Iterator[Item]:
        yield row("a", 1)
        hand_over()
        yield from [row("b", 2)] * (BATCH + 1)
        raise InputError(etalis.errors.Problem("E401", "gone"))

    reader = Reader(items)
    assert [len(reader.wait(None) or ()) for _ in range(3)] == [1, BATCH, 1]
    with pytest.raises(InputError, match="gone"):
        reader.wait(None)
    assert reader.wait(None) is None
    reader.drain()


class Grown(Stop):
    """Instead of waiting for a file to grow, lets the next thing happen to it; at last it says to stop."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self.next = iter(steps)

    def wait(self, seconds: float) -> bool:
        step = next(self.next, None)
        if step is None:
            self.set()
        else:
            step()
        return self.is_set


def follow(path: Path, stop: Stop, position: tuple[int, int] | None = None) -> tuple[list[str], tuple[int, int] | None]:
    followed = Followed(str(path), stop, position, header=True)
    items = followed.items(parser_of("csv", "e.csv", Reading()), lambda: None)
    found = [f"{item.place.line} {item.event}" if isinstance(item, Row) else "bad" for item in items]
    stop.close()
    return found, followed.position


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("event,at\na,1\nb")
    stop = Grown(partial(append, path, ",2\n"), lambda: None, partial(append, path, "c,3\nd"))
    found, position = follow(path, stop)
    assert found == ["2 a [1, 1]", "3 b [2, 2]", "4 c [3, 3]"]
    assert position == (path.stat().st_ino, len("event,at\na,1\nb,2\nc,3\n"))
    append(path, ",4\n")
    assert follow(path, Grown(), position)[0] == ["5 d [4, 4]"]  # goes on in the middle of the line


def test_a_file_that_is_replaced_or_cut_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("event,at\na,1\n")

    def rotate() -> None:
        append(path, "b,2")
        path.rename(tmp_path / "old")

    stop = Grown(
        rotate,
        partial(append, tmp_path / "old", "0\n"),  # there is no other one yet
        partial(path.write_text, "at,event\n3,c\n4,d\n"),
        partial(path.write_text, "event,at\n"),
        partial(append, path, "e,5\n"),
    )
    found, position = follow(path, stop)
    assert found == ["2 a [1, 1]", "3 b [20, 20]", "2 c [3, 3]", "3 d [4, 4]", "2 e [5, 5]"]
    assert position is not None
    path.write_text("event,at\n")
    assert follow(path, Grown(partial(append, path, "f,6\n")), position)[0] == ["2 f [6, 6]"]  # shorter than was read


def test_a_table_that_has_no_header_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("")
    assert follow(path, Grown()) == ([], (path.stat().st_ino, 0))
    assert follow(path, Grown(partial(append, path, "event,at\na,1\n")))[0] == ["2 a [1, 1]"]
    path.write_text("x\n")
    with pytest.raises(InputError, match="no column names the event"):
        follow(path, Grown())


def test_a_file_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    assert follow(path, Grown(lambda: None, partial(path.write_text, "event,at\na,1\n")))[0] == ["2 a [1, 1]"]


def test_due_is_what_time_alone_brings() -> None:
    assert etalis.compile("d <- a.").engine().due is None
    engine = etalis.compile("noon <- 12. late <- a seq (not b within 5).").engine()
    assert engine.due == 12
    engine.push("a", at=1.5)
    assert engine.due == 6.5
    held = etalis.compile(":- set_flag(out_of_order, on). :- set_flag(ooo_window, 9). d <- a.").engine()
    held.push("a", at=3)
    assert held.due == 3
