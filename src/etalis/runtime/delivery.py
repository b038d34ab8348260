"""Delivery of results: events reported and retracted, kept if the program stores them, and given to callbacks.

What callbacks push meanwhile waits for the current event to be complete, and is then taken in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.runtime.inputs import Input
from etalis.temporal.event import Event, Retraction, event_of

Callback = Callable[[Event], object]


class Delivery:
    """The events that left, if they are kept, and whom they are handed to."""

    def __init__(self, take: Callable[..., tuple[Event, ...]], *, keeps: bool) -> None:
        self.history: list[Event] | None = [] if keeps else None
        self.callbacks: list[tuple[str | None, Callback]] = []
        self.busy = False
        self.pending: list[Input] = []
        self._take = take

    def is_plain(self) -> bool:
        """Tell whether an event needs no more than to be returned."""
        return not self.callbacks and self.history is None

    def hand_out(self, found: list[Any]) -> tuple[Event, ...]:
        """Store and call back; what callbacks push comes after the current event."""
        if not found:
            return ()
        out = tuple([event_of(raw) if raw.__class__ is tuple else raw for raw in found])
        if self.history is not None:
            self._note(self.history, out)
        if not self.callbacks or self.busy:
            return out
        done: list[Event] = []
        self.busy = True
        try:
            while True:
                for event in out:
                    for name, callback in self.callbacks:
                        if name is None or name == event.name:
                            callback(event)
                done.extend(out)
                if not self.pending:
                    return tuple(done)
                out = self._take(*self.pending.pop(0))
        finally:
            self.busy = False

    def _note(self, history: list[Event], changes: tuple[Event, ...]) -> None:
        """Keep what is reported, without what is taken back."""
        for event in changes:
            if isinstance(event, Retraction):
                history.remove(event.reported)
            else:
                history.append(event)
