"""The short ways in for what changes history: late events that are reported on arrival, and `rev(Atom)`.

Both are for plain instants at whole seconds. Events in order go through the generated `push` and `run`, which move the
clock but not the watermark: a late one catches up with it, and is put where it belongs at once. Everything else goes
the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etalis.data.values import Struct, to_value
from etalis.errors import EventError
from etalis.runtime.state import NEVER
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS

if TYPE_CHECKING:
    from etalis.runtime.lateness.lateness import Disorder
    from etalis.runtime.revision.retraction import Retractions
    from etalis.runtime.revision.revision import Revision
    from etalis.temporal.event import Event

Push = Callable[..., "tuple[Event, ...]"]


def correcting_push(disorder: Disorder, general: Push) -> Push:
    """Return `push(name, *attributes, at)` for what is not in order; `general` takes what is not plain."""
    plain = disorder.is_quiet() and not (disorder.rules.ticks or disorder.run_loop.program.signatures)
    if plain and disorder.revision is not None and disorder.revision.arrives:
        general = _inserting(disorder, disorder.revision, general)
    if plain and disorder.retractions is not None and disorder.watermark is None:
        general = _retracting(disorder.retractions, general)
    return general


def _inserting(disorder: Disorder, revision: Revision, general: Push) -> Push:
    mark, state, history = disorder.watermark, disorder.state, revision.history
    assert mark is not None

    def push(name: str, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        if type(at) is not int or type(name) is not str or named or mark.newest == NEVER:
            return general(name, *args, at=at, **named)
        for x in args:
            if type(x) is not int and type(x) is not str:
                return general(name, *args, at=at)
        end, now, kind = at * MICROSECONDS, state.now, (name, len(args))
        if not mark.see(None, now) < end < now or end < EARLIEST or kind not in history.parts:
            return general(name, *args, at=at)
        out: list[Any] = []
        revision.insert(kind, (end, end, history.next_place(), *args), None, out)
        disorder.ranked = history.next_place()
        revision.settled = max(revision.settled, mark.reached)
        return tuple(out)

    return push


def _retracting(retractions: Retractions, general: Push) -> Push:
    def push(name: str, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        if name != "rev" or type(at) is not int or len(args) != 1 or type(args[0]) is not Struct or named:
            return general(name, *args, at=at, **named)
        out: list[Any] = []
        end = at * MICROSECONDS
        if not EARLIEST <= end <= LATEST:
            return general(name, *args, at=at)
        retractions.take_back_term(to_value(args[0]), end, end, None, out)
        return tuple(out)

    return push


def correcting_row(push: Push, general: Callable[[Any], tuple[Event, ...]]) -> Callable[[Any], tuple[Event, ...]]:
    """Return the same for a row (name, *attributes, at)."""

    def take(row: Any) -> tuple[Event, ...]:
        if type(row) is tuple and len(row) > 1 and type(row[0]) is str and type(row[-1]) is int:
            try:
                return push(*row[:-1], at=row[-1])
            except EventError:
                return general(row)  # which knows what becomes of a row that cannot be read
        return general(row)

    return take
