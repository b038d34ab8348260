"""The time line: everything within the width, every event in the column of its time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from etalis.pictures.paint.axis import Scale
from etalis.pictures.paint.terminal import NARROWEST, ROWS, Line, paint_lines
from etalis.pictures.scenes.stream import draw_stream
from etalis.temporal.event import Event

TIMES = st.integers(min_value=-(10**9), max_value=10**16)


def event(name: str, start: int, end: int | None = None) -> Event:
    return Event.make(name, (), start, start if end is None else end)


def draw_timeline(received: list[Event], matches: list[Event], *, width: int = 100) -> list[Line]:
    return paint_lines(draw_stream(received, matches), width=width)


def test_few_events_get_a_row_each() -> None:
    lines = draw_timeline([event("a", 0), event("b", 10_000_000)], [event("c", 0, 10_000_000)], width=50)
    assert [line.text for line in lines] == [
        "seconds │ 0       2       4      6       8      10",
        "        └─┴───────┴───────┴──────┴───────┴───────┴",
        "      a │ ●",
        "      b │                                        ●",
        "        │",
        "      c │ ┣━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┫",
    ]
    assert [line.kind for line in lines] == ["axis", "axis", "received", "received", "axis", "match"]


def test_many_events_share_a_lane_and_are_counted() -> None:
    crowd = [event("a", 0)] * (ROWS + 1) + [event("b", 5), event("b", 5), event("b", 10)]
    lanes = [line.text for line in draw_timeline(crowd, [], width=60)[2:]]
    assert [lane.split("│")[0].strip() for lane in lanes] == ["a/0 × 21", "b/0 × 3"]
    assert lanes[0].endswith("│ +")
    assert [c for c in lanes[1].split("│")[1] if c != " "] == ["2", "●"]


def test_dates_get_a_clock() -> None:
    day = 1_772_442_000 * 1_000_000
    head = draw_timeline([event("a", day), event("a", day + 600_000_000)], [], width=80)[0].text
    assert head.split() == ["2026-03-02", "UTC", "│", "09:00", "09:02", "09:04", "09:06", "09:08", "09:10"]


def test_nothing_to_draw() -> None:
    assert [line.text for line in draw_timeline([], [])] == ["no events"]


def test_wide_letters_are_measured_in_cells() -> None:
    lines = draw_timeline([event("出金" * 30, 0), event("a", 9)], [], width=60)
    assert {cell_len(line.text.split("│")[0]) for line in lines if "│" in line.text} == {25}


@given(st.lists(st.tuples(TIMES, TIMES), max_size=30), st.integers(0, 140))
def test_nothing_is_drawn_outside(spans: list[tuple[int, int]], width: int) -> None:
    events = [event("e", min(span), max(span)) for span in spans]
    for line in draw_timeline(events[::2], events[1::2], width=width):
        assert cell_len(line.text) <= max(width, NARROWEST)


@given(TIMES, TIMES, TIMES, st.integers(2, 100))
def test_columns_keep_the_order_of_times(a: int, b: int, c: int, columns: int) -> None:
    first, middle, last = sorted((a, b, c))
    scale = Scale(first, last, columns)
    assert 0 == scale.column(first) <= scale.column(middle) <= scale.column(last) <= columns - 1
