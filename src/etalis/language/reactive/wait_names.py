"""The names of events that begin and end the waits of actions (`sagas`); nobody else hears of such an event."""

from __future__ import annotations

BEGINS, ENDS = "await(", "end of await("


def begins_wait(event: str) -> bool:
    """Tell whether an event begins the wait of an action."""
    return event.startswith(BEGINS)


def is_of_wait(event: str) -> bool:
    """Tell whether an event begins or ends the wait of an action."""
    return event.startswith((BEGINS, ENDS))


def wait_text(event: str) -> str:
    """Return how the wait was written that an event begins.

    >>> wait_text("await(paid within 5) at 1 of rent")
    'await(paid within 5)'
    """
    return event.rpartition(" at ")[0]


def end_of_wait(event: str) -> str:
    """Return the name of the event that ends the wait which another one begins."""
    return ENDS + event.removeprefix(BEGINS)
