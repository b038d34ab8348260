"""Where the marks of a time line go: which times are shown, and in which row of its lane a mark stands.

Marks of one lane that meet stand under each other, up to a number of rows; where marks are few, so do those whose
labels would meet.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from etalis.pictures.paint.lettering import LETTER, cells, shorten
from etalis.pictures.scene import LaneMark, Timeline
from etalis.temporal.interval import MICROSECONDS

MOST_ROWS = 8
LABELLED = 60  # marks up to which all labels are given room
LABEL_CELLS = 34
LABEL_SIZE = 11
_BESIDE = 14  # a mark's own width, and the gap to its label


@dataclass(frozen=True, slots=True)
class LanePlan:
    """The row of every mark, how many rows each lane has, and the times that are shown."""

    rows: Sequence[int]
    heights: Sequence[int]
    first: int
    last: int


def find_span(timeline: Timeline) -> tuple[int, int]:
    """Return the first and the last time that a mark names."""
    times = [time for mark in timeline.marks for time in (mark.start, mark.end) if time is not None]
    return (min(times), max(times)) if times else (0, 0)


def sections_of(timeline: Timeline) -> list[list[int]]:
    """Return the numbers of the lanes, in groups that begin where a lane has a heading."""
    sections: list[list[int]] = []
    for number, lane in enumerate(timeline.lanes):
        if lane.heading or not sections:
            sections.append([])
        sections[-1].append(number)
    return sections


def plan_lanes(timeline: Timeline, width: float) -> LanePlan:
    """Place the marks of a time line that is `width` wide."""
    first, last = find_span(timeline)
    open_ended = any(mark.start is None or mark.end is None for mark in timeline.marks)
    margin = max((last - first) // (8 if open_ended else 40), 1 if last > first else MICROSECONDS // 2)
    first, last = first - margin, last + margin
    scale = width / (last - first)
    by_lane: list[list[int]] = [[] for _ in timeline.lanes]
    for number, mark in enumerate(timeline.marks):
        by_lane[mark.lane].append(number)
    rows = [0] * len(timeline.marks)
    labelled = len(timeline.marks) <= LABELLED
    for held in by_lane:
        _pack(held, timeline.marks, rows, first, last, scale, labelled)
    heights = [max((rows[number] + 1 for number in held), default=1) for held in by_lane]
    return LanePlan(rows, heights, first, last)


def _pack(
    held: list[int], marks: Sequence[LaneMark], rows: list[int], first: int, last: int, scale: float, labelled: bool
) -> None:
    """Give the marks of a lane the first row that is free; when all are taken, the one that is free soonest."""

    def extent(mark: LaneMark) -> tuple[float, float]:
        start = (first if mark.start is None else mark.start) - first
        end = (last if mark.end is None else mark.end) - first
        if not labelled:
            return start, end
        bar = (end - start) * scale
        text = label_width(mark.label)
        beside = 0.0 if text + 8 <= bar else text
        left, right = start * scale, end * scale + _BESIDE + beside
        if right > (last - first) * scale:  # its label stands before it
            left, right = left - beside - _BESIDE, end * scale + _BESIDE
        return left, right

    most = len(held) if labelled else MOST_ROWS
    free: list[int] = []
    busy: list[tuple[float, int]] = []  # where a row is free again
    used = 0
    for (start, end), number in sorted((extent(marks[number]), number) for number in held):
        while busy and busy[0][0] < start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        elif used < most:
            row, used = used, used + 1
        else:
            row = heapq.heappop(busy)[1]
        rows[number] = row
        heapq.heappush(busy, (end, row))


def label_width(label: str) -> float:
    """Return how wide a label is drawn."""
    return cells(shorten(label, LABEL_CELLS)) * LABEL_SIZE * LETTER
