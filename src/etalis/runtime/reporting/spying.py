"""Events that are spied upon: each is written to the output before rules see it."""

from __future__ import annotations

from collections.abc import Callable

from etalis.runtime.state import Raw
from etalis.temporal.event import Event


def show_first(
    kind: tuple[str, int], output: Callable[[str], object], process: Callable[[Raw], None]
) -> Callable[[Raw], None]:
    """Return the processor of events that are spied upon."""
    name, end = kind[0], 3 + kind[1]

    def show(raw: Raw) -> None:
        output(f"{Event.make(name, raw[3:end], raw[1], raw[0])!r}\n")
        process(raw)

    return show
