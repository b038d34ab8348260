"""The short way in where events are held until they are settled: plain ones at whole seconds, of one source.

They wait as they came; released, each goes through the generated `push`, which takes them in order. Everything else
goes the general way.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etalis.runtime.order import LEAST_DROPPED
from etalis.temporal.interval import MICROSECONDS

if TYPE_CHECKING:
    from etalis.runtime.disorder import Disorder
    from etalis.temporal.event import Event

Push = Callable[..., "tuple[Event, ...]"]


def holding_push(disorder: Disorder, in_order: Push, general: Push) -> Push:
    """Return `push(name, *attributes, at)`; `in_order` takes what is released, `general` what is not plain."""
    held, mark = disorder.held, disorder.watermark
    assert held is not None
    assert mark is not None
    rows, latest, bound = held.rows, mark.latest, mark.bound + 1

    def push(name: str, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        if type(at) is not int or named or len(latest) > 1 or None not in latest:
            return general(name, *args, at=at, **named)
        end = at * MICROSECONDS
        if end <= mark.reached:
            return general(name, *args, at=at)
        for x in args:
            if type(x) is not int and type(x) is not str:
                return general(name, *args, at=at)
        rank = disorder.ranked
        disorder.ranked = rank + 1
        row = (end, end, rank, (name, args, None))
        if rows and end < rows[-1][0]:
            insort(rows, row, lo=held.head)
            return ()
        rows.append(row)
        if end <= latest[None]:
            return ()
        latest[None] = end
        if end - bound > mark.reached:
            mark.reached = end - bound
        return release(mark.reached) if rows[held.head][0] <= mark.reached else ()

    def release(reached: int) -> tuple[Event, ...]:
        """Let go what is settled; the row that has just come is not."""
        head = held.head
        out: tuple[Event, ...] = ()
        while (row := rows[head])[0] <= reached:
            head = held.head = head + 1
            end, start, _, (name, args, stamp) = row
            at, rest = divmod(end, MICROSECONDS)
            out += disorder.release(row) if rest or start != end or stamp else in_order(name, *args, at=at)
        if head > LEAST_DROPPED:
            held.drop_released()
        return out

    return push


@dataclass(frozen=True, slots=True)
class Aside:
    """A row that is not plain: as it came, or as it was held."""

    row: Any
    is_settled: bool


def settled_rows(disorder: Disorder, rows: Iterable[Any]) -> Iterator[Any]:
    """Hold rows, and yield those that are settled in order: plain ones as (name, *attributes, at), others aside."""
    held, mark = disorder.held, disorder.watermark
    assert held is not None
    assert mark is not None
    waiting, latest, bound = held.rows, mark.latest, mark.bound + 1
    for row in rows:
        at = row[-1] if type(row) is tuple and row else None
        end = at * MICROSECONDS if type(at) is int else mark.reached
        if end <= mark.reached or len(latest) > 1 or None not in latest or not _is_plain(row):
            yield Aside(row, False)
            continue
        rank = disorder.ranked
        disorder.ranked = rank + 1
        item = (end, end, rank, (row[0], row[1:-1], None))
        if waiting and end < waiting[-1][0]:
            insort(waiting, item, lo=held.head)
            continue
        waiting.append(item)
        if end <= latest[None]:
            continue
        latest[None] = end
        if end - bound > mark.reached:
            mark.reached = end - bound
        while (item := waiting[held.head])[0] <= mark.reached:
            held.head += 1
            end, start, _, (name, args, stamp) = item
            at, rest = divmod(end, MICROSECONDS)
            yield Aside(item, True) if rest or start != end or stamp else (name, *args, at)
        if held.head > LEAST_DROPPED:
            held.drop_released()


def _is_plain(row: tuple[Any, ...]) -> bool:
    for x in row:  # noqa: SIM110  the name, the attributes and the time; a generator costs more than it tests
        if type(x) is not int and type(x) is not str:
            return False
    return True
