"""Triples of a stream whose predicate is background knowledge: dead letters, at whatever door they come.

Only a program that has such predicates has `push` and `run` that look for them, around those that would be there
without; no other pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from etalis.errors import EtalisError
from etalis.temporal.event import Event

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Push = Callable[..., tuple[Event, ...]]
Run = Callable[[Iterable[Any]], Iterator[Event]]
_TRIPLE = "rdf"
_NONE = object()


def sifted_push(core: Core, push: Push) -> Push:
    """Return `push` that takes no triple of the background."""
    background = core.program.background

    def take(
        name: str | Event, s: Any = _NONE, p: Any = _NONE, o: Any = _NONE, /, *more: Any, at: Any = None, **named: Any
    ) -> tuple[Event, ...]:  # fmt: skip
        is_known = p.__class__ is str and p in background and name == _TRIPLE
        if o is not _NONE and not (is_known or more or named):
            return push(name, s, p, o, at=at)  # as quick as can be: three attributes are usual
        args = [x for x in (s, p, o, *more) if x is not _NONE]
        if (is_known or named or name.__class__ is Event) and _bury(core, core.inputs.event, name, args, named, at):
            core.dead_letters.tell_first()
            return ()
        return push(name, *args, at=at, **named)

    return take


def sifted_run(core: Core, run: Run) -> Run:
    """Return `run` that takes no triple of the background."""
    background = core.program.background

    def sift(rows: Iterable[Any]) -> Iterator[Any]:
        for row in rows:
            if row.__class__ is tuple:
                is_asked = len(row) > 3 and row[0] == _TRIPLE and row[2].__class__ is str and row[2] in background
            else:
                is_asked = True  # its attributes may have names
            if not (is_asked and _bury(core, core.inputs.row, row)):
                yield row

    return lambda rows: run(sift(rows))


def _bury(core: Core, read: Callable[..., tuple[Any, ...]], *given: Any) -> bool:
    """Make a dead letter of an event that is such a triple; what cannot be read is told by whoever takes it."""
    try:
        name, values, start, end, *_ = read(*given)
    except EtalisError:
        return False
    return core.bury_background(name, values, start, end)
