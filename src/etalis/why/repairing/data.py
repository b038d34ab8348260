"""A repair as data: changes of the input, how sure it is that there is none smaller, and what else they change."""

from __future__ import annotations

from typing import TypeAlias

from etalis.language.syntax import Term
from etalis.why.justification import Occurred, Received, datum
from etalis.why.printable import Printable


@datum
class AddEvent(Occurred):
    """An input that comes too, behind the others of its stamp."""


@datum
class RemoveEvent:
    """An input that does not come."""

    event: Received


@datum
class MoveEvent:
    """An input that comes at another time; it keeps its rank among those of a stamp."""

    event: Received
    start: int
    end: int


@datum
class AddFact:
    """A fact that is known from a moment on, before the inputs of its stamp."""

    atom: Term
    since: int


InputChange: TypeAlias = AddEvent | RemoveEvent | MoveEvent | AddFact


@datum
class Repair(Printable):
    """Changes of the input by which the event occurs.

    `status` is proved (no smaller set of changes does it), irreducible (no change can be left out) or found. `gained`
    and `lost` are the other events, of those the question depends on, that the changes make and take away; `runs` is
    how many changed histories were run.
    """

    changes: tuple[InputChange, ...]
    status: str
    gained: tuple[Occurred, ...] = ()
    lost: tuple[Occurred, ...] = ()
    runs: int = 0
    dates: bool = False
