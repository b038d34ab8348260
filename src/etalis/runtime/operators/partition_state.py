"""The state of a rule set as tables: what waits, by join key, and in which order it expires.

Everything an operator keeps is in dictionaries by join key, so that the state of one partition can be lifted out of one
engine and put into another, and a whole engine's state can be written down. What is kept for one event only (`Doubles`)
is no state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any

from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.operators.aggregate import Folder, Slider
from etalis.runtime.operators.blockers import Blockers, EventLog, LatestBlockers, LooseBlockers
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.store import Doubles, Newest, members
from etalis.runtime.state import State

Table = dict[Any, Any]
Fifo = deque[tuple[int, Any]]


def tables_of(part: Any) -> tuple[Table, ...]:
    """Return the dictionaries by join key of one part of the state."""
    match part:
        case dict():
            return (part,)
        case Blockers(groups=groups) | Slider(groups=groups):
            return (groups,)
        case Repeater(lefts=shelf, lines=lines):
            return shelf.groups, lines
        case Folder(openers=shelf):
            return (shelf.groups,)
        case Runner(runs=runs, firsts=firsts, elements=elements):
            return runs, firsts, elements
        case Waiter() | Unmatched() | Doubles() | deque() | LooseBlockers() | EventLog():
            return ()
    raise AssertionError(part)


def fifos_of(part: Any) -> tuple[Fifo, ...]:
    """Return the queues of (end, join key) by which one part of the state expires."""
    match part:
        case deque():
            return (part,)
        case Blockers(fifo=fifo) | Slider(fifo=fifo) | Runner(fifo=fifo):
            return (fifo,)
        case Repeater(lefts=shelf) | Folder(openers=shelf):
            return (shelf.fifo,)
    return ()


def logs_of(part: Any) -> tuple[list[Any], ...]:
    """Return the lists of occurrences that have no key: those of all events together."""
    return (part.items,) if isinstance(part, LooseBlockers | EventLog) else ()


def held_by(part: Any, state: State) -> Iterator[tuple[Any, int]]:
    """Yield what a part of the state holds, each with its end."""
    match part:
        case dict():
            groups = (group.items[-1:] if isinstance(group, Newest) else members(group) for group in part.values())
            yield from ((instance, instance[-1]) for instance in chain.from_iterable(groups))
        case LatestBlockers():
            yield from ((noted, noted[2]) for noted in part.noted())
        case Blockers(groups=groups):
            yield from ((pair, pair[0]) for group in groups.values() for pair in group)
        case LooseBlockers(items=items):
            yield from ((item, item[2]) for item in items)
        case EventLog(items=items):
            yield from ((item, item[1]) for item in items)
        case Repeater(lefts=shelf) | Folder(openers=shelf):
            yield from ((item, item.end) for group in shelf.groups.values() for item in group)
        case Runner(has_tokens=False, elements=elements):
            yield from ((element, element[1]) for group in elements.values() for element in group)
        case Runner(runs=runs, firsts=firsts):
            yield from ((run, run.end) for group in runs.values() for run in group)
            yield from ((run, run.end) for group in firsts.values() for run, _ in group)
        case Slider(groups=totals, is_running=True):
            yield from ((total, total.start) for total in totals.values() for _ in range(total.held()))
        case Slider(groups=windows):
            yield from ((item, item[0]) for window in windows.values() for item in window)
        case Unmatched():
            yield from ((instance, instance[-1]) for instance in part.waiting())
        case Waiter():
            yield from ((t[4], t[4][-1]) for t in state.timers if t[3] is part)
