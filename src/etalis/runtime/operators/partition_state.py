"""The state of a rule set as tables: what waits, by join key, and in which order it expires.

Everything an operator keeps is in dictionaries by join key, so that the state of one partition can be lifted out of one
engine and put into another, and a whole engine's state can be written down. What is kept for one event only (`Doubles`)
is no state.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from etalis.runtime.operators.aggregate import Folder, Slider
from etalis.runtime.operators.base import Waiter
from etalis.runtime.operators.blockers import Blockers, EventLog, LooseBlockers
from etalis.runtime.operators.repetition import Repeater, Runner
from etalis.runtime.operators.store import Doubles

Table = dict[Any, Any]
Fifo = deque[tuple[int, Any]]


def tables_of(part: Any) -> tuple[Table, ...]:
    """Return the dictionaries by join key of one part of the state."""
    match part:
        case dict():
            return (part,)
        case Blockers(groups=groups) | Slider(groups=groups):
            return (groups,)
        case Repeater(lefts=shelf) | Folder(openers=shelf):
            return (shelf.groups,)
        case Runner(runs=runs, firsts=firsts, elements=elements):
            return runs, firsts, elements
        case Waiter() | Doubles() | deque() | LooseBlockers() | EventLog():
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
