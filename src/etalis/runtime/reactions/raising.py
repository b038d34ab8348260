"""Events that reactions raise for later: timers like alarms, due after the inputs that end then.

What is due occurs as a raised event, behind what else falls due together; of several the one that was asked for first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from etalis.language.steps import Occur
from etalis.runtime.state import NEVER, State

RAISED_LATER = "raised later"


class RaisedLater:
    """Owns the timers of events that were raised for later."""

    place: Hashable = RAISED_LATER
    level = 0

    def __init__(self, state: State) -> None:
        self.state = state

    def schedule(self, event: Occur) -> None:
        """Have an event occur at its end."""
        self.state.schedule(event.end, NEVER, self, (event.name, event.args, event.start, event.end, event.cause))

    def awaits(self, payload: Any) -> bool:
        """What was raised occurs."""
        del payload
        return True

    def stands(self, payload: Any) -> bool:
        """Whatever becomes of rules, what was raised occurs."""
        del payload
        return True

    def fire(self, payload: Any) -> None:
        """Let the event occur when what falls due with it is complete."""
        self.state.steps.append(Occur(*payload))
