"""Events that change facts: the change is recorded, made, and then seen by all that the event is part of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.data.values import Value
from etalis.logic.terms.unify import from_value
from etalis.runtime.state import Raw

Process = Callable[[Raw], None]


def learn_first(arity: int, change: Callable[[tuple[Value, ...]], object], process: Process) -> Process:
    """Return the processor of events that change facts: what they are part of sees the change."""
    end = 3 + arity

    def learn(raw: Raw) -> None:
        change(raw[3:end])
        process(raw)

    return learn


def record_first(arity: int, tell: Callable[[Raw, tuple[Any, ...]], object], process: Process) -> Process:
    """Return the processor of events of which the changes of facts are recorded."""
    end = 3 + arity

    def tell_and_process(raw: Raw) -> None:
        tell(raw, tuple(map(from_value, raw[3:end])))
        process(raw)

    return tell_and_process
