"""How a predicate is called: which of its arguments have values, and which one it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mode:
    """A function from the arguments at `inputs` to the one at `result`.

    `takes` says what may stand at the result: `anything`, a term that is `open` (some variable has no value), or a
    `variable` without a value. Those at `void` are variables that nobody asks for.
    """

    function: Callable[..., Any]
    inputs: tuple[int, ...]
    result: int | None = None
    kind: str = "term"
    may_fail: bool = False
    takes: str = "anything"
    void: tuple[int, ...] = ()


def test(arity: int, function: Callable[..., bool]) -> Mode:
    """Return the mode of a predicate whose arguments all have values."""
    return Mode(function, tuple(range(arity)))
